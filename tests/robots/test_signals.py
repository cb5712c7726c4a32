"""Content signals: what a robots.txt, headers and meta tags say, and what is crawled, indexed and exported."""

import doctest
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from beamtrawl.runners.exports.selection import INPUT, TRAINING, Rights
from beamtrawl.transforms.directory.crawl_dir import CrawlDir
from beamtrawl.transforms.directory.manifests import Manifest
from beamtrawl.transforms.parsing.html_page import parse_page
from beamtrawl.transforms.rights import signals
from beamtrawl.transforms.rights.signals import SignalLine, text_of
from beamtrawl.transforms.rights.usage import Usage
from beamtrawl.transforms.robots.rules import Rules, parse
from beamtrawl.transforms.robots.signal_lines import SignalLines, statement_of
from beamtrawl.transforms.robots.stored_signals import StoredSignals, lines_of, read_signals
from beamtrawl.transforms.tables.table_files import TableFile, TableWriter
from beamtrawl.transforms.urls import index_scope
from tests.support.rights import tdm_rules

ALL, MINE = "User-agent: *\n", "User-agent: bot\n"
OTHER = "User-agent: otherbot\n"
SIGNAL = "Content-Signal: "
MANAGED = (  # as a large network writes it for its customers
    "# BEGIN managed content\n\nUser-agent: *\nContent-Signal: search=yes,ai-train=no,use=reference\nAllow: /\n\n"
    "User-agent: CCBot\nDisallow: /\n\n# END managed content\n\nUser-agent: *\nDisallow: /lp\n"
)

