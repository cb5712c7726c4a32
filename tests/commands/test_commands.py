"""The commands at work on one small crawl: what they print, and what they leave on disk."""

import csv
import io
import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from beamtrawl.runners.commands.sql import table
from beamtrawl.transforms.tables.schemas import TABLES
from tests.support.command_line import LOOPBACK, PROGRAM, Ran, beamtrawl, contents, failure
from tests.support.web import Web, html, redirect

SITES = {
    "a.test": {
        "/": html("Fishing by the moon", "Where the herring go.", ["/tides", "/nets", "/old", "//b.test/"]),
        "/tides": html("Tide tables", "High water and low water for the harbour."),
        "/nets": html("Nets", "How a beam trawl is towed, and why herring are caught at night.", ["/", "/tides"]),
        "/old": redirect("/tides"),
    },
    "b.test": {"/": html("고등어 제철", "고등어의 제철은 가을입니다.")},
}


@pytest.fixture(scope="module")
def web() -> Iterator[Web]:
    with Web(SITES) as web:
        yield web


@pytest.fixture(scope="module")
def first_run(web: Web, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Ran]:
    """A crawl of both sites to its end, and what the command said. Tests that change it take a copy."""
    directory = tmp_path_factory.mktemp("cli") / "crawl"
    seeds = ["--seed", web.url("a.test"), "--seed", web.url("b.test")]
    return directory, beamtrawl("crawl", directory, *seeds, *LOOPBACK)


@pytest.fixture(scope="module")
def crawled(first_run: tuple[Path, Ran]) -> Path:
    return first_run[0]


@pytest.fixture
def copy(crawled: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(crawled, tmp_path / "copy"))


def test_a_crawl_tells_of_each_step_and_of_its_end(first_run: tuple[Path, Ran]) -> None:
    code, out, err = first_run[1]
    assert (code, out) == (0, "")
    steps = [
        "2 seeds added",
        r"round 1 fetch: 2 requests in .*\(fetched 2\)",
        "round 1 update: 2 documents ",
        r"round 2 fetch: 3 requests in .*\(fetched 2, redirected 1\)",
        "round 2 update: 2 documents ",
        "round 2 rank: 6 links between 5 pages of 2 hosts, in ",
        "the frontier is",
    ]
    lines = iter(err.splitlines())  # on a busy machine, there are lines on steps under way
    assert [step for step in steps if not any(re.match(step, line) for line in lines)] == []


def test_an_empty_frontier_ends_at_once_and_asks_nobody(web: Web, crawled: Path) -> None:
    asked = len(web.requests)
    before = contents(crawled)
    then = "; pages are not visited again, unless crawl --again (all, now) or --recrawl-after DAYS"
    assert beamtrawl("crawl", crawled, *LOOPBACK) == Ran(0, "", f"the frontier is empty{then}\n")
    assert len(web.requests) == asked
    assert contents(crawled) == before


def test_flags_of_the_first_run_become_the_settings(crawled: Path) -> None:
    text = (crawled / "crawl.toml").read_text()
    assert 'allow_addresses = ["127.0.0.0/8"]' in text
    assert "delay = 0.0" in text


def test_status(crawled: Path) -> None:
    found = json.loads(beamtrawl("status", crawled, "--json").out)
    assert set(found) == {
        *("directory", "rounds", "next_step", "tables", "index_segments", "outcomes", "frontier", "rejections"),
        *("due", "later", "next_due_at", "planned", "next_planned_at"),
        *("running", "waits", "waiting_hosts", "revisits_due", "revisits_since", "next_revisit_at"),
        *(
            "alerts",
            "hosts",
            "excluded",
            "unindexed",
            "held",
            "aliases",
            "traps",
            "alarms",
            "alarm_kinds",
            "blocks",
            "blocked",
            "disk_free",
            "last_step_at",
            "first_step_at",
            "fetch_seconds",
            "imported",
            "bytes",
            "limits",
        ),
    }
    assert (found["rounds"], found["hosts"], found["frontier"], found["alarms"]) == (2, 2, {}, [])
    assert found["outcomes"] == {"fetched": 4, "redirected": 1}
    assert set(found["tables"]) == set(TABLES)
    assert (found["tables"]["documents"], found["tables"]["visits"]) == (4, 5)
    code, out, err = beamtrawl("status", crawled)
    assert (code, err) == (0, "")
    assert out.startswith(f"{crawled}: 2 rounds; next: fetch of round 3\n4 documents, 0 URLs in the frontier")
    assert re.search(r"^fetching: 5 requests in .*/s$", out, re.MULTILINE)
    assert "\nlimits of pages in crawl.toml: max_pages_per_host_per_round 10000\n" in out
    assert out.splitlines()[2] == (f"to go on: beamtrawl seeds add {crawled} URL, because the frontier is empty")


