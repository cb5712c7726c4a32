"""One crawl with somebody else's kind of content, observer and downloader, and with all of our own."""

import doctest
import json
import os
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from beamtrawl.runners.commands.status import render
from beamtrawl.runners.state.crawl_status import summarize
from beamtrawl.search.answers.searcher import Index
from beamtrawl.transforms import settings
from beamtrawl.transforms.directory.crawl_dir import CrawlDir
from beamtrawl.transforms.http.client import Client
from beamtrawl.transforms.observers.registry import Alert, alert_rows
from beamtrawl.transforms.parsing.robots_meta import Directives
from beamtrawl.transforms.parsing.source import Source
from beamtrawl.transforms.plugins import PluginError
from beamtrawl.transforms.politeness import downloaders
from beamtrawl.transforms.politeness.host_queue import BrowserRules
from beamtrawl.transforms.settings import Fetch
from tests.support import plugins
from tests.support.command_line import LOOPBACK, PROGRAM, beamtrawl, failure, in_one_process
from tests.support.crawls import rows
from tests.support.files import pdf, png
from tests.support.web import Answer, Request, Web, html

SHADES = [[(x * y * 7 + x * 3) % 256 for x in range(24)] for y in range(24)]
CHARTER = "The charter of the harbour says that whoever lands herring before dawn pays no toll on it at the quay."
TWICE = [[shade for shade in row for _ in "ab"] for row in SHADES for _ in "ab"]


def file(media_type: str, body: bytes | str) -> Answer:
    return Answer(body=body.encode() if isinstance(body, str) else body, headers=(("Content-Type", media_type),))


HOME = """<title>Home</title><a href=report.pdf>Report</a><a href=news.xml>News</a><a href=notes.gmi>Notes</a>
<a href=plain.gmi>No headings</a><img src=crest.png alt="The crest"><a href=fish.csv>Data</a><a href=fish.json>Fish</a>
<a href=broken.pdf>Broken</a><a href=catch/2026-01>January</a><a href=catch/2026-03>March</a>
<a href=catch/all>All</a><a href=crowd>Crowd</a>"""
SITE = {
    "/": HOME,
    "/report.pdf": file("application/pdf", pdf(["The catch of ACME Fisheries"], info="/Title (CATCH)")),
    "/broken.pdf": file("application/pdf", b"%PDF-1.7"),
    "/news.xml": file("text/xml", "<rss><channel><title>News</title><item><title>Cod</title><link>/cod</link></item>"),
    "/cod": html("Cod", f"It is written: {CHARTER} And so it was."),
    "/notes.gmi": file("text/gemini", "# NOTES\n\nSee:\n=> tides tide tables\n"),
    "/plain.gmi": file("text/gemini", "Nothing but text."),
    "/tides": html("Tides", "High water."),
    "/crowd": "<title>Plenty</title><p>Sprats" + "<b> </b>" * 20_001,
    "/catch/2026-03": html("March", "Herring."),
    "/crest.png": file("image/png", png(TWICE)),
    "/fish.json": file("application/json", '["cod"]'),
}


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Request]]:
    """A finished crawl, and what was asked for."""
    place = tmp_path_factory.mktemp("plugins")
    packages, directory = place / "packages", place / "crawl"
    packages.mkdir()
    directory.mkdir()
    plugins.install(packages)
    chosen = settings.parse(plugins.settings())
    watch = {"phrases": ["acme fisheries", "cm"], "texts": ["charter.txt"], "images": ["crest.png"]}
    chosen = settings.override(
        chosen,
        {"documents.kinds": [*chosen.documents.kinds, "image"]}
        | {f"watch.{key}": value for key, value in watch.items()}
        | {"extract": [{"field": "month", "match": "/catch/", "regex": "/([0-9-]+)$"}, {"field": "fish", "css": "p"}]}
        | {"main": [{"match": "/tides", "keep": ["h1"]}]},
    )
    (directory / "crawl.toml").write_text(settings.render(chosen))
    (directory / "charter.txt").write_text(CHARTER)
    (directory / "crest.png").write_bytes(png(SHADES))
    with Web({"a.test": SITE}) as web:
        command = [*PROGRAM, "crawl", str(directory), "--seed", web.url("a.test"), *LOOPBACK]
        ran = subprocess.run(
            command, env=os.environ | {"PYTHONPATH": str(packages)}, capture_output=True, text=True, check=False
        )
        assert ran.returncode == 0, ran.stderr
        return directory, web.requests


