"""`beamtrawl report`: what it says about crawls, and that nothing from a crawl has effects in it."""

import base64
import hashlib
import re
from pathlib import Path

import lxml.html
import pyarrow.parquet as pq
import pytest

from tests.report.hostile import EVIL, hostile_crawl
from tests.report.pages import figures, paragraphs, report_of, tables
from tests.support.command_line import LOOPBACK, beamtrawl, contents, failure
from tests.support.committed import commit_rows
from tests.support.web import Web, html, plain

PAGES = {
    "/robots.txt": plain("User-agent: *\nDisallow: /private\n"),
    "/": html("Home", links=["/a", "/b", "/copy", "/private/x", "/missing", "/far?#", "http://else.test/"]),
    "/a": html("A", "the first text about crawlers and rounds " * 9, ["/b"]),
    "/b": html("B", "another text about estimates and reports " * 9, ["/deep"]),
    "/copy": html("A", "the first text about crawlers and rounds " * 9, ["/b"]),
    "/far": html("Far", "nothing of this is elsewhere, is it not so " * 9),
    "/deep": html("Deep", "deep down there is not much to read here " * 9),
}


@pytest.fixture(scope="module")
def crawl(tmp_path_factory) -> tuple[Path, str]:
    """A crawl of eight URLs, and its host."""
    path = tmp_path_factory.mktemp("crawls") / "small"
    with Web({"a.test": PAGES}) as web:
        assert beamtrawl("crawl", path, "--seed", web.url("a.test"), *LOOPBACK).code == 0
        return path, web.url("a.test").split("/")[2]


@pytest.fixture(scope="module")
def page(crawl) -> str:
    return report_of(crawl[0])


def test_the_figures_of_a_small_crawl(page) -> None:
    found = figures(page)
    names = ("rounds", "hosts", "URLs found", "URLs waiting", "visits", "pages", "duplicates", "near duplicates")
    assert [found[name] for name in names] == ["3", "1", "8", "0", "8", "6", "1", "0"]
    assert found["pages that may be found"] == "5"


def test_the_tables_of_a_small_crawl(page, crawl) -> None:
    found, host = tables(page), crawl[1]
    rounds = [row[:1] + row[2:8] for row in found["Round by round"]]
    assert rounds == [
        ["1", "1", "1", "0", "0", "0", "0"],
        ["2", "6", "4", "0", "1", "1", "0"],
        ["3", "1", "1", "0", "0", "0", "0"],
    ]
    assert [row[0::2] for row in found["Visits by outcome"]] == [
        ["fetched", "6"],
        ["denied_robots", "1"],
        ["gone", "1"],
    ]
    assert found["Answers by HTTP status"] == [["200", "6", "85.7 %"], ["404", "1", "14.3 %"]]
    assert found["Broken links"] == [[f"http://{host}/missing", "404", "1", f"http://{host}/"]]
    assert found["URLs by state"] == [["fetched", "6", "75.0 %"], ["denied", "1", "12.5 %"], ["gone", "1", "12.5 %"]]
    assert found["URLs by depth (URLs)"] == [["0", "1", "0", "0"], ["1", "4", "1", "1"], ["2", "1", "0", "0"]]
    assert [row[:2] for row in found["Links that a rule excluded"]] == [["scope", "1"]]
    assert [row[:4] for row in found["The largest hosts, by pages"]] == [[host, "8", "6", "8"]]
    assert [row[:2] + row[4:6] for row in found["Refusing and failing hosts"]] == [[host, "8", "1", "0"]]
    assert found["Media types"] == [["text/html", "6", "100.0 %"]]
    assert found["URLs that robots.txt denies, by rule"] == [[host, "Disallow: /private", "1"]]
    assert {"visits", "documents", "index", "urls"} <= {row[0] for row in found["On disk, by table"]}


def test_a_report_is_one_file_that_requests_nothing(page) -> None:
    root = lxml.html.fromstring(page)
    assert not root.xpath("//@src | //@srcset | //@action | //@style | //link | //iframe | //object | //form")
    assert not root.xpath("//@*[starts-with(name(), 'on')]")
    assert all(link.startswith("#") for link in root.xpath("//@href"))
    (policy,) = root.xpath("//meta[@http-equiv='Content-Security-Policy']/@content")
    for name in ("style", "script"):
        (text,) = (element.text for element in root.iter(name))
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{name}-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'; ")


def test_each_chart_has_a_title_a_description_and_a_table(page) -> None:
    root = lxml.html.fromstring(page)
    charts = list(root.iter("figure"))
    assert len(charts) >= 8
    ids = [element.get("id") for element in root.iter() if element.get("id")]
    assert len(ids) == len({*ids})
    for chart in charts:
        (drawing,) = chart.xpath("./svg")
        assert {*drawing.get("aria-labelledby").split()} <= {*ids}
        assert chart.xpath(".//table/tbody/tr")