@pytest.mark.parametrize(
    ("most", "words"), [(3, "--max-pages N, with more than the 3 pages that are visited"), (0, "")]
)
def test_status_says_what_to_do_next(web: Web, tmp_path: Path, most: int, words: str) -> None:
    limits = ["--max-pages", most] if most else ["--rounds", 1]
    seeds = ["--seed", web.url("a.test"), "--seed", web.url("b.test")]
    assert beamtrawl("crawl", tmp_path, *seeds, "--depth", 1, *limits, *LOOPBACK).code == 0
    last = beamtrawl("status", tmp_path).out.splitlines()[2]
    assert last == f"to go on: beamtrawl crawl {tmp_path} {words}".rstrip()


def test_status_counts_the_visits_beyond_the_limit_of_the_settings(web: Web, tmp_path: Path) -> None:
    start = ["crawl", tmp_path, "--seed", web.url("a.test"), "--seed", web.url("b.test"), *LOOPBACK]
    assert beamtrawl(*start, "--max-pages", 2).code == 0
    assert beamtrawl("crawl", tmp_path, "--max-pages", 3).code == 0
    last = "to go on: beamtrawl crawl {} --max-pages N, with more than the 3 pages that are visited"
    assert beamtrawl("status", tmp_path).out.splitlines()[2] == last.format(tmp_path)
    for host in ("a.test", "b.test"):
        beamtrawl("block", tmp_path, web.authority(host))
    last = "to go on: beamtrawl unblock {} HOST, because all of the frontier is blocked"
    assert beamtrawl("status", tmp_path).out.splitlines()[2] == last.format(tmp_path)


def test_rows_that_are_wider_than_a_terminal_have_a_line_for_each_value() -> None:
    names, rows = ["url", "state"], [["http://a.test/", "due"], ["http://b.test/", None]]
    wide = "url             state\n--------------  -----\nhttp://a.test/  due\nhttp://b.test/"
    assert table(names, rows) == table(names, rows, 21) == wide
    assert table(names, rows, 20) == "url    http://a.test/\nstate  due\n\nurl    http://b.test/\nstate"
    assert table(names, [], 5) == "url  state\n---  -----"


def test_sql_as_a_table(crawled: Path) -> None:
    code, out, err = beamtrawl("sql", crawled, "SELECT title, depth, keywords FROM documents ORDER BY depth, title")
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "title                depth  keywords",
        "-------------------  -----  --------",
        "Fishing by the moon  0",
        "고등어 제철               0",
        "Nets                 1",
        "Tide tables          1",
    ]


def test_sql_as_json_and_csv(crawled: Path) -> None:
    query = "SELECT host, depth, title, url_key, fetched_at, description FROM documents WHERE title LIKE '고%'"
    (row,) = json.loads(beamtrawl("sql", crawled, query, "--json").out)
    assert list(row) == ["host", "depth", "title", "url_key", "fetched_at", "description"]
    assert (row["depth"], row["title"], len(bytes.fromhex(row["url_key"]))) == (0, "고등어 제철", 16)
    (line,) = beamtrawl("sql", crawled, query, "--jsonl").out.splitlines()
    assert json.loads(line) == row
    names, cells = csv.reader(io.StringIO(beamtrawl("sql", crawled, query, "--csv").out))
    assert names == list(row)
    assert cells == ["" if value is None else str(value) for value in row.values()]


def test_sql_from_a_file_and_from_standard_input(crawled: Path, tmp_path: Path) -> None:
    file = tmp_path / "query.sql"
    file.write_text("SELECT count(*) AS n\nFROM documents")
    assert beamtrawl("sql", crawled, "-f", file, "--csv") == Ran(0, "n\n4\n", "")
    typed = "SELECT 1 AS a;\nSELECT\n  count(*) AS b FROM visits"
    ran = subprocess.run(
        [*PROGRAM, "sql", str(crawled), "--jsonl"], input=typed, capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, '{"a": 1}\n{"b": 5}\n', "")
    assert failure("sql", crawled, "SELECT 1", "-f", file) == (2, "give a QUERY or -f FILE, not both")


def test_sql_lists_the_tables_without_helpers(crawled: Path) -> None:
    names = [row["name"] for row in json.loads(beamtrawl("sql", crawled, "SHOW TABLES", "--json").out)]
    assert {name.removesuffix("_history") for name in names} == set(TABLES)