# What happens to /blog/a: c is crawled, i indexed, t in a corpus for training, m the input of models; - it is not.
ROBOTS = [
    ("nothing", "", "citm"),
    ("a managed file", MANAGED, "ci-m"),
    # values
    ("search=no", ALL + SIGNAL + "search=no", "c-tm"),
    ("ai-train=no", ALL + SIGNAL + "ai-train=no", "ci-m"),
    ("ai-input=no", ALL + SIGNAL + "ai-input=no", "cit-"),
    ("all no", ALL + SIGNAL + "search=no, ai-input=no, ai-train=no", "c---"),
    ("all yes", ALL + SIGNAL + "search=yes, ai-input=yes, ai-train=yes", "citm"),
    ("a missing signal says nothing", ALL + SIGNAL + "search=yes", "citm"),
    ("an unknown key says nothing", ALL + SIGNAL + "use=reference, ai-agent=no", "citm"),
    ("an unknown key beside a known one", ALL + SIGNAL + "use=immediate, search=no", "c-tm"),
    # spelling
    ("Content-Signals", ALL + "Content-Signals: search=no", "c-tm"),
    ("letter case of the name", ALL + "CONTENT-SIGNAL: search=no", "c-tm"),
    ("letter case of key and value", ALL + SIGNAL + "Search=NO", "c-tm"),
    ("no spaces", ALL + "Content-Signal:search=no,ai-train=no", "c--m"),
    ("many spaces", ALL + " \tContent-Signal \t:  search = no ,  ai-train =no", "c--m"),
    ("semicolons", ALL + SIGNAL + "search=no; ai-train=no", "c--m"),
    ("spaces for commas", ALL + SIGNAL + "search=no ai-train=no", "c--m"),
    ("an underscore", ALL + SIGNAL + "ai_train=no", "ci-m"),
    ("the name of Content-Usage", ALL + SIGNAL + "train-ai=n", "ci-m"),
    ("quotes", ALL + SIGNAL + 'search="no"', "c-tm"),
    ("a comment", ALL + SIGNAL + "search=yes # search=no", "citm"),
    ("a line that is a comment", ALL + "# Content-Signal: search=no", "citm"),
    ("a policy in comments alone", "# Content-Signal: ai-train=no\n" + ALL + "Allow: /", "citm"),
    ("no colon", ALL + "Content-Signal search=no", "c-tm"),
    # broken values
    ("search=maybe", ALL + SIGNAL + "search=maybe", "citm"),
    ("no value", ALL + SIGNAL + "search", "citm"),
    ("an empty value", ALL + SIGNAL + "search=", "citm"),
    ("no key", ALL + SIGNAL + "=no", "citm"),
    ("an empty line", ALL + SIGNAL, "citm"),
    ("a broken signal spoils no other", ALL + SIGNAL + "search=maybe, ai-train=no", "ci-m"),
    ("false", ALL + SIGNAL + "ai-train=false", "ci-m"),
    ("control characters", ALL + SIGNAL + "search=\x00no\x1b", "citm"),
    ("not ASCII", ALL + SIGNAL + "s\u00e9arch=no, ai-train=no", "ci-m"),
    # duplicates and contradictions: no wins
    ("twice in a line", ALL + SIGNAL + "search=no, search=yes", "c-tm"),
    ("twice in a line, the other way", ALL + SIGNAL + "search=yes, search=no", "c-tm"),
    ("two lines", ALL + SIGNAL + "search=no\n" + SIGNAL + "search=yes", "c-tm"),
    ("two lines, the other way", ALL + SIGNAL + "search=yes\n" + SIGNAL + "search=no", "c-tm"),
    ("two lines of different signals", ALL + SIGNAL + "search=no\n" + SIGNAL + "ai-train=no", "c--m"),
    # groups
    ("of this robot", MINE + SIGNAL + "search=no", "c-tm"),
    ("of another robot", OTHER + SIGNAL + "search=no", "citm"),
    ("of another robot, after *", ALL + "Allow: /\n" + OTHER + SIGNAL + "search=no", "citm"),
    ("of another robot, before *", OTHER + SIGNAL + "search=no\n" + ALL + SIGNAL + "ai-train=no", "ci-m"),
    ("of another robot, without rules between", ALL + SIGNAL + "search=yes\n" + OTHER + SIGNAL + "search=no", "citm"),
    ("its own group and not *", MINE + "Allow: /\n" + ALL + SIGNAL + "search=no", "citm"),
    ("its own group without a rule", MINE + SIGNAL + "ai-train=no\n" + ALL + SIGNAL + "search=no", "ci-m"),
    ("two groups of one robot", MINE + SIGNAL + "search=no\n" + ALL + "\n" + MINE + SIGNAL + "ai-train=no", "c--m"),
    ("two agents", OTHER + MINE + SIGNAL + "search=no", "c-tm"),
    ("agents with a comma", "User-agent: otherbot, bot\n" + SIGNAL + "search=no", "c-tm"),
    ("with a version", "User-agent: bot/2.0\n" + SIGNAL + "search=no", "c-tm"),
    ("blank lines end no group", ALL + "\n\n" + SIGNAL + "search=no", "c-tm"),
    ("after a rule", ALL + "Disallow: /x\n" + SIGNAL + "search=no", "c-tm"),
    ("before a rule", ALL + SIGNAL + "search=no\nDisallow: /blog", "--tm"),
    ("after a Sitemap line", ALL + "Allow: /\nSitemap: /s.xml\n" + SIGNAL + "search=no", "c-tm"),
    (
        "after another group's Sitemap",
        ALL + "Allow: /\n" + OTHER + "Allow: /\nSitemap: /s\n" + SIGNAL + "search=no",
        "citm",
    ),
    ("before all groups", SIGNAL + "search=no\n" + ALL + "Allow: /", "c-tm"),
    ("before all groups, with its own group", SIGNAL + "search=no\n" + MINE + SIGNAL + "search=yes", "c-tm"),
    ("without any group", SIGNAL + "search=no", "c-tm"),
    ("it is no rule, so agents share theirs", MINE + SIGNAL + "search=no\n" + OTHER + "Disallow: /", "--tm"),
    # paths
    ("a path", ALL + SIGNAL + "/blog/ search=no", "c-tm"),
    ("another path", ALL + SIGNAL + "/shop/ search=no", "citm"),
    ("a longer path wins", ALL + SIGNAL + "/ search=no\n" + SIGNAL + "/blog/ search=yes", "citm"),
    ("a longer path wins, also first", ALL + SIGNAL + "/blog/a search=no\n" + SIGNAL + "/ search=yes", "c-tm"),
    ("a path wins over none", ALL + SIGNAL + "search=no\n" + SIGNAL + "/blog/ search=yes", "citm"),
    ("each signal by itself", ALL + SIGNAL + "search=yes, ai-train=no\n" + SIGNAL + "/blog/ search=no", "c--m"),
    ("one path twice", ALL + SIGNAL + "/blog search=yes\n" + SIGNAL + "/blog search=no", "c-tm"),
    ("a star and an end", ALL + SIGNAL + "/*/a$ ai-input=no", "cit-"),
    ("an end that is not there", ALL + SIGNAL + "/blog$ ai-input=no", "citm"),
    ("an absolute URL", ALL + SIGNAL + "http://a.test/blog search=no", "c-tm"),
    ("escapes", ALL + SIGNAL + "/%62log/ search=no", "c-tm"),
    ("letter case of a path", ALL + SIGNAL + "/Blog/ search=no", "citm"),
    ("a path alone", ALL + SIGNAL + "/blog/", "citm"),
    # the bytes of the file
    ("a byte order mark", "\ufeff" + ALL + SIGNAL + "search=no", "c-tm"),
    ("a byte order mark before the signal", "\ufeff" + SIGNAL + "search=no", "c-tm"),
    ("carriage returns", (ALL + SIGNAL + "search=no").replace("\n", "\r"), "c-tm"),
    ("wrapped in HTML", f"<html><pre>{ALL}{SIGNAL}search=no</pre>", "c-tm"),
    # with Content-Usage: the most restrictive of both
    ("usage restricts", ALL + SIGNAL + "ai-train=yes\nContent-Usage: train-ai=n", "ci-m"),
    ("signal restricts", ALL + SIGNAL + "ai-train=no\nContent-Usage: train-ai=y", "ci-m"),
    ("usage reserves search", ALL + SIGNAL + "search=yes\nContent-Usage: search=n", "c-tm"),
    ("signal reserves search", ALL + SIGNAL + "search=no\nContent-Usage: search=y", "c-tm"),
    ("each restricts another use", ALL + SIGNAL + "ai-input=no\nContent-Usage: train-ai=n, search=n", "c---"),
]


