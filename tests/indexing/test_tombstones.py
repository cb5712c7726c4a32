"""Pages that are no longer found, and those that are found again."""

from pathlib import Path
from urllib.parse import urlsplit

import pyarrow as pa

from beamtrawl.search.answers.searcher import Index
from beamtrawl.transforms.batches.batch_schemas import FACTS
from beamtrawl.transforms.directory.crawl_dir import CrawlDir
from beamtrawl.transforms.indexing.tombstones import alive, removals_of_visits, tombstone_rows
from beamtrawl.transforms.outcomes import COUNTED_LATER, Outcome
from beamtrawl.transforms.tables.schemas import KEY, TOMBSTONES
from tests.support.crawls import crawl, rows
from tests.support.tables import each_row
from tests.support.web import Answer, Web, html, redirect, status

DIGEST = b"d" * 16


def key(number: int) -> bytes:
    return bytes([number]) * 16


_GONE = (
    *(Outcome.GONE, Outcome.CLIENT_ERROR, Outcome.DENIED_ROBOTS, Outcome.PAYMENT_REQUIRED, Outcome.FORBIDDEN),
    *(Outcome.UNWANTED_TYPE, Outcome.TOO_LONG, Outcome.REDIRECT_LOOP, Outcome.BAD_REDIRECT),
)
_TROUBLE = (
    *(Outcome.NOT_MODIFIED, Outcome.SERVER_ERROR, Outcome.UNREACHABLE_ROBOTS, Outcome.DEFERRED, Outcome.TIMEOUT),
    *(Outcome.DNS_ERROR, Outcome.CONNECT_ERROR, Outcome.TLS_ERROR, Outcome.BAD_RESPONSE),
    *(Outcome.BLOCKED_ADDRESS, Outcome.TOO_MANY_REQUESTS),
)
# outcome, what else is known of the visit, why an older version is not found any more
VISITS = {
    "still there": (Outcome.FETCHED, {"digest": DIGEST}, None),
    "NOINDEX now": (Outcome.FETCHED, {"digest": DIGEST, "denied_meta": True}, "denied_meta"),
    "NOINDEX in a 304": (Outcome.NOT_MODIFIED, {"denied_meta": True}, "denied_meta"),
    "search=no in a 304": (Outcome.NOT_MODIFIED, {"denied_search": True}, "denied_search"),
    "of a kind that is not read": (Outcome.FETCHED, {}, "unwanted_type"),
    "moved": (Outcome.REDIRECTED, {}, "redirected"),
    "sent to another spelling of its URL": (Outcome.REDIRECTED, {"respelled": "http://a.test/?s=1"}, None),
    **{outcome.value: (outcome, {}, outcome.value) for outcome in _GONE},
    **{outcome.value: (outcome, {}, None) for outcome in _TROUBLE},
}


@each_row(VISITS)
def test_what_a_visit_means_for_older_versions(outcome: Outcome, more: dict, reason: str | None) -> None:
    facts = pa.Table.from_pylist([{"url_key": key(1), "outcome": outcome.value} | more], schema=FACTS)
    assert removals_of_visits(facts).to_pylist() == ([{"url_key": key(1), "reason": reason}] if reason else [])


def test_every_outcome_has_been_thought_of() -> None:
    assert {outcome for outcome, _, _ in VISITS.values()} == set(Outcome) - COUNTED_LATER


def test_only_pages_that_had_content_get_a_tombstone_and_each_one() -> None:
    removals = [(key(3), "gone"), (key(1), "denied_meta"), (key(2), "gone"), (key(1), "duplicate")]
    assert tombstone_rows(removals, [key(1), key(3), key(3), key(4)], 7) == [
        {"url_key": key(1), "round": 7, "reason": "denied_meta"},
        {"url_key": key(3), "round": 7, "reason": "gone"},
    ]


def test_a_tombstone_masks_segments_of_earlier_rounds_alone() -> None:
    tombstones = pa.Table.from_pylist([{"url_key": key(1), "round": 2}, {"url_key": key(2), "round": 4}], TOMBSTONES)
    keys = pa.chunked_array([pa.array([key(1), key(2), key(3)], KEY)])
    masks = {round_: alive(keys, round_, tombstones).tolist() for round_ in range(1, 5)}
    assert masks == {1: [False, False, True]} | {n: [True, False, True] for n in (2, 3)} | {4: [True, True, True]}


NOINDEX = '<meta name="robots" content="noindex">'


def pages() -> dict[str, Answer]:
    names = ("same", "changed", "gone", "moved", "hidden", "copy", "lost")
    site = {
        f"/{name}": html(f"The {name} page", f"lamp text of the {name} page, which is long enough " * 2)
        for name in names
    }
    return site | {"/": html("Home", links=["//b.test/broken", "/never", *site])}


def found(path: Path, word: str = "lamp", as_of: int | None = None) -> set[str]:
    index = Index.open(CrawlDir(str(path)), as_of)
    return {urlsplit(hit.url).path for hit in index.search(word, limit=50).hits}


def test_the_index_holds_what_the_last_answers_of_a_site_were(tmp_path: Path) -> None:
    now = pages() | {"/new": status(404)}
    broken = {"/broken": html("Broken", "lamp text of a server that will break")}
    hosts = {
        "a.test": {path: lambda _, path=path: now[path] for path in now},
        "b.test": {"/broken": lambda _: broken["/broken"]},
    }
    all_pages = {"/broken", "/same", "/changed", "/gone", "/moved", "/hidden", "/copy", "/lost"}
    again = {"rounds": 1, "recrawl__after": 0.0, "scope__mode": "any", "limits__max_tries": 1}
    with Web(hosts) as web:
        crawl(tmp_path, [web.url("a.test")], scope__mode="any")
        assert (found(tmp_path), rows(tmp_path, "tombstones")) == (all_pages, [])

        before = dict(now)
        now |= {
            "/changed": html("The changed page", "another lamp"),
            "/gone": status(404),
            "/moved": redirect("/new", 301),
            "/new": now["/moved"],
            "/hidden": Answer(body=now["/hidden"].body.replace(b"<h1>", NOINDEX.encode() + b"<h1>")),
            "/copy": now["/same"],
            "/lost": html("404 Not Found", "The page was not found"),
        }
        broken["/broken"] = status(500)
        crawl(tmp_path, **again)
        paths = {row["url_key"]: urlsplit(row["url"]).path for row in rows(tmp_path, "urls")}
        buried = {paths[row["url_key"]]: row["reason"] for row in rows(tmp_path, "tombstones")}
        assert buried == {
            "/changed": "replaced",
            "/gone": "gone",
            "/moved": "redirected",
            "/hidden": "denied_meta",
            "/copy": "duplicate",
            "/lost": "soft_404",
        }
        assert found(tmp_path) == {"/broken", "/same", "/changed"}
        assert found(tmp_path, "another lamp") == {"/changed", "/broken", "/same"}
        assert found(tmp_path, as_of=2) == all_pages

        now |= {path: before[path] for path in ("/gone", "/hidden", "/lost")}
        crawl(tmp_path, [web.url("a.test", "/gone")], **again)
        assert found(tmp_path) == {"/broken", "/same", "/changed", "/gone", "/hidden", "/lost", "/new"}
        assert found(tmp_path, as_of=3) == {"/broken", "/same", "/changed"}
