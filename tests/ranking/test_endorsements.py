"""Which anchors describe a page, and how many of them are kept."""

import doctest

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from beamtrawl.transforms.ranking import anchors, endorsements
from beamtrawl.transforms.ranking.anchors import Links, anchors_of, count_votes, is_direction, keep_specific, votes_of
from beamtrawl.transforms.ranking.endorsements import LINK_COLUMNS, codes_of, current_links, weights_of
from beamtrawl.transforms.tables.schemas import LINKS
from tests.support.tables import each_row

PAGE = {"fragment": "", "is_section": False, "is_own": False}  # a vote for a page as a whole


def votes(**targets: int) -> pa.Table:
    """Votes of one host: so many targets for each anchor."""
    rows = [
        {"host": "a.test", "folded": anchor, "target": target, "anchor": anchor.title()} | PAGE
        for anchor, count in targets.items()
        for target in range(count)
    ]
    return pa.Table.from_pylist(rows)


def test_an_anchor_of_a_host_describes_three_pages_and_no_more():
    found = keep_specific(votes(chapter=3, next=4, guide=1))
    assert sorted(set(found["folded"].to_pylist())) == ["chapter", "guide"]


def test_a_host_that_uses_an_anchor_too_often_leaves_the_votes_of_others():
    others = pa.Table.from_pylist([{"host": "b.test", "folded": "next", "target": 7, "anchor": "Next"} | PAGE])
    assert keep_specific(pa.concat_tables([votes(next=4), others])).to_pylist() == others.to_pylist()


def test_the_thousand_anchors_of_most_hosts_are_kept():
    rows = [
        {"host": "a.test", "folded": f"anchor {n}", "target": 0, "anchor": f"Anchor {n}"} | PAGE | {"is_own": True}
        for n in range(1_200)
    ]
    rows += [{"host": "b.test", "folded": "anchor 1199", "target": 0, "anchor": "anchor 1199"} | PAGE]
    found = pa.Table.from_pylist(rows).append_column("around", pa.nulls(len(rows), pa.string()))
    ((first, *others), none) = anchors_of(count_votes(found), np.array([0, -1])).to_pylist()
    assert first == {"anchor": "Anchor 1199", "hosts": 2}
    assert len(others) == 999
    assert none == []


# An anchor in lower case; whether it says only where a link leads from here.
ANCHORS = {
    **dict.fromkeys(["next", "prev", "previous", "next page", "previous chapter", "go to the next section"], True),
    **dict.fromkeys(
        ["« previous", "next »", "next: ", "up", "back", "here", "click here", "read more", "다음", "zurück"], True
    ),
    **dict.fromkeys(["next steps", "next.js", "backup", "more on joins", "previous releases", "chapter 1"], False),
}


# Host, target, anchor and section of links, with what each counts.
WEIGHTS = {
    "four pages of a host say the same": ([(0, 7, "Menu", "")] * 4, [1 / 2] * 4),
    "of several pages": ([(0, 7, "Menu", ""), (0, 8, "Menu", "")], [1, 1]),
    "in several words": ([(0, 7, "Menu", ""), (0, 7, "the menu", "")], [1, 1]),
    "on several hosts": ([(0, 7, "Menu", ""), (1, 7, "Menu", "")], [1, 1]),
    "of a page and a section of it": ([(0, 7, "Menu", ""), (0, 7, "Menu", "a")], [1, 1]),
    "some of them": ([(0, 7, "", ""), (1, 7, "a", ""), (0, 7, "", ""), (0, 3, "", "")], [0.5**0.5, 1, 0.5**0.5, 1]),
    "none": ([], []),
}


@each_row(WEIGHTS)
def test_what_a_host_repeats_of_a_page_counts_as_its_square_root(links, expected):
    hosts, targets = (np.array([row[n] for row in links], np.int64) for n in (0, 1))
    texts = (codes_of(pa.array([row[n] for row in links], pa.string()))[0] for n in (2, 3))
    assert weights_of(hosts, targets, *texts).tolist() == pytest.approx(expected)


@pytest.mark.parametrize(("anchor", "expected"), ANCHORS.items(), ids=ANCHORS)
def test_directions_are_no_votes(anchor, expected):
    assert is_direction(pa.chunked_array([[anchor]])).to_pylist() == [expected]


