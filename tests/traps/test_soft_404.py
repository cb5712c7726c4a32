"""What a host answers to paths that cannot exist, and which pages that makes soft 404s; a crawl: test_crawls.py."""

import dataclasses
import re

import pytest

from beamtrawl.transforms.batches.batch_schemas import YieldRow
from beamtrawl.transforms.documents.page_yield import yield_rows
from beamtrawl.transforms.parsing.html_page import parse_page
from beamtrawl.transforms.tables.schemas import VISITS
from beamtrawl.transforms.traps.page_words import hashes
from beamtrawl.transforms.traps.soft_404 import Evidence, frames_of, impossible_url, suspected

# URL: the pattern of those that cannot exist
IMPOSSIBLE = {
    "http://a.test/b/c.html": r"http://a\.test/b/[a-z]{12}\.html",
    "http://a.test/b/c/": r"http://a\.test/b/[a-z]{12}/",
    "http://a.test/c": r"http://a\.test/[a-z]{12}",
    "http://a.test/b/2026/11": r"http://a\.test/b/2026/[a-z]{12}",
}


@pytest.mark.parametrize(("url", "pattern"), IMPOSSIBLE.items(), ids=IMPOSSIBLE)
def test_what_cannot_exist_is_beside_a_page(url: str, pattern: str) -> None:
    made = impossible_url(url, b"key")
    assert re.fullmatch(pattern, made)
    assert impossible_url(url, b"key") == made
    assert len({made, impossible_url(url, b"other"), impossible_url(made, b"key")}) == 3


FRAME = 7


def page(url: str, frame: int = FRAME) -> YieldRow:
    return dict.fromkeys(YieldRow.__annotations__) | {"url": url, "frame": frame}  # type: ignore[return-value]


# columns of rows of trap_samples, oldest first, with the rest of their template: the frame of the answer
ANSWERED = {
    "asked": ([("", "asked", None)], None),
    "no page": ([("", "asked", None), ("", "none", None)], None),
    "a page": ([("", "asked", None), ("", "one", FRAME)], FRAME),
    "two answers of an earlier version": ([(".html", "same", FRAME), ("/", "random", None)], FRAME),
}


@pytest.mark.parametrize(("rows", "frame"), ANSWERED.values(), ids=ANSWERED)
def test_the_answer_of_a_folder_is_its_frame(rows: list, frame: int | None) -> None:
    named = [
        {"template": f"/b/**{end}", "round": number, "answer": answer, "answer_frame": known}
        for number, (end, answer, known) in enumerate(rows)
    ]
    unasked = {"template": "/c/**", "round": 1, "answer": None}
    assert frames_of([unasked, *reversed(named)]) == {"/b": frame}


# folders of pages, of the pages that link them, pages, their frames, how many of these others link: the folders asked
SUSPICIONS = {
    "in one frame": ("ab", "ab", 8, 1, 0, {"/a", "/b"}),
    "fewer": ("ab", "ab", 7, 1, 0, set()),
    "of a list": ("ab", "c", 99, 1, 0, set()),
    "in frames of their own": ("a", "a", 99, 20, 0, set()),
    "that link each other": ("a", "a", 99, 1, 99, set()),
    "some of which others link": ("a", "a", 20, 1, 12, {"/a"}),
    "most of which others link": ("a", "a", 20, 1, 13, set()),
    "in many folders": ("abcdefghijkl", "a", 24, 1, 0, {f"/{name}" for name in "abcdefgh"}),
    "one in each of many folders": ("abcdefghijkl", "a", 12, 1, 0, set()),
}


@pytest.mark.parametrize(
    ("folders", "sources", "count", "frames", "known", "asked"), SUSPICIONS.values(), ids=SUSPICIONS
)
def test_a_folder_is_asked_for_pages_in_one_frame(folders, sources, count, frames, known, asked) -> None:
    pages = [
        Evidence(
            page(f"http://a.test/{(name := folders[number % len(folders)])}/kafu{number}", number % frames),
            f"/{name}",
            f"/{sources[number % len(sources)]}",
        )
        for number in range(count)
    ]
    links = [hashes(map(str, range(99))), hashes(one.page["url"] for one in pages[:known])]
    assert suspected(pages, links).keys() == asked


def test_a_page_among_others_has_the_frame_of_an_answer_to_a_probe() -> None:
    """Headings that most pages of a batch share are removed from these, not from the answer."""
    url = "http://a.test/b/kafu.html"
    page = parse_page(b"<title>Sorry</title><h1>Sorry</h1>", url, "text/html", (), "robot")
    assert page is not None
    assert page.headings
    visit = dict.fromkeys(VISITS.names) | {"url": url}
    answer, other = yield_rows([(visit, page), (visit, dataclasses.replace(page, headings=()))])  # type: ignore[list-item]
    assert answer["frame"] == other["frame"]