def fate(allowed: bool, usage: Usage) -> str:
    document = usage.columns("text/html") | {"url": "http://a.test/"}
    exported = [Rights().may_use(purpose, document) is not False for purpose in (TRAINING, INPUT)]
    return "".join(
        letter if done else "-"
        for letter, done in zip("citm", (allowed, usage.search() is not False, *exported), strict=True)
    )


# whether the newest robots.txt denies it, what the document states of training and of TDMRep, what the file of TDMRep
# does: whether a document may be used for training
USES = {
    "nobody states anything": (False, None, None, None, None),
    "the document allows": (False, True, None, None, True),
    "robots.txt denies by now": (True, True, False, False, False),
    "the file reserves": (False, None, None, True, False),
    "the file reserves what the document allows otherwise": (False, True, None, True, False),
    "the file does not reserve": (False, None, None, False, True),
    "the file does not reserve what the document does": (False, False, None, False, False),
    "the document takes the reservation of the file back": (False, True, False, True, True),
    "the document reserves, the file does not": (False, False, True, False, False),
}


@pytest.mark.parametrize(("denied", "training", "reservation", "mining", "use"), USES.values(), ids=USES)
def test_statements_of_a_document_replace_those_of_the_file_of_tdmrep(
    denied: bool, training: bool | None, reservation: bool | None, mining: bool | None, use: bool | None
) -> None:
    document = {"url": "http://a.test/", "ai_training": training, "tdm_reservation": reservation}
    signals = StoredSignals({"http://a.test": lines_of("ai-train=no")} if denied else {})
    assert Rights(tdm_rules=tdm_rules(mining), signals=signals).may_use(TRAINING, document) is use


