"""Usage preferences: the examples of the drafts, and what follows for training."""

import doctest
from pathlib import Path
from typing import Any

import pytest

from beamtrawl.transforms.parsing.html_page import parse_page
from beamtrawl.transforms.rights import usage
from beamtrawl.transforms.rights.usage import Usage
from beamtrawl.transforms.robots.rules import parse
from tests.support.command_line import beamtrawl
from tests.support.crawls import crawl, rows, states
from tests.support.web import Answer, Web, html, plain

STATEMENTS = {  # draft-ietf-aipref-vocab, section "Exemplary Serialization Format"
    "train-ai=y, search=n": "train-ai=y, search=n",
    'train-ai=y, train-ai, search=n, search="n"': "",  # the last value counts, and is no token
    "train-ai;allow=n, train-ai=y": "train-ai=y",
    'train-ai;has;parameters="?";': "",
    'train-ai;has;parameters="?"': "",
    "Train-AI=n": "",
    "train-ai=N": "",
    "train-ai=n, new-label=y;p": "train-ai=n",
    "train-ai=n search=y": "",
    "train-ai=n,": "",
    "": "",
    "\u00e9": "",
}


@pytest.mark.parametrize(("statement", "expected"), STATEMENTS.items())
def test_statements(statement: str, expected: str) -> None:
    assert usage.render(usage.parse(statement)) == expected


EXAMPLE = b"""
User-Agent: *
Allow: /
Disallow: /never/
Content-Usage: train-ai=n
Content-Usage: /ai-ok/ train-ai=y

User-Agent: ExampleBot
Allow: /
Content-Usage: train-ai=y
"""
PATHS = [  # draft-ietf-aipref-attach, section "Example"
    ("other", "/test", True, "train-ai=n"),
    ("other", "/never/test", False, "train-ai=n"),  # not fetched, so nobody asks
    ("other", "/ai-ok/test", True, "train-ai=y"),
    ("ExampleBot/1.0", "/test", True, "train-ai=y"),
    ("ExampleBot/1.0", "/never/test", True, "train-ai=y"),
]


@pytest.mark.parametrize(("robot", "path", "allowed", "expected"), PATHS)
def test_the_example_of_the_draft(robot: str, path: str, allowed: bool, expected: str) -> None:
    rules = parse(EXAMPLE, robot)
    assert (rules.allows(f"http://a.test{path}")[0], rules.usage(f"http://a.test{path}")) == (allowed, expected)


LINES = [
    (b"", ""),
    (b"content-usage:train-ai=n # no", "train-ai=n"),
    (b"\t Content-Usage \t:\t / \t train-ai=n", "train-ai=n"),
    (b"Content-Usage: /a train-ai=y\nContent-Usage: /a train-ai=n, search=y", "train-ai=n, search=y"),  # both apply
    (b"Content-Usage: /a train-ai=y\nContent-Usage: /a/b train-ai=n", "train-ai=n"),
    (b"Content-Usage: /a*c$ train-ai=n\nContent-Usage: /a train-ai=y", "train-ai=n"),
    (b"Content-Usage: /a%20 train-ai=n\nContent-Usage: train-ai=y", "train-ai=y"),
    (b"Content-Usage: /x train-ai=n", ""),
    (b"Content-Usage: /a", ""),
    (b"Content-Usage: /a \xff\x00=n", ""),
    (b"Content-Usage: train-ai=n\nUser-agent: other\nContent-Usage: train-ai=y", "train-ai=n"),
]


@pytest.mark.parametrize(("lines", "expected"), LINES)
def test_lines_of_robots(lines: bytes, expected: str) -> None:
    assert parse(b"User-agent: *\n" + lines, "bot").usage("http://a.test/a/b/c") == expected


