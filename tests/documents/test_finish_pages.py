"""What a round keeps of its pages: duplicates without text, candidates with their scores, rejections by reason."""

from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from beamtrawl.transforms.batches.batch_schemas import NOT_FOLLOWED, PAGES
from beamtrawl.transforms.documents.finish_pages import (
    candidates_of,
    flatten_links,
    index_shard,
    removals_of_pages,
)
from beamtrawl.transforms.documents.mark_pages import MarkFn
from beamtrawl.transforms.documents.rejections import add_rejections, rejections_of
from beamtrawl.transforms.frontier.link_targets import merge_candidates
from beamtrawl.transforms.tables.schemas import DOCUMENTS
from beamtrawl.transforms.tables.table_files import conform
from beamtrawl.transforms.urls.canonical import url_key
from tests.support.tables import each_row

# Stated here and not imported: a changed limit fails a test.
DAMPING = 0.85

HOME = "http://a.test/"
KEY = url_key(HOME)


def link(url, depth=1, *, kind="a", redirects=0, rejected=None, anchor=""):
    row = {"target_key": url_key(url), "target_url": url, "anchor": anchor, "rel": "", "kind": kind}
    return row | {"depth": depth, "redirects": redirects, "rejected": rejected, "fragments": None}


def page(url, links=(), *, score=1.0, text="text"):
    row = {"url_key": url_key(url), "url": url, "round": 1, "score": score, "links": list(links)}
    return row | {"text": text, "headings": ["a heading"], "title": "a title", "is_document": True}


def table(*pages):
    return pa.Table.from_pylist(list(pages), schema=PAGES)


def candidates_of_part(*pages, scorers=()):
    return candidates_of(flatten_links(table(*pages)), scorers).to_pylist()


def candidates(*pages, scorers=()):
    return [*merge_candidates(candidates_of_part(*pages, scorers=scorers)).values()]


def test_links_know_the_page_they_are_on():
    pages = table(
        page(HOME, [link("http://a.test/x"), link("http://a.test/y")], score=0.5),
        page("http://a.test/empty"),
        page("http://a.test/b", [link("http://a.test/x", 2)]),
    )
    for first, expected in ((0, [(HOME, "x"), (HOME, "y"), ("http://a.test/b", "x")]), (1, [("http://a.test/b", "x")])):
        flat = flatten_links(pages.slice(first)).to_pylist()
        assert [(row["source_url"], row["target_url"].removeprefix(HOME)) for row in flat] == expected
    assert [row["source_score"] for row in flatten_links(pages).to_pylist()] == [0.5, 0.5, 1.0]


# pages, {target: score}
SCORES = {
    "nothing": ([], {}),
    "one link": ([page(HOME, [link("http://a.test/x")])], {"x": DAMPING}),
    "equal shares": (
        [page(HOME, [link("http://a.test/x"), link("http://a.test/y")], score=2.0)],
        {"x": DAMPING, "y": DAMPING},
    ),
    "a rejected link takes no share": (
        [page(HOME, [link("http://a.test/x"), link("http://a.test/y", rejected="depth")])],
        {"x": DAMPING},
    ),
    "shares from several pages add up": (
        [page(HOME, [link("http://a.test/x")]), page("http://a.test/b", [link("http://a.test/x")], score=2.0)],
        {"x": 3 * DAMPING},
    ),
    "a duplicate passes none, and its links are followed": (
        [page(HOME, [link("http://a.test/x")]) | {"duplicate_of": url_key("http://a.test/b")}],
        {"x": 0.0},
    ),
    "a redirect passes all": (
        [page(HOME, [link("http://b.test/", 0, kind="redirect", redirects=1)], score=2.0)],
        {"http://b.test/": 2.0},
    ),
    "that of a page with further links is one of its links": (
        [page(HOME, [link("http://a.test/x", 0, kind="redirect", redirects=1), link("http://a.test/y")], score=2.0)],
        {"x": DAMPING, "y": DAMPING},
    ),
}


