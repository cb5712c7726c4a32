"""A query that names a section of a page leads there."""

import itertools
import random

import pytest

from beamtrawl.search.answers.results.form_matches import prepared
from beamtrawl.search.answers.results.named_sections import named_section
from beamtrawl.search.answers.searcher import Index
from beamtrawl.transforms.sections.section import Section
from tests.support.corpus import indexed
from tests.support.tables import each_row

TEXT = "Settings\nDATABASES\nhow to connect\narg(a, b)\narg(a)\nhandle()\nhandle()"
IDS = {"Settings": "", "DATABASES": "std-databases", "arg(a, b)": "arg-2", "arg(a)": "arg"}
LISTED = [Section(TEXT.index(heading), len(heading), 2, id_) for heading, id_ in IDS.items()]
LAST = TEXT.rindex("handle")
LISTED += [Section(TEXT.index("handle"), 8, 7, "Logger.handle"), Section(LAST, 8, 7, "NullHandler.handle")]

# The words of a query, those of the title, how many a section needs with the title's, and the id of the section.
QUERIES = {
    "by its heading": (["databases"], set(), 1, "std-databases"),
    "beside the title": (["settings", "databases"], {"settings"}, 2, "std-databases"),
    "by its id": (["nullhandler", "handle"], set(), 2, "NullHandler.handle"),
    "the shortest id of equals": (["arg"], set(), 1, "arg"),
    "not what the title says too": (["settings"], {"settings"}, 1, None),
    "not if the passage has more": (["databases", "connect"], set(), 2, None),
    "none": (["other"], set(), 1, None),
}


@each_row(QUERIES)
def test_named_sections(words, title, least, expected):
    found = named_section(LISTED, TEXT, prepared({word: word for word in words}), title, least)
    assert (found and found.id) == expected


class Counted(str):
    """A text that counts the headings that are read of it."""

    read = 0

    def __getitem__(self, part):
        self.read += 1
        return super().__getitem__(part)


HEADINGS = {
    "ordinary": ("Other things of it {}\n", 3_000),
    "full of the words": ("install numpy " * 14 + "{}\n", 200),
}


@each_row(HEADINGS)
def test_the_work_of_looking_for_a_section_is_bounded(heading, most):
    lines = [heading.format(number) for number in range(10_000)]
    starts = itertools.accumulate(map(len, lines), initial=0)
    sections = [
        Section(start, len(line) - 1, 2, f"s{n}") for n, (start, line) in enumerate(zip(starts, lines, strict=False))
    ]
    text = Counted("".join(lines))
    named_section(sections, text, prepared({"install": "install", "numpy": "numpy"}), set(), 2)
    assert 0 < text.read < most


def test_sections_without_other_words_than_the_title_take_no_work_off_the_named_one():
    lines = [f"numpy {number}\n" for number in range(900)] + ["numpy install\n"]
    starts = itertools.accumulate(map(len, lines), initial=0)
    sections = [Section(start, len(line) - 1, 2, "numpy") for start, line in zip(starts, lines, strict=False)]
    forms = prepared({"install": "install", "numpy": "numpy"})
    assert named_section(sections, "".join(lines), forms, {"numpy"}, 2) == sections[-1]


WORDS = [f"w{number}" for number in range(500)]


def pages(others, words, *, every):
    """Pages of other words, of which each so many-th also has some words."""
    pick = random.Random(1)
    return [
        {
            "url": f"http://h{n}.test/",
            "text": f"{' '.join(pick.choices(WORDS, k=60))} {words if n % every == 0 else ''}",
        }
        for n in range(others)
    ]


def place(path, query, rows, url):
    """The place of a page among the hits of a query, from 1 on."""
    return [hit.url for hit in Index.open(indexed(path, rows)).search(query, limit=1_000).hits].index(url) + 1


def test_names_that_a_site_gives_itself_do_not_lift_its_page_above_those_that_the_words_name(tmp_path):
    good = [
        {
            "url": f"http://good{n}.test/",
            "title": "Python list comprehension",
            "text": "python list comprehension " * 6,
            "anchors": ["Python list comprehension"] * 20,
        }
        for n in range(5)
    ]
    shop = {"url": "http://shop.test/", "title": "Cheap shoes", "text": "shoes " * 100 + "python list comprehension"}
    words = shop["text"].split()[-3:]
    shop["names"] = [*words, " ".join(words[:2]), " ".join(words[1:]), " ".join(words)]
    rows = [*pages(300, "python list and comprehension", every=10), *good, shop]
    assert place(tmp_path, "python list comprehension", rows, shop["url"]) == 6


def test_a_frequent_word_as_the_name_of_a_section_counts_little(tmp_path):
    manual = {
        "url": "http://manual.test/",
        "text": f"{' '.join(WORDS * 4)} install it; needs numpy",
        "names": ["Install"],
    }
    rows = [*pages(300, "install numpy", every=10), manual]
    assert place(tmp_path, "install numpy", rows, manual["url"]) == 31