def documents(directory: Path) -> dict[str, dict[str, Any]]:
    return {"/" + row["url"].split("/", 3)[3]: row for row in rows(directory, "documents")}


def test_each_kind_becomes_a_document_and_leads_on(crawled):
    found = documents(crawled[0])
    assert {path: (row["media_type"], row["title"], row["facts"]) for path, row in found.items()} == {
        "/": ("text/html", "Home", None),
        "/report.pdf": ("application/pdf", "CATCH", [("pages", "1"), ("pages_read", "1")]),
        "/broken.pdf": ("application/pdf", None, [("parse_error", found["/broken.pdf"]["facts"][0][1])]),
        "/news.xml": ("text/xml", "News", [("entries", "1")]),
        "/cod": ("text/html", "Cod", [("fish", f"It is written: {CHARTER} And so it was.")]),
        "/notes.gmi": ("text/gemini", "NOTES", None),
        "/plain.gmi": ("text/gemini", None, [("parse_error", "IndexError: list index out of range")]),
        "/tides": ("text/html", "Tides", [("fish", "High water.")]),
        "/crowd": ("text/html", "Plenty", [("extract_error", "the page has more than 20000 elements")]),
        "/catch/2026-03": ("text/html", "March", [("month", "2026-03"), ("fish", "Herring.")]),
        "/crest.png": ("image/png", None, [("format", "png"), ("width", "48"), ("height", "48")]),
    }
    assert found["/notes.gmi"]["headings"] == ["NOTES"]
    assert found["/notes.gmi"]["text"] == "# NOTES\nSee:\n=> tides tide tables"


def test_what_rules_take_from_pages_is_in_tables_and_searches(crawled):
    directory, _ = crawled
    assert documents(directory)["/tides"]["text"] == "Tides"
    index = Index.open(CrawlDir(str(directory)))
    queries = ("month:2026*", "fish:herring.", "fish:*water*", "pages:1", "month:2027*")
    assert {query: [hit.url.split("/", 3)[3] for hit in index.search(query).hits] for query in queries} == {
        "month:2026*": ["catch/2026-03"],
        "fish:herring.": ["catch/2026-03"],
        "fish:*water*": ["tides"],
        "pages:1": ["report.pdf"],
        "month:2027*": [],
    }
    (month,) = index.search("month:2026*").hits
    assert month.facts == {"month": ["2026-03"], "fish": ["Herring."]}
    query = "SELECT facts['fish'] AS fish FROM documents WHERE facts['month'] = '2026-03'"
    assert "Herring." in beamtrawl("sql", directory, query).out
    assert CrawlDir(str(directory)).manifests()[1].settings["extract"][1]["css"] == "p"


def test_nothing_else_is_asked_for(crawled):
    directory, requests = crawled
    assert sorted(request.path for request in requests) == sorted([*documents(directory), "/robots.txt"])
    rejected = {row["reason"]: row["count"] for row in rows(directory, "rejections")}
    assert rejected == {
        "extension": 2,  # fish.csv and fish.json
        "seasons: closed season": 1,
        "seasons: error ValueError": 1,
    }


def environment(directory: Path) -> dict[str, str]:
    """In which the program has the package."""
    return {**os.environ, "PYTHONPATH": str(directory.parent / "packages")}


SEASONS, SAYS = "rejected by seasons: ", 'the URL filter "seasons" of scope.filters says:'
# a path, what is said of it
FILTERED = {
    "/catch/2026-01": f"{SEASONS}closed season: {SAYS} closed season",
    "/catch/all": f"{SEASONS}error ValueError: {SAYS} error ValueError",
    "/catch/2026-03": "not rejected",
}


def test_a_url_filter_is_explained(crawled):
    directory, _ = crawled
    home = documents(directory)["/"]["url"].removesuffix("/")
    commands = [["explain", directory, home + path] for path in FILTERED]
    for rule, ran in zip(FILTERED.values(), in_one_process(commands, environment(directory)), strict=True):
        assert f"scope: {rule}" in ran.out.splitlines()


def test_a_downloader_fetches_what_it_takes(crawled):
    assert {request.headers["accept-language"] for request in crawled[1]} == {"ko"}


