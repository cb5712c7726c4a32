"""Which links lead to external targets, and which of these a round adds."""

import itertools
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa
from hypothesis import given, strategies as st

from beamtrawl.transforms.batches.batch_schemas import CANDIDATES
from beamtrawl.transforms.documents.external import Known, admitted, external_of
from beamtrawl.transforms.documents.found_links import links_column
from beamtrawl.transforms.documents.page_yield import yield_rows
from beamtrawl.transforms.documents.parse_visits import parse_visit
from beamtrawl.transforms.outcomes import Outcome
from beamtrawl.transforms.settings import Scope
from beamtrawl.transforms.tables.other_visits import visits_without_page
from beamtrawl.transforms.tables.schemas import VISITS
from beamtrawl.transforms.tables.table_files import TableWriter
from beamtrawl.transforms.urls.canonical import url_key
from beamtrawl.transforms.urls.filters import UrlFilter
from tests.support.tables import each_row

A, B = "http://a.test", "http://b.test"
SCOPE = Scope(check_external=True, depth=2, include=["/page"], exclude=["/private"], deny_hosts=["denied.test"])
FILTER = UrlFilter(SCOPE, frozenset({"a.test"}))
NOTHING_KNOWN = Known(frozenset(), 100)


def visit(body: str = "", **more: Any) -> dict[str, Any]:
    row = dict.fromkeys(VISITS.names) | {"url": f"{A}/page", "host": "a.test", "outcome": Outcome.FETCHED.value}
    row |= {"headers": [], "media_type": "text/html", "body": body.encode(), "depth": 2, "redirects": 0}
    return row | more


def found(*visits: dict[str, Any], known: Known = NOTHING_KNOWN) -> list[dict[str, Any]]:
    parsed = [(row, *parse_visit(row, "robot")) for row in visits]
    rows: list[dict[str, Any]] = external_of(list(visits), links_column(parsed, FILTER), FILTER, known).to_pylist()
    return rows


# a page, its only external target
TARGETS = {
    "beyond the depth of the scope": (visit(f"<a href={B}/x>"), f"{B}/x"),
    "a file": (visit(f"<a href={B}/page.zip>"), f"{B}/page.zip"),
    "of any shape": (visit(f"<a href={B}{'/x' * 30}>"), f"{B}{'/x' * 30}"),
    "another port": (visit(f"<a href={A}:8080/page>"), f"{A}:8080/page"),
    "a redirect": (visit(outcome="redirected", redirect_to=f"{B}/x"), f"{B}/x"),
    "a frame": (visit(f"<iframe src={B}/x></iframe>"), f"{B}/x"),
    "its own host": (visit("<a href=/page/2><a href=/else><a href=/page.zip>"), None),
    "excluded": (visit(f"<a href={B}/private>"), None),
    "a denied host": (visit("<a href=http://www.denied.test/>"), None),
    "too long": (visit(f"<a href={B}/{'x' * 2000}>"), None),
    "nofollow": (visit(f"<a rel=nofollow href={B}/x>"), None),
    "nofollow of the page": (visit(f"<meta name=robots content=nofollow><a href={B}/x>"), None),
    "an image": (visit(f"<img src={B}/x>"), None),
    "no page of the crawl": (visit(f"<a href={B}/x>", kind="sitemap"), None),
    "an external target": (visit(kind="external", outcome="redirected", redirect_to=f"{B}/x"), None),
}


@each_row(TARGETS)
def test_what_a_page_links_on_other_hosts(row: dict[str, Any], url: str | None) -> None:
    assert [target["url"] for target in found(row)] == ([url] if url else [])


def test_the_row_of_a_target_is_that_of_its_shortest_way() -> None:
    link = f"<a href={B}/x#one>One</a><a href={B}/x>Again</a>"
    (row,) = found(visit(link, url=f"{A}/page/2"), visit(link), visit(link, url=f"{A}/page/0", depth=3))
    assert row == dict.fromkeys(CANDIDATES.names) | {
        "url_key": url_key(f"{B}/x"),
        "url": f"{B}/x",
        "host": "b.test",
        "depth": 3,
        "redirects": 0,
        "score": 0.0,
        "referrer": f"{A}/page",
        "kind": "external",
        "foreign": True,
    }


