"""Which folders of the index are removed."""

from datetime import UTC, datetime, timedelta

from beamtrawl.transforms.directory.crawl_dir import Manifest, iso
from beamtrawl.transforms.indexing.retention import unread_folders
from tests.support.tables import each_row

START = datetime(2026, 1, 1, tzinfo=UTC)


def manifest(step: str, round_: int, hour: int, **fields: object) -> Manifest:
    at = iso(START + timedelta(hours=hour))
    return Manifest(step, round_, "digest", (), {}, (), at, at, **fields)  # type: ignore[arg-type]


# Rounds 1 to 3 have a segment each; after round 2, the first two are merged; after round 3, links are ranked anew.
CRAWL = [
    manifest("update", 1, 1, index=("a",), index_links={"a": "la"}),
    manifest("update", 2, 2, index=("b",), index_links={"b": "lb"}),
    manifest("compact", 2, 3, index=("ab",), index_links={"ab": "lab"}, index_replaced=("a", "b")),
    manifest("update", 3, 4, index=("c",), index_links={"c": "lc"}),
    manifest("rank", 3, 5, index_links={"ab": "lab2", "c": "lc2"}),
]
ALL_REPLACED = ["a", "b", "la", "lab", "lb", "lc"]

# rounds, hour from which on readers may have the index open, the folders that are removed
CASES = {
    "only the index of now": (0, 99, ALL_REPLACED),
    "a reader has it open since before the ranking": (0, 5, ["a", "b", "la", "lb"]),
    "a reader has it open since before the merge": (0, 3, []),
    "as of the last round": (1, 99, ["a", "b", "la", "lb"]),
    "as of the last two rounds": (2, 99, []),
    "as of more rounds than there are": (9, 99, []),
}


@each_row(CASES)
def test_folders(rounds: int, hour: int, expected: list[str]) -> None:
    assert unread_folders(CRAWL, rounds, START + timedelta(hours=hour)) == expected


def test_folders_are_removed_once() -> None:
    crawl = [*CRAWL, manifest("compact", 3, 6, index_dropped=tuple(ALL_REPLACED))]
    assert unread_folders(crawl, 0, START + timedelta(hours=99)) == []


def test_a_crawl_without_an_index() -> None:
    assert unread_folders([], 3, START) == []
