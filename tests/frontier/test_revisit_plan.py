"""The time of a page's next visit, from the visits so far."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from beamtrawl.transforms.frontier.freshness.change_rate import DAY
from beamtrawl.transforms.frontier.revisit_plan import Plan, count_first, plan_visits, weight
from beamtrawl.transforms.frontier.url_states import compared, remembered
from beamtrawl.transforms.settings import Priority, Recrawl, Sitemaps
from beamtrawl.transforms.tables.schemas import URLS, VISITS
from beamtrawl.transforms.tables.table_files import TableWriter
from tests.support.tables import each_row

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
YESTERDAY = NOW - timedelta(days=1)
Row = dict[str, Any]


def plan(**recrawl: float) -> Plan:
    found = Plan.of(Recrawl(**{"per_day": 10.0} | recrawl), Sitemaps(), Priority(), {(0, 0): 50}, 50)
    assert found is not None
    return found


def row(name: str, **more: Any) -> Row:
    shown = {"url_key": name.encode(), "url": name, "host": "a.test", "state": "fetched", "depth": 0, "round": 2}
    return dict.fromkeys(URLS.names) | shown | {"digest": b"d", "last_fetched_at": NOW, "score": 0.0} | more


def visit(name: str) -> Row:
    return {"url_key": name.encode(), "fetched_at": NOW}


def planned(url: Row, before: Row | None = None, **recrawl: float) -> Any:
    return plan_visits([url], [visit(url["url"])], [before] if before else [], [], plan(**recrawl))


def test_no_plan_without_a_budget() -> None:
    assert Plan.of(Recrawl(), Sitemaps(), Priority(), {}, 100) is None


def test_new_pages_of_a_first_round_are_spread_over_the_budget() -> None:
    found = Plan.of(Recrawl(per_day=10.0), Sitemaps(), Priority(), {}, 100)
    assert found is not None
    (url,) = plan_visits([row("a", depth=2)], [visit("a")], [], [], found).urls
    assert (url["next_fetch_at"] - NOW) / timedelta(days=1) == pytest.approx(10, rel=0.1)


def test_pages_that_change_more_are_visited_sooner_and_the_row_of_revisits_says_when() -> None:
    slow, fast = (
        planned(row(name, unchanged=9, unchanged_s=DAY * days)) for name, days in (("slow", 900), ("fast", 30))
    )
    assert fast.urls[0]["next_fetch_at"] < slow.urls[0]["next_fetch_at"]
    due = fast.urls[0]["next_fetch_at"]
    assert fast.due == [{"url_key": b"fast", "host": "a.test", "round": 2, "due_at": due}]


def test_the_host_counts_where_a_page_tells_nothing() -> None:
    hosts = [("a.test", 1, 9, 9 * 11.0, DAY, 1), ("a.test", 0, 0, 0.0, 900 * DAY, 9)]
    busy = plan_visits([row("a")], [visit("a")], [], hosts, plan()).urls[0]
    calm = plan_visits([row("a")], [visit("a")], [], hosts[1:], plan()).urls[0]
    assert busy["changes_per_day"] > 10 * calm["changes_per_day"]


@pytest.mark.parametrize(
    ("url", "high_score", "expected"),
    [
        ({"depth": 0, "score": 0.0}, None, 1.0),
        ({"depth": 2, "score": 0.0}, None, 0.5),
        ({"depth": 60, "score": 9.0}, None, 0.125),
        ({"depth": 60, "score": 9.0}, 1.0, 1.0),
        ({"depth": 4, "score": None}, 1.0, 0.25),
    ],
)
def test_weights(url: Row, high_score: float | None, expected: float) -> None:
    assert weight(url, high_score) == expected


def test_the_histogram_follows_the_page() -> None:
    first = planned(row("a"))
    assert list(first.pages.values()) == [1]
    again = planned(row("a", changed=5, changed_log_s=5 * 8.0), first.urls[0])
    assert sorted(again.pages.values()) == [-1, 1]
    assert planned(first.urls[0] | {"round": 3}, first.urls[0]).pages == {}  # the same bucket
    held = planned(first.urls[0] | {"state": "trapped"}, first.urls[0])
    assert (list(held.pages.values()), held.urls[0]["changes_per_day"], held.due) == ([-1], None, [])


def test_the_host_gets_what_the_visit_added() -> None:
    before = row("a", unchanged=1, unchanged_s=50.0)
    assert planned(row("a", unchanged=2, unchanged_s=80.0), before).hosts == {"a.test": (0, 0.0, 30.0, 1)}


def test_a_page_that_is_gone_fades_until_it_is_given_up() -> None:
    url, days = row("a", state="gone"), []
    while url["next_fetch_at"] is not None or not days:
        (url,) = planned(url | {"next_fetch_at": None}, max_interval=30.0).urls
        if url["next_fetch_at"]:
            days.append((url["next_fetch_at"] - NOW).days)
    assert days == [1, 2, 4, 8, 16]
    assert remembered(url | {"etag": '"1"'}) == {"etag": None, "last_modified": None, "digest": None}


@pytest.mark.parametrize(
    "url",
    [row("a", state="gone", digest=None), row("a", state="due"), row("a", state="alias"), row("a", kind="requisite")],
    ids=["never was a page", "waits already", "an alias", "a requisite"],
)
def test_what_is_not_planned(url: Row) -> None:
    found = planned(url)
    assert (found.urls, found.due, found.pages, found.hosts) == ([url], [], {}, {})


def test_a_sitemap_is_read_again_after_its_own_interval() -> None:
    found = planned(row("a", kind="sitemap"))
    assert found.urls[0]["next_fetch_at"] == NOW + timedelta(days=1)
    assert (len(found.due), found.pages) == (1, {})


@pytest.mark.parametrize("state", ["fetched", "gone", "redirected"])
def test_an_external_target_is_asked_again_after_the_longest_interval(state: str) -> None:
    found = planned(row("a", state=state, kind="external"), max_interval=30.0)
    assert found.urls[0]["next_fetch_at"] == NOW + timedelta(days=30)
    assert (len(found.due), found.pages) == (1, {})
    assert planned(row("a", state="due", kind="external")).due == []


def test_first_pages_are_counted(tmp_path: Path) -> None:
    writer = TableWriter(str(tmp_path), "visits", 1)
    fetched = {"outcome": "fetched"}
    others = [{"outcome": "gone"}, fetched | {"digest_before": b"d" * 16}, fetched | {"kind": "requisite"}]
    writer.write_rows([dict.fromkeys(VISITS.names) | row for row in (fetched, *others)])
    file = writer.close()
    assert file and count_first(str(tmp_path), [file.path]) == 1


def test_the_longest_interval_grows_if_the_budget_does_not_suffice() -> None:
    assert plan(per_day=1.0, max_interval=30.0).bounds.longest == 200 * DAY
    assert plan(per_day=100.0, max_interval=30.0).bounds.longest == 30 * DAY


LAST = row("a", last_fetched_at=YESTERDAY, last_status=200, unchanged=2, unchanged_s=7.0)
COMPARED = {
    "a 304": (LAST, ("not_modified", NOW, None), {"unchanged": 3, "unchanged_s": 7.0 + DAY}),
    "the same digest": (LAST, ("fetched", NOW, b"d"), {"unchanged": 3, "unchanged_s": 7.0 + DAY}),
    "another digest": (LAST, ("fetched", NOW, b"e"), {"changed": 1, "changed_log_s": pytest.approx(11.3667, abs=1e-3)}),
    "no digest": (LAST, ("fetched", NOW, None), {}),
    "the first visit": (LAST | {"digest": None}, ("fetched", NOW, b"d"), {}),
    "our clock was set back": (LAST, ("fetched", YESTERDAY - timedelta(days=9), b"e"), {}),
    "after a failure": (LAST | {"last_status": 503}, ("fetched", NOW, b"e"), {}),
    "gone": (LAST, ("gone", NOW, None), {}),
}


@each_row(COMPARED)
def test_which_visits_tell_whether_a_page_has_changed(url: Row, fact: tuple, expected: Row) -> None:
    assert compared(url, dict(zip(("outcome", "fetched_at", "digest"), fact, strict=True))) == expected