def rules_of(robots: str) -> Rules:
    return parse(robots.encode(), "bot/1.0", "http://a.test")


@pytest.mark.parametrize(("robots", "expected"), [pytest.param(*case, id=name) for name, *case in ROBOTS])
def test_what_robots_txt_says(robots: str, expected: str) -> None:
    rules, url = rules_of(robots), "http://a.test/blog/a"
    usage = Usage(rules.usage(url), content_signals=statement_of(rules.signals(url)))
    assert fate(rules.allows(url)[0], usage) == expected


META = '<meta name="{}" content="{}">'
PAGES = [
    ("a header", [("Content-Signal", "search=no, ai-train=no")], "", "", "c--m"),
    ("two headers", [("content-signal", "ai-train=yes"), ("Content-Signal", "ai-train=no")], "", "", "ci-m"),
    ("the header of a plug-in", [("X-Content-Signals", "ai-input=no")], "", "", "cit-"),
    ("a meta tag", [], META.format("content-signal", "search=no"), "", "c-tm"),
    ("a meta tag with another meaning", [], META.format("content-signal", "biotech,structural-biology"), "", "citm"),
    ("a tag grants, robots.txt reserves", [], META.format("Content-Signal", "ai-train=yes"), "ai-train=no", "ci-m"),
    ("a header reserves, robots.txt grants", [("Content-Signal", "ai-input=no")], "", "ai-input=yes", "cit-"),
    ("noai reserves both uses of models", [], META.format("robots", "noai"), "ai-train=yes", "ci--"),
    ("mining reserves both", [("tdm-reservation", "1")], "", "ai-input=yes", "ci--"),
    ("mining that is allowed reserves none", [("tdm-reservation", "0")], "", "ai-input=no", "cit-"),
    ("noimageai concerns images", [], META.format("robots", "noimageai"), "", "citm"),
]


@pytest.mark.parametrize(
    ("headers", "head", "robots", "expected"), [pytest.param(*case, id=name) for name, *case in PAGES]
)
def test_what_pages_say(headers: list[tuple[str, str]], head: str, robots: str, expected: str) -> None:
    body = f"<title>A</title>{head}<p>Text.".encode()
    page = parse_page(body, "http://a.test/", "text/html", headers, "bot")
    assert page is not None
    assert fate(True, page.usage | Usage(content_signals=signals.join([robots]))) == expected


def test_the_lines_that_decide() -> None:
    rules = rules_of(
        f"\r\n{OTHER}{SIGNAL}search=no\r\n\r\n{ALL}{SIGNAL}search=no, use=reference\n{SIGNAL}/b ai-train=no"
    )
    found = rules.signals("http://a.test/b")
    assert {key: (said.value, said.line.number, str(said.line)) for key, said in found.items()} == {
        "search": ("no", 6, "Content-Signal: search=no, use=reference"),
        "use": ("reference", 6, "Content-Signal: search=no, use=reference"),
        "ai-train": ("no", 7, "Content-Signal: /b ai-train=no"),
    }
    assert statement_of(found) == "search=no, ai-train=no, use=reference"


@pytest.mark.parametrize(
    "line",
    ["Content-Signal: search=no", "Content-Signal: /{n} search=no, k{n}=v", "Content-Signal: /*/{n}*x ai-input=no"],
)
def test_a_hundred_thousand_lines(line: str) -> None:
    body = (ALL + "".join(line.replace("{n}", str(n)) + "\n" for n in range(100_000))).encode()
    began = time.process_time()
    rules = parse(body, "bot")
    said = rules.signals("http://a.test/1/12345x")
    assert {key: said[key].value for key in said if key in signals.SIGNALS} == (
        {"ai-input": "no"} if "ai-input" in line else {"search": "no"}
    )
    assert time.process_time() - began < 20
    assert len(statement_of(said)) < 1000
    began = time.process_time()
    for n in range(20):
        rules.signals(f"http://a.test/{n}/{'/'.join(map(str, range(2000)))}")
    assert time.process_time() - began < 10


