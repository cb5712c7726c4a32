"""What a host answers to paths that cannot exist, and which pages that makes soft 404s; a crawl: test_crawls.py."""

import dataclasses
import re

import pytest

from beamtrawl.transforms.batches.batch_schemas import YieldRow
from beamtrawl.transforms.documents.page_yield import yield_rows
from beamtrawl.transforms.parsing.html_page import parse_page
from beamtrawl.transforms.tables.schemas import VISITS
from beamtrawl.transforms.traps.page_words import hashes, page_words
from beamtrawl.transforms.traps.soft_404 import Answers, ErrorPages, Evidence, impossible_urls, suspected

# URL: the pattern of those that cannot exist
IMPOSSIBLE = {
    "http://a.test/b/c.html": r"http://a\.test/b/[a-z]{12}\.html",
    "http://a.test/b/c/": r"http://a\.test/b/[a-z]{12}/",
    "http://a.test/c": r"http://a\.test/[a-z]{12}",
    "http://a.test/b/2026/11": r"http://a\.test/b/2026/[a-z]{12}",
}


@pytest.mark.parametrize(("url", "pattern"), IMPOSSIBLE.items(), ids=IMPOSSIBLE)
def test_what_cannot_exist_is_beside_a_page(url: str, pattern: str) -> None:
    made = impossible_urls(url, b"key")
    assert all(re.fullmatch(pattern, one) for one in made)
    assert impossible_urls(url, b"key") == made
    assert len({*made, *impossible_urls(url, b"other"), *impossible_urls(made[0], b"key")}) == 6


def row(url: str, title: str, text: str | None, links: tuple[str, ...] = ()) -> YieldRow:
    words = page_words(title, text or "", url, links)
    found = dict.fromkeys(YieldRow.__annotations__) | {"url": url, "title_words": words.title, "frame": 7}
    return found | {"words": None if text is None else words.text, "own_words": words.own}  # type: ignore[return-value]


FIRST, SECOND = "http://a.test/b/qwertyuiopas.html", "http://a.test/b/asdfghjklqwe.html"
SORRY = "Sorry, there is nothing here by the name of"

# texts of the two answers, None for no page: what they tell
ANSWERS = {
    "errors": (None, None, ErrorPages.NONE),
    "a page and an error": ("Welcome to a page", None, ErrorPages.NONE),
    "an error and a page": (None, "Welcome to a page", ErrorPages.NONE),
    "the same page": ("Please look elsewhere", "Please look elsewhere", ErrorPages.SAME),
    "the same words and the name": (f"{SORRY} qwertyuiopas", f"{SORRY} asdfghjklqwe", ErrorPages.SAME),
    "other words each time": ("bado kafu rilo mesa", "tiki lemo sadu nofe", ErrorPages.RANDOM),
}


@pytest.mark.parametrize(("first", "second", "answer"), ANSWERS.values(), ids=ANSWERS)
def test_answers_tell_whether_a_host_answers_anything(
    first: str | None, second: str | None, answer: ErrorPages
) -> None:
    one, other = row(FIRST, "Oh", first), row(SECOND, "Oh", second)
    assert Answers.of([one]).answer == (ErrorPages.NONE if first is None else ErrorPages.ASKED)
    assert Answers.of([one, other]).answer == answer


SAME = Answers.of([row(url, "Nothing found", f"{SORRY} {url}") for url in (FIRST, SECOND)])
GONE = "http://a.test/b/rado-12/lemo/"

