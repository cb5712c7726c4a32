"""How far a robots.txt is followed, and how long an old copy counts."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from beamtrawl.pipeline.fetch import known_robots_rows
from beamtrawl.transforms.http.reply import Reply
from beamtrawl.transforms.robots.lookup import LAST_GOOD, Robots, next_hop, start_search
from beamtrawl.transforms.robots.rules import Verdict
from beamtrawl.transforms.tables.key_scan import Wanted
from beamtrawl.transforms.tables.table_files import TableWriter

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def test_five_redirects_are_followed_and_the_sixth_is_not():
    search, urls = start_search("http://a.test", 0), []
    while search := next_hop(search, Reply(301, [("Location", f"http://b.test/{len(urls)}")])):
        urls.append(search.url)
    assert urls == [f"http://b.test/{number}" for number in range(5)]


def test_a_copy_of_robots_txt_counts_for_24_hours(tmp_path: Path):
    ages = {"old": timedelta(hours=24, minutes=1), "good": timedelta(hours=23, minutes=59)}
    writer = TableWriter(str(tmp_path), "robots", 1)
    writer.write_rows([{"host": host, "fetched_at": NOW - age, "verdict": "rules"} for host, age in ages.items()])
    file = writer.close()
    assert file
    hosts = Wanted("host", sorted(ages))
    assert [host for host, _ in known_robots_rows(file.path, str(tmp_path), hosts, NOW)] == ["good"]


def test_a_copy_is_current_until_it_expires():
    robots = Robots(Verdict.ALLOW_ALL, expires_at=NOW)
    assert [robots.is_current(NOW + timedelta(seconds=n)) for n in (-1, 0)] == [True, False]
    assert Robots(Verdict.ALLOW_ALL).is_current(NOW)


def test_a_copy_that_has_expired_is_used_for_a_day_unless_it_was_unreachable():
    copies = {verdict: Robots(verdict, fetched_at=NOW) for verdict in Verdict}
    assert {verdict for verdict, copy in copies.items() if copy.is_usable(NOW)} == {*Verdict} - {Verdict.UNREACHABLE}
    assert not any(copy.is_usable(NOW + LAST_GOOD) for copy in copies.values())
