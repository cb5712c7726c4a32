"""An index that is made anew from the documents of one site."""

from pathlib import Path

import apache_beam as beam
import pytest

from beamtrawl.transforms.documents.reindex import Reindex
from beamtrawl.transforms.tables.schemas import DOCUMENTS
from beamtrawl.transforms.tables.table_files import TableFile, TableWriter
from beamtrawl.transforms.urls.canonical import url_key
from tests.support.crawls import InProcess


def document(number: int) -> dict[str, object]:
    url = f"http://a.test/{number}"
    text = " ".join(f"word{number}" for _ in range(270_000))  # 1.6 MB
    facts = {"url": url, "url_key": url_key(url), "host": "a.test", "round": 1, "text": text}
    return dict.fromkeys(DOCUMENTS.names) | facts


@pytest.mark.parametrize(("workers", "segments"), [(1, [4]), (2, [2, 2])])
def test_the_documents_of_one_site_are_the_work_of_all_workers(
    tmp_path: Path, workers: int, segments: list[int]
) -> None:
    files, found = list[TableFile](), list[TableFile]()
    for number in range(4):
        writer = TableWriter(str(tmp_path), "documents", 1)
        writer.write_rows([document(number)])
        files += [file] if (file := writer.close()) else []

    def build(pipeline: beam.Pipeline) -> None:
        reindex = Reindex(str(tmp_path), 2, [], shards=1, workers=workers)
        pipeline | "Documents" >> beam.Create(files) | reindex | beam.Map(found.append)

    InProcess().run(build, 0.0)
    assert sorted(file.rows for file in found if file.table == "index") == segments