def test_a_scorer_multiplies_what_links_pass_on(crawled):
    found = rows(crawled[0], "urls")
    score = {"/" + row["url"].split("/", 3)[3]: row["score"] for row in found}
    assert score["/report.pdf"] == pytest.approx(5 * score["/news.xml"])
    assert score["/crest.png"] == pytest.approx(score["/news.xml"])


def test_factors_are_in_the_priority_of_a_url_that_waits(crawled, tmp_path):
    (tmp_path / "crawl.toml").write_text('[priority]\nscorers = ["herring"]\n')
    site = {
        "/": "<title>Home</title><a href=a>A</a><a href=b>B</a>",
        "/a": "<title>A</title><a href=x>The report</a>",
        "/b": "<title>B</title><a href=x>More</a><a href=x?y rel=nofollow>No</a><a href=archive/z>Z</a>",
    }

    with Web({"a.test": site}) as web:
        base = web.url("a.test")
        commands: list[list[object]] = [["crawl", tmp_path, "--seed", base, "--rounds", "2", *LOOPBACK]]
        commands += [["explain", tmp_path, f"{base}x", "--json"]]
        _, explained = in_one_process(commands, environment(crawled[0]))
    # of the score of a page, 0.85 of 0.85 / 2; /a passes it to one target, /b to two
    assert json.loads(explained.out)["frontier"]["priority"] == pytest.approx(0.85**2 / 2 * (5 + 1 / 2))


def test_examples_in_docstrings():
    assert doctest.testmod(downloaders) == (0, 1)


class OfAnEarlierVersion:
    """A downloader of the time when there were no external targets."""

    def __init__(self, client: Client, browser_rules: BrowserRules) -> None:
        self.close = client.close


def test_a_downloader_without_head_is_refused_before_it_is_asked_for_external_targets():
    downloaders.refuse_without_head([("a.test", downloaders.Through)], Fetch())
    with pytest.raises(PluginError) as error:
        downloaders.refuse_without_head([("a.test", downloaders.Through), ("https:", OfAnEarlierVersion)], Fetch())
    assert str(error.value).startswith(
        "scope.check_external needs a method head, which OfAnEarlierVersion (for https:) lacks: "
    )


def test_what_is_said_of_an_image_is_its_anchor(crawled):
    anchors = {row["target_url"].rpartition("/")[2]: row["anchor"] for row in rows(crawled[0], "links")}
    assert anchors["crest.png"] == "The crest"


def test_observers_write_alerts(crawled):
    directory, _ = crawled
    alerts = rows(directory, "alerts")
    found = documents(directory)
    assert sorted(
        (row["url"].rpartition("/")[2], row["observer"], row["kind"], row["matched"], row["detail"]) for row in alerts
    ) == [
        ("cod", "watch", "text", "charter.txt", "100% of it, in 13 runs of 8 words"),
        ("crest.png", "watch", "image", "crest.png", "4 of 128 bits differ"),
        ("notes.gmi", "capitals", "capitals", "NOTES", "5 letters"),
        ("report.pdf", "capitals", "capitals", "CATCH", "5 letters"),
        ("report.pdf", "watch", "phrase", "acme fisheries", "1 times: catch the catch of acme fisheries"),
    ]
    for row in alerts:
        of = found["/" + row["url"].split("/", 3)[3]]
        assert [row[name] for name in ("url_key", "host", "round")] == [
            of[name] for name in ("url_key", "host", "round")
        ]


def test_the_status_counts_alerts_and_documents_that_could_not_be_parsed(crawled):
    found = summarize(CrawlDir(str(crawled[0])), datetime.now(UTC))
    assert found.alerts == {"capitals": 2, "image": 1, "phrase": 1, "text": 1}
    assert found.tables["alerts"] == 5
    assert found.alarms[0].startswith("2 documents could not be parsed")
    assert found.alarms[1].startswith("1 document reached a bound of [[extract]] or [[main]]")
    assert "alerts of observers: " in render(found)


