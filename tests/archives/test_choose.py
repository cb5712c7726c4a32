"""Which captures become visits."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from beamtrawl.transforms.archives.captures import SCAN
from beamtrawl.transforms.archives.choose import KNOWN, STORED, Choice, Chosen, first_pages
from beamtrawl.transforms.urls.canonical import url_key

START = datetime(2025, 1, 1, tzinfo=UTC)


def at(day: int) -> datetime:
    return START + timedelta(days=day)


def capture(path: str, day: int, **more: Any) -> dict[str, Any]:
    url = f"http://a.test/{path}"
    row = {"url_key": url_key(url), "url": url, "host": "a.test", "fetched_at": at(day), "is_robots": False}
    return row | {"is_failure": False, "is_revisit": False} | more


def revisit(path: str, day: int, of: str, of_day: int | None, digest: str | None = None) -> dict[str, Any]:
    original = {"original_key": url_key(f"http://a.test/{of}"), "original_at": None if of_day is None else at(of_day)}
    return capture(path, day, is_revisit=True, digest=digest, **original)


def known(path: str, day: int | None, round_: int = 1, **more: Any) -> dict[str, Any]:
    found = {"url_key": url_key(f"http://a.test/{path}"), "fetched_at": None if day is None else at(day)}
    return found | {"round": round_, "is_page": True} | more


@pytest.fixture
def choice(tmp_path: Path) -> Iterator[Choice]:
    opened = Choice(str(tmp_path))
    yield opened
    opened.close()


def choose(
    choice: Choice, files: list[list[dict[str, Any]]], before: list[dict[str, Any]] | None = None
) -> tuple[Chosen, list[tuple[str, int, int, int | None]]]:
    """(counts, the visits as (path, day, file, number of the record))"""
    for number, rows in enumerate(files):
        numbered = [row | {"number": place} for place, row in enumerate(rows)]
        choice.add("captures", pa.Table.from_pylist(numbered, schema=SCAN), number)
    choice.add("known", pa.Table.from_pylist(before or [], schema=KNOWN))
    counts = choice.choose()
    rows = [row for _, batches in choice.plans() for batch in batches for row in batch.to_pylist()]
    return counts, sorted(
        (row["url"][14:], (row["fetched_at"] - START).days, row["file"], row["number"]) for row in rows
    )


def test_the_newest_capture_of_a_url_counts(choice: Choice) -> None:
    counts, visits = choose(choice, [[capture("a", 1), capture("b", 3)], [capture("a", 2), capture("a", 0)]])
    assert visits == [("a", 2, 1, 0), ("b", 3, 0, 1)]
    assert counts == Chosen(visits=2, robots=0, known=0, older=2, revisit=0, revisit_differs=0)


def test_of_equally_old_ones_the_first_file_counts_whatever_their_contents(choice: Choice) -> None:
    counts, visits = choose(choice, [[capture("a", 1, digest="x")], [capture("a", 1, digest="y")]])
    assert visits == [("a", 1, 0, 0)]
    assert counts.older == 1


def test_what_is_not_newer_than_the_last_answer_is_known(choice: Choice) -> None:
    captures = [capture(path, 5) for path in "abcd"]
    before = [known("a", 5), known("b", 4), known("c", 6), known("d", None)]
    counts, visits = choose(choice, [captures], before)
    assert visits == [("b", 5, 0, 1), ("d", 5, 0, 3)]
    assert counts.known == 2


def test_the_newest_row_of_what_is_known_counts(choice: Choice) -> None:
    _, visits = choose(choice, [[capture("a", 5)]], [known("a", 9, round_=1), known("a", 4, round_=2)])
    assert visits == [("a", 5, 0, 0)]


def test_a_temporary_failure_counts_only_if_nothing_else_is_known(choice: Choice) -> None:
    failures = [capture(path, 9, is_failure=True) for path in "abc"]
    counts, visits = choose(choice, [[*failures, capture("a", 1)]], [known("b", 1)])
    assert visits == [("a", 1, 0, 3), ("c", 9, 0, 2)]
    assert (counts.known, counts.older) == (1, 1)


def test_a_second_time_adds_nothing(tmp_path: Path) -> None:
    files = [
        [capture("a", 1), capture("a", 2), capture("b", 9, is_failure=True), capture("b", 3)],
        [capture("c", 1, is_failure=True), revisit("d", 4, "a", 1), capture("r", 1, is_robots=True)],
    ]
    before: list[dict[str, Any]] = []
    for number in (1, 2):
        (folder := tmp_path / str(number)).mkdir()
        opened = Choice(str(folder))
        counts, visits = choose(opened, files, before)
        opened.close()
        before = [known(path, day) for path, day, *_ in visits]
        assert (counts.visits, counts.robots) == ((4, 1) if number == 1 else (0, 0))


def test_a_revisit_has_the_payload_that_it_names(choice: Choice) -> None:
    counts, visits = choose(
        choice,
        [
            [capture("a", 1, digest="x"), capture("a", 2, digest="y")],
            [revisit("by-date", 3, "a", 1), revisit("by-digest", 3, "a", None, "y"), revisit("a", 4, "a", 2, "y")],
        ],
    )
    assert visits == [("a", 4, 0, 1), ("by-date", 3, 0, 0), ("by-digest", 3, 0, 1)]
    assert counts.revisit == 0


def test_a_revisit_of_what_is_not_here_is_left_out_for_an_older_capture(choice: Choice) -> None:
    counts, visits = choose(
        choice,
        [[capture("a", 1), revisit("a", 5, "gone", 1), revisit("b", 5, "a", 3), revisit("c", 5, "a", 1, "other")]],
    )
    assert visits == [("a", 1, 0, 0), ("c", 5, 0, 0)]  # no digest contradicts that of c
    assert (counts.revisit, counts.revisit_differs) == (1, 1)


def test_the_nearest_of_originals_before_and_after_counts(choice: Choice) -> None:
    originals = [capture("a", day, digest="x") for day in (1, 4, 9)]
    revisits = [revisit(f"r{day}", 20, "a", day, "x") for day in (0, 2, 3, 8, 11)]
    _, visits = choose(choice, [originals, revisits])
    assert [(path, number) for path, _, _, number in visits if path != "a"] == [
        *(("r0", 0), ("r11", 2), ("r2", 0), ("r3", 1), ("r8", 2))
    ]


def test_many_revisits_of_one_url_cost_no_product_of_their_numbers(choice: Choice) -> None:
    one, other = capture("a", 0, digest="x"), revisit("a", 0, "a", None, "x")
    seconds = [timedelta(seconds=number) for number in range(4000)]
    originals = [one | {"fetched_at": START + second} for second in seconds]
    revisits = [other | {"fetched_at": START + second} for second in seconds]
    started = time.process_time()
    counts, _ = choose(choice, [originals, revisits])
    assert time.process_time() - started < 5  # 35 s for each pair
    assert counts == Chosen(visits=1, robots=0, known=0, older=7999, revisit=0, revisit_differs=0)


def test_a_digest_that_contradicts_is_no_original(choice: Choice) -> None:
    counts, visits = choose(choice, [[capture("a", 1, digest="x"), revisit("b", 5, "a", 1, "y")]])
    assert (visits, counts.revisit_differs) == ([("a", 1, 0, 0)], 1)


def stored(path: str, day: int, number: int, digest: str | None, is_page: bool = True) -> dict[str, Any]:
    key = url_key(f"http://a.test/{path}")
    return {"url_key": key, "fetched_at": at(day), "number": number, "digest": digest, "is_page": is_page}


# what an earlier import has of a, what the crawl knows of it, a revisit, the visit that it becomes, what is counted
EARLIER = {
    "another URL": ([stored("a", 1, 7, "x")], [], revisit("b", 5, "a", 1, "x"), ("b", 5, 9, 7), ()),
    "another date": ([stored("a", 1, 7, "x")], [], revisit("b", 5, "a", 3, "x"), ("b", 5, 9, 7), ()),
    "another digest": ([stored("a", 1, 7, "x")], [], revisit("b", 5, "a", 1, "y"), None, ("revisit_differs",)),
    "no digest": ([stored("a", 1, 7, "x")], [], revisit("b", 5, "a", 1), None, ("revisit_differs",)),
    "not compared": ([stored("a", 1, 7, None)], [], revisit("b", 5, "a", 1, "x"), None, ("revisit_differs",)),
    "not the URL": ([stored("a", 1, 7, "x")], [], revisit("b", 5, "c", 1, "x"), None, ("revisit",)),
    "an error page": ([stored("a", 1, 7, "x", False)], [], revisit("b", 5, "a", 1, "x"), ("b", 5, 9, 7), ()),
    "unchanged": ([stored("a", 1, 7, "x")], [known("a", 1)], revisit("a", 5, "a", 1, "x"), ("a", 5, 0, None), ()),
    "a later version": (
        [stored("a", 1, 7, "x"), stored("a", 2, 8, "y")],
        [known("a", 2)],
        revisit("a", 5, "a", 1, "x"),
        ("a", 5, 9, 7),
        (),
    ),
    "a version that is nowhere": (
        [stored("a", 1, 7, "x")],
        [known("a", 1)],
        revisit("a", 5, "a", 3, "y"),
        None,
        ("revisit_differs",),
    ),
    "a version of a live crawl": (
        [stored("a", 1, 7, "x"), stored("a", 2, 8, None)],
        [known("a", 2)],
        revisit("a", 5, "a", 2, "y"),
        ("a", 5, 0, None),
        (),
    ),
}


@pytest.mark.parametrize(("earlier", "before", "row", "visit", "counted"), EARLIER.values(), ids=EARLIER)
def test_a_revisit_has_a_payload_of_an_earlier_import_that_was_compared_with_its_digest(
    earlier: list[dict[str, Any]],
    before: list[dict[str, Any]],
    row: dict[str, Any],
    visit: tuple[str, int, int, int | None] | None,
    counted: tuple[str, ...],
    choice: Choice,
) -> None:
    choice.add("stored", pa.Table.from_pylist(earlier, schema=STORED), 9)
    counts, visits = choose(choice, [[row]], before)
    assert visits == ([visit] if visit else [])
    assert {name for name in ("revisit", "revisit_differs") if getattr(counts, name)} == set(counted)


def test_a_capture_of_another_part_gives_its_payload_and_becomes_no_visit(choice: Choice) -> None:
    others = [capture("a", 1, number=4), capture("bad", 1, number=5, is_failure=True), revisit("c", 1, "a", 1)]
    choice.add("elsewhere", pa.Table.from_pylist(others, schema=SCAN), 3)
    counts, visits = choose(choice, [[revisit("b", 5, "a", 1), revisit("d", 5, "bad", 1)]])
    assert (visits, counts.visits, counts.revisit) == ([("b", 5, 3, 4)], 1, 1)


def test_a_revisit_of_a_known_page_says_that_it_has_not_changed(choice: Choice) -> None:
    revisits = [revisit("a", 5, "a", 1), revisit("b", 5, "b", 1)]
    counts, visits = choose(choice, [revisits], [known("a", 1), known("b", 1, is_page=False)])
    assert visits == [("a", 5, 0, None)]
    assert counts.revisit == 1


def test_plans_leave_out_what_was_read_before(choice: Choice) -> None:
    rows = pa.Table.from_pylist([capture(path, 1, number=0) for path in "ab"], schema=SCAN)
    choice.add("captures", rows, 0)
    choice.choose()
    plans = choice.plans({url_key("http://a.test/a")})
    assert [url for _, rows in plans for batch in rows for url in batch["url"].to_pylist()] == ["http://a.test/b"]


def test_plans_are_by_file_whatever_the_batches(choice: Choice) -> None:
    """More captures than a batch, of many small files and a large one, each in the order of the file."""
    sizes = [1, 2, 30_000, 0, 3]
    for file, size in enumerate(sizes):
        rows = [capture(f"{file}/{number}", 1, number=number) for number in reversed(range(size))]
        choice.add("captures", pa.Table.from_pylist(rows, schema=SCAN), file)
    choice.choose()
    found = [
        (file, [number for rows in batches for number in rows["number"].to_pylist()])
        for file, batches in choice.plans()
    ]
    assert found == [(file, list(range(size))) for file, size in enumerate(sizes) if size]


def test_the_first_page_of_each_host_is_the_nearest() -> None:
    tables = [
        [capture("deep", 1, depth=2), capture("longer", 1)],
        [capture("b", 1, depth=0)],
        [capture("robots.txt", 1, is_robots=True)],
    ]
    found = first_pages(pa.Table.from_pylist(rows, schema=SCAN) for rows in tables)
    assert found == [("a.test", "http://a.test/b")]
