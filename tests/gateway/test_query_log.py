"""The query log: what is written and when."""

import json
import math
from datetime import UTC, datetime

import pytest

from beamtrawl.search.gateway.app import create_app
from beamtrawl.search.gateway.query_log import Asked, QueryLog, as_line, file_log
from tests.support.command_line import beamtrawl, failure
from tests.support.corpus import indexed

AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
ROWS = [{"url": f"http://a.test/{n}", "title": f"Herring {n}", "text": f"common words of page{n}"} for n in range(25)]


def written(*asked: tuple[float, str, str], settle: float = math.inf) -> list[str]:
    """The queries that a log writes when clients ask at times, and then nothing until `settle`."""
    lines: list[Asked] = []
    log = QueryLog(lines.append)
    for now, client, query in asked:
        log.settle(now)
        log.add(client, Asked(AT, query, 1), now)
    log.settle(settle)
    return [line.query for line in lines]


@pytest.mark.parametrize(
    ("asked", "queries"),
    [
        ([], []),
        ([(0, "a", "fish")], ["fish"]),
        ([(0, "a", "fi"), (0.5, "a", "fish"), (1, "a", "fish soup")], ["fish soup"]),  # typed
        ([(0, "a", "fish soup"), (1, "a", "fish")], ["fish"]),  # and taken back
        ([(0, "a", "fish"), (1, "a", "fish"), (2, "a", "fish")], ["fish"]),  # a page that is shown again
        ([(0, "a", "fish"), (1, "a", "crab")], ["fish", "crab"]),
        ([(0, "a", "fish"), (1, "b", "fish soup")], ["fish", "fish soup"]),  # another client does not continue it
        ([(0, "a", "fish"), (3, "a", "fish soup")], ["fish", "fish soup"]),  # nor somebody who has read the results
        ([(0, "2001:db8::1", "fi"), (1, "2001:db8::2", "fish")], ["fish"]),  # one network
    ],
)
def test_what_clients_settle_on_is_written(asked, queries):
    assert written(*asked) == queries


def test_nothing_is_written_while_somebody_may_still_type():
    assert written((0, "a", "fish"), settle=2.9) == []
    assert written((0, "a", "fish"), settle=3.0) == ["fish"]


def test_many_clients_take_bounded_memory():
    count = 10_005
    assert len(written(*((0, f"client {n}", "fish") for n in range(count)), settle=0)) == 5


@pytest.mark.parametrize("query", ["fish", 'a "b"', "한국어\u202e", "line\nbreak", "\ud800", "x" * 300])
def test_a_line_is_one_object(query):
    line = as_line(Asked(AT, query, 3))
    assert "\n" not in line
    assert json.loads(line) == {"at": AT.isoformat(), "query": query, "pages": 3}


def test_files_are_rotated(tmp_path):
    path = tmp_path / "queries.jsonl"
    line = as_line(Asked(AT, "x" * 300, 1))
    path.write_text(f"{line}\n" * (10_000_000 // len(line)))
    with file_log(path) as log:
        log.add("a", Asked(AT, "fish", 1), 0.0)
    assert [file.name for file in sorted(tmp_path.iterdir())] == ["queries.jsonl", "queries.jsonl.1"]
    assert path.read_text() == as_line(Asked(AT, "fish", 1)) + "\n"


def test_the_gateway_logs_what_is_looked_for_and_nobody_s_address(tmp_path):
    lines: list[Asked] = []
    log = QueryLog(lines.append)
    client = create_app(indexed(tmp_path, ROWS), clock=lambda: 0.0, query_log=log).test_client()
    for path in (
        *("/?q=common", "/?q=common&page=2", "/api/search?q=page3", "/api/search?q=common&offset=10", "/"),
        *("/api/suggest?q=her", "/?q=nowhere", "/cached?url=http://a.test/1&q=cached", "/api/search"),
    ):
        client.get(path)
    client.post("/", data={"q": "posted"})  # who sends it so keeps it out of logs
    log.settle(math.inf)
    assert [(line.query, line.pages) for line in lines] == [("common", 25), ("page3", 1), ("nowhere", 0)]
    assert set(json.loads(as_line(lines[0]))) == {"at", "query", "pages"}


def test_sql_counts_what_is_looked_for(tmp_path):
    crawl, path = indexed(tmp_path / "crawl", ROWS), tmp_path / "queries.jsonl"
    path.write_text("".join(as_line(Asked(AT, query, 0)) + "\n" for query in ("fish", "eel", "fish")))
    query = f"SELECT query, count(*) FROM '{path}' GROUP BY 1 ORDER BY 2 DESC"
    assert beamtrawl("sql", crawl.root, "--unsafe", "--csv", query).out.splitlines()[1:] == ["fish,2", "eel,1"]


def test_a_log_that_cannot_be_opened_is_one_line(tmp_path):
    crawl, path = indexed(tmp_path / "crawl", ROWS), tmp_path / "missing" / "queries.jsonl"
    said = (2, f"--query-log {path}: No such file or directory")
    assert failure("serve", crawl.root, "--query-log", path) == said
