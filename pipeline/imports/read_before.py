"""Reads what is there before an import: URLs of the crawl, and captures that an earlier attempt has read."""

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from ...transforms.archives.choose import KNOWN
from ...transforms.archives.rights import RobotsText
from ...transforms.directory.crawl_dir import CrawlDir, Manifest, paths_of
from ...transforms.directory.pieces import Leftovers
from ...transforms.frontier.url_states import remembered
from ...transforms.robots.rules import Verdict
from ...transforms.tables.bloom import Bloom
from ...transforms.tables.key_scan import Wanted, matching_rows
from ...transforms.tables.schemas import ROBOTS, URLS, VISITS, Row
from ...transforms.tables.table_files import open_parquet, read_table
from ...transforms.urls.canonical import origin as origin_of, url_key

_BATCH = 20_000


def keys_read(crawl: CrawlDir, leftovers: Leftovers) -> set[bytes]:
    """The keys of the URLs in pieces, those of robots.txt included."""
    visits = read_table(crawl.root, leftovers.paths("visits"), VISITS, ["url_key"])["url_key"].to_pylist()
    robots = read_table(crawl.root, leftovers.paths("robots"), ROBOTS, ["origin"])["origin"].to_pylist()
    return {*visits, *(url_key(f"{origin}/robots.txt") for origin in robots)}


def known_urls(crawl: CrawlDir, manifests: Sequence[Manifest], hosts: Sequence[str], keys: Bloom) -> Iterator[pa.Table]:
    """What the crawl knows of some URLs, as KNOWN; a URL may have rows of several rounds."""
    wanted = Wanted("host", hosts, "url_key", keys)
    for path in paths_of(manifests, "urls"):
        for rows in matching_rows(crawl.root, path, URLS, wanted):
            yield pa.Table.from_pylist([known_of(row) for row in rows.to_pylist()], schema=KNOWN)


def known_of(row: Row) -> Row:
    """The row of KNOWN for one of urls."""
    # A time-out clears the status, and is a failure; an answer ends the count of those.
    is_answer = row["last_status"] is not None or row["digest"] is not None or row["fetches"] > row["failures"]
    return {
        "url_key": row["url_key"],
        "fetched_at": row["last_fetched_at"] if is_answer else None,
        "round": row["round"],
        "is_page": row["state"] == "fetched",
        "depth": row["depth"],
        "referrer": row["discovered_from"],
        "discovered_round": row["discovered_round"],
        "digest_before": remembered(row)["digest"],
    }


def known_robots(crawl: CrawlDir, manifests: Sequence[Manifest], hosts: Sequence[str]) -> pa.Table:
    """When the robots.txt files of some hosts were fetched last, as KNOWN; failures do not count."""
    tables = [_SEEN.empty_table(), *(rows.select(_SEEN.names) for rows in _answered(crawl, manifests, hosts))]
    newest = pa.concat_tables(tables).group_by("origin").aggregate([("fetched_at", "max")]).to_pydict()
    rows = zip(newest["origin"], newest["fetched_at_max"], strict=True)
    known = [{"url_key": url_key(f"{origin}/robots.txt"), "fetched_at": at, "round": 0} for origin, at in rows]
    return pa.Table.from_pylist(known, schema=KNOWN)


_SEEN = pa.schema([ROBOTS.field("origin"), ROBOTS.field("fetched_at")])


def _answered(
    crawl: CrawlDir, manifests: Sequence[Manifest], hosts: Sequence[str], *columns: str
) -> Iterator[pa.Table]:
    """The robots.txt files of some hosts that were answered."""
    for path in paths_of(manifests, "robots"):
        for rows in matching_rows(crawl.root, path, ROBOTS, Wanted("host", hosts), [*_SEEN.names, "verdict", *columns]):
            yield rows.filter(pc.not_equal(rows["verdict"], Verdict.UNREACHABLE))


def robots_texts(crawl: CrawlDir, manifests: Sequence[Manifest], scans: Sequence[str]) -> Iterator[RobotsText]:
    """The robots.txt files in the scanned archives, and those that the crawl knows of the same hosts."""
    hosts: set[str] = set()
    for path in scans:
        with open_parquet(crawl.root, path) as file:
            columns = ["host", "url", "fetched_at", "is_robots", "is_revisit", "rights"]
            for batch in file.iter_batches(_BATCH, columns=columns):
                hosts.update(pc.unique(batch["host"]).to_pylist())
                robots = batch.filter(pc.and_not(batch["is_robots"], batch["is_revisit"]))
                for row in robots.to_pylist():
                    yield RobotsText(origin_of(row["url"]), row["fetched_at"], row["rights"])
    for rows in _answered(crawl, manifests, sorted(hosts), "body"):
        for row in rows.to_pylist():
            yield RobotsText(row["origin"], row["fetched_at"], row["body"])
