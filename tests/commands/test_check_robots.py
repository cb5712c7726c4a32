"""`check robots` and `check page`: from a file, and from a server that is asked as a crawl would ask it."""

import json
from pathlib import Path

import pytest

from tests.support.command_line import beamtrawl, failure
from tests.support.web import Web, html, plain, redirect, status

ROBOTS = """User-agent: Other
Disallow: /
Content-Signals: /a search=maybe, ai-train=no, use=reference

User-agent: *
Disallow: /a  # all
Allow: /a/b
Crawl-delay: 2s
Sitemap: /s.xml
"""
LOCAL = ("--allow-address", "127.0.0.0/8")
PAGE = html(
    "Harbour", "All about the harbour.", ["/b", "x", "http://c.test/"], '<meta name="robots" content="noarchive">'
)


@pytest.fixture
def robots(tmp_path: Path) -> Path:
    file = tmp_path / "robots.txt"
    file.write_text(ROBOTS)
    return file


def test_a_robots_txt_in_a_file(robots: Path) -> None:
    code, out, err = beamtrawl("check", "robots", robots, "--url", "/a", "--url", "/a/b", "--url", "http://x.test/c")
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "for Beamtrawl: rules",
        "  Disallow: /a",
        "  Allow: /a/b",
        "  Crawl-delay: 2",
        "sitemap: /s.xml",
        "http://localhost/a: denied by line 6: Disallow: /a",
        "http://localhost/a/b: allowed by line 7: Allow: /a/b",
        "http://x.test/c: allowed",
    ]


def test_for_another_robot_in_json(robots: Path) -> None:
    code, out, _ = beamtrawl("check", "robots", robots, "--agent", "other", "--url", "/a/b", "--json")
    assert code == 0
    assert json.loads(out) == {
        "source": str(robots),
        "agent": "other",
        "status": None,
        "verdict": "rules",
        "crawl_delay": None,
        "sitemaps": ["/s.xml"],
        "licenses": [],
        "signals": [
            {
                "line": 3,
                "text": "Content-Signal: /a search=maybe, ai-train=no, use=reference",
                "ignored": ["search=maybe"],
            }
        ],
        "rules": ["Disallow: /"],
        "urls": [
            {
                "url": "http://localhost/a/b",
                "allows": False,
                "rule": "Disallow: /",
                "line": 2,
                "signals": [
                    {"signal": "ai-train", "value": "no", "line": 3},
                    {"signal": "use", "value": "reference", "line": 3},
                ],
            }
        ],
    }
    lines = beamtrawl("check", "robots", robots, "--agent", "other", "--url", "/a/b").out.splitlines()
    assert lines[2:] == [
        "  Content-Signal: /a search=maybe, ai-train=no, use=reference (not understood: search=maybe)",
        "sitemap: /s.xml",
        "http://localhost/a/b: denied by line 2: Disallow: /",
        "  ai-train=no by line 3",
        "  use=reference by line 3",
    ]


# robots.txt of the server: the first line, and whether /a may be fetched
SERVED = {
    "rules": (plain(ROBOTS), "status 200: rules", "denied by line 6: Disallow: /a"),
    "none": (status(404), "status 404: allow_all", "allowed"),
    "refused": (status(403), "status 403: deny_all", "denied"),
    "broken": (status(500), "status 500: unreachable", "denied"),
    "elsewhere": (redirect("/rules.txt"), "status 200: rules", "denied by line 6: Disallow: /a"),
}


@pytest.mark.parametrize(("answer", "first", "said"), SERVED.values(), ids=SERVED)
def test_a_robots_txt_of_a_server(tmp_path: Path, answer, first: str, said: str) -> None:
    with Web({"a.test": {"/robots.txt": answer, "/rules.txt": plain(ROBOTS)}}) as web:
        url = web.url("a.test", "/page")
        code, out, err = beamtrawl("check", "robots", url, "--url", "/a", *settings(tmp_path, 0.0))
        assert (code, err) == (0, "")
        assert out.splitlines()[0] == f"for Beamtrawl: {first}"
        assert out.splitlines()[-1] == f"{web.url('a.test', '/a')}: {said}"
        assert "/page" not in {request.path for request in web.requests}


def test_a_page_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_bytes(PAGE.body)
    code, out, _ = beamtrawl("check", "page", file, "--base", "http://a.test/docs/")
    assert code == 0
    assert out.splitlines() == [
        "url: http://a.test/docs/",
        "media_type: text/html",
        "charset: utf-8",
        "language: en",
        "title: Harbour",
        "directives: noarchive=True",
        "text: 50 characters",
        "  Harbour",
        "  All about the harbour.",
        "  /b",
        "  x",
        "  http://c.test/",
        "links: 3",
        "  http://a.test/b (a) '/b'",
        "  http://a.test/docs/x (a) 'x'",
        "  http://c.test/ (a) 'http://c.test/'",
    ]


