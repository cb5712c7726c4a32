"""Small crawls of which only the links matter, and what ranking writes about them."""

from datetime import UTC, datetime
from pathlib import Path

from beamtrawl.pipeline.rank import rank
from beamtrawl.transforms.directory.crawl_dir import CrawlDir, Manifest, files_of
from beamtrawl.transforms.indexing.write_segment import write_segment
from beamtrawl.transforms.settings import Settings, render
from beamtrawl.transforms.tables.schemas import HOST_RANKS, RANKS
from beamtrawl.transforms.tables.table_files import TableWriter, open_parquet, read_table
from beamtrawl.transforms.urls.canonical import url_key
from tests.support.corpus import documents
from tests.support.crawls import InProcess

HUB, PAGE, OTHER = "http://a.test/", "http://a.test/page", "http://b.test/other"


def write(root, table, round_, rows):
    writer = TableWriter(root, table, round_)
    writer.write_rows(rows)
    return writer.close()


def link(source, target, anchor, round_, **special):
    """A row of `links`."""
    ends = {"source_key": url_key(source), "source_url": source, "target_key": url_key(target), "target_url": target}
    return ends | {"anchor": anchor, "rel": "", "kind": "a", "round": round_} | special


def make_crawl(path, pages, rows):
    """A crawl with an index segment, of the documents that are no duplicates, for each round, and these links."""
    directory = CrawlDir(str(path))
    directory.write_text("crawl.toml", render(Settings()))
    for round_, found in pages.items():
        table = documents(*(row | {"round": round_} for row in found))
        segment = f"index/round={round_:06d}/shard-0000-0123456789abcdef"
        write_segment(directory.root, segment, table.filter(table["duplicate_of"].is_null()))
        files = (
            write(directory.root, "documents", round_, table.to_pylist()),
            write(directory.root, "links", round_, [row for row in rows if row["round"] == round_]),
        )
        directory.commit(Manifest("update", round_, "", files, {}, (), "", "", (segment,)))
    return directory


def ranked(directory, partitions=1, engine=None):
    """All that ranking writes: `ranks` and `host_ranks` by name, and the folder of each segment."""
    manifest = rank(directory, engine or InProcess(), datetime(2026, 1, 1, tzinfo=UTC), partitions=partitions)
    rows = {}
    for name, schema, key in (("ranks", RANKS, "url"), ("host_ranks", HOST_RANKS, "host")):
        paths = [file.path for file in files_of([manifest], name)]
        rows |= {row[key]: row for row in read_table(directory.root, paths, schema).to_pylist()}
    said = []
    for segment, folder in sorted(manifest.index_links.items()):
        with open_parquet(directory.root, f"{folder}/docs.parquet") as docs:
            link_ranks = docs.read().to_pylist()
        postings = [Path(directory.path(path)).read_bytes() for path in directory.paths(folder) if "docs" not in path]
        said.append((segment, link_ranks, postings))
    return rows, manifest.counters, said
