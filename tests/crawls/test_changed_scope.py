"""The scope of a crawl is changed while URLs wait: what it excludes is not requested, and nothing is lost."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from beamtrawl.transforms.settings import render
from tests.support.command_line import LOOPBACK, beamtrawl
from tests.support.crawls import crawl, frontier, rows, settings, states
from tests.support.web import Page, Web, html, plain, redirect, status

PAGES = [f"/page/{n}" for n in range(4)]
CALENDAR = [f"/calendar/{n}" for n in range(4)]
LATER = ["/calendar/next", "/calendar/moved"]  # found on pages of the calendar only
LEAVES = ["/calendar/next", "/calendar/arrived", "/calendar/mapped", "/arrived", "/listed", "/mapped", "/spelled"]
CHANGED: dict[str, Any] = {"scope__exclude": ["/calendar/"]}
HOME, SPELLED = "/", "/spelled?utm_source=x"


def text(name: str) -> str:
    return f"The page of {name}, and what there is to know about {name[::-1]}."


def site() -> dict[str, Page]:
    return {
        "/robots.txt": plain("User-agent: *\nSitemap: /maps/map.xml\n"),
        "/maps/map.xml": plain("http://a.test/mapped\nhttp://a.test/calendar/mapped\n"),
        HOME: html("Home", "", [*PAGES, *CALENDAR, "/moved", SPELLED]),
        "/moved": redirect("/arrived"),
        SPELLED: redirect("/spelled"),
        "/tired": status(503),
        "/calendar/moved": redirect("/calendar/arrived"),
        "/calendar/list": html("List", text("list"), ["/listed"]),
        **{path: html(path, text(path), [f"{path}/more"]) for path in PAGES},
        **{path: html(path, text(path), LATER) for path in CALENDAR},
        **{path: html(path, text(path)) for path in [*LEAVES, *(f"{page}/more" for page in PAGES)]},
    }


@pytest.fixture
def web() -> Iterator[Web]:
    with Web({"a.test": site()}) as web:
        yield web


def requested(web: Web, after: int = 0) -> list[str]:
    """The paths that were requested, but for robots.txt."""
    return [request.path for request in web.requests[after:] if request.path != "/robots.txt"]


def paths(found: list[dict[str, Any]]) -> set[str]:
    return {"/" + row["url"].split("/", 3)[3] for row in found}


def test_what_is_excluded_waits_until_the_settings_allow_it(tmp_path: Path, web: Web) -> None:
    crawl(tmp_path, [web.url("a.test")], rounds=1)
    assert set(CALENDAR) < paths(frontier(tmp_path))
    first = len(web.requests)

    end = crawl(tmp_path, [web.url("a.test", "/calendar/list")], **CHANGED)
    assert (end.reason, end.excluded, end.blocked) == ("frontier_empty", len(CALENDAR), 0)
    wanted = {*PAGES, *(f"{page}/more" for page in PAGES), "/moved", "/arrived", SPELLED, "/spelled"}
    wanted |= {"/maps/map.xml", "/mapped"}
    assert set(requested(web, first)) == wanted | {"/calendar/list", "/listed"}, "a seed is requested nevertheless"
    assert paths(frontier(tmp_path)) == set(CALENDAR)
    assert {states(tmp_path)[web.url("a.test", path)]["state"] for path in CALENDAR} == {"due"}

    second = len(web.requests)
    assert crawl(tmp_path, **CHANGED) == end._replace(rounds=0, is_over=True)
    assert web.requests[second:] == []

    end = crawl(tmp_path)
    assert (end.reason, end.excluded) == ("frontier_empty", 0)
    assert set(requested(web, second)) == {*CALENDAR, *LATER, "/calendar/arrived"}
    assert frontier(tmp_path) == []
    assert set(Counter(requested(web)).values()) == {1}


@pytest.mark.slow("whole crawls")
def test_with_at_most_so_many_pages_a_round(tmp_path: Path, web: Web) -> None:
    """The first rows over all hosts are chosen in another way."""
    crawl(tmp_path, [web.url("a.test")], rounds=1)
    end = crawl(tmp_path, limits__max_pages_per_round=4, **CHANGED)
    assert (end.reason, end.excluded) == ("frontier_empty", len(CALENDAR))
    assert end.rounds > 3
    assert not any(path.startswith("/calendar/") for path in requested(web))
    assert {*PAGES, "/mapped", "/arrived"} < set(requested(web))


@pytest.mark.slow("whole crawls")
def test_pages_that_were_fetched_are_not_revisited_and_stay(tmp_path: Path, web: Web) -> None:
    crawl(tmp_path, [web.url("a.test")])
    documents, before = rows(tmp_path, "documents"), len(web.requests)
    end = crawl(tmp_path, recrawl__after=0.0, rounds=1, **CHANGED)
    assert (end.reason, end.excluded) == (
        "rounds",
        len([*CALENDAR, "/calendar/next", "/calendar/arrived", "/calendar/mapped"]),
    )
    again = requested(web, before)
    assert {HOME, *PAGES} < set(again)
    assert not any(path.startswith("/calendar/") for path in again)
    assert rows(tmp_path, "documents") == documents
    assert not rows(tmp_path, "tombstones")


# changes of settings by which nothing is excluded that was accepted
HARMLESS: dict[str, dict[str, Any]] = {
    "no setting of the scope": {"limits__max_tries": 2},
    "settings of the scope": {
        "scope__exclude": ["/nothing/"],
        "scope__deny_hosts": ["b.test"],
        "scope__include": ["/page/", "/calendar/", "moved", "arrived", "spell", "mapped"],
        "scope__mode": "any",
        "scope__path_depth": 30,
        "scope__depth": 2,
    },
}


@pytest.mark.slow("whole crawls")
@pytest.mark.parametrize("changes", HARMLESS.values(), ids=HARMLESS)
def test_settings_that_exclude_nothing_change_nothing(tmp_path: Path, web: Web, changes: dict[str, Any]) -> None:
    """The seed and the sitemap are not included, and requested nevertheless; so is what has to be tried again."""
    seeds = [web.url("a.test"), web.url("a.test", "/tired")]
    crawl(tmp_path, seeds, rounds=1)
    end = crawl(tmp_path, **changes)
    assert (end.reason, end.excluded) == ("frontier_empty", 0)
    counts = Counter(requested(web))
    assert counts.pop("/tired") == changes.get("limits__max_tries", 3)
    assert set(counts.values()) == {1}
    pages = {path for path in site() if path not in ("/robots.txt", "/tired", "/calendar/list", "/listed")}
    assert counts.keys() == pages


@pytest.mark.slow("whole crawls")
def test_a_user_is_told_that_urls_wait_because_the_settings_exclude_them(tmp_path: Path, web: Web) -> None:
    directory, url = tmp_path / "crawl", web.url("a.test", CALENDAR[0])
    assert beamtrawl("crawl", directory, "--seed", web.url("a.test"), "--rounds", 1, *LOOPBACK).code == 0
    stored = settings(fetch__allow_addresses=["127.0.0.0/8"], **CHANGED)
    (directory / "crawl.toml").write_text(render(stored))

    exclusion = "4 URLs that the settings exclude (explain URL names the rule)"
    said = beamtrawl("crawl", directory, "--rounds", 1, *LOOPBACK).err
    assert f" URLs in the frontier, among them {exclusion}\n" in said
    said = beamtrawl("crawl", directory, *LOOPBACK).err
    assert f"the frontier is empty but for {exclusion}\n" in said

    found = json.loads(beamtrawl("status", directory, "--json").out)
    assert [found[name] for name in ("due", "later", "blocked", "excluded")] == [0, 0, 0, 4]
    lines = beamtrawl("status", directory).out.splitlines()
    assert "of the frontier: 0 due now, 0 later" in lines
    assert (
        "excluded: 4 URLs of the frontier wait, because crawl.toml was changed and excludes them now;"
        f" beamtrawl explain {directory} URL names the rule" in lines
    )
    assert lines[2] == (
        f"to go on: beamtrawl crawl {directory}, after a change of crawl.toml, because its settings exclude all of the"
        " frontier"
    )

    because = 'the pattern "/calendar/" of scope.exclude matches it'
    lines = beamtrawl("explain", directory, url).out.splitlines()
    waits = "waits in the frontier (not visited yet, because earlier rounds had no time or room for it)"
    assert lines[0] == f"{waits}, not requested until crawl.toml allows it: {because}"
    assert lines[3:5] == [
        f"scope: rejected by exclude: {because}",
        "  it was in the crawl before crawl.toml was changed; it is not requested any more, and nothing is removed",
    ]

    assert beamtrawl("block", directory, f"{web.authority('a.test')}/calendar/0").code == 0
    said = beamtrawl("crawl", directory, *LOOPBACK).err
    assert "empty but for 1 URL that is blocked and 3 URLs that the settings exclude" in said

    (directory / "crawl.toml").write_text(render(settings()))
    found = json.loads(beamtrawl("status", directory, "--json").out)
    assert [found[name] for name in ("due", "blocked", "excluded")] == [3, 1, 0]
