"""Compares a crawl with what `import warc` makes of its export: documents, links, visits, states, ranks and the index.

    beamtrawl export warc DIR OUT --noarchive
    beamtrawl import warc AGAIN OUT/part-*.warc.gz
    python benchmarks/round_trip.py DIR AGAIN

Rows are compared by URL, the newest version of each page. Numbers of rounds differ by their nature and are left out; a
column that differs is shown with the number of rows and some samples. The index is compared by `export ciff`: each
document with its length, each term with the numbers of its documents and occurrences. With `--batches`, the visits of
the import are parsed once more in the batches of the crawl, to see which texts differ by their batches alone.
"""

import argparse
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from beamtrawl.transforms.directory.crawl_dir import CrawlDir, files_of
from beamtrawl.transforms.directory.crawl_settings import stored_settings
from beamtrawl.transforms.documents.parse_visits import parse_batch
from beamtrawl.transforms.http.request_headers import Identity
from beamtrawl.transforms.settings import Settings
from beamtrawl.transforms.sql.queries import query_batches
from beamtrawl.transforms.tables.table_files import read_groups

_SAMPLES = 3
_OF_TIME = {"round", "first_round", "near_round"}
_NEWEST = "QUALIFY row_number() OVER (PARTITION BY url ORDER BY round DESC, fetched_at DESC) = 1"
TABLES = {
    "documents": ("url", f"SELECT * FROM documents {_NEWEST}"),
    "visits": (
        "url",
        "SELECT url, host, fetched_at, outcome, status, redirect_to, address, media_type, headers, body, truncated,"
        f" depth, referrer, kind FROM visits WHERE status IS NOT NULL {_NEWEST}",
    ),
    "links": (
        "link",
        "SELECT concat_ws(' ', source_url, target_url, kind, number) AS link, * FROM (SELECT *, row_number() OVER"
        " (PARTITION BY source_url, target_url, kind ORDER BY anchor) AS number FROM links l"
        f" SEMI JOIN (SELECT url AS source_url, round FROM documents {_NEWEST}) USING (source_url, round))",
    ),
    "urls": ("url", "SELECT url, state, reason, depth FROM urls"),
    "ranks": ("url", "SELECT * FROM ranks"),
    "host_ranks": ("host", "SELECT * FROM host_ranks"),
    "robots": ("origin", "SELECT origin, status, body FROM robots"),
}
"""The key of each table, and its rows."""


def rows(crawl: CrawlDir, key: str, query: str) -> dict[str, dict[str, Any]]:
    """The rows of a query by their key."""
    with query_batches(crawl, query, 1024) as batches:
        return {row[key]: row for batch in batches for row in batch.to_pylist()}


def compare(name: str, one: dict[str, dict[str, Any]], other: dict[str, dict[str, Any]]) -> None:
    """Print how the rows of a table differ."""
    print(f"{name}: {len(one):,} and {len(other):,} rows")
    for title, keys in (("missing", one.keys() - other.keys()), ("more", other.keys() - one.keys())):
        if keys:
            print(f"  {len(keys):,} {title}, as {', '.join(sorted(keys)[:_SAMPLES])}")
    different, samples, equal = Counter[str](), dict[str, list[str]](), 0
    for key in sorted(one.keys() & other.keys()):
        columns = [name for name in one[key].keys() - _OF_TIME if one[key][name] != other[key].get(name)]
        equal += not columns
        for column in columns:
            different[column] += 1
            values = [str(row[key].get(column))[:90] for row in (one, other)]
            samples.setdefault(column, []).append(f"{key}: {values[0]!r}, {values[1]!r}")
    print(f"  {equal:,} equal")
    for column, count in different.most_common():
        print(f"  {count:,} differ in {column}")
        for sample in samples[column][:_SAMPLES]:
            print(f"    {sample}")


def show_batches(crawl: CrawlDir, again: CrawlDir) -> None:
    """Print how many texts of a crawl its import has, and how many if the same visits are parsed in other batches."""
    documents = rows(crawl, *TABLES["documents"])
    texts = {url: row["text"] for url, row in documents.items() if row["duplicate_of"] is None}  # others have none
    visits = {visit["url"]: visit for group in groups(again) for visit in group}
    ours = [[visits[visit["url"]] for visit in group if visit["url"] in visits] for group in groups(crawl)]
    for title, batches in (("its own batches", groups(again)), ("those of the crawl", ours)):
        found = dict(parsed(batches, stored_settings(crawl)))
        equal = sum(found.get(url) == text for url, text in texts.items())
        print(f"texts of the import, parsed in {title}: {equal:,} of {len(texts):,} equal")


def groups(crawl: CrawlDir) -> Iterator[list[dict[str, Any]]]:
    """The visits of each row group, which is a batch when pages are parsed."""
    for file in files_of(crawl.manifests(), "visits"):
        for group in read_groups(crawl.root, file):
            yield group.to_pylist()


def parsed(batches: Iterable[list[dict[str, Any]]], settings: Settings) -> Iterator[tuple[str, str]]:
    """(URL, text) of each page; a later version comes later."""
    robot, kinds = Identity.of(settings.robot).token, tuple(settings.documents.kinds)
    for batch in batches:
        for visit, page, _ in parse_batch(batch, robot, kinds):
            if page is not None:
                yield visit["url"], page.text


def indexed(path: str) -> Counter[tuple[Any, ...]]:
    """Each term with the numbers of its documents and occurrences, and each document with its length."""
    with TemporaryDirectory() as folder:
        out = Path(folder) / "index.ciff"
        command = [sys.executable, "-P", "-m", "beamtrawl", "export", "ciff", path, str(out)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        data = out.read_bytes()
    found, at = Counter[tuple[Any, ...]](), 0
    while at < len(data):
        length, at = varint(data, at)
        values = fields(data[at : at + length])
        at += length
        if isinstance(values.get(1), bytes):
            found[values[1], values[2], values[3]] += 1
        elif isinstance(values.get(2), bytes):
            found[values[2], values.get(3)] += 1
    return found


def fields(message: bytes) -> dict[int, int | bytes]:
    """The values of a message by the number of their field; the last of repeated ones."""
    found: dict[int, int | bytes] = {}
    at = 0
    while at < len(message):
        tag, at = varint(message, at)
        value, at = varint(message, at)
        if tag & 7 == 2:  # a length
            found[tag >> 3], at = message[at : at + value], at + value
        else:
            found[tag >> 3] = value
    return found


def varint(data: bytes, at: int) -> tuple[int, int]:
    """A number of variable length, and where it ends."""
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare a crawl with the import of its export")
    parser.add_argument("dirs", nargs=2, metavar="DIR")
    parser.add_argument("--batches", action="store_true", help="show the texts by the batches of their pages, no more")
    arguments = parser.parse_args()
    crawls = [CrawlDir(path) for path in arguments.dirs]
    if arguments.batches:
        show_batches(*crawls)
        return
    for name, (key, query) in TABLES.items():
        one, other = (rows(crawl, key, query) for crawl in crawls)
        compare(name, one, other)
    lists = [indexed(path) for path in arguments.dirs]
    both = (lists[0] & lists[1]).total()
    print(f"index: {both:,} terms and documents equal, {lists[0].total() - both:,} and {lists[1].total() - both:,} not")


if __name__ == "__main__":
    main()