@pytest.mark.parametrize(
    ("rel", "counts"),
    [
        *((None, 1), ("", 1), ("noopener", 1), ("next", 0), ("PREV nofollow", 0), ("nextcloud", 1)),
        *(("up", 0), ("Contents", 0), ("index", 0), ("startup", 1), ("chapter", 1)),
    ],
)
def test_links_to_neighbours_do_not_endorse(rel, counts):
    row = dict.fromkeys(LINK_COLUMNS) | {"source_key": b"a", "target_key": b"b", "kind": "a", "round": 1, "rel": rel}
    links = pa.table(
        {name: pa.array([value], None if value is not None else LINKS.field(name).type) for name, value in row.items()}
    )
    assert current_links(links).endorsing.num_rows == counts


def test_a_section_counts_whatever_the_rel_of_the_row():
    """That is of another link to the page; links that do not endorse leave no fragment."""
    row = {"source_key": b"a" * 16, "target_key": b"b" * 16, "kind": "a", "rel": "prev", "round": 1, "anchor": "Prev"}
    row |= {"fragments": [{"id": "db", "anchor": "DATABASES"}]}
    schema = pa.schema([LINKS.field(name) for name in LINK_COLUMNS])
    rows = [row, row | {"from_duplicate": True}, row | {"kind": "img"}, row | {"fragments": None}]
    found = current_links(pa.Table.from_pylist(rows, schema)).endorsing
    assert found.select(["anchor", "fragment"]).to_pylist() == [{"anchor": "DATABASES", "fragment": "db"}]


def test_sections_of_all_batches_of_links_count():
    schema = pa.schema([LINKS.field(name) for name in LINK_COLUMNS])
    ends = {"source_key": b"a" * 16, "target_key": b"b" * 16, "kind": "a", "round": 1}
    rows = [ends | {"fragments": [{"id": i, "anchor": i.upper()} for i in ids]} for ids in ("", "ab", "", "c", "de")]
    table = pa.concat_tables([pa.Table.from_pylist(rows[:3], schema), pa.Table.from_pylist(rows[2:], schema)])
    found = current_links(table.slice(1, 5)).endorsing.filter(pc.field("fragment") != "")
    assert found["anchor"].to_pylist() == list("ABCDE")


# A URL, and an anchor of links to it; whether the anchor is a vote.
PATHS = {
    "the source of the page": ("http://a.test/docs/process/howto.html", "Documentation/process/howto.rst", 0),
    "without an extension": ("http://a.test/docs/process/howto.html", "process/howto", 0),
    "of the page in a folder": ("http://a.test/process/howto/", "process/howto/", 0),
    "the name of another page in the folder": ("http://a.test/process/howto.html", "process/how", 1),
    "the same name in another folder": ("http://a.test/process/howto.html", "translations/howto.rst", 1),
    "a name alone": ("http://a.test/process/howto.html", "howto.rst", 1),
    "two words": ("http://a.test/process/either.html", "and/or", 1),
}


@each_row(PATHS)
def test_paths_of_the_target_are_no_votes(url, anchor, count):
    pages = endorsements.pages_of(pa.table({"key": [b"0", b"1"], "url": ["http://a.test/", url]}))
    links = Links.of(pa.table({"host": ["a.test"], "anchor": [anchor], "fragment": [""]}), np.array([1]), pages)
    assert len(votes_of(links, pages).rows) == count


def test_examples():
    assert [doctest.testmod(module).failed for module in (anchors, endorsements)] == [0, 0]


def counted_of(hosts, targets, texts, fragments, pages):
    """What is counted of links of hosts, with texts, to pages and their sections."""
    links = Links.of(pa.table({"host": hosts, "anchor": texts, "fragment": fragments}), targets, pages)
    return count_votes(keep_specific(votes_of(links, pages).spelled()))


def test_sections_have_votes_of_their_own():
    """An anchor of four sections names none of them, and still names the page; a host has one vote."""
    names = ["DATABASES", "databases", *["Notes"] * 4, "Notes"]
    fragments = ["db", "db", "a", "b", "c", "d", ""]
    pages = endorsements.pages_of(pa.table({"key": [b"0", b"1"], "url": ["http://a.test/", "http://b.test/"]}))
    counted = counted_of(["a.test"] * 7, np.ones(7, np.int64), names, fragments, pages)
    assert anchors_of(counted, np.array([0, 1])).to_pylist() == [[], [{"anchor": "Notes", "hosts": 1}]]
    of_sections = [{"fragment": "db", "anchor": "DATABASES", "hosts": 1}]
    assert anchors.names_of(counted, np.array([0, 1, -1])).to_pylist() == [[], of_sections, []]


PAGES = endorsements.pages_of(
    pa.table({"key": [b"0", b"1", b"2"], "url": ["http://a.test/", "http://b.test/", "http://b.test/index"]})
)


