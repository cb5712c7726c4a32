"""Sections: where they begin, their ids, and what a place in the text leads to."""

import time

import pytest

from beamtrawl.transforms.indexing.write_segment import without_passages as text_without
from beamtrawl.transforms.parsing import html_tree, main_text
from beamtrawl.transforms.parsing.boilerplate import without_boilerplate
from beamtrawl.transforms.parsing.html_page import parse_page
from beamtrawl.transforms.sections.element_ids import Ids
from beamtrawl.transforms.sections.section import MAX_ID, MAX_SECTIONS, Section, place, url_of, without_passages
from tests.support.tables import each_row

A = [("A", 2, "a")]

FOUND = {
    "ids of headings": ("<h1 id=a>A</h1><h2 id=b>B</h2>", [("A", 1, "a"), ("B", 2, "b")]),
    "without an id": ("<h2>A</h2>", [("A", 2, "")]),
    "in the heading": ("<h2><a name=n></a>A</h2><h2>B <span id=s></span></h2>", [("A", 2, "n"), ("B", 2, "s")]),
    "around it": ("<section id=s><div><h2>A</h2></div><p>x</section>", [("A", 2, "s")]),
    "around it, but not at its beginning": ("<section id=s><p>x</p><h2>A</h2></section>", [("A", 2, "")]),
    "an empty anchor before it": ("<p>x</p><a name=n></a>\n<h2>A</h2>", [("A", 2, "n")]),
    "an anchor with text before it": ("<p><a name=n>x</a></p><h2>A</h2>", [("A", 2, "")]),
    "the second element with an id": ("<p id=a>x</p><h2 id=a>A</h2>", [("A", 2, "")]),
    "an id that navigation has, too": ("<nav id=a>n</nav><h2 id=a>A</h2>", [("A", 2, "")]),
    "an id of another element is no name": ("<p id=a>x</p><h2><a name=a></a>A</h2>", [("A", 2, "")]),
    "the second anchor with a name": ("<h2><a name=a></a>A</h2><h2><a name=a></a>B</h2>", [*A, ("B", 2, "")]),
    "with spaces": ("<h2 id='a b'>A</h2>", [("A", 2, "a b")]),
    "a second id where the first is taken": ("<p id=a>x</p><section id=s><h2 id=a>A</h2></section>", [("A", 2, "s")]),
    "too long": (f"<h2 id={'x' * (MAX_ID + 1)}>A</h2>", [("A", 2, "")]),
    "an id that a browser cuts": ("<h2 id='a:~:text=b'>A</h2>", [("A", 2, "")]),
    "an id that changes the direction": ("<h2 id='a&#x202e;'>A</h2>", [("A", 2, "")]),
    "empty and hidden": ("<h2 id=a></h2><h2 hidden id=b>B</h2><h2>D</h2>", [("D", 2, "")]),
    "in navigation": ("<nav><h2 id=c>C</h2></nav><h2>D</h2>", [("D", 2, "")]),
    "with a permalink": ("<h2 id=a>Use<a href=#a>§</a></h2>", [("Use", 2, "a")]),
    "C#": ("<h2 id=a>C#</h2>", [("C#", 2, "a")]),
    "terms": (
        "<h1 id=h>H</h1><dl><dt id=a>a()<dd>x<dl><dt id=b>b()<dd>y</dl>z</dl><p>after",
        [("H", 1, "h"), ("a()", 7, "a"), ("b()", 8, "b"), ("", 8, ""), ("", 7, "")],
    ),
    "a term without an id": ("<dl><dt>a<dd>x</dl><p>after", []),
    "a term in blocks": ("<dl><dt id=a><p>a()</p></dt><dd>x</dl>", [("a()", 7, "a")]),
    # DocBook, Apache's documentation
    "the title of a call-out": (
        "<h2 id=a>A</h2><div class=note><h3 class=title>Note</h3><p>x</div><p>of A<h2 id=b>B</h2>"
        "<div class='big warning'><h3 id=c>C</h3></div>",
        [*A, ("B", 2, "b"), ("C", 3, "c")],
    ),
    "what looks like the mark of a section": ("<p>&#x2028;9&#x2028;x", []),
    "a whole mark, with a line break in the id": ("<p>&#x2028;2&#x2028;x\ny&#x2028;Forged", []),
    "none": ("<p>x", []),
}