def test_a_name_counts_as_much_on_a_page_that_many_links_describe(tmp_path):
    page = {"text": "python list and other words", "names": ["Python list"]}
    rows = [page | {"url": "http://a.test/"}, page | {"url": "http://b.test/", "anchors": ["other words"] * 50}]
    hits = Index.open(indexed(tmp_path, [*rows, *pages(9, "", every=1)])).search("python list", explain=True).hits
    scores = {hit.url: part.score for hit in hits for part in hit.explanation.parts if part.text == "#python list"}
    assert scores["http://a.test/"] == pytest.approx(scores["http://b.test/"]) and scores["http://a.test/"] > 0


def test_an_explanation_has_the_name_that_counts_marked_as_one(tmp_path):
    rows = [{"url": "http://a.test/", "text": "python list", "names": ["list", "Python list"]}, *pages(9, "", every=1)]
    parts = Index.open(indexed(tmp_path, rows)).search("python list", explain=True).hits[0].explanation.parts
    assert [part.text for part in parts] == ["python", "list", '"python"', '"list"', "#python list"]


SQL = {
    "url": "http://sql.test/",
    "title": "The SELECT statement",
    "text": "The SELECT statement\nOverview\nA query has result columns.\nThe WHERE clause\nIt filters.",
}
SQL["sections"] = [
    {"offset": SQL["text"].index(heading), "length": len(heading), "level": 2, "id": id_}
    for heading, id_ in {"Overview": "overview", "The WHERE clause": "where"}.items()
]
NAMED = SQL | {"names": {"result columns": "resultset", "filters": "where", "SELECT statement": "stmt"}}

# A query, and the URL and headings that the hit leads to: without names of links, and with them.
LED_TO = {
    "an id in running text": ("result columns", ("#overview", ["Overview"]), ("#resultset", [])),
    "a section with other words": ("filters", ("#where", ["The WHERE clause"]), ("#where", ["The WHERE clause"])),
    "not if the title says it": ("the select statement", None, None),
    "in other forms of the words": ("result column", ("#overview", ["Overview"]), ("#resultset", [])),
    "not a part of the query": ("result columns query", ("#overview", ["Overview"]), ("#overview", ["Overview"])),
}


@pytest.mark.parametrize(("query", "without", "led_to"), LED_TO.values(), ids=LED_TO)
def test_a_hit_leads_where_links_that_are_called_as_the_query_lead(tmp_path, query, without, led_to):
    others = pages(9, "", every=1)
    for number, (row, expected) in enumerate([(SQL, without), (NAMED, led_to)]):
        (hit,) = Index.open(indexed(tmp_path / str(number), [row, *others])).search(query).hits
        place = f"http://sql.test/{expected[0]}" if expected else None
        assert (hit.section_url, list(hit.path)) == (place, expected[1] if expected else [])


def test_a_name_of_two_pages_leads_to_the_section_of_each(tmp_path):
    first = [NAMED, SQL | {"url": "http://other.test/", "names": {"result columns": "cols"}}]
    second = [SQL | {"url": "http://third.test/", "names": {"result columns": "resultset"}}]
    hits = Index.open(indexed(tmp_path, first, second)).search("result columns").hits
    assert {hit.section_url for hit in hits} == {
        "http://sql.test/#resultset",
        "http://other.test/#cols",
        "http://third.test/#resultset",
    }


# A title, and where the word leads that a link to a section has, too.
TITLES = {
    "VACUUM": None,
    "Vacuuming — Docs": None,
    "VACUUM INTO": "http://a.test/#into",
    "Docs — VACUUM": "http://a.test/#into",
    "Tables": "http://a.test/#into",
}


@pytest.mark.parametrize(("title", "place"), TITLES.items(), ids=TITLES)
def test_a_word_that_is_the_title_leads_to_the_top(tmp_path, title, place):
    text = "Other\nto vacuum\nINTO\nvacuum into a file vacuum"
    sections = [{"offset": text.index("INTO"), "length": 4, "level": 2, "id": "into"}]
    row = {"url": "http://a.test/", "title": title, "text": text, "sections": sections, "names": {"vacuum": "into"}}
    (hit,) = Index.open(indexed(tmp_path, [row, *pages(9, "", every=1)])).search("vacuum").hits
    assert hit.section_url == place


@pytest.mark.parametrize("limit", [{"noarchive": True}, {"max_snippet": 40}], ids=["noarchive", "max-snippet"])
def test_a_page_that_limits_its_snippets_leads_to_its_top(tmp_path, limit):
    (hit,) = Index.open(indexed(tmp_path, [NAMED | limit])).search("result columns").hits
    assert hit.section_url is None
