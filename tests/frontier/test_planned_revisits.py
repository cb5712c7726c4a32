"""Planned revisits in whole crawls: pages are visited again by how often they change, within the budget."""

from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from beamtrawl.runners.engines.direct import DirectEngine
from beamtrawl.runners.progress.words import describe_end
from beamtrawl.transforms.directory.crawl_dir import CrawlDir
from beamtrawl.transforms.frontier.due_pages import TAKEN
from beamtrawl.transforms.settings import render
from tests.support.command_line import beamtrawl
from tests.support.crawls import crawl, frontier, rows, settings, states
from tests.support.web import Answer, Web, html, status

PLANNED = {"recrawl__per_day": 1e8, "recrawl__min_interval": 1e-9}
"""A budget so large that all pages are due at once."""


def tally(path: Path, url: str) -> tuple[int | None, int | None]:
    """(visits that found a change, visits that found none) of a URL."""
    row = states(path)[url]
    return row["changed"], row["unchanged"]


def test_changes_are_counted_and_the_next_visit_is_planned(tmp_path: Path) -> None:
    numbers = count()
    dates = count(1)

    def lying(_: object) -> Answer:
        """Another Last-Modified, a year ahead, at each visit of a page that does not change."""
        page = html("Lying", "It says that it changes.")
        return Answer(
            body=page.body, headers=(*page.headers, ("Last-Modified", f"Fri, 0{next(dates)} Nov 2027 10:00:00 GMT"))
        )

    site = {
        "/": html("Home"),
        "/hot": lambda headers: html("Hot", f"Number {next(numbers)} of the counter."),
        "/lying": lying,
    }
    with Web({"a.test": site}) as web:
        home, hot, liar = (web.url("a.test", path) for path in ("/", "/hot", "/lying"))
        crawl(tmp_path, [home, hot, liar], rounds=1, **PLANNED)
        for _ in range(3):
            assert crawl(tmp_path, rounds=1, **PLANNED).reason == "rounds"
    assert {url: tally(tmp_path, url) for url in (home, hot, liar)} == {
        home: (None, 3),
        hot: (3, None),
        liar: (None, 3),
    }
    found = states(tmp_path)
    rates = {url: found[url]["changes_per_day"] for url in (home, hot, liar)}
    assert rates[hot] > 2 * rates[home]
    assert rates[liar] == pytest.approx(rates[home], rel=0.5)  # their visits are some time apart
    host = max(rows(tmp_path, "host_changes"), key=lambda row: row["round"])
    assert (host["changed"], host["unchanged"]) == (3, 6)
    assert host["unchanged_s"] == pytest.approx(found[home]["unchanged_s"] + found[liar]["unchanged_s"])
    pages = {(row["rate"], row["weight"]): row["pages"] for row in rows(tmp_path, "change_rates")}
    assert sum(pages.values()) == 3  # each page is in one bucket, that of its last estimate


def test_a_crawl_ends_when_only_later_revisits_are_left_and_says_when(tmp_path: Path) -> None:
    with Web({"a.test": {"/": html("Home", links=["/b"]), "/b": html("B")}}) as web:
        end = crawl(tmp_path, [web.url("a.test")], recrawl__per_day=1.0)
        assert end.reason == "not_due"
        assert end.due_at == min(row["next_fetch_at"] for row in states(tmp_path).values())
        assert end.due_at > datetime.now(UTC) + timedelta(hours=1)
        seen = len(web.requests)
        assert crawl(tmp_path, recrawl__per_day=1.0) == end._replace(rounds=0)
        assert crawl(tmp_path).reason == "frontier_empty"  # without the setting, as ever
        assert len(web.requests) == seen
    assert frontier(tmp_path) == []  # what is not due is not in the frontier


def test_without_the_setting_nothing_is_planned(tmp_path: Path) -> None:
    with Web({"a.test": {"/": html("Home")}}) as web:
        assert crawl(tmp_path, [web.url("a.test")]).reason == "frontier_empty"
    assert not [name for name in ("revisits", "change_rates") if (tmp_path / name).exists()]


class Killed(DirectEngine):
    """Dies after the pipeline of a step, before its commit."""

    def run(self, *arguments: Any, **more: Any) -> Any:
        super().run(*arguments, **more)
        raise InterruptedError


def test_rows_are_taken_once_and_after_a_kill_again(tmp_path: Path) -> None:
    with Web({"a.test": {"/": html("Home")}}) as web:
        crawl(tmp_path, [web.url("a.test")], rounds=1, **PLANNED)
        for _ in range(2):
            with pytest.raises(InterruptedError):
                crawl(tmp_path, engine=Killed(1, []), rounds=1, **PLANNED)
            assert frontier(tmp_path) == []
        crawl(tmp_path, rounds=1, **PLANNED)
        assert tally(tmp_path, web.url("a.test")) == (None, 1)
        crawl(tmp_path, rounds=1, **PLANNED)
    taken = [m.counters[TAKEN] for m in CrawlDir(str(tmp_path)).manifests() if m.step == "revisits"]
    assert taken == [1, 1]
    assert tally(tmp_path, web.url("a.test")) == (None, 2)
    assert sum(row["reason"] == "recrawl" for row in rows(tmp_path, "frontier")) == 2


def test_a_page_that_is_gone_fades_and_comes_back_into_the_index(tmp_path: Path) -> None:
    answers = {"now": html("Lighthouse", "The lamp turns.")}
    with Web({"a.test": {"/": lambda headers: answers["now"]}}) as web:
        url = web.url("a.test")
        crawl(tmp_path, [url], rounds=1, **PLANNED)
        answers["now"] = status(404)
        crawl(tmp_path, rounds=1, **PLANNED)
        gone = states(tmp_path)[url]
        assert (gone["state"], gone["fade_s"], gone["changes_per_day"]) == ("gone", 86_400, None)
        assert gone["next_fetch_at"] - gone["last_fetched_at"] == timedelta(days=1)
        assert crawl(tmp_path, **PLANNED).reason == "not_due"


@pytest.mark.slow("whole crawls")
def test_the_command_line_says_when_and_why(tmp_path: Path) -> None:
    with Web({"a.test": {"/": html("Home")}}) as web:
        url = web.url("a.test")
        crawl(tmp_path, [url], rounds=1, **PLANNED)
        crawl(tmp_path, rounds=1, **PLANNED)
        end = crawl(tmp_path, rounds=1, recrawl__per_day=1.0, recrawl__after=0.0)
    (tmp_path / "crawl.toml").write_text(render(settings(recrawl__per_day=1.0)))
    at = states(tmp_path)[url]["next_fetch_at"]
    days = (at - states(tmp_path)[url]["last_fetched_at"]) / timedelta(days=1)
    said = f"next visit: {at:%Y-%m-%d %H:%M:%S} UTC, every {days:.3g} days: about "
    explained = beamtrawl("explain", tmp_path, url).out.splitlines()
    (line,) = [line for line in explained if line.startswith("next visit")]
    assert line.startswith(said)
    assert "(0 of 2 revisits found one; its host: " in line
    assert line.endswith("weight 1")
    assert describe_end(end._replace(reason="not_due", due_at=at), 0).startswith("no page is due until 20")
    assert describe_end(end._replace(reason="not_due", due_at=at), 3).startswith("3 URLs wait until 20")