@each_row(SCORES)
def test_a_page_passes_its_score_on(pages, scores):
    found = {row["url"].removeprefix(HOME): row["score"] for row in candidates(*pages)}
    assert found == pytest.approx(scores)


def test_scorers_multiply_what_a_link_passes():
    pages = [
        page(HOME, [link("http://a.test/x", anchor="cod"), link("http://a.test/y")]),
        page("http://a.test/b", [link("http://a.test/x")], score=2.0),
        page("http://a.test/c", [link("http://a.test/z", 0, kind="redirect", anchor="cod")]),
    ]
    scorers = [lambda one: 3 if one.anchor == "cod" else 1, lambda one: 0.5 if one.source_url == HOME else 1]
    found = {row["url"].removeprefix(HOME): row["score"] for row in candidates(*pages, scorers=scorers)}
    assert found == pytest.approx({"x": DAMPING * (3 * 0.5 / 2 + 2), "y": DAMPING * 0.5 / 2, "z": 1.0})


def test_a_target_is_a_candidate_once_reached_by_its_shortest_way():
    pages = [
        page(HOME, [link("http://b.test/", 2)]),
        page("http://a.test/b", [link("http://b.test/", 1), link("http://b.test/", 3)]),
    ]
    (found,) = candidates(*pages)
    assert (found["url_key"], found["url"], found["host"]) == (url_key("http://b.test/"), "http://b.test/", "b.test")
    assert (found["depth"], found["referrer"]) == (1, "http://a.test/b")


def test_of_several_links_the_one_that_says_most_counts():
    """A translation that an index in its own language, a copy, and a page in another language link."""
    pages = [
        page("http://a.test/de/", [link("http://a.test/de/x", 1)]) | {"links_without_news": False},
        page("http://a.test/da/x", [link("http://a.test/de/x", 2)]) | {"links_without_news": True},
        page("http://a.test/en/x", [link("http://a.test/de/x", 3)]) | {"links_without_news": False},
    ]
    for shards in ([pages], [[one] for one in pages]):
        (way,) = merge_candidates(row for shard in shards for row in candidates_of_part(*shard)).values()
        assert (way["depth"], way["referrer"], way["links_without_news"]) == (1, "http://a.test/en/x", False)


def test_a_target_is_one_row_unless_a_link_that_says_less_of_it_is_nearer():
    others = [page(f"http://a.test/{name}/x", [link("http://a.test/de/y", 3)]) for name in ("en", "de", "fr")]
    for depth, count in ((2, 2), (3, 1), (4, 1)):
        home = page("http://b.test/", [link("http://a.test/de/y", depth)])
        rows = candidates_of_part(*others, home)
        assert [row["depth"] for row in rows] == [3, depth][:count]
        assert round(sum(row["score"] for row in rows), 9) == 4 * DAMPING
        assert rows[0]["referrer"] == "http://a.test/en/x"


def test_a_targets_own_site_decides_what_its_links_are():
    pages = [
        page("http://a.test/", [link("http://c.test/x", 1), link("http://c.test/y", 1)]) | {"links_without_news": True},
        page("http://b.test/", [link("http://c.test/x", 2)]),
        page("http://www.c.test/", [link("http://c.test/x", 3)]) | {"links_without_news": True},
    ]
    found = {row["url"]: row for row in candidates(*pages)}
    shown = ("depth", "referrer", "foreign", "links_without_news")
    assert {url: tuple(row[name] for name in shown) for url, row in found.items()} == {
        "http://c.test/x": (1, "http://www.c.test/", False, True),
        "http://c.test/y": (1, "http://a.test/", True, True),
    }


def test_a_redirect_that_only_other_sites_link_passes_that_on():
    moved = [link("http://c.test/new", 1, kind="redirect", redirects=1)]
    known = [page("http://c.test/old", moved) | {"is_document": False, "foreign": foreign} for foreign in (True, False)]
    assert [row["foreign"] for one in known for row in candidates(one)] == [True, False]


