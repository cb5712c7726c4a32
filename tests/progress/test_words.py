"""The words for committed steps, the end of a crawl, counts, sizes and times."""

import dataclasses
from datetime import UTC, datetime

import pytest

from beamtrawl.pipeline.control import End
from beamtrawl.runners.progress.words import describe_end, describe_manifest
from beamtrawl.runners.terminal.units import duration, size
from beamtrawl.transforms.directory.crawl_dir import Manifest
from beamtrawl.transforms.tables.table_files import TableFile

SIZES = {
    0: "0 B",
    999: "999 B",
    1000: "1.0 kB",
    52_345: "52.3 kB",
    1_000_000: "1.0 MB",
    3_210_000_000: "3.2 GB",
    5e14: "500.0 TB",
}


@pytest.mark.parametrize(("count", "text"), SIZES.items(), ids=SIZES.values())
def test_a_size(count: float, text: str) -> None:
    assert size(count) == text


DURATIONS = {
    0: "0 s",
    1.8: "2 s",
    59.4: "59 s",
    59.6: "1 min 0 s",
    60: "1 min 0 s",
    125: "2 min 5 s",
    3599: "59 min 59 s",
    3600: "1 h 0 min",
    100_000: "27 h 46 min",
}


@pytest.mark.parametrize(("seconds", "text"), DURATIONS.items(), ids=DURATIONS.values())
def test_a_duration(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def manifest(step: str, seconds: int, **counters: int) -> Manifest:
    return Manifest(
        step, 3, "", (), counters, (), "2026-03-01T11:59:00.000+00:00", f"2026-03-01T11:59:{seconds:02}.000+00:00"
    )


COMMITTED = {
    "a fetch step": (
        manifest("fetch", 4, visits_rows=10, timeout=1, fetched=9, robots_rows=2),
        "round 3 fetch: 10 requests in 4.0 s, 2.5/s (fetched 9, timeout 1); 2 of robots.txt",
    ),
    "a fetch step with external targets": (
        manifest("fetch", 4, visits_rows=15, fetched=2, deferred=1, external_visits=12, robots_rows=2),
        "round 3 fetch: 2 requests in 4.0 s, 0.5/s (fetched 2); 2 of robots.txt; 12 external targets;"
        " without a request: deferred 1",
    ),
    "a fetch step without an address to connect to": (
        manifest("fetch", 4, visits_rows=3, blocked_address=1, dns_error=1, deferred=1, robots_rows=2),
        "round 3 fetch: 0 requests in 4.0 s, 0.0/s; without a request: deferred 1, dns_error 1, blocked_address 1",
    ),
    "a fetch step of robots.txt only": (
        manifest("fetch", 4, visits_rows=3, deferred=3, robots_rows=1),
        "round 3 fetch: 0 requests in 4.0 s, 0.0/s; 1 of robots.txt; without a request: deferred 3",
    ),
    "in no time": (manifest("fetch", 0, visits_rows=1, gone=1), "round 3 fetch: 1 request in 0.0 s (gone 1)"),
    "a fetch step in which most URLs wait": (
        manifest("fetch", 20, visits_rows=80, server_error=2, deferred=75, denied_robots=3),
        "round 3 fetch: 2 requests in 20.0 s, 0.1/s (server_error 2); without a request: denied_robots 3, deferred 75",
    ),
    "an update step": (
        manifest("update", 2, documents_rows=8, duplicates=3, links_rows=99, frontier_waiting=40),
        "round 3 update: 8 documents (3 duplicates), 99 links, 40 URLs in the next frontier, in 2.0 s",
    ),
    "an update of nothing": (
        manifest("update", 1),
        "round 3 update: 0 documents (0 duplicates), 0 links, 0 URLs in the next frontier, in 1.0 s",
    ),
    "a merge of all kinds of files": (
        dataclasses.replace(
            manifest("compact", 2),
            files=(TableFile("urls", "u", 9, 9, {}), TableFile("frontier", "f", 9, 9, {})),
            index=("s",),
            index_replaced=("a", "b"),
            replaced=("c", "d", "e"),
            consumed=("g",),
        ),
        "round 3 compact: 2 segments of the index merged into 1, 3 files of tables merged into 1, 1 file of the"
        " frontier merged into 1, in 2.0 s",
    ),
}


@pytest.mark.parametrize(("committed", "line"), COMMITTED.values(), ids=COMMITTED)
def test_a_committed_step(committed: Manifest, line: str) -> None:
    assert describe_manifest(committed) == line


ENDS = {
    "frontier_empty": (End("frontier_empty", 3), "the frontier is empty"),
    "depth": (
        End("frontier_empty", 3, depth=2),
        "the frontier is empty; links beyond a depth of 2 were not followed (--depth)",
    ),
    "rounds": (End("rounds", 3), "3 rounds done, 40 URLs in the frontier"),
    "max_pages": (
        End("max_pages", 3, max_pages=1000),
        "the limit of 1000 pages is reached, 40 URLs in the frontier; to go on, raise limits.max_pages (--max-pages)",
    ),
    "one round": (
        End("rounds", 1, excluded=1),
        "1 round done, 40 URLs in the frontier, among them 1 URL that the settings"
        " exclude (explain URL names the rule)",
    ),
    "one held": (
        End("frontier_empty", 3, held=1, blocked=1),
        "the frontier is empty but for 1 URL that is blocked; 1 URL is held as traps; to release them: COMMAND",
    ),
    "stopped": (End("stopped", 3), "stopped, 40 URLs in the frontier; the same command goes on"),
    "not_due": (
        End("not_due", 3, datetime(2026, 3, 1, 12, 30, tzinfo=UTC)),
        "40 URLs wait until 2026-03-01 12:30:00 UTC; the same command goes on then",
    ),
    "refused": (
        End("not_due", 3, datetime(2026, 3, 1, 12, 30, tzinfo=UTC), refused=2),
        "40 URLs wait until 2026-03-01 12:30:00 UTC; the same command goes on then;"
        " the addresses of 2 hosts are refused: with other settings (--allow-address) it goes on at once",
    ),
    "blocked": (End("frontier_empty", 3, blocked=40), "the frontier is empty but for 40 URLs that are blocked"),
    "excluded": (
        End("frontier_empty", 3, excluded=40),
        "the frontier is empty but for 40 URLs that the settings exclude (explain URL names the rule)",
    ),
    "blocked and excluded, and held": (
        End("frontier_empty", 3, held=9, blocked=30, excluded=10),
        "the frontier is empty but for 30 URLs that are blocked and 10 URLs that the settings exclude (explain URL"
        " names the rule); 9 URLs are held as traps; to release them: COMMAND",
    ),
    "some excluded": (
        End("rounds", 3, excluded=10),
        "3 rounds done, 40 URLs in the frontier, among them 10 URLs that the settings exclude (explain URL names the"
        " rule)",
    ),
    "excluded, others not due": (
        End("not_due", 3, datetime(2026, 3, 1, 12, 30, tzinfo=UTC), blocked=5, excluded=10),
        "25 URLs wait until 2026-03-01 12:30:00 UTC; the same command goes on then; besides, the frontier has 5 URLs"
        " that are blocked and 10 URLs that the settings exclude (explain URL names the rule)",
    ),
    "all excluded, a revisit planned": (
        End("not_due", 3, datetime(2026, 3, 1, 12, 30, tzinfo=UTC), excluded=40),
        "no page is due until 2026-03-01 12:30:00 UTC; the same command goes on then; besides, the frontier has 40"
        " URLs that the settings exclude (explain URL names the rule)",
    ),
}


@pytest.mark.parametrize(("end", "line"), ENDS.values(), ids=ENDS)
def test_the_end_of_a_crawl(end: End, line: str) -> None:
    assert describe_end(end, 40, "COMMAND") == line
