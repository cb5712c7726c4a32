"""Crawls that fetch /.well-known/tdmrep.json: what they request, and what explain, reports and corpora make of it."""

import dataclasses
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from beamtrawl.transforms.directory.crawl_dir import CrawlDir
from beamtrawl.transforms.directory.manifests import Manifest
from beamtrawl.transforms.rights.tdm_rules import concluded, read_tdm_rules
from beamtrawl.transforms.tables.sitemap_terms import TDMREP
from beamtrawl.transforms.tables.table_files import TableWriter
from tests.support.command_line import beamtrawl
from tests.support.crawls import crawl, rows, states
from tests.support.web import Answer, Page, Web, html, plain, redirect, status

PATH = "/.well-known/tdmrep.json"
POLICY = "https://provider.example/policy.json"
RULES = [
    {"location": "/articles/open$", "tdm-reservation": 0},
    {"location": "/articles/", "tdm-reservation": 1, "tdm-policy": POLICY},
]
OWN = '<meta name="tdm-reservation" content="{}">'


def rules(entries: Any) -> Answer:
    return Answer(body=json.dumps(entries).encode(), headers=(("Content-Type", "application/json"),))


def page(path: str, said: str = "") -> Answer:
    text = " ".join(f"{path[1:]}{number}" for number in range(100))  # no page is like another
    return html(path, text, head=OWN.format(said) if said else "")


ARTICLES = ("/articles/one", "/articles/open", "/articles/lifted", "/about", "/own")


def site(robots: Page, file: Page) -> dict[str, Page]:
    lifted = page("/articles/lifted")
    return {
        "/robots.txt": robots,
        PATH: file,
        "/": html("Home", "The start of it all.", list(ARTICLES)),
        "/articles/one": page("/articles/one"),
        "/articles/open": page("/articles/open"),
        "/articles/lifted": dataclasses.replace(lifted, headers=(*lifted.headers, ("tdm-reservation", "0"))),
        "/about": page("/about"),
        "/own": page("/own", "1"),
    }


def corpus(path: Path, out: Path, *flags: str) -> dict[str, tuple[bool | None, bool | None]]:
    """(tdm_reservation, ai_training) of the exported documents, by URL."""
    beamtrawl("export", "corpus", path, out, "--format", "parquet", *flags)
    columns = ["url", "tdm_reservation", "ai_training"]
    return {
        row["url"]: (row["tdm_reservation"], row["ai_training"])
        for row in pq.read_table(sorted(out.glob("*.parquet")), columns=columns).to_pylist()  # type: ignore[no-untyped-call]
    }


def asked(web: Web, host: str) -> list[str]:
    """The paths of the requests to a host, in order."""
    return [request.path for request in web.requests if request.host == host]


def test_what_a_file_reserves_is_left_out_of_a_corpus(tmp_path: Path) -> None:
    sites = {
        "a.test": site(plain("User-agent: *\n"), rules(RULES)),
        "b.test": site(
            plain("User-agent: *\nDisallow: /.well-known/\n"), rules([{"location": "/", "tdm-reservation": 1}])
        ),
    }
    with Web(sites) as web:
        home, other = web.url("a.test"), web.url("b.test")
        crawl(tmp_path / "crawl", [home, other], usage__tdmrep=True)
        requests = {host: asked(web, host) for host in sites}
    assert requests["a.test"].count(PATH) == 1
    assert PATH not in requests["b.test"]  # robots.txt denies it
    (tmp_path / "crawl" / "crawl.toml").write_text("")
    found = corpus(tmp_path / "crawl", tmp_path / "out")
    assert (
        found
        == {
            home: (None, None),
            f"{home}about": (None, None),
            f"{home}articles/open": (False, True),
            f"{home}articles/lifted": (False, True),  # by its own header
            other: (None, None),
            **{f"{other}{path[1:]}": (None, None) for path in ("/about", "/articles/one", "/articles/open")},
            f"{other}articles/lifted": (False, True),
        }
    )
    everything = corpus(tmp_path / "crawl", tmp_path / "all", "--include", "reserved")
    added = {f"{home}articles/one": (True, False), f"{home}own": (True, False), f"{other}own": (True, False)}
    assert everything == found | added
    told = {
        path: beamtrawl("explain", tmp_path / "crawl", home + path).out for path in ("articles/one", "own", "about")
    }
    rule = f"tdm-reservation=1 by {home}{PATH[1:]}, location /articles/ {POLICY}"
    assert f"  use: reserved for training ({rule})\n" in told["articles/one"]
    assert "  use: reserved for training (tdm-reservation=1)\n" in told["own"]
    assert "  use: " not in told["about"]
    beamtrawl("report", tmp_path / "crawl", "-o", tmp_path / "report.html")
    assert "Files of TDMRep" in (tmp_path / "report.html").read_text()
    assert f"{home}{PATH[1:]}" not in {row["url"] for row in rows(tmp_path / "crawl", "documents")}


def test_nothing_is_requested_unless_the_settings_say_so(tmp_path: Path) -> None:
    with Web({"a.test": site(plain("User-agent: *\n"), rules(RULES))}) as web:
        crawl(tmp_path, [web.url("a.test")])
        assert PATH not in asked(web, "a.test")