def test_a_hostile_crawl_injects_nothing(tmp_path) -> None:
    hostile_crawl(tmp_path / "crawl")
    page = report_of(tmp_path / "crawl")
    calm = report_of(_empty(tmp_path / "calm"))
    elements = {element.tag for element in lxml.html.fromstring(page).iter() if isinstance(element.tag, str)}
    assert elements <= {element.tag for element in lxml.html.fromstring(calm).iter()} | SEEN
    root = lxml.html.fromstring(page)
    assert [len(root.xpath(f"//{name}")) for name in ("script", "style", "base", "iframe", "img", "b")] == [
        1,
        1,
        0,
        0,
        0,
        0,
    ]
    assert not root.xpath("//@*[starts-with(name(), 'on')] | //@src | //@style")
    assert not re.search("[\0-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202f\u2066-\u2069\ufeff]", page)
    assert EVIL[:30] in root.text_content()  # it is shown
    assert max(map(len, re.findall("A+", page))) < 400
    assert "49" not in tables(page)["Media types"][0][0]


SEEN = {"caption", "thead", "tbody", "tr", "th", "td", "table", "bdi", "svg", "rect", "title", "desc", "text", "line"}
SEEN |= {"figure", "figcaption", "details", "summary", "circle", "polyline", "g"}


def _empty(path: Path) -> Path:
    commit_rows(path, "seeds", 0, {"seeds": [{"url": "http://a.test/", "host": "a.test"}]})
    return path


def test_a_crawl_that_has_not_fetched_anything(tmp_path) -> None:
    page = report_of(_empty(tmp_path))
    assert figures(page)["visits"] == "0"
    said = paragraphs(page)
    for line in (
        "The frontier is empty. The report shows the steps committed when it was made.",
        "No alarms.",
        "No round has been fetched yet.",
        "No visits yet.",
        "No URLs yet: the first update step has not ended.",
        "No host has been requested yet.",
        "No page has been parsed yet.",
        "No robots.txt has been requested yet.",
    ):
        assert line in said


def test_a_crawl_between_two_steps(tmp_path) -> None:
    """As while it runs: round 1 is fetched and not parsed yet."""
    _empty(tmp_path)
    visit = {"url": "http://a.test/", "host": "a.test", "outcome": "fetched", "status": 200, "body_bytes": 1_500}
    commit_rows(tmp_path, "fetch", 1, {"visits": [visit]})
    page = report_of(tmp_path)
    assert figures(page)["received"] == "1.5 kB"
    assert tables(page)["Visits by outcome"] == [["fetched", "a page", "1", "100.0 %"]]
    assert "The next step is update of round 1." in paragraphs(page)[1]


def test_the_file_is_written_whole_or_not_at_all(crawl, tmp_path) -> None:
    target = tmp_path / "report.html"
    code, out, err = beamtrawl("report", crawl[0], "-o", target)
    assert (code, err) == (0, "") and out.startswith(f"report: {target} (")
    assert tables(target.read_text(encoding="utf-8"))["Media types"]
    before = contents(tmp_path)
    assert failure("report", tmp_path / "nowhere", "-o", target)[0] == 1
    code, line = failure("report", crawl[0], "-o", tmp_path / "no" / "report.html")
    no_folder = f"there is no folder {tmp_path}/no; make it, or name another one"
    assert (code, line) == (2, f"cannot write {tmp_path}/no/report.html: {no_folder}")
    assert contents(tmp_path) == before


def test_a_damaged_file_is_named(tmp_path) -> None:
    _empty(tmp_path)
    commit_rows(tmp_path, "fetch", 1, {"visits": [{"url": "http://a.test/", "outcome": "fetched"}]})
    (damaged,) = tmp_path.glob("visits/*/*.parquet")
    damaged.write_bytes(damaged.read_bytes()[:100])
    code, line = failure("report", tmp_path, "-o", tmp_path / "report.html")
    assert code == 1
    assert damaged.name in line
    assert "check crawl" in line
    assert not (tmp_path / "report.html").exists()


def test_the_newest_version_of_a_page_counts(tmp_path) -> None:
    _empty(tmp_path)
    for round_, language in enumerate(("de", "en"), start=1):
        document = {"url": "http://a.test/", "host": "a.test", "language": language, "media_type": "text/html"}
        commit_rows(tmp_path, "update", round_, {"documents": [document]})
    assert tables(report_of(tmp_path))["Languages"] == [["en", "1", "100.0 %"]]


def test_a_crawl_of_an_earlier_version_lacks_columns(tmp_path) -> None:
    _empty(tmp_path)
    visit = {"url": "http://a.test/", "host": "a.test", "outcome": "fetched", "status": 200}
    document = {"url": "http://a.test/", "host": "a.test", "media_type": "text/html", "noai": True}
    commit_rows(tmp_path, "fetch", 1, {"visits": [visit]})
    commit_rows(
        tmp_path, "update", 1, {"documents": [document], "urls": [{"url": "http://a.test/", "state": "fetched"}]}
    )
    kept = {"url_key", "url", "host", "round", "outcome", "status", "media_type", "state"}
    for file in tmp_path.glob("[vdu]*/round=*/*.parquet"):
        rows = pq.ParquetFile(file).read()
        pq.write_table(rows.select([name for name in rows.column_names if name in kept]), file)
    for manifest in (tmp_path / "manifests").iterdir():  # that version wrote no checksums
        manifest.write_text(re.sub(r'"checksum": "[^"]*"', '"checksum": ""', manifest.read_text()))
    found = tables(report_of(tmp_path))
    assert found["Media types"] == [["text/html", "1", "100.0 %"]]
    assert [row[2] for row in found["Visits by outcome"]] == ["1"]
    assert found["URLs by state"] == [["fetched", "1", "100.0 %"]]
    assert found["Training of AI models, as pages and robots.txt conclude"][2] == ["nothing stated", "1", "100.0 %"]