def names_of_second(links: list[tuple[int, str, str]]) -> list[dict]:
    """The names of the second page, from links to it: source, fragment and anchor of each."""
    sources, fragments, texts = zip(*links, strict=True)
    hosts = ["ab"[source > 0] + ".test" for source in sources]
    counted = counted_of(hosts, np.ones(len(links), np.int64), texts, fragments, PAGES)
    return anchors.names_of(counted, np.array([1])).to_pylist()[0]


@pytest.mark.parametrize("text", ["0 {:05} x", "0 {:05} of a text that is too long to be a name"])
def test_one_host_does_not_erase_the_names_of_a_page_of_another(text):
    own = [(2, "db", "DATABASES"), (2, "tz", "TIME_ZONE")]
    lies = [(0, f"i{n}", text.format(n)) for n in range(anchors.MAX_NAMES)]
    found = names_of_second([*lies, *own])
    assert found[:2] == [{"fragment": id_, "anchor": anchor, "hosts": 1} for _, id_, anchor in own]
    assert len(found) - 2 == (anchors.MAX_NAMES_ABROAD if len(text) < 20 else 0)


def test_one_host_does_not_displace_the_anchors_of_others_for_a_page_of_another():
    said = {"b.test": ["z of its own"], "c.test": ["z of an honest host"]}
    said["a.test"] = [f"lie {n:04}" for n in range(anchors.MAX_ANCHORS)]
    rows = [
        {"host": host, "folded": text, "target": 0, "anchor": text} | PAGE | {"is_own": host == "b.test"}
        for host, texts in said.items()
        for text in texts
    ]
    found = pa.Table.from_pylist(rows).append_column("around", pa.nulls(len(rows), pa.string()))
    kept = [row["anchor"] for row in anchors_of(count_votes(found), np.array([0])).to_pylist()[0]]
    assert kept == ["z of its own", *said["a.test"][: anchors.MAX_ANCHORS_ABROAD], "z of an honest host"]


def test_a_section_may_be_named_as_a_direction_is():
    assert names_of_second([(0, "next", "next()"), (0, "b", "»"), (0, "", "next()")]) == [
        {"fragment": "next", "anchor": "next()", "hosts": 1}
    ]
    assert names_of_second([(0, "next", "next")])


SITE = [f"http://a.test/{n}" for n in range(9)]
MANUAL = endorsements.pages_of(
    pa.table({"key": [f"{n}".encode() for n in range(10)], "url": [*SITE, "http://b.test/"]})
)


def anchors_from(links: list[tuple[int, int, str]]) -> list[list[str]]:
    """The anchors of each page of MANUAL, from links: source, target and anchor of each."""
    sources, targets, texts = zip(*links, strict=True)
    hosts = ["ab"[source == len(SITE)] + ".test" for source in sources]
    counted = counted_of(hosts, np.array(targets), texts, [""] * len(links), MANUAL)
    return [sorted(a["anchor"] for a in found) for found in anchors_of(counted, np.arange(10)).to_pylist()]


NAMES = ["Install", "Run in Docker", "Merge", "Sort", "Ask"]


@pytest.mark.parametrize("words", ["previous {}", "{} – permalink", "Siguiente: {}", "zurück zu Kapitel {}"])
def test_words_around_what_a_host_calls_four_pages_describe_none(words):
    bare = [(8, number, name) for number, name in enumerate(NAMES)]
    around = [(7, number, words.format(name.upper())) for number, name in enumerate(NAMES[:4])]
    assert anchors_from(bare + around)[:5] == [[name] for name in NAMES]
    of_three = [[name, words.format(name.upper())] for name in NAMES[:3]]
    assert anchors_from(bare + around[:3])[:3] == list(map(sorted, of_three))


def test_words_around_names_that_are_not_said_without_them_count():
    texts = [f"previous {name}" for name in NAMES]
    assert anchors_from([(8, number, text) for number, text in enumerate(texts)])[:5] == [[text] for text in texts]


def test_words_around_of_one_host_leave_the_votes_of_others():
    """A host cannot make words of another's anchors count less."""
    lies = [(9, number, words.format(name)) for number, name in enumerate(NAMES) for words in ("{}", "Install {}")]
    own = [(8, 0, "Docker"), (8, 0, "Install Docker"), (8, 1, "Install Merge")]
    assert anchors_from([*lies, *own])[:2] == [["Docker", "Install", "Install Docker"], ["Install Merge", NAMES[1]]]
