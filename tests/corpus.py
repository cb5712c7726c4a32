"""Small crawls that have been indexed, for the tests of the reading side."""

from datetime import UTC, datetime

import pyarrow as pa

from transforms.crawl_dir import CrawlDir, Manifest
from transforms.index import write_segment
from transforms.tables import DOCUMENTS
from transforms.urls import host, url_key


def documents(*rows):
    """DOCUMENTS of rows that say only what matters: a URL at least."""
    return pa.Table.from_pylist(
        [
            {"host": host(row["url"]), "url_key": url_key(row["url"]), "round": 1, "language": "en", "noarchive": False}
            | {"fetched_at": datetime(2026, 1, 2, tzinfo=UTC)}
            | row
            for row in rows
        ],
        schema=DOCUMENTS,
    )


def commit(crawl, round_, *segments):
    """Commit an update step of a round with an index segment of each list of rows."""
    folders = [f"index/round={round_:06d}/shard-{number}" for number in range(len(segments))]
    for folder, rows in zip(folders, segments, strict=True):
        write_segment(crawl.root, folder, documents(*rows))
    crawl.commit(Manifest("update", round_, "", (), {}, (), "", "", index=tuple(folders)))


def indexed(path, *segments):
    """A crawl of one round with these segments."""
    crawl = CrawlDir(str(path))
    commit(crawl, 1, *segments)
    return crawl
