"""Commit steps without running them, for tests of what is read from manifests."""

from datetime import UTC, datetime, timedelta

from beamtrawl.transforms.directory.crawl_dir import Manifest
from beamtrawl.transforms.frontier.files import write_frontier
from beamtrawl.transforms.tables.table_files import TableFile, TableWriter
from beamtrawl.transforms.urls.canonical import url_key

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


def commit(crawl, step, round_, files=(), counters=None, **fields):
    """A step that has these files and counters, and took no time."""
    fields = {"consumed": (), "started_at": "", "ended_at": ""} | fields
    crawl.commit(Manifest(step, round_, "", tuple(files), counters or {}, **fields))


def listed(table, name, rows, **counts):
    """A file that only the manifest knows: the status reads no more of it."""
    return TableFile(table, f"{table}/{name}", rows, 1000, counts)


def hosts(crawl, round_, *names, **columns):
    """A file of hosts, all with the same columns."""
    writer = TableWriter(crawl.root, "hosts", round_)
    writer.write_rows([{"host": name, "round": round_} | columns for name in names])
    return writer.close()


def waiting(crawl, round_, *rows):
    """A file of the frontier: (host, reason, due_at) of each row."""
    urls = [f"http://{host}/{number}" for number, (host, *_) in enumerate(rows)]
    names = ("host", "reason", "due_at")
    return write_frontier(
        crawl.root,
        round_,
        [
            {"url_key": url_key(url), "url": url, "depth": 0} | dict(zip(names, row, strict=True))
            for url, row in zip(urls, rows, strict=True)
        ],
    )


def after_an_update(crawl, rows, *files):
    """The first update is committed; the next step is the fetch of round 2."""
    commit(crawl, "update", 1, [file for file in (waiting(crawl, 2, *rows), *files) if file])
    return crawl