def rejections(*links):
    return dict(rejections_of(flatten_links(table(page(HOME, links)))))


# what is known of a document: why it is not indexed, the first that applies; "replaced": it is
REASONS = {
    "nothing": ({}, "replaced"),
    "a duplicate": ({"duplicate_of": KEY, "noindex": True}, "duplicate"),
    "an error page": ({"quality_reasons": ["soft_404"], "noindex": True}, "soft_404"),
    "spam": ({"quality_reasons": ["stuffing"]}, "replaced"),
    "noindex": ({"noindex": True, "search": False}, "denied_meta"),
    "reserved from search": ({"search": False}, "denied_search"),
    "allowed to be searched": ({"search": True}, "replaced"),
}


@each_row(REASONS)
def test_why_a_document_is_not_indexed(known, reason):
    removals = removals_of_pages(table(page(HOME) | known, page(f"{HOME}other") | {"is_document": False}))
    assert removals.to_pylist() == [{"url_key": url_key(HOME), "reason": reason}]


def test_rejections_are_counted_by_reason_and_host_with_samples():
    assert rejections(
        link("http://a.test/1", rejected="depth"),
        link("http://a.test/1", rejected="depth"),
        link("http://a.test/2", rejected="too_long"),
        link("http://b.test/3", rejected="depth"),
        link("http://a.test/fine"),
        link("http://a.test/style.css", kind="link", rejected=NOT_FOLLOWED),
    ) == {
        ("depth", "a.test"): (2, ["http://a.test/1"]),
        ("too_long", "a.test"): (1, ["http://a.test/2"]),
        ("depth", "b.test"): (1, ["http://b.test/3"]),
    }


def test_a_shard_without_pages_has_no_part():
    """Such as one of a host whose URLs all failed in a round: its shard has yields alone."""
    sides = dict.fromkeys(("pages", "stale", "duplicates", "copies", "near"), ())
    assert list(MarkFn().process((0, sides), [])) == []


def test_a_few_samples_are_kept():
    ((count, samples),) = rejections(*(link(f"http://a.test/{n}", rejected="scope") for n in range(9))).values()
    assert (count, samples) == (9, ["http://a.test/0", "http://a.test/1", "http://a.test/2"])


PART = st.tuples(st.integers(1, 9), st.lists(st.text("abcdef", min_size=1, max_size=1), max_size=3))


@given(st.lists(PART, min_size=1), st.integers(0, 9), st.data())
def test_rejections_add_up_in_any_order_and_in_parts(parts, cut, data):
    total = add_rejections(parts)
    assert add_rejections(data.draw(st.permutations(parts))) == total
    assert add_rejections([add_rejections(parts[:cut]), add_rejections(parts[cut:])]) == total
    assert total[0] == sum(count for count, _ in parts)


def test_the_links_of_some_of_the_pages():
    pages = [page(f"http://a.test/{n}", [link(f"http://a.test/{n}/{m}") for m in range(n)]) for n in range(5)]
    for start in range(5):
        assert flatten_links(table(*pages).slice(start, 2)).equals(flatten_links(table(*pages[start : start + 2])))


@pytest.mark.parametrize(("text", "rows"), [(100, [3]), (9, [2, 1]), (0, [1, 1, 1])])
def test_segments_are_bounded_by_their_text(tmp_path, text, rows):
    pages = [page(f"http://a.test/{n}", text="text") for n in range(3)]
    documents = conform(table(*pages).set_column(2, "host", pa.array(["a.test"] * 3)), DOCUMENTS)
    files = index_shard(str(tmp_path), 1, 7, documents, korean_morphemes=False, text=text)
    assert [file.rows for file in files if file.table == "index" and "." not in file.path] == rows
    for folder in (file.path for file in files if file.table == "index"):  # for other engines, however small it is
        assert {"docs.parquet", "postings.parquet"} <= {path.name for path in Path(tmp_path, folder).iterdir()}
    assert index_shard(str(tmp_path), 1, 7, documents.slice(0, 0), korean_morphemes=False) == []