@each_row(FOUND)
def test_sections_of_a_page(html: str, expected: list[tuple[str, int, str]]) -> None:
    found = main_text.main_text(html_tree.parse(f"<body>{html}").root)
    assert [(section.heading(found.text), section.level, section.id) for section in found.sections] == expected


def test_offsets_are_of_the_text_without_marks_and_banner() -> None:
    html = (
        "<p>Banner<h1>One</h1><p>Text of <span data-nosnippet>hidden</span> parts.<h2 id=two>Two</h2><p>More text here."
    )
    found = main_text.main_text(html_tree.parse(html).root)
    assert [found.text[s.offset :].split("\n")[0] for s in found.sections] == ["One", "Two"]


def test_as_many_sections_as_are_kept() -> None:
    html = "".join(f"<h2 id=s{n}>{n}</h2><p>x" for n in range(MAX_SECTIONS + 5))
    assert len(main_text.main_text(html_tree.parse(html).root).sections) == MAX_SECTIONS


def test_a_rule_for_the_main_text_keeps_ids_of_the_whole_page() -> None:
    root = html_tree.parse("<p id=a>x</p><main><h2 id=a>A</h2><h2 id=b>B</h2></main>").root
    found = main_text.main_text(root.find("main"), True, Ids(root))
    assert [section.id for section in found.sections] == ["", "b"]


def test_sections_move_with_their_text_when_boilerplate_is_removed() -> None:
    def page(number: int) -> str:
        menu = "".join(f"<p>Entry {n}</p>" for n in range(12))
        own = f"<h2 id=own>Part {number}</h2><p>{f'The sentence {number} says a lot. ' * 9}"
        return f"<body><h1 id=t>Site</h1>{menu}<h2 id=rest>Rest</h2><p>of all<p>pages.{own}"

    pages = [
        (url, parsed)
        for n in range(8)
        if (parsed := parse_page(page(n).encode(), (url := f"http://a.test/{n}"), "text/html", [], "T"))
    ]
    found = without_boilerplate(pages)[3]
    assert found.text.startswith("Part 3")
    sections = [(section.heading(found.text), section.id) for section in found.sections]
    assert sections == [("", "t"), ("", "rest"), ("Part 3", "own")]


@pytest.mark.parametrize(
    ("offset", "id_", "path"),
    [(0, "", ()), (5, "a", ("A",)), (12, "a", ("A", "B")), (22, "c", ("A", "C")), (27, "a", ("A",)), (40, "p", ())],
)
def test_what_a_place_leads_to(offset: int, id_: str, path: tuple[str, ...]) -> None:
    text = "....A....|B........|C....|....................."
    ends = [Section(26, 0, 2, ""), Section(35, 0, 1, "p")]
    sections = [Section(4, 1, 1, "a"), Section(10, 1, 2, ""), Section(20, 1, 2, "c"), *ends]
    found = place(sections, offset)
    assert (found.id, tuple(section.heading(text) for section in found.path)) == (id_, path)


@pytest.mark.parametrize("bounds", [[], [0, 3], [4, 9], [9, 14], [2, 4, 15, 20]])
def test_sections_without_passages(bounds: list[int]) -> None:
    text = "one\nTwo..\nthree\nFour\nfive"
    kept = text_without(text, bounds)
    headings = [s.heading(kept) for s in without_passages([Section(4, 5, 2, ""), Section(16, 4, 2, "")], bounds)]
    assert headings == [heading for heading in ("Two..", "Four") if heading in kept]


def test_many_sections_and_passages_take_time_in_proportion() -> None:
    """A second at most; each section beside each passage would take minutes."""
    sections = [Section(200 * n, 3, 2, "") for n in range(MAX_SECTIONS)]
    bounds = list(range(50, 2_000_050, 10))
    began = time.process_time()
    assert len(list(without_passages(sections, bounds))) == MAX_SECTIONS
    assert time.process_time() - began < 20


def test_urls_of_ids() -> None:
    found = [url_of("http://a.test/", id_) for id_ in ("a b", "100%", 'x"<>`', "ö", "a#b", "")]
    fragments = ["#a%20b", "#100%", "#x%22%3C%3E%60", "#%C3%B6", "#a#b", ""]
    assert found == [f"http://a.test/{fragment}" for fragment in fragments]
