"""Pages that are due again: which they are, and what a revisit costs and changes."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.parquet as pq

from beamtrawl.search.answers.searcher import Index
from beamtrawl.transforms.directory.crawl_dir import CrawlDir
from beamtrawl.transforms.frontier.recrawl import DueCriteria, revisits
from beamtrawl.transforms.settings import Recrawl, Sitemaps
from beamtrawl.transforms.tables.schemas import URLS
from beamtrawl.transforms.tables.table_files import statistics
from tests.support.crawls import crawl, frontier, rows, states
from tests.support.tables import each_row
from tests.support.web import Answer, Page, Web, html, status

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
AGO, AHEAD, LATER, LATEST, NEVER = (NOW + timedelta(hours=hours) for hours in (-1, 1, 2, 3, 9))
RIPE = DueCriteria(pages=NOW, sitemaps=AHEAD, now=LATEST)


def key(name: str) -> bytes:
    return name.encode() * 16


def urls(rows: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(rows, schema=URLS)


def state(name: str, round_: int, state: str = "fetched", seen: datetime = AGO, **more: Any) -> dict[str, Any]:
    row = dict.fromkeys(URLS.names) | {"url_key": key(name), "url": name, "round": round_, "state": state}
    return row | {"last_fetched_at": seen, "score": 0.5, "depth": 2, "failures": 0} | more


# rows of urls, keys in the frontier: what is visited again
STATES = {
    "due": ([state("a", 1)], [], ["a"]),
    "due at this very moment": ([state("a", 1, seen=NOW)], [], ["a"]),
    "one of two": ([state("a", 1), state("b", 1, seen=NEVER)], [], ["a"]),
    "not yet": ([state("a", 1, seen=AHEAD)], [], []),
    "in the frontier already": ([state("a", 1), state("b", 1)], ["a"], ["b"]),
    "gone since": ([state("a", 2, "gone"), state("a", 1)], [], []),
    "visited since": ([state("a", 1), state("a", 2, seen=AHEAD)], [], []),
    "a page that its sitemap says has changed since": ([state("a", 1, seen=LATER, sitemap_lastmod=LATEST)], [], ["a"]),
    "a page that has not changed since": ([state("a", 1, seen=AHEAD, sitemap_lastmod=AHEAD)], [], []),
    "a change that is yet to come": ([state("a", 1, seen=AHEAD, sitemap_lastmod=NEVER)], [], []),
    "a sitemap": ([state("a", 1, seen=AHEAD, kind="sitemap")], [], ["a"]),
    "a sitemap, not yet": ([state("a", 1, seen=LATER, kind="sitemap")], [], []),
    "a requisite": ([state("a", 1, kind="requisite", sitemap_lastmod=LATEST)], [], []),
    "an external target": ([state("a", 1, kind="external")], [], ["a"]),
    "an external target, not yet": ([state("a", 1, seen=AHEAD, kind="external")], [], []),
    "an external target that was gone": ([state("a", 1, "gone", kind="external")], [], ["a"]),
    "an external target that failed, not yet": ([state("a", 1, "failed", seen=AHEAD, kind="external")], [], []),
    "an external target that waits": ([state("a", 1, "due", kind="external")], [], []),
    "TDM rules that were not there": ([state("a", 1, "gone", kind="tdmrep")], [], ["a"]),
    "TDM rules that failed": ([state("a", 1, "failed", kind="tdmrep")], [], ["a"]),
    "a licence that was denied": ([state("a", 1, "denied", kind="rsl")], [], ["a"]),
    "never visited": ([state("a", 1, "due", seen=None, sitemap_lastmod=AGO)], [], []),
    "a failure": ([state("a", 1, "failed")], [], []),
}


@each_row(STATES)
def test_which_pages_are_visited_again(known: list, waiting: list[str], found: list[str]) -> None:
    chosen = list(revisits(urls(known), map(key, waiting), RIPE))
    assert [row["url"] for row in chosen] == found


def test_sitemaps_are_due_as_early_as_pages_at_least() -> None:
    ages = ((7.0, 1.0), (0.5, 1.0))
    found = [DueCriteria.of(Recrawl(after=pages), Sitemaps(after=sitemaps), NOW) for pages, sitemaps in ages]
    days = [((NOW - one.pages) / timedelta(1), (NOW - one.sitemaps) / timedelta(1)) for one in found if one]
    assert days == [(7.0, 1.0), (0.5, 0.5)]
    assert DueCriteria.of(Recrawl(), Sitemaps(), NOW) is None


def test_what_is_known_of_a_page_goes_along() -> None:
    known = {"etag": '"1"', "last_modified": "yesterday", "digest": b"d" * 16, "discovered_from": "http://b.test/"}
    (row,) = revisits(urls([state("a", 1, host="a.test", discovered_round=1, **known)]), [], RIPE)
    assert row == {
        "url_key": key("a"),
        "url": "a",
        "host": "a.test",
        "depth": 2,
        "etag": '"1"',
        "last_modified": "yesterday",
        "digest": b"d" * 16,
        "discovered_round": 1,
        "failures": 0,
        "priority": 0.5,
        "reason": "recrawl",
        "referrer": "http://b.test/",
        "redirects": 0,
        "kind": None,
        "sitemap": None,
    }


@each_row(STATES)
def test_a_group_with_a_row_that_is_due_is_not_skipped(known: list, waiting: list[str], found: list[str]) -> None:
    table, sink = urls(known), pa.BufferOutputStream()
    pq.write_table(table, sink)
    file = pq.ParquetFile(pa.BufferReader(sink.getvalue()))
    seen, changed = (statistics(file, 0, name) for name in ("last_fetched_at", "sitemap_lastmod"))
    assert RIPE.may_hold(seen, changed) >= any(RIPE.mask(table).to_pylist())


def changing(**header: str) -> Page:
    """A page that answers 304 to whoever shows what it was given as ETag or Last-Modified."""
    page = html("Lighthouse", "The lamp turns.")

    def answer(headers: Mapping[str, str]) -> Answer:
        asked = {"ETag": "if-none-match", "Last-Modified": "if-modified-since"}
        if all(headers.get(asked[name]) == value for name, value in header.items()):
            return status(304)
        return Answer(body=page.body, headers=(*page.headers, *header.items()))

    return answer


NOW_AGAIN = {"recrawl__after": 0.0}


def test_pages_that_are_visited_again_changed_or_not(tmp_path: Path) -> None:
    day = {"Last-Modified": "Fri, 20 Nov 2026 10:00:00 GMT"}
    texts = iter(["The wheel turns.", "The wheel is still.", "The wheel turns."])
    same = {
        "/": html("Home"),
        "/etag": changing(ETag='"v1"'),
        "/date": changing(**day),
        "/both": changing(ETag='"v1"', **day),
    }
    with Web({"same.test": same, "other.test": {"/": lambda headers: html("Mill", next(texts))}}) as web:
        other = web.url("other.test")
        crawl(tmp_path, [*(web.url("same.test", path) for path in same), other])
        documents, seen = rows(tmp_path, "documents"), len(web.requests)

        assert crawl(tmp_path).reason == crawl(tmp_path, recrawl__after=1.0).reason == "frontier_empty"
        assert len(web.requests) == seen  # nothing is visited again without the setting, or before its time

        crawl(tmp_path, rounds=1, **NOW_AGAIN)
        again = {request.path: request for request in web.requests[seen:] if request.host == "same.test"}
        ends = {urlsplit(v["url"]).path: v["outcome"] for v in rows(tmp_path, "visits") if v["round"] == 2}
        assert ends == {"/": "fetched"} | dict.fromkeys(["/etag", "/date", "/both"], "not_modified")
        assert {path: (request.status, "if-none-match" in request.headers, "if-modified-since" in request.headers)
                for path, request in again.items()} == {
            "/": (200, False, False),
            "/etag": (304, True, False),
            "/date": (304, False, True),
            "/both": (304, True, True),
        }  # fmt: skip
        # The front page came anew and was the same.
        assert [row for row in rows(tmp_path, "documents") if row["url"] != other] == [
            row for row in documents if row["url"] != other
        ]
        assert {row["state"] for row in states(tmp_path).values()} == {"fetched"}
        assert [row["fetches"] for row in states(tmp_path).values()] == [2, 2, 2, 2, 2]
        assert Index.open(CrawlDir(str(tmp_path))).search("lamp").total == 1

        crawl(tmp_path, rounds=1, **NOW_AGAIN)
    assert [row["text"].splitlines()[-1] for row in rows(tmp_path, "documents") if row["url"] == other] == [
        "The wheel turns.", "The wheel is still.", "The wheel turns.",
    ]  # fmt: skip
    assert states(tmp_path)[other]["changes"] == 2
    index = Index.open(CrawlDir(str(tmp_path)))
    assert [index.search(query).total for query in ("wheel", "still")] == [1, 0]


# a header of a 304, the reason of the state that it leads to, and a column of the document
SAID_BY_304 = {
    "index": (("X-Robots-Tag", "noindex"), "denied_meta", ("noindex", True)),
    "end": (("X-Robots-Tag", "unavailable_after: 2020-01-01"), "denied_meta", ("noindex", True)),
    "search": (("Content-Usage", "search=n"), "denied_search", ("search", False)),
}


def test_what_a_304_says_of_the_index_holds_at_once(tmp_path: Path) -> None:
    """As nginx, whose `add_header` adds it to a 304 too; its headers replace the stored ones (RFC 9111, 3.2)."""
    is_said = False

    def page(word: str, header: tuple[str, str]) -> Page:
        first = html("Mill", f"The wheel of the {word} turns.")

        def answer(headers: Mapping[str, str]) -> Answer:
            more = [header] if is_said else []
            if headers.get("if-none-match") == '"v1"':
                return Answer(304, headers=tuple(more))
            return Answer(body=first.body, headers=(*first.headers, ("ETag", '"v1"'), *more))

        return answer

    def found() -> set[str]:
        return {hit.url for hit in Index.open(CrawlDir(str(tmp_path))).search("wheel").hits}

    def last(table: str, name: str) -> dict[str, Any]:
        return {row["url"]: row[name] for row in rows(tmp_path, table)}

    with Web({"a.test": {f"/{word}": page(word, said[0]) for word, said in SAID_BY_304.items()}}) as web:
        said = {web.url("a.test", f"/{word}"): of for word, of in SAID_BY_304.items()}
        crawl(tmp_path, said)
        crawl(tmp_path, rounds=1, **NOW_AGAIN)
        assert (found(), last("urls", "reason")) == ({*said}, dict.fromkeys(said, "not_modified"))
        is_said = True
        crawl(tmp_path, rounds=1, **NOW_AGAIN)
        assert (found(), last("urls", "reason")) == (set(), {url: reason for url, (_, reason, _) in said.items()})
        assert last("visits", "outcome") == dict.fromkeys(said, "not_modified")
        crawl(tmp_path, rounds=1)
        for url, (_, _, (column, value)) in said.items():
            assert last("documents", column)[url] is value
        assert last("visits", "outcome") == dict.fromkeys(said, "fetched")
        assert found() == set()
        is_said = False
        crawl(tmp_path, rounds=1, **NOW_AGAIN)
        assert found() == {*said}


def test_a_page_that_waits_in_the_frontier_is_not_put_there_again(tmp_path: Path) -> None:
    site: dict[str, Page] = {f"/{n}": html(f"Page {n}", f"Text of {n}.") for n in range(4)}
    with Web({"a.test": site}) as web:
        crawl(tmp_path, [web.url("a.test", path) for path in site])
        crawl(tmp_path, rounds=1, limits__max_pages_per_host_per_round=2, **NOW_AGAIN)
        left = frontier(tmp_path)
        assert [(row["reason"], row["digest"] is not None) for row in left] == [("recrawl", True)] * 2
        crawl(tmp_path, rounds=1, limits__max_pages_per_host_per_round=2)
        assert frontier(tmp_path) == []
        assert sorted(row["fetches"] for row in states(tmp_path).values()) == [2] * 4