def test_an_observer_that_fails_says_so_and_the_others_go_on():
    class Failing:
        def observe(self, document):
            raise KeyError("a")

    class Working:
        def observe(self, document):
            return [Alert("size", str(len(document.body)))]

    visit = {"url_key": b"k", "url": "http://a.test/", "host": "a.test", "round": 2, "fetched_at": None, "body": b"abc"}
    page = Source(b"", "text/plain", None, "http://a.test/", "", Directives(), "").page("")
    found = alert_rows({"one": Failing(), "two": Working()}, visit, page)
    assert [(row["observer"], row["kind"], row["matched"], row["detail"]) for row in found] == [
        ("one", "error", "KeyError", "'a'"),
        ("two", "size", "3", ""),
    ]


# --where, what is said when the exporter fails
FAILS = {
    "true": "exporter \"titles\" failed: AttributeError: 'NoneType' object has no attribute 'strip'",
    "colour = 1": "--where colour = 1: ",
}


def test_an_exporter_writes_documents_or_leaves_nothing_behind(crawled, tmp_path):
    directory, _ = crawled
    conditions = ["media_type = 'text/html' AND title < 'M'", "false", *FAILS]
    files = [tmp_path / str(number) / "titles.tsv" for number in range(len(conditions))]
    for file in files:
        file.parent.mkdir()
    commands = [
        ["export", "titles", directory, file, "--where", condition]
        for file, condition in zip(files, conditions, strict=True)
    ]
    written, empty, *failed = in_one_process(commands, environment(directory))
    assert (written.code, written.out) == (0, f"2 documents: {files[0]}\n"), written.err
    assert (empty.code, empty.out, files[1].read_bytes()) == (0, f"0 documents: {files[1]}\n", b""), empty.err
    found = documents(directory)
    assert files[0].read_text().splitlines() == [
        f"{found[path]['url']}\t{title}" for path, title in [("/", "Home"), ("/cod", "Cod")]
    ]
    for ran, message in zip(failed, FAILS.values(), strict=True):
        assert (ran.code, ran.err.count("\n")) == (1, 1)
        assert ran.err.startswith(f"beamtrawl: {message}")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == files[:2]


# crawl.toml, the message
REFUSED = {
    "a kind": (
        'documents.kinds = ["html", "doc"]',
        'no "doc" is installed among beamtrawl.parsers; there are: epub, feed, html, image, json, markdown, '
        "office, pdf, text, xml",
    ),
    "an observer": (
        'documents.observers = ["spy"]',
        'no "spy" is installed among beamtrawl.observers; there are: watch',
    ),
    "a URL filter": (
        'scope.filters = ["moon"]',
        'no "moon" is installed among beamtrawl.url_filters; there are: none; is its package installed?',
    ),
    "a scorer": (
        'priority.scorers = ["tide"]',
        'no "tide" is installed among beamtrawl.scorers; there are: none; is its package installed?',
    ),
    "a downloader": (
        'fetch.downloaders = ["gopher a.test"]',
        'no "gopher" is installed among beamtrawl.downloaders; there are: render',
    ),
    "images without the kind": (
        'watch.images = ["a.png"]',
        'watch.images needs "image" in documents.kinds, or no image is fetched',
    ),
    "an image that is none": (
        'documents.kinds = ["html", "image"]\nwatch.images = ["crawl.toml"]',
        'watch.images: "crawl.toml" cannot be read as an image',
    ),
    "a plain image": (
        'documents.kinds = ["html", "image"]\nwatch.images = ["plain.png"]',
        'watch.images: "plain.png" is too plain to be recognized',
    ),
    "a short text": (
        'watch.texts = ["short.txt"]',
        'watch.texts: "short.txt" has less than 8 words of text; use watch.phrases instead',
    ),
}


@pytest.mark.parametrize(("text", "message"), REFUSED.values(), ids=REFUSED)
def test_a_crawl_does_not_start_without_what_it_needs(tmp_path, text, message):
    (tmp_path / "crawl.toml").write_text(text)
    (tmp_path / "short.txt").write_text("one two three four five six seven")
    (tmp_path / "plain.png").write_bytes(png([[255] * 20] * 20))
    assert failure("crawl", tmp_path, "--seed", "http://127.0.0.1:9/") == (2, message)


def test_a_file_to_watch_for_that_is_not_there_is_named(tmp_path):
    (tmp_path / "crawl.toml").write_text('watch.texts = ["gone.txt"]')
    code, message = failure("crawl", tmp_path, "--seed", "http://127.0.0.1:9/")
    assert code == 2
    assert message.startswith('watch.texts: "gone.txt" cannot be read in the crawl directory: ')
