"""The query log: what is written and when, and what the report says of it."""

import json
import math
from datetime import UTC, datetime, timedelta

import pytest

from beamtrawl.runners.report.query_counts import count_queries, read_query_log
from beamtrawl.runners.report.sections import queries as section_of
from beamtrawl.search.gateway.app import create_app
from beamtrawl.search.gateway.query_log import Asked, QueryLog, as_line, file_log, parse_line
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
def test_a_line_is_read_as_it_was_written(query):
    line = as_line(Asked(AT, query, 3))
    assert "\n" not in line
    assert parse_line(line) == Asked(AT, query, 3)


@pytest.mark.parametrize(
    "line",
    [
        *("", "fish", "[]", "1", "null", "[" * 100_000, as_line(Asked(AT, "fish", 1))[:-5]),
        *('{"at": "soon", "query": "a", "pages": 1}', '{"at": "2026-01-02T03:04:05", "query": "a", "pages": 1}'),
        '{"at": "2026-01-02T03:04:05Z", "query": 1, "pages": 1}',
    ],
)
def test_other_lines_are_counted_as_unreadable(line):
    counts = count_queries([line, as_line(Asked(AT, "fish", 1))])
    assert (counts.unreadable, dict(counts.asked)) == (1, {"fish": 1})


def test_counts_are_of_equal_queries_and_the_newest_decides_what_they_find():
    later = AT + timedelta(days=1)
    asked = [Asked(later, "Fish  soup", 2), Asked(AT, "fish soup", 0), Asked(AT, "crab", 0), Asked(AT, "eel", 0)]
    counts = count_queries([*map(as_line, asked), as_line(Asked(AT, "eel ", 0))])
    assert counts.asked == {"fish soup": 2, "crab": 1, "eel": 2}
    assert counts.without_pages() == [("eel", 2), ("crab", 1)]
    assert (counts.first, counts.last) == (AT, later)
    figures, frequent, failed = section_of.section(counts).parts
    assert [figure.value for figure in figures.figures] == [5, 3, 0.6, AT, later]
    assert frequent.rows == [("eel", 2, 0), ("fish soup", 2, 2), ("crab", 1, 0)]
    assert failed.rows == [("eel", 2), ("crab", 1)]


def test_files_are_rotated_and_read_together(tmp_path):
    path = tmp_path / "queries.jsonl"
    line = as_line(Asked(AT, "x" * 300, 1))
    path.write_text(f"{line}\n" * (10_000_000 // len(line)))
    with file_log(path) as log:
        log.add("a", Asked(AT, "fish", 1), 0.0)
    assert [file.name for file in sorted(tmp_path.iterdir())] == ["queries.jsonl", "queries.jsonl.1"]
    assert parse_line(path.read_text()) == Asked(AT, "fish", 1)
    assert len(read_query_log(path).asked) == 2


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


def test_the_report_shows_a_log(tmp_path):
    crawl, path, page = indexed(tmp_path / "crawl", ROWS), tmp_path / "queries.jsonl", tmp_path / "report.html"
    path.write_text(as_line(Asked(AT, "<b>fish</b>", 0)) + "\ncut")
    assert beamtrawl("report", crawl.root, "--query-log", path, "-o", page).code == 0
    assert "The most frequent queries that find nothing" in page.read_text()
    assert "&lt;b&gt;fish&lt;/b&gt;" in page.read_text()
    assert beamtrawl("report", crawl.root, "-o", page).code == 0
    assert ">Queries<" not in page.read_text()


@pytest.mark.parametrize("command", ["serve", "report"])
def test_a_log_that_cannot_be_opened_is_one_line(tmp_path, command):
    crawl, path = indexed(tmp_path / "crawl", ROWS), tmp_path / "missing" / "queries.jsonl"
    words = ("-o", tmp_path / "page.html") if command == "report" else ()
    said = (2, f"--query-log {path}: No such file or directory")
    assert failure(command, crawl.root, "--query-log", path, *words) == said
