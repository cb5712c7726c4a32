"""How far a robots.txt is followed, and how long an old copy counts."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from beamtrawl.pipeline.fetch import known_robots_rows
from beamtrawl.transforms.archives.visits import robots_of
from beamtrawl.transforms.http.reply import Reply
from beamtrawl.transforms.http.response_body import CUT
from beamtrawl.transforms.outcomes import Outcome
from beamtrawl.transforms.robots.lookup import LAST_GOOD, Robots, answered_status, known_robots, next_hop, start_search
from beamtrawl.transforms.robots.rules import Verdict
from beamtrawl.transforms.tables.key_scan import Wanted
from beamtrawl.transforms.tables.schemas import RobotsRow
from beamtrawl.transforms.tables.table_files import TableWriter

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def test_five_redirects_are_followed_and_the_sixth_is_not():
    search, urls = start_search("http://a.test", 0), []
    while search := next_hop(search, Reply(301, [("Location", f"http://b.test/{len(urls)}")])):
        urls.append(search.url)
    assert urls == [f"http://b.test/{number}" for number in range(5)]


def test_an_answer_that_was_cut_or_failed_says_nothing():
    replies = Reply(200), Reply(200, error=CUT), Reply(failure=Outcome.TIMEOUT), Reply(404), Reply(404, error=CUT)
    assert [answered_status(reply) for reply in replies] == [200, None, None, 404, 404]


def test_a_copy_of_robots_txt_counts_for_24_hours(tmp_path: Path):
    ages = {"old": timedelta(hours=24, minutes=1), "good": timedelta(hours=23, minutes=59)}
    writer = TableWriter(str(tmp_path), "robots", 1)
    writer.write_rows([{"host": host, "fetched_at": NOW - age, "verdict": "rules"} for host, age in ages.items()])
    file = writer.close()
    assert file
    hosts = Wanted("host", sorted(ages))
    assert [host for host, _ in known_robots_rows(file.path, str(tmp_path), hosts, NOW)] == ["good"]


def test_a_robots_txt_of_an_archive_is_none_to_ask_by():
    def row(at: datetime, lasts: timedelta, body: bytes) -> RobotsRow:
        times = {"fetched_at": at, "expires_at": at + lasts}
        return {"origin": "http://a.test", "round": 1, "verdict": "rules", "body": body} | times  # type: ignore[return-value]

    live = row(NOW - timedelta(minutes=30), timedelta(hours=1), b"User-agent: *\nDisallow: /")
    planned = {"url": "http://a.test/robots.txt", "host": "a.test", "fetched_at": NOW, "depth": 0, "head": None}
    archived = robots_of(planned, Reply(200, [("Cache-Control", "max-age=86400")], b"User-agent: *\nAllow: /"), 2, "x")
    assert (archived["fetched_at"], archived["expires_at"]) == (NOW, NOW)
    known = known_robots([live, archived], "x", NOW - timedelta(minutes=1))
    assert not known.current["http://a.test"].allows("http://a.test/p")[0]
    known = known_robots([archived], "x", NOW - timedelta(minutes=1))
    assert not known.current and not known.expired


def test_a_copy_of_a_clock_that_is_ahead_is_not_current():
    def row(ahead: timedelta) -> RobotsRow:
        times = {"fetched_at": NOW + ahead, "expires_at": NOW + timedelta(hours=2)}
        return {"origin": "http://a.test", "round": 1, "verdict": "allow_all", "body": None} | times  # type: ignore[return-value]

    aheads = (timedelta(minutes=-1), timedelta(minutes=1), timedelta(minutes=2))
    assert [[*known_robots([row(ahead)], "me", NOW).current] for ahead in aheads] == [["http://a.test"]] * 2 + [[]]


def test_a_copy_is_current_until_it_expires():
    robots = Robots(Verdict.ALLOW_ALL, expires_at=NOW)
    assert [robots.is_current(NOW + timedelta(seconds=n)) for n in (-1, 0)] == [True, False]
    assert Robots(Verdict.ALLOW_ALL).is_current(NOW)


def test_a_copy_that_has_expired_is_used_for_a_day_unless_it_was_unreachable():
    copies = {verdict: Robots(verdict, fetched_at=NOW) for verdict in Verdict}
    assert {verdict for verdict, copy in copies.items() if copy.is_usable(NOW)} == {*Verdict} - {Verdict.UNREACHABLE}
    assert not any(copy.is_usable(NOW + LAST_GOOD) for copy in copies.values())