HOUR = timedelta(hours=1)
FILES: list[tuple[str, list[tuple[str, str | None]], bool]] = [  # verdict and lines of an origin's files, oldest first
    ("it says no", [("rules", "search=no")], True),
    ("it says so by path", [("rules", "search=yes\n/a search=no")], True),
    ("it said so before", [("rules", "search=no"), ("rules", None)], False),
    ("it says so now", [("rules", "search=yes"), ("rules", "search=no")], True),
    ("it cannot be fetched now", [("rules", "search=no"), ("unreachable", None)], True),
    ("it is gone", [("rules", "search=no"), ("allow_all", None)], False),
    ("it says nothing", [("rules", None)], False),
]


@pytest.mark.parametrize(("files", "expected"), [pytest.param(*case, id=name) for name, *case in FILES])
def test_stored_files(tmp_path: Path, files: list[tuple[str, str | None]], expected: bool) -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    stored = [
        {"origin": "http://a.test", "verdict": verdict, "signals": lines, "fetched_at": start + HOUR * number}
        for number, (verdict, lines) in enumerate(files)
    ]
    other = {"origin": "http://b.test", "verdict": "rules", "signals": "ai-train=no", "fetched_at": start}
    said = read(tmp_path, write(tmp_path, stored), write(tmp_path, [other]))
    urls = pa.chunked_array([["http://a.test/a", "http://b.test/a", "http://c.test/a"]])
    assert said.hides(urls).tolist() == [expected, False, False]
    assert [said.denies(url.as_py(), signals.AI_TRAIN) for url in urls] == [False, True, False]


def test_stored_lines_say_the_same() -> None:
    lines = rules_of(f"{ALL}{SIGNAL}search=yes, use=full\n{SIGNAL}/b\u00e9 c=d, search=no").signal_lines
    bytes_ = SignalLine(b"/\xff*$", "ai-train=no", 1)
    for line in (*lines, bytes_):
        (stored,) = lines_of(text_of([line]) or "")
        for url in ("http://a.test/b%C3%A9", "http://a.test/%FFx", "http://a.test/"):
            values = [
                {key: said.value for key, said in SignalLines([one]).about(url).items()} for one in (line, stored)
            ]
            assert values[0] == values[1]
    assert SignalLines(lines_of(text_of([bytes_]) or "")).about("http://a.test/%FFx")["ai-train"].value == "no"


def test_files_of_versions_that_did_not_store_the_lines(tmp_path: Path) -> None:
    row = {"origin": "http://a.test", "verdict": "rules", "fetched_at": datetime(2026, 1, 1, tzinfo=UTC)}
    path = write(tmp_path, [row | {"body": f"{MINE}{SIGNAL}/x ai-train=no".encode()}])
    assert read(tmp_path, path, token="bot").denies("http://a.test/x", signals.AI_TRAIN)
    assert not read(tmp_path, path, token="robot")
    assert not read(tmp_path, path)


def read(root: Path, *files: TableFile, token: str | None = None) -> StoredSignals:
    manifest = Manifest("fetch", 1, "", files, {}, (), "", "")
    return read_signals(CrawlDir(str(root)), [manifest], token)


def write(root: Path, rows: list[dict[str, Any]]) -> TableFile:
    writer = TableWriter(str(root), "robots", 1)
    writer.write_rows(rows)
    file = writer.close()
    assert file is not None
    return file


def test_examples() -> None:
    assert [doctest.testmod(module).failed for module in (signals, index_scope)] == [0, 0]