RULES = """
[[extract]]
field = "place"
xpath = "//a/@href"
[[extract]]
match = "/docs/"
field = "place"
regex = "/([a-z]+)/$"
[[extract]]
match = "/shop/"
field = "price"
css = ".price"
[[main]]
keep = ["h1"]
[[main]]
match = "a.test"
keep = ["p"]
"""


@pytest.mark.parametrize("option", ["--dir", "--settings"])
def test_what_each_rule_does_with_a_page(tmp_path: Path, option: str) -> None:
    (tmp_path / "crawl.toml").write_text(RULES)
    page = tmp_path / "page.html"
    page.write_text("<title>T</title><h1>Harbour</h1><p>All about it.<a href=b>b</a><a href='c'>c</a>")
    place = tmp_path if option == "--dir" else tmp_path / "crawl.toml"
    words = ("check", "page", page, "--base", "http://a.test/docs/", option, place)
    lines = beamtrawl(*words).out.splitlines()
    assert lines[4:12] == [
        "place: b | c",
        "rule extract 1, place: 2 values",
        "rule extract 2, place: 1 value",
        "rule extract 3, price: does not match the URL",
        "rule main 1: 7 characters instead of 23",
        "rule main 2: an earlier rule matches",
        "directives: none",
        "text: 7 characters",
    ]
    rules = json.loads(beamtrawl(*words, "--json").out)["rules"]
    assert [rule["values"] for rule in rules] == [["b", "c"], ["docs"], [], [], []]
    (tmp_path / "crawl.toml").write_text(RULES.replace("//a", "//a["))
    assert "crawl.toml, line 4: rule 1 of extract: xpath = " in failure(*words)[1]


def settings(folder: Path, delay: float) -> list[object]:
    """Flags for a crawl.toml with a delay."""
    file = folder / "crawl.toml"
    file.write_text(f"[politeness]\ndelay = {delay}\n[fetch]\nallow_addresses = ['127.0.0.0/8']\n")
    return ["--settings", file]


def test_a_page_of_a_server_is_fetched_if_robots_txt_allows_it(tmp_path: Path) -> None:
    rules, fast = plain(ROBOTS.replace("Crawl-delay: 2s\n", "")), settings(tmp_path, 0.0)
    with Web({"a.test": {"/robots.txt": rules, "/p": PAGE, "/a": PAGE, "/moved": redirect("/p")}}) as web:
        code, out, _ = beamtrawl("check", "page", web.url("a.test", "/p"), "--json", *fast)
        found = json.loads(out)
        assert (code, found["title"], found["noarchive"]) == (0, "Harbour", True)
        assert [(link["anchor"], link["followed"]) for link in found["links"]][:2] == [("/b", True), ("x", True)]
        assert failure("check", "page", web.url("a.test", "/a"), *fast) == (
            1,
            f"{web.url('a.test', '/a')}: robots.txt denies it by Disallow: /a",
        )
        assert failure("check", "page", web.url("a.test", "/moved"), *fast)[1].endswith(
            "/moved: redirected, status 302"
        )
        assert [request.path for request in web.requests].count("/a") == 0


def test_bad_input_is_one_line(robots: Path, tmp_path: Path) -> None:
    public = "requests to it must identify the robot: name a crawl.toml with [robot]: --settings FILE"
    assert failure("check", "robots", "http://example.org/") == (
        2,
        f"http://example.org/robots.txt is not on this machine, and {public}",
    )
    assert failure("check", "page", "http://example.org/")[1].endswith(public)
    missing = tmp_path / "missing"
    assert failure("check", "robots", missing)[1] == (
        f"cannot read {missing}: No such file or directory; give a file, or a URL, which starts with http:// or https://"
    )
    code, refused = failure("check", "page", "http://127.0.0.1:9/")
    assert (code, refused.endswith("(loopback); to allow it: --allow-address CIDR")) == (1, True)
    assert "--url ftp://x/" in failure("check", "robots", robots, "--url", "ftp://x/")[1]
    binary = tmp_path / "x.bin"
    binary.write_bytes(b"\0\1\2" * 100)
    assert failure("check", "page", binary)[1].endswith(
        "is of none of the kinds html, text, markdown, pdf, office, epub, feed"
    )