# a query: what the message says
UNSAFE = {
    "a file elsewhere": ("SELECT * FROM read_text('ELSEWHERE')", "the query failed: Permission Error: Cannot access"),
    "a copy": ("COPY (SELECT 1) TO 'DIR/copy.csv'", "COPY is refused, because the tables can only be read; --unsafe"),
    "a copy, explained": ("EXPLAIN ANALYZE COPY (SELECT 1) TO 'DIR/copy.csv'", "COPY is refused"),
    "a copy behind a query": ("SELECT 1; COPY (SELECT 1) TO 'DIR/copy.csv'", "COPY is refused"),
    "an extension": ("INSTALL httpfs", "LOAD is refused"),
    "a database": ("ATTACH 'DIR/a.db'", "ATTACH is refused"),
    "a setting": ("SET memory_limit = '1GB'", "SET is refused"),
}


@pytest.mark.parametrize(("query", "said"), UNSAFE.values(), ids=UNSAFE)
def test_sql_reads_nothing_but_the_crawl(crawled: Path, tmp_path: Path, query: str, said: str) -> None:
    other, before = tmp_path / "other", contents(crawled)
    other.write_text("a secret")
    text = query.replace("ELSEWHERE", str(other)).replace("DIR", str(crawled))
    code, line = failure("sql", crawled, text)
    assert code == 1
    assert line.startswith(said)
    assert contents(crawled) == before


