"""A damaged file of a table is told from a whole one, and no flipped bit of it is read as if it was right."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from beamtrawl.transforms.directory.crawl_dir import CrawlDirError
from beamtrawl.transforms.tables.damage import problem, require_whole, require_whole_once
from beamtrawl.transforms.tables.schemas import TABLES
from beamtrawl.transforms.tables.table_files import TableFile, TableWriter, read_groups, read_table


@pytest.fixture
def written(tmp_path: Path) -> TableFile:
    writer = TableWriter(str(tmp_path), "documents", 1)
    for start in (0, 50):
        numbers = range(start, start + 50)
        rows = [
            {"url": f"http://a.test/{n}", "host": "a.test", "text": f"text {n}", "url_key": bytes(16)} for n in numbers
        ]
        writer.write_rows(rows)
    file = writer.close()
    assert file
    return file


def places(root: Path, file: TableFile) -> Iterator[tuple[int, bool]]:
    """(place, whether it belongs to a page) of some bytes of a file, spread over it."""
    footer = pq.read_metadata(root / file.path)
    chunks = [footer.row_group(g).column(c) for g in range(footer.num_row_groups) for c in range(footer.num_columns)]
    starts = [chunk.dictionary_page_offset or chunk.data_page_offset for chunk in chunks]
    spans = [(start, start + chunk.total_compressed_size) for start, chunk in zip(starts, chunks, strict=True)]
    for place in range(0, file.bytes, 31):
        yield place, any(start <= place < end for start, end in spans)


def test_a_flipped_bit_of_a_page_is_never_read_as_if_it_was_right(tmp_path: Path, written: TableFile) -> None:
    schema, path = TABLES["documents"], tmp_path / written.path
    right, data = read_table(str(tmp_path), [written.path], schema), path.read_bytes()
    told = []
    for place, is_of_page in places(tmp_path, written):
        path.write_bytes(data[:place] + bytes([data[place] ^ 1 << place % 8]) + data[place + 1 :])
        assert problem(str(tmp_path), written)
        if is_of_page:
            try:
                rows = read_table(str(tmp_path), [written.path], schema)
            except CrawlDirError as error:
                told.append(str(error))
            else:
                assert rows.equals(right)  # an unused part of a header
    assert len(told) > 40
    assert all(line.startswith(f"{written.path} cannot be read: ") for line in told)


def test_files_are_compared_with_what_was_written(tmp_path: Path, written: TableFile) -> None:
    root = str(tmp_path)
    require_whole(root, [written])
    require_whole_once(root, [written])
    require_whole(root, [written._replace(checksum="")])  # of a version without checksums
    assert sum(rows.num_rows for rows in read_groups(root, written)) == 100
    data = bytearray((tmp_path / written.path).read_bytes())
    data[len(data) // 2] ^= 1
    (tmp_path / written.path).write_bytes(data)
    for compare in (require_whole, require_whole_once):
        with pytest.raises(CrawlDirError, match=rf"{written.path}: its checksum is .*; see what else is damaged"):
            compare(root, [written])
    require_whole_once(root, [written._replace(bytes=1 << 40)])  # too large to be read for a query
