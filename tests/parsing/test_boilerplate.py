"""Blocks that stand on most pages of a host leave their texts; what is a page's own stays."""

import pytest
from hypothesis import given, strategies as st

from beamtrawl.transforms.parsing.boilerplate import FEWEST_PAGES, LONG_LIST, without_boilerplate
from beamtrawl.transforms.parsing.html_page import parse_page
from tests.support.content import score
from tests.support.tables import each_row

TREE = [f"Chapter {number}: {word}" for number in range(40) for word in ("tides", "boats", "nets")]
"""The table of contents of a manual."""


def parsed(url, html):
    page = parse_page(html.encode(), url, "text/html", [], "robot")
    assert page is not None
    return url, page


def own(number):
    return [
        f"Station {number}",
        f"The tide at station {number} turns {number * 7} minutes late.",
        "Parameters",
        f"p{number} is its own.",
    ]


def html(*parts):
    blocks = "".join(f"<li>{line}</li>" if line in TREE else f"<p>{line}</p>" for part in parts for line in part)
    return f"<title>T</title><div class=x7>{blocks}</div>"


def texts(pages):
    return [page.text.split("\n") for page in without_boilerplate(pages)]


# what stands before and after a page's own lines
AROUND = {
    "a table of contents before": (lambda number: TREE, lambda number: []),
    "and after": (lambda number: [], lambda number: TREE),
    "one that opens where the reader is": (
        lambda number: [*TREE[: 3 * number], f"Section {number}.1", f"Section {number}.2", *TREE[3 * number :]][:60],
        lambda number: [],
    ),
    "a line at the beginning and at the end": (lambda number: ["Tidal Office"], lambda number: ["All rights reserved"]),
}


@each_row(AROUND)
def test_what_most_pages_have_goes(before, after):
    pages = [parsed(f"http://a.test/{n}.html", html(before(n), own(n), after(n))) for n in range(10)]
    for number, lines in enumerate(texts(pages)):
        assert [line for line in lines if not line.startswith("Section")] == own(number)


def test_the_share_of_own_words_rises_from_a_twentieth_to_all():
    pages = [parsed(f"http://a.test/{n}", html(TREE, own(n))) for n in range(10)]
    wanted = [" ".join(own(number)).lower().split() for number in range(10)]
    wanted = [[word.strip(".:") for word in words] for words in wanted]
    before = [score(page.text, words).precision for (_, page), words in zip(pages, wanted, strict=True)]
    after = [score("\n".join(lines), words) for lines, words in zip(texts(pages), wanted, strict=True)]
    assert max(before) < 0.1
    assert min(found.precision for found in after) == min(found.recall for found in after) == 1


# pages by URL, that keep their texts
KEPT = {
    "too few pages": [(f"http://a.test/{n}", html(TREE, own(n))) for n in range(FEWEST_PAGES - 1)],
    "each on a host of its own": [(f"http://a{n}.test/", html(TREE, own(n))) for n in range(10)],
    "copies of one page, and another": [
        *((f"http://a.test/?{n}", html(TREE, own(1))) for n in range(10)),
        ("http://a.test/2", html(TREE, own(2))),
    ],
    "a list on fewer than enough pages": [
        (f"http://a.test/{n}", html(TREE if n % 2 else [], own(n))) for n in range(10)
    ],
    "prose on half of the pages": [
        (f"http://a.test/{n}", html([f"Whereas: {line}." for line in TREE] if n % 2 else [], own(n))) for n in range(20)
    ],
    "a short list on half of the pages": [
        (f"http://a.test/{n}", html(TREE[: LONG_LIST - 1] if n % 2 else [], own(n))) for n in range(20)
    ],
    "a long list on few of many pages": [
        (f"http://a.test/{n}", html(TREE if n < FEWEST_PAGES else [], own(n))) for n in range(140)
    ],
    "single lines in the middle": [(f"http://a.test/{n}", html(own(n))) for n in range(10)],
    "pages of another user": [
        ("http://a.test/~bob/", html(own(0), TREE)),
        *((f"http://a.test/~eve/{n}", html(TREE if n < FEWEST_PAGES else [], own(n))) for n in range(1, 12)),
    ],
    "a page that has nothing else": [("http://a.test/", html(TREE))],
}


@pytest.mark.parametrize("pages", KEPT.values(), ids=KEPT)
def test_what_stays(pages):
    found = [parsed(url, source) for url, source in pages]
    assert without_boilerplate(found) == [page for _, page in found]


def test_the_page_of_contents_keeps_them():
    pages = [
        parsed("http://a.test/", html(TREE)),
        *(parsed(f"http://a.test/{n}", html(TREE, own(n))) for n in range(9)),
    ]
    first, *others = texts(pages)
    assert first == TREE and others == [own(number) for number in range(9)]


def test_several_manuals_of_a_host_have_a_table_of_contents_each():
    pages = [
        parsed(f"http://a.test/{manual}/{n}/x.html", html([f"{manual} {line}" for line in TREE], own(n)))
        for manual in ("en", "de", "fr")
        for n in range(8)
    ]
    assert texts(pages) == [own(number) for _ in range(3) for number in range(8)]


def test_a_branch_that_is_open_on_some_pages_goes_with_the_tree():
    branch = [f"Section {number}" for number in range(20)]
    pages = [
        parsed(f"http://a.test/{n}", html(TREE[:50], branch if n % 3 == 0 else [], TREE[50:], own(n)))
        for n in range(3 * FEWEST_PAGES)
    ]
    assert texts([*pages]) == [own(number) for number in range(3 * FEWEST_PAGES)]


def test_headings_go_with_their_lines_and_digests_stay():
    menu = "<h2>Menu</h2><p>Home<p>About us"
    pages = [parsed(f"http://a.test/{n}", f"{menu}<h1>Page {n}</h1><p>{' '.join(own(n))}") for n in range(8)]
    after = without_boilerplate(pages)
    assert [page.headings for page in after] == [[f"Page {number}"] for number in range(8)]
    assert [page.digest for page in after] == [page.digest for _, page in pages]


def test_passages_that_no_snippet_may_contain_move_with_the_text():
    middle = "<p>it is <b data-nosnippet>secret {0}</b> of ours<div data-nosnippet><p>and this {0}<p>too</div>"
    pages = [
        parsed(
            f"http://a.test/{n}", "<p data-nosnippet>Tidal Office" + html(TREE) + middle.format(n) + html(own(n), TREE)
        )
        for n in range(8)
    ]
    for number, page in enumerate(without_boilerplate(pages)):
        bounds = zip(page.nosnippet[::2], page.nosnippet[1::2], strict=True)
        found = [passage for start, end in bounds if (passage := page.text[start:end].strip())]
        assert found == [f"secret {number}", f"and this {number}\ntoo"]
        assert "Tidal Office" not in page.text


WORDS = st.lists(st.sampled_from(["a b", "c", "d e f", "x", "y" * 70, "z" * 64]), max_size=12).map("\n".join)


@given(
    st.lists(st.tuples(st.sampled_from(["http://a.test/", "http://a.test/b/", "http://c.test/"]), WORDS), max_size=9)
)
def test_any_pages_keep_a_part_of_their_lines_in_order(found):
    pages = [parsed(url, "".join(f"<p>{line}" for line in text.split("\n"))) for url, text in found]
    for (_, before), after in zip(pages, without_boilerplate(pages), strict=True):
        lines = iter(before.text.split("\n"))
        assert all(line in lines for line in after.text.split("\n"))
        assert bool(after.text) == bool(before.text)