# what is known of the family, page, whether it is one of a series: whether it is a soft 404
PAGES = {
    "the answer, with the words of its URL": (SAME, row(GONE, "Nothing found", f"{SORRY} rado-12 lemo"), False, True),
    "the answer with its URL in the title": (SAME, row(GONE, "Nothing found: lemo", f"{SORRY} rado-12"), False, True),
    "the answer with the words of its links": (
        SAME,
        row(GONE, "Nothing found", f"{SORRY} kita masu", (f"{GONE}kita/x/", f"{GONE}masu/")),
        False,
        True,
    ),
    "a page of its own": (SAME, row(GONE, "Lemo", "A town in the north"), False, False),
    "a page in the answer's words and two of its own": (
        SAME, row(GONE, "Nothing found", f"{SORRY} bado kafu"), False, False,
    ),
    "a host that answers errors": (Answers(ErrorPages.NONE), row(GONE, "Lemo", "Lemo"), True, False),
    "a host that has not answered": (Answers(ErrorPages.ASKED), row(GONE, "Lemo", "Lemo"), True, False),
    "random answers, a series": (Answers(ErrorPages.RANDOM), row(GONE, "Bado", "kafu rilo mesa"), True, True),
    "random answers, linked from news": (Answers(ErrorPages.RANDOM), row(GONE, "Bado", "kafu rilo mesa"), False, False),
    "random answers in one frame": (Answers(ErrorPages.RANDOM, frame=7), row(GONE, "Oh", "kafu rilo"), False, True),
    "random answers in another frame": (Answers(ErrorPages.RANDOM, frame=8), row(GONE, "Oh", "kafu"), False, False),
}  # fmt: skip


@pytest.mark.parametrize(("known", "page", "is_series", "is_soft"), PAGES.values(), ids=PAGES)
def test_pages_like_the_answer_are_soft_404s(known: Answers, page: YieldRow, is_series: bool, is_soft: bool) -> None:
    assert known.has(page, is_series=is_series) == is_soft


# folders of pages, folders of the pages that link them, pages, how many of these others link, whether they are named,
# pages that link them: the families to be asked
SUSPICIONS = {
    "pages that such pages link": ("ab", "ab", 8, 0, False, 4, {"/a/**.html", "/b/**.html"}),
    "fewer": ("ab", "ab", 7, 0, False, 3, set()),
    "of a list": ("ab", "c", 99, 0, False, 9, set()),
    "that link each other": ("a", "a", 99, 99, False, 9, set()),
    "half of which link each other": ("a", "a", 20, 10, False, 4, {"/a/**.html"}),
    "most of which link each other": ("a", "a", 20, 11, False, 4, set()),
    "one of each page that links them": ("a", "a", 20, 0, False, 20, set()),
    "named pages of a list": ("a", "c", 8, 0, True, 1, {"/a/**.html"}),
    "few of them": ("a", "c", 7, 0, True, 1, set()),
}


@pytest.mark.parametrize(
    ("folders", "origins", "count", "linked", "is_named", "sources", "asked"), SUSPICIONS.values(), ids=SUSPICIONS
)
def test_a_host_is_asked_for_pages_that_lead_on(folders, origins, count, linked, is_named, sources, asked) -> None:
    pages = [
        Evidence(
            row(f"http://a.test/{folder}/kafu{number}.html", "Sorry", "")
            | {"referrer": f"http://a.test/{number % sources}"},
            f"/{folder}/**.html",
            f"/{origins[number % len(origins)]}",
            is_named,
        )
        for number in range(count)
        for folder in folders[number % len(folders)]
    ]
    sizes, home = {f"/{folder}/**.html": count for folder in folders}, row("http://a.test/", "Home", "")
    visited = [home | {"links": hashes(one.page["url"] for one in pages[:linked])}, *(one.page for one in pages)]
    assert suspected(pages, visited, sizes).keys() == asked
    queries = [one._replace(page=one.page | {"url": f"{GONE}?x=1"}) for one in pages]
    assert not suspected(queries, [home, *(one.page for one in queries)], sizes)


def test_a_page_among_others_has_the_frame_of_an_answer_to_a_probe() -> None:
    """Headings that most pages of a batch share are removed from these, not from the answer."""
    url = "http://a.test/b/kafu.html"
    page = parse_page(b"<title>Sorry</title><h1>Sorry</h1>", url, "text/html", (), "robot")
    assert page is not None
    assert page.headings
    visit = dict.fromkeys(VISITS.names) | {"url": url}
    answer, other = yield_rows([(visit, page), (visit, dataclasses.replace(page, headings=()))])  # type: ignore[list-item]
    assert answer["frame"] == other["frame"]