TAG = '<meta name="{}" content="{}">'
PAGES: list[tuple[list[tuple[str, str]], str, Usage, bool | None]] = [
    ([], "", Usage(), None),
    ([("Content-Usage", "train-ai=n")], "", Usage("train-ai=n"), False),
    ([("content-usage", "train-ai=y"), ("Content-Usage", "search=n")], "", Usage("train-ai=y, search=n"), True),
    ([("tdm-reservation", "1")], "", Usage(tdm_reservation=True), False),  # TDMRep, examples of headers
    (
        [("TDM-Reservation", "1"), ("tdm-policy", "https://provider.com/policies/policy.json")],
        "",
        Usage(tdm_reservation=True, tdm_policy="https://provider.com/policies/policy.json"),
        False,
    ),
    ([("tdm-reservation", "yes")], "", Usage(), None),
    ([("tdm-reservation", "1")], TAG.format("TDM-reservation", "0"), Usage(tdm_reservation=False), True),
    ([("tdm-reservation", "0")], TAG.format("tdm-reservation", "1"), Usage(tdm_reservation=True), False),
    ([("tdm-reservation", "1")], TAG.format("tdm-policy", "/p"), Usage(tdm_reservation=True, tdm_policy="/p"), False),
    (
        [("tdm-reservation", "1"), ("tdm-policy", "/h")],
        TAG.format("tdm-policy", "/p"),
        Usage(tdm_reservation=True, tdm_policy="/p"),
        False,
    ),
    ([("Content-Usage", "train-ai=y"), ("tdm-reservation", "1")], "", Usage("train-ai=y", True), False),
    ([], TAG.format("robots", "index, NoAI"), Usage(noai=True), False),
    ([("X-Robots-Tag", "noimageai")], "", Usage(noimageai=True), None),
    ([("X-Robots-Tag", "otherbot: noai")], "", Usage(), None),
]


@pytest.mark.parametrize(("headers", "head", "expected", "training"), PAGES)
def test_pages(headers: list[tuple[str, str]], head: str, expected: Usage, training: bool | None) -> None:
    body = f"<title>A</title>{head}<p>Text.".encode()
    page = parse_page(body, "http://a.test/", "text/html", headers, "bot")
    assert page is not None
    assert (page.usage, page.usage.training("text/html")) == (expected, training)
    plain_page = parse_page(b"<title>A</title><p>Text.", "http://a.test/", "text/html", [], "bot")
    assert plain_page is not None
    assert (page.digest == plain_page.digest) == (expected == Usage())  # a change counts as a change of the page


def test_noimageai_concerns_images() -> None:
    assert Usage(noimageai=True).training("image/png") is False
    assert Usage(noimageai=True).training("text/html") is None


def test_a_crawl_keeps_what_was_said(tmp_path: Path) -> None:
    robots = "User-agent: *\nContent-Usage: search=y\nContent-Usage: /art train-ai=n"
    site: dict[str, Any] = {
        "/robots.txt": plain(robots),
        "/": html("Home", "Start.", ["/art", "/tdm", "/moved"]),
        "/art": html("Art", "A picture."),
        "/tdm": html("Reserved", "A text.", head=TAG.format("tdm-reservation", "1")),
        "/moved": Answer(301, b"", (("Location", "/art"),)),
    }
    with Web({"a.test": site}) as web:
        home = web.url("a.test")
        crawl(tmp_path, [home], rounds=2)
    found = {row["url"].removeprefix(home): row for row in rows(tmp_path, "documents")}
    names = ("content_usage", "tdm_reservation", "tdm_policy", "noai", "noimageai", "ai_training")
    assert {path: tuple(row[name] for name in names) for path, row in found.items()} == {
        "": ("search=y", None, None, False, False, None),
        "art": ("train-ai=n", None, None, False, False, False),
        "tdm": ("search=y", True, None, False, False, False),
    }
    visits = {row["url"].removeprefix(home): row["robots_usage"] for row in rows(tmp_path, "visits")}
    assert visits == {"": "search=y", "art": "train-ai=n", "tdm": "search=y", "moved": "search=y"}
    assert set(states(tmp_path)) == {home + path for path in visits}
    (tmp_path / "crawl.toml").write_text("")
    said = {path: beamtrawl("explain", tmp_path, home + path).out for path in ("tdm", "")}
    assert "  use: reserved for training (search=y tdm-reservation=1)\n" in said["tdm"]
    assert "  use: says nothing of training (search=y)\n" in said[""]


def test_examples() -> None:
    assert doctest.testmod(usage).failed == 0
