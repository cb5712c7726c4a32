"""What a host answers to paths that cannot exist, and which pages that makes soft 404s; a crawl: test_crawls.py."""

import dataclasses
import re

import pytest

from beamtrawl.transforms.batches.batch_schemas import YieldRow
from beamtrawl.transforms.documents.page_yield import yield_rows
from beamtrawl.transforms.parsing.html_page import parse_page
from beamtrawl.transforms.tables.schemas import VISITS
from beamtrawl.transforms.traps.page_words import Shown, page_words
from beamtrawl.transforms.traps.soft_404 import Answers, ErrorPages, Suspicion, alike, impossible_urls, learn

# URL: the pattern of those that cannot exist
IMPOSSIBLE = {
    "http://a.test/b/c.html": r"http://a\.test/b/[a-z]{12}\.html",
    "http://a.test/b/c/": r"http://a\.test/b/[a-z]{12}/",
    "http://a.test/c": r"http://a\.test/[a-z]{12}",
    "http://a.test/b/2026/11": r"http://a\.test/b/2026/[a-z]{12}",
}


@pytest.mark.parametrize(("url", "pattern"), IMPOSSIBLE.items(), ids=IMPOSSIBLE)
def test_what_cannot_exist_is_beside_a_page(url: str, pattern: str) -> None:
    urls = impossible_urls(url, b"key")
    assert len(set(urls)) == 2
    assert all(re.fullmatch(pattern, each) for each in urls)
    assert impossible_urls(url, b"key") == urls
    assert not set(impossible_urls(url, b"other")) & set(urls)


def row(url: str, title: str, text: str | None, links: tuple[str, ...] = ()) -> YieldRow:
    words = page_words([Shown(title, text or "", url, links)])[0]
    found = dict.fromkeys(YieldRow.__annotations__) | {"url": url, "title_words": words.title, "frame": 7}
    return found | {"words": None if text is None else words.text, "own_words": words.own}  # type: ignore[return-value]


FIRST, SECOND = "http://a.test/b/qwertyuiopas.html", "http://a.test/b/asdfghjklqwe.html"
SORRY = "Sorry, there is nothing here by the name of"

# texts of the two answers, None for no page: what they tell
ANSWERS = {
    "errors": (None, None, ErrorPages.NONE),
    "an error and a page": (None, "Welcome to a page", ErrorPages.NONE),
    "the same page": ("Please look elsewhere", "Please look elsewhere", ErrorPages.SAME),
    "the same words and the name": (f"{SORRY} qwertyuiopas", f"{SORRY} asdfghjklqwe", ErrorPages.SAME),
    "other words each time": ("bado kafu rilo mesa", "tiki lemo sadu nofe", ErrorPages.RANDOM),
}


@pytest.mark.parametrize(("first", "second", "answer"), ANSWERS.values(), ids=ANSWERS)
def test_answers_tell_whether_a_host_answers_anything(
    first: str | None, second: str | None, answer: ErrorPages
) -> None:
    assert learn([row(FIRST, "Oh", first), row(SECOND, "Oh", second)]).answer == answer


SAME = learn([row(url, "Nothing found", f"{SORRY} {url}") for url in (FIRST, SECOND)])
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


# URL, whether each page is named and of a series, number of pages: whether the host is asked
SUSPICIONS = {
    "one page in words of its URL": (GONE, True, False, 1, False),
    "two of them": (GONE, True, False, 2, True),
    "queries": (f"{GONE}?x=1", True, False, 9, False),
    "few of a series": (GONE, False, True, 7, False),
    "more of a series": (GONE, False, True, 8, True),
    "others": (GONE, False, False, 99, False),
}


@pytest.mark.parametrize(("url", "is_named", "is_series", "count", "asks"), SUSPICIONS.values(), ids=SUSPICIONS)
def test_a_host_is_asked_only_for_what_is_suspicious(
    url: str, is_named: bool, is_series: bool, count: int, asks: bool
) -> None:
    suspicion = Suspicion()
    for _ in range(count):
        suspicion.add(row(url, "", ""), is_named=is_named, is_series=is_series)
    assert bool(suspicion) == asks


# folders of pages in one frame, folders of the pages that link them, pages, different frames: the families to be asked
FRAMED = {
    "pages that lead on and on": ("ab", "ab", 8, 1, {"/a/**.html", "/b/**.html"}),
    "fewer": ("ab", "ab", 7, 1, set()),
    "in different frames": ("ab", "ab", 8, 2, set()),
    "from a list": ("ab", "c", 99, 1, set()),
}  # fmt: skip


@pytest.mark.parametrize(("folders", "sources", "count", "frames", "asked"), FRAMED.values(), ids=FRAMED)
def test_pages_in_one_frame_are_suspicious_if_such_pages_lead_to_them(
    folders: str, sources: str, count: int, frames: int, asked: set[str]
) -> None:
    pages = []
    for number in range(count):
        folder, source = folders[number % len(folders)], sources[-1 - number % len(sources)]
        page = row(f"http://a.test/{folder}/kafu{number}.html", "Sorry", "")
        page |= {"referrer": f"http://a.test/{source}/rilo.html", "frame": number % frames}  # type: ignore[assignment]
        pages.append((f"/{folder}/**.html", page))
    assert alike(pages).keys() == asked


def test_a_page_among_others_has_the_frame_of_an_answer_to_a_probe() -> None:
    """Headings that most pages of a batch share are removed from these, not from the answer."""
    url = "http://a.test/b/kafu.html"
    page = parse_page(b"<title>Sorry</title><h1>Sorry</h1>", url, "text/html", (), "robot")
    assert page is not None
    assert page.headings
    visit = dict.fromkeys(VISITS.names) | {"url": url}
    answer, other = yield_rows([(visit, page), (visit, dataclasses.replace(page, headings=()))])  # type: ignore[list-item]
    assert answer["frame"] == other["frame"]