def test_sql_reads_and_writes_other_files_if_that_is_allowed(crawled: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.csv"
    assert beamtrawl("sql", crawled, "--unsafe", f"COPY (SELECT 1 AS a) TO '{copy}'").code == 0
    assert json.loads(beamtrawl("sql", crawled, "--unsafe", "--json", f"FROM '{copy}'").out) == [{"a": 1}]


@pytest.mark.parametrize(
    ("query", "said"), [("SELEC 1", '"SELEC"'), ("SELECT * FROM fish", "fish"), ("", "the query is empty")]
)
def test_sql_that_cannot_be_run(crawled: Path, query: str, said: str) -> None:
    code, line = failure("sql", crawled, query)
    assert code == 1
    assert said in line


def test_search(web: Web, crawled: Path) -> None:
    code, out, err = beamtrawl("search", crawled, "herring", "night")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[:4] == ["2 documents", "", "1. Nets", f"   {web.url('a.test', '/nets')}"]
    assert "herring are caught at night" in lines[4]


def test_search_as_json(web: Web, crawled: Path) -> None:
    found = json.loads(beamtrawl("search", crawled, "제철", "--json", "--limit", 1).out)
    assert list(found) == ["query", "total", "hits"]
    assert (found["query"], found["total"]) == ("제철", 1)
    (hit,) = found["hits"]
    assert {"url", "title", "snippet", "score"} <= set(hit)
    assert (hit["url"], hit["title"]) == (web.url("b.test"), "고등어 제철")
    assert "제철은 가을" in hit["snippet"]
    assert hit["score"] > 0


def test_search_finds_nothing(crawled: Path) -> None:
    assert beamtrawl("search", crawled, "submarine") == Ran(0, "0 documents\n", "")


def test_search_helps_with_spelling(crawled: Path) -> None:
    lines = beamtrawl("search", crawled, "herrings", "submarien", "caughtt").out.splitlines()
    assert lines[:3] == ["2 documents", "did you mean: herrings submarien caught", "no page has submarien"]
    assert json.loads(beamtrawl("search", crawled, "caughtt", "--json").out)["suggestion"] == "caught"


def test_search_explains_scores(crawled: Path) -> None:
    lines = beamtrawl("search", crawled, "herring", "--explain", "--limit", 1, "--per-host", 1).out.splitlines()
    assert re.fullmatch(r"   score \d+\.\d+ = sum of", lines[5])
    assert re.fullmatch(r"     \d+\.\d+ herring \(.*body \d.*; in 2 documents\)", lines[6])
    assert re.fullmatch(r'     \d+\.\d+ "herring" \(body 1; in 2 documents\)', lines[7])
    assert lines[8] == "     times 1.009 for links, 1.000 for quality, 1.000 for freshness"
    (hit,) = json.loads(beamtrawl("search", crawled, "제철", "--explain", "--json").out)["hits"]
    assert [part["text"] for part in hit["explanation"]["parts"]] == ["제철"]


def test_search_refuses_what_makes_no_sense(crawled: Path) -> None:
    assert failure("search", crawled, "herring", "--per-host", 0) == (
        2,
        "argument --per-host: 0: must be a whole number of at least 1; see: beamtrawl search --help",
    )


def test_search_as_of_an_earlier_round(crawled: Path) -> None:
    totals = [json.loads(beamtrawl("search", crawled, "herring", "--json", "--as-of", n).out)["total"] for n in (1, 2)]
    assert totals == [1, 2]


@pytest.mark.parametrize("given", ["x", "", "0", "-1", "1.5", "٣", "9" * 10])
def test_a_round_that_cannot_be_is_refused_in_one_line(crawled: Path, given: str) -> None:
    wanted = "must be a whole number from 1 to 999999; see: beamtrawl search --help"
    message = f"argument --as-of: {given or repr(given)}: {wanted}"
    assert failure("search", crawled, "herring", "--as-of", given) == (2, message)


def test_a_round_that_is_yet_to_come_is_refused_in_one_line(crawled: Path) -> None:
    code, message = failure("search", crawled, "herring", "--as-of", 99)
    assert (code, message) == (2, f"{crawled} has no round 99 yet; the last one is round 2")


def test_seeds_added_are_the_next_round(web: Web, copy: Path) -> None:
    new, known = web.url("b.test", "/new"), web.url("a.test")
    assert beamtrawl("seeds", "add", copy, new, known) == Ran(0, "", "1 seed added, 1 known already\n")
    asked = len(web.requests)
    code, _, err = beamtrawl("crawl", copy, "--workers", 1)
    assert code == 0
    assert err.splitlines()[-1] == "the frontier is empty"
    assert [request.path for request in web.requests[asked:]] == ["/new"]  # robots.txt is known, too


@pytest.mark.parametrize("words", [[], ["nonsense"]])
def test_seeds_need_a_url(copy: Path, words: list[str]) -> None:
    assert beamtrawl("seeds", "add", copy, *words).code == 2


def test_clean_removes_what_no_step_names_and_nothing_else(copy: Path) -> None:
    before = contents(copy)
    some_file = next(path for path in before if path.parts[0] == "documents")
    left_behind = [
        "documents/round=000002/part-0123456789abcdef.parquet",
        "visits/round=000007/part-0123456789abcdef.parquet",
        "index/round=000002/0123456789abcdef/postings.parquet",
        "attempts/000007-fetch-01234567.json",
    ]
    for name in left_behind:
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        (copy / name).write_bytes(before[some_file])
    (copy / "notes.txt").write_text("the operator's own")
    at = (1, 0, 2, 3)  # in the order of the tables
    named = "".join(f"removed: {left_behind[number]}\n" for number in at)
    ran = beamtrawl("clean", copy)
    assert (ran.code, ran.out, ran.err) == (0, f"{named}{len(left_behind)} files removed\n", "")
    assert contents(copy) == before | {Path("notes.txt"): b"the operator's own"}
    assert beamtrawl("clean", copy).out == "0 files removed\n"


def test_a_second_writer_is_refused_and_readers_are_not(web: Web, copy: Path) -> None:
    owner = {"pid": os.getpid(), "host": socket.gethostname(), "beat": time.time()}
    (copy / "lock.json").write_text(json.dumps(owner))
    asked, before = len(web.requests), contents(copy)
    expected = (1, f"{copy} is in use by process {os.getpid()} on {socket.gethostname()}; wait for it, or stop it")
    assert failure("crawl", copy, "--seed", web.url("b.test", "/new"), *LOOPBACK) == expected
    assert failure("clean", copy) == expected
    assert (len(web.requests), contents(copy)) == (asked, before)
    for words in (["status"], ["search", "herring"], ["sql", "SELECT 1"], ["seeds add", web.url("b.test", "/new")]):
        assert beamtrawl(*words[0].split(), copy, *words[1:]).code == 0


@pytest.mark.slow("demo")
def test_the_demo_finds_what_it_should(tmp_path: Path) -> None:
    code, out, err = beamtrawl("demo", tmp_path / "demo")
    assert code == 0
    assert "All 5 searches found the right page first." in out
    assert "3 rounds done" in err
    for command in re.findall(r"^    beamtrawl (.+)$", out, re.MULTILINE)[:-1]:  # what to try next, all but serve
        assert beamtrawl(*shlex.split(command)).code == 0
    assert json.loads(beamtrawl("status", tmp_path / "demo", "--json").out)["rounds"] == 3


def test_the_demo_web_is_served_or_crawled_not_both(tmp_path: Path) -> None:
    assert failure("demo", tmp_path / "x", "--web") == (2, "--web crawls nothing: leave out DIR and --serve")
    code, message = failure("demo", "--web", 70_000)
    assert (code, message.startswith("argument --web: 70000: must be a whole number from 0 to 65531")) == (2, True)


def test_a_reader_that_has_seen_enough_is_no_reason_for_a_traceback(crawled: Path) -> None:
    command = [*PROGRAM, "sql", str(crawled), "SELECT * FROM range(300000)", "--csv"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == b"range\n"
        process.stdout.close()
        assert process.stderr.read() == b""