REDIRECTED = {"/.well-known/other.json": rules([{"location": "/", "tdm-reservation": 1}])}
FILES = {
    "not found": (status(404), {}, 0),
    "an error page": (html("Not found", "There is nothing here."), {}, 0),
    "an error of the server": (status(503), {}, 0),
    "too deep": (Answer(body=b"[" * 100_000), {}, 0),
    "no array": (rules({"location": "/", "tdm-reservation": 1}), {}, 0),
    "redirected": (redirect("/.well-known/other.json"), REDIRECTED, 1),
    "a loop": (redirect(PATH), {}, 0),
}


def test_files_that_are_not_as_they_should_be(tmp_path: Path) -> None:
    sites = {
        f"{name.replace(' ', '-')}.test": site(plain("User-agent: *\n"), file) | others
        for name, (file, others, _) in FILES.items()
    }
    with Web(sites) as web:
        homes = [web.url(host) for host in sites]
        crawl(tmp_path, homes, usage__tdmrep=True, limits__max_tries=1)
        assert all(PATH in asked(web, host) for host in sites)
        reserved = {
            web.authority(host): count for host, (*_, count) in zip(sites, FILES.values(), strict=True) if count
        }
    assert numbers_of_rules(tmp_path) == reserved
    assert {url: state["state"] for url, state in states(tmp_path).items() if "/articles/" in url} == {
        home + path[1:]: "fetched" for home in homes for path in ARTICLES if path.startswith("/articles/")
    }
    assert not any("tdmrep" in row["url"] or "other.json" in row["url"] for row in rows(tmp_path, "documents"))


def numbers_of_rules(path: Path) -> dict[str, int]:
    """The number of rules that count for each host that has any."""
    directory = CrawlDir(str(path))
    found = read_tdm_rules(directory, directory.manifests())
    return {host: len(file.reservations.rules) for host, file in found.items() if file.reservations.rules}


CONCLUSIONS = [
    # ai_training, what the file states; the conclusion
    (None, True, False),
    (True, True, False),
    (False, False, False),
    (None, False, True),
    (True, False, True),
]


@pytest.mark.parametrize(("training", "reserved", "expected"), CONCLUSIONS)
def test_conclusions(training: bool | None, reserved: bool, expected: bool) -> None:
    assert concluded(training, reserved) is expected


def test_only_the_file_that_counts_or_that_of_the_host_can_be_gone(tmp_path: Path) -> None:
    own, other = f"http://a.test{PATH}", "http://a.test/.well-known/other.json"
    body, at = json.dumps(RULES).encode(), datetime(2026, 11, 1, tzinfo=UTC)

    def left(*visits: tuple[str, str]) -> set[str]:
        writer = TableWriter(str(tmp_path), "visits", 1)
        writer.write_rows(
            [
                {"url": url, "host": "a.test", "kind": TDMREP, "outcome": outcome, "body": body}
                | {"fetched_at": at + timedelta(hours=number)}
                for number, (url, outcome) in enumerate(visits)
            ]
        )
        file = writer.close()
        assert file is not None
        files = (file._replace(counts={f"{TDMREP}_visits": len(visits)}),)
        return {*read_tdm_rules(CrawlDir(str(tmp_path)), [Manifest("fetch", 1, "", files, {}, (), "", "")])}

    assert left((own, "fetched"), (other, "gone")) == {"a.test"}
    assert left((other, "fetched"), (other, "gone")) == left((other, "fetched"), (own, "gone")) == set()
    assert left((own, "fetched"), (own, "server_error")) == left((own, "gone"), (own, "fetched")) == {"a.test"}


MOVED = redirect("/.well-known/other.json")


# the answers of a host, and the number of rules that count after each
ANSWERS: dict[str, tuple[list[Page], list[int]]] = {
    "changed.test": ([rules(RULES), rules(RULES[:1]), status(503)], [2, 1, 1]),
    "gone.test": ([rules(RULES), status(404), rules(RULES)], [2, 0, 2]),
    "added.test": ([status(404), rules(RULES), rules(RULES)], [0, 2, 2]),
    "moved.test": ([MOVED, MOVED, status(404)], [0, 1, 0]),
}


def test_a_file_counts_as_it_was_fetched_last(tmp_path: Path) -> None:
    sites = {host: site(plain("User-agent: *\n"), answers[0]) | REDIRECTED for host, (answers, _) in ANSWERS.items()}
    with Web(sites) as web:
        again = {"usage__tdmrep": True, "recrawl__after": 1e-9, "sitemaps__after": 1e-9}
        crawl(tmp_path, [web.url(host) for host in sites], rounds=1, **again)
        found: dict[str, list[int]] = {host: [] for host in sites}
        for number in range(3):
            for host, (answers, _) in ANSWERS.items():
                sites[host][PATH] = answers[number]
            crawl(tmp_path, rounds=1, **again)
            counts = numbers_of_rules(tmp_path)
            for host in sites:
                found[host].append(counts.get(web.authority(host), 0))
    assert found == {host: counts for host, (_, counts) in ANSWERS.items()}