def test_known_targets_and_those_without_room_are_not_found_again() -> None:
    page = visit("".join(f"<a href={B}/{number}>{number}</a>" for number in range(5)))
    assert [row["url"][-1] for row in found(page, known=Known(frozenset({url_key(f"{B}/0")}), 2))] == ["1", "2"]
    assert found(page, known=Known(frozenset(), 0)) == []


PAGES = ["http://p.test/1", "http://p.test/2", "http://www.p.test/3", "http://q.test/", "http://r.test/"]
WAYS = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 3), st.sampled_from(PAGES)), max_size=80)


def found_by(ways: list[tuple[int, int, str]]) -> list[dict[str, Any]]:
    return [
        {"url_key": target.to_bytes(16, "big"), "url": f"{B}/{target}", "depth": depth, "referrer": page}
        for target, depth, page in ways
    ]


@given(ways=WAYS, cuts=st.lists(st.integers(0, 80), max_size=5), room=st.integers(0, 12))
def test_sites_take_turns_however_what_they_link_is_divided(
    ways: list[tuple[int, int, str]], cuts: list[int], room: int
) -> None:
    rows = found_by(ways)
    places = sorted({0, len(rows), *(min(cut, len(rows)) for cut in cuts)})
    batches = [pa.Table.from_pylist(rows[i:j], schema=CANDIDATES) for i, j in itertools.pairwise(places)]
    by_site: dict[str, list[tuple[int, str, str]]] = {}
    for name in ("p", "q", "r"):
        least: dict[int, tuple[int, str]] = {}
        for target, depth, page in ways:
            if urlsplit(page).netloc.removeprefix("www.") == f"{name}.test":
                least[target] = min((depth, page), least.get(target, (9, "")))
        by_site[name] = sorted((depth, page, f"{B}/{target}") for target, (depth, page) in least.items())
    turns = itertools.zip_longest(*by_site.values())
    links = list(itertools.chain.from_iterable(sorted(filter(None, turn)) for turn in turns))[:room]
    expected = sorted(min(link for link in links if link[2] == url) for url in {link[2] for link in links})
    for order in (batches, batches[::-1]):
        assert [(row["depth"], row["referrer"], row["url"]) for row in admitted(order, room)] == expected


def test_a_site_with_many_links_leaves_room_for_the_others() -> None:
    many = [visit("".join(f"<a href={B}/{n}>x</a>" for n in range(500)), url=f"{A}/page{place}") for place in "12"]
    other = visit(f"<a href={B}/its/own>x</a>", url="http://a2.test/page", host="a2.test", depth=2)
    rows = found(*many, other, known=Known(frozenset(), 20))
    assert len(rows) == 20
    chosen = admitted([pa.Table.from_pylist(rows, schema=CANDIDATES)], 20)
    assert f"{B}/its/own" in {row["url"] for row in chosen}
    assert len(chosen) == 20


def test_a_visit_to_one_is_no_evidence_and_no_file_of_its_host(tmp_path: Any) -> None:
    assert yield_rows([(visit(kind="external", outcome="gone"), None)]) == []
    writer = TableWriter(str(tmp_path), "visits", 1)
    for kinds in (("external", "requisite"), ("external",), ("external", "probe", "requisite", None)):
        writer.write_rows([{"url": str(kind), "kind": kind} for kind in kinds])
    file = writer.close()
    assert file
    assert [row["url"] for row in visits_without_page(file.path, str(tmp_path), ["url"])] == ["probe"]


def test_the_room_is_what_earlier_rounds_have_left(tmp_path: Path) -> None:
    writer = TableWriter(str(tmp_path), "external", 1)
    writer.write_rows([{"url_key": url_key(f"{B}/{number}"), "round": 1} for number in range(2)])
    file = writer.close()
    assert file is not None
    known = [Known.read(str(tmp_path), [file.path], most) for most in (1, 2, 5)]
    assert [one.room for one in known] == [0, 0, 3]
    assert {one.keys for one in known} == {frozenset(url_key(f"{B}/{number}") for number in range(2))}
