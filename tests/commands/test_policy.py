"""`policy`: the robot's page says what the settings say, and its robots.txt examples do what they promise."""

import re
from html import unescape
from pathlib import Path

import pytest

from beamtrawl.transforms.robots.rules import parse
from beamtrawl.transforms.settings import Settings, override, render
from tests.support.command_line import beamtrawl, failure

ROBOT = {
    "robot.name": "HarbourBot/2.1",
    "robot.contact": "bot@example.org",
    "robot.info_url": "https://example.org/bot",
    "politeness.delay": 2.5,
}


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / "crawl.toml").write_text(render(override(Settings(), ROBOT)))
    return tmp_path


def page_of(directory: Path, *words: object) -> str:
    code, out, err = beamtrawl("policy", directory, *words)
    assert (code, err) == (0, "")
    return out


def test_it_says_who_asks_how_often_and_from_where(directory: Path) -> None:
    page = page_of(directory, "--address", "192.0.2.0/24", "--address", "2001:db8::1")
    said = " ".join(unescape(re.sub("<[^>]+>", "", page.partition("<body>")[2])).split())
    for text in (
        "User-Agent: HarbourBot/2.1 (+https://example.org/bot) From: bot@example.org",
        "at least 2.5 seconds between an answer and the next request",
        "Its requests come from 192.0.2.0/24, 2001:db8::1.",
        "A page is visited once",
    ):
        assert text in said
    assert 'href="mailto:bot@example.org"' in page
    assert "come from" not in page_of(directory)


def test_the_robots_txt_examples_address_this_robot(directory: Path) -> None:
    examples = [
        unescape(text)
        for text in re.findall(r"<pre><code>(User-agent: .*?)</code></pre>", page_of(directory), re.DOTALL)
    ]
    slow, kept_out = (parse(text.encode(), "HarbourBot") for text in examples)
    assert slow.crawl_delay == 10
    assert kept_out.allows("http://a.test/private/x") == (False, "Disallow: /private/")
    assert not parse(examples[1].encode(), "OtherBot").rules


def test_it_loads_nothing_and_no_setting_becomes_markup(tmp_path: Path) -> None:
    evil = '"><script>alert(1)</script>'
    (tmp_path / "crawl.toml").write_text(render(override(Settings(), ROBOT | {"robot.contact": f"a@b.test{evil}"})))
    page = page_of(tmp_path)
    assert "<script" not in page
    assert not re.search(r"\b(?:src|@import|url\()", page)


def test_a_file_is_written_or_the_reason_is_one_line(directory: Path, tmp_path: Path) -> None:
    file = tmp_path / "policy.html"
    assert page_of(directory, "-o", file) == ""
    assert file.read_text() == page_of(directory)
    missing = tmp_path / "none" / "policy.html"
    no_folder = f"there is no folder {missing.parent}; make it, or name another one"
    assert failure("policy", directory, "-o", missing) == (2, f"cannot write {missing}: {no_folder}")
    assert failure("policy", directory, "--address", "here")[0] == 2
    (tmp_path / "crawl.toml").write_text(render(Settings()))
    assert failure("policy", tmp_path) == (
        2,
        f"the page says who operates the robot: set name, contact, info_url under [robot] in {tmp_path / 'crawl.toml'}",
    )
    assert "holds no crawl" in failure("policy", tmp_path / "new")[1]


PEM = """-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIJ+DYvh6SEqVTm50DFtMDoQikTmiCqirVv9mWG9qfSnF
-----END PRIVATE KEY-----
"""  # of RFC 9421, B.1.4


def test_the_key_directory_is_written_beside_the_page(tmp_path: Path) -> None:
    key, out = tmp_path / "key.pem", tmp_path / "keys.json"
    key.write_text(PEM)
    (tmp_path / "crawl.toml").write_text(render(override(Settings(), ROBOT | {"robot.key": str(key)})))
    page = page_of(tmp_path, "--key-directory", out)
    assert "JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs" in out.read_text()
    assert not any("MC4CAQAwBQYDK2VwBCIEIJ" in text or "n4Ni-HpISpVObnQMW" in text for text in (page, out.read_text()))


def test_without_a_usable_key_there_is_no_key_directory_and_no_crawl(directory: Path) -> None:
    words = ("policy", directory, "--key-directory", directory / "keys.json")
    code, line = failure(*words)
    assert (code, "set robot.key in " in line) == (2, True)
    toml = directory / "crawl.toml"
    toml.write_text(render(override(Settings(), ROBOT | {"robot.key": str(toml)})))
    crawl = ("crawl", directory, "--seed", "http://127.0.0.1:9/", "--allow-address", "127.0.0.0/8")
    for command in (words, crawl):
        code, line = failure(*command)
        assert line.startswith(f"robot.key: {toml} cannot be used: it must hold an Ed25519 private key")
