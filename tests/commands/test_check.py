"""`check url`: what a URL would become, and whether a crawl would want it."""

import json
from pathlib import Path

import pytest

from beamtrawl.transforms.settings import Settings, override, render
from beamtrawl.transforms.urls.canonical import url_key
from tests.support.command_line import beamtrawl, failure
from tests.support.tables import each_row

REFERENCE = "HTTP://a.co.uk/b?y=1&utm_source=c&x=2"
URL, FORM = "http://a.co.uk/b?y=1&utm_source=c&x=2", "http://a.co.uk/b?x=2&y=1"


def test_each_rule_that_changed_it_is_a_line() -> None:
    code, out, err = beamtrawl("check", "url", REFERENCE)
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        f"scheme: '{REFERENCE}' -> '{URL}'",
        f"drop_tracking: '{URL}' -> 'http://a.co.uk/b?y=1&x=2'",
        f"sort_parameters: 'http://a.co.uk/b?y=1&x=2' -> '{FORM}'",
        f"fetched: {URL}",
        f"known by: {FORM}",
        f"key: {url_key(FORM).hex()}",
        "host: a.co.uk",
        "domain: a.co.uk",
    ]


def test_json() -> None:
    code, out, _ = beamtrawl("check", "url", "../c", "--base", "http://d.a.co.uk:81/b/b", "--json")
    assert code == 0
    assert json.loads(out) == {
        "reference": "../c",
        "base": "http://d.a.co.uk:81/b/b",
        "steps": [{"rule": "join", "before": "../c", "after": "http://d.a.co.uk:81/c"}],
        "url": "http://d.a.co.uk:81/c",
        "dedup_form": "http://d.a.co.uk:81/c",
        "url_key": url_key("http://d.a.co.uk:81/c").hex(),
        "host": "d.a.co.uk:81",
        "domain": "a.co.uk",
    }


@pytest.fixture
def settings(tmp_path: Path) -> Path:
    """A file with a pattern that leaves pages out."""
    file = tmp_path / "settings.toml"
    file.write_text(render(override(Settings(), {"scope.exclude": ["/private/"]})))
    return file


# URL: what the settings say of it
WITH_SETTINGS = {
    "http://a.test/": "scope: not rejected",
    "http://any.test/": "scope: not rejected",
    "http://a.test/private/x": 'scope: rejected by exclude: the pattern "/private/" of scope.exclude matches it',
    "http://a.test/x.png": "scope: rejected by extension: documents.kinds has no kind for files named .png",
    "http://a.test/"
    + "x" * 2000: "scope: rejected by too_long: it has more than 1024 characters (scope.max_url_length)",
}


@pytest.mark.parametrize(("url", "said"), WITH_SETTINGS.items(), ids=lambda text: text[:40])
def test_the_scope_of_settings(settings: Path, url: str, said: str) -> None:
    assert beamtrawl("check", "url", url, "--settings", settings).out.splitlines()[-1] == said


# words, exit code, what the line says
MISUSED = {
    "not a web URL": (["mailto:a@b.test"], 2, "mailto:a@b.test: not a URL that can be fetched"),
    "relative": (["/a"], 2, "a relative one needs --base URL"),
    "no URL": ([], 2, "the following arguments are required: URL"),
    "a base that is none": (["/a", "--base", "/b"], 2, "--base /b: not an absolute http or https URL"),
    "settings that are not there": (["http://a.test/", "--settings", "/none"], 2, "cannot read the settings in /none"),
}


@each_row(MISUSED)
def test_what_it_cannot_do_is_one_line(words: list[str], code: int, said: str) -> None:
    found, line = failure("check", "url", *words)
    assert found == code
    assert said in line


def test_settings_that_cannot_be_used_are_named(tmp_path: Path) -> None:
    file = tmp_path / "bad.toml"
    file.write_text("[scope]\ndepth = -1\n")
    code, line = failure("check", "url", "http://a.test/", "--settings", file)
    assert code == 2
    assert line.startswith(f"{file}, line 2: scope.depth = -1")
