"""Bad input gets one clear line that names it, the exit code of docs/running.md, and changes nothing."""

import json
import os
import re
import shutil
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.command_line import LOOPBACK, beamtrawl, contents, failure
from tests.support.web import Web, html

SEED = ["--seed", "http://127.0.0.1:9/"]
NEW = ["crawl", "NEW", *SEED]
EXPORTS = dict.fromkeys(("warc", "corpus", "markdown", "llms", "ciff"), "OUT") | {"chunks": "OUT.jsonl"}

# words; exit code; what the line names. DIR is a crawl, EMPTY an empty folder, MINE one with files of somebody.
BAD: list[tuple[list[str], int, str]] = [
    *(([*NEW, "--set", text], 2, text.partition("=")[0]) for text in (
        "politeness.delay", "politeness.delai=1", "delay=1", "=1", "politeness.delay=few", "limits.max_pages=-1",
        "scope.include=[", "nonsense.key=1", "politeness.delay=nan", "limits.max_depth=1.5",
    )),
    *(([*NEW, flag, value], 2, value) for flag, value in (
        ("--include", "["), ("--exclude", "(?P<"), ("--recrawl-after", "-1"), ("--recrawl-after", "soon"),
        ("--delay", "fast"), ("--rounds", "-1"), ("--max-pages", "1.5"), ("--max-pages-per-host", "all"),
        ("--max-pages-per-host-per-round", "x"), ("--scope", "world"), ("--runner", "sloth"), ("--workers", "few"),
        ("--allow-address", "300.0.0.1"),
    )),
    *((words, 2, "its bytes are not UTF-8") for words in (
        ["block", "DIR", "caf\udce9.test"], ["sql", "DIR", "SELECT '\udce9'"], [*NEW, *LOOPBACK, "--exclude", "\udce9"],
    )),
    (["crawl", "NEW"], 2, "--seed"),
    (["crawl", "NEW", "--seed", "ftp://a.test/"], 2, "ftp://a.test/"),
    (["crawl", "NEW", "--seed", "http://"], 2, "http://"),
    (["crawl", "NEW", "--seeds", "MISSING"], 2, "MISSING"),
    (["crawl", "NEW", "--sitemap", "sitemap.xml"], 2, "sitemap.xml"),
    (["crawl", "MINE", *SEED], 2, "is not empty and holds no crawl"),
    *((["crawl", path, *SEED, *LOOPBACK], 2, f"{path} is no directory") for path in ("FILE", "LOOP", "LOST", "PIPE")),
    (["import", "warc", "MINE", "FILE"], 2, "is not empty and holds no crawl"),
    (["import", "warc", "DIR", "MISSING"], 2, "MISSING"),
    (["import", "DIR"], 2, "DIR"),
    (["demo", "MINE"], 2, "is not empty and holds no crawl"),
    *(([command, "EMPTY"], 1, "EMPTY") for command in (
        "status", "report", "rank", "compact", "clean", "blocks", "serve", "mcp", "watch",
    )),
    *(([*command, "MISSING", *rest], 1, "MISSING") for command, rest in (
        (["status"], []), (["search"], ["fish"]), (["sql"], ["SELECT 1"]), (["explain"], ["http://a.test/"]),
        (["changes"], ["--since", "1"]), (["check", "links"], []), (["block"], ["a.test"]), (["release"], ["a.test/*"]),
        (["unblock"], ["a.test"]), (["check", "crawl"], []),
    )),
    *((["export", name, "EMPTY", out], 1, "EMPTY") for name, out in EXPORTS.items()),
    *((["export", name, "DIR", "MINE"], 2, "MINE") for name in ("markdown", "corpus")),
    (["export", "documents", "DIR", "OUT.nonsense"], 2, "OUT.nonsense"),
    (["export", "urls", "DIR", "OUT.csv", "--where", "FROM"], 1, "FROM"),
    (["export", "markdown", "DIR", "OUT", "--where", "no_such_column"], 1, "no_such_column"),
    (["sql", "DIR", "SELEC 1"], 1, "SELEC"),
    (["sql", "DIR", "SELECT nothing FROM urls"], 1, "nothing"),
    (["search", "DIR", "fish", "--limit", "-1"], 2, "-1"),
    (["search", "DIR", "fish", "--as-of", "99"], 2, "99"),
    (["explain", "DIR", "fish"], 1, "fish"),
    (["changes", "DIR", "--since", "yesterday"], 2, "yesterday"),
    (["check", "links", "DIR", "--rule", "nonsense"], 2, "nonsense"),
    (["check", "links", "DIR", "--fail-on", "typo"], 2, "typo"),
    (["check", "links", "DIR", "--since", "9"], 2, "--since 9"),
    (["check", "links", "DIR", "--slow", "0"], 2, "--slow: 0"),
    (["check", "links", "DIR", "--rule", "gone", "--fail-on", "failed"], 2, "failed"),
    (["check", "url", "fish"], 2, "fish"),
    (["check", "robots", "fish"], 2, "fish"),
    (["serve", "DIR", "--port", "99999999"], 2, "99999999"),
    (["watch", "DIR", "--port", "x"], 2, "x"),
    (["estimate", "--hosts", "0", "--pages", "0"], 2, "0"),
    (["completion", "cmd"], 2, "cmd"),
    (["stop", "DIR"], 2, "stop"),
    (["resume", "DIR"], 2, "resume"),
    (["init", "DIR"], 2, "init"),
    (["list"], 2, "list"),
    *((["crawl", "NEW", "--seed", seed], 2, repr(seed)) for seed in (
        "//a.test/", "http://a.test:99999/", "http://a b.test/", "http://[::1", "mailto:a@b.test", "http://a..test/",
        "file:///etc/passwd",
    )),
    *((["crawl", "NEW", "--seeds", path], 2, path) for path in ("PICTURE", "MINE", "LOOP", "LOST", "NEW/x")),
    (["crawl", "NEW", "--seeds", "BLANK"], 2, "none of the seeds"),
    *(([*NEW, flag, value], 2, names) for flag, value, names in (
        ("--include", "", "scope.include"), ("--exclude", "", "scope.exclude"),
        ("--robot", "a b", "robot.name"), ("--robot", "é", "robot.name"), ("--contact", "nobody", "robot.contact"),
        ("--info-url", "ftp://x", "robot.info_url"), ("--log", "MINE", "--log"), ("--log", "NO/log", "--log"),
        ("--workers", "0", "workers = 0"), ("--round-time", "0", "limits.round_time"), ("--delay", "1e400", "1e400"),
        ("--depth", "99999999999999999999", "scope.depth"), ("--allow-address", "::1/200", "::1/200"),
        ("--set", "fetch.allow_addresses=1", "fetch.allow_addresses"), ("--runner", "dataflow", "--region"),
    )),
    ([*NEW, "--", "--nonsense=1"], 2, "--nonsense=1"),
    *((["status", path], 1, f"{path} holds no crawl") for path in ("FILE", "LOOP", "LOST", "PIPE")),
    (["status", "nonsense://x/y"], 1, "nonsense://"),
    *(([command, "TOML"], 2, "crawl.toml") for command in ("status", "compact")),
    *(([*command, "CUT", *rest], 1, "cannot be used") for command, rest in (
        (["search"], ["fish"]), (["sql"], ["SELECT 1"]), (["clean"], []), (["block"], ["a.test"]), (["rank"], []),
    )),
    (["status", "NEWER"], 1, "update Beamtrawl"),
    (["status", "DIR", "--metrics", "PIPE"], 2, "PIPE"),
    *((["report", "DIR", "-o", path], 2, path) for path in ("PIPE", "NO/report.html", "DIR/crawl.toml")),
    (["changes", "DIR", "--since", "0", "--atom", "PIPE"], 2, "PIPE"),
    *((["changes", "DIR", "--since", since], 2, since) for since in ("-1", "1.5", "2020-02-30", "2026-01-01T25:00")),
    (["search", "DIR", "fish", "--timeout", "0"], 2, "--timeout"),
    (["search", "DIR", "fish", "--limit", "0"], 2, "--limit: 0"),
    (["search", "DIR", "fish", "--as-of", "0"], 2, "--as-of: 0"),
    (["sql", "DIR", "SELECT 1; SELECT 2"], 1, "2 statements"),
    (["sql", "DIR", "SELECT * FROM read_csv('/etc/passwd')"], 1, "/etc/passwd"),
    *((["sql", "DIR", text], 1, text.split()[0]) for text in ("DROP TABLE urls", "COPY urls TO 'x'", "SET x = 1")),
    (["sql", "DIR", "-f", "PICTURE"], 2, "PICTURE"),
    (["explain", "DIR", ""], 1, "''"),
    (["check", "url", ""], 2, "''"),
    (["check", "page", "MINE"], 2, "MINE"),
    (["check", "page", "PICTURE"], 1, "PICTURE"),
    (["release", "DIR", "a.test"], 2, "'a.test': must be"),
    *(([command, "DIR", pattern], 2, "is no pattern") for command in ("block", "unblock") for pattern in ("a\0.x", "")),
    (["unblock", "DIR", "a.test"], 2, "the crawl has no blocks"),
    (["search", "DIR", "DIR", "fish"], 2, "this crawl is there twice"),
    (["block", "DIR", "http://a.test/"], 2, "is no pattern"),
    (["serve", "DIR", "--host", "999.1.1.1", "--port", "0"], 1, "choose another --host"),
    (["serve", "DIR", "--query-log", "MINE"], 2, "--query-log"),
    (["import", "warc", "NEW", "LOOP"], 2, "LOOP"),
    (["import", "warc", "NEW", "MINE"], 2, "MINE is a folder"),
    (["import", "warc", "FILE", "FILE"], 2, "FILE is an archive, and the crawl directory comes first"),
    *((["export", name, "DIR", "PIPE"], code, "PIPE") for name, code in (("cdxj", 2), ("ciff", 2), ("corpus", 2))),
    (["export", "chunks", "DIR", "OUT.jsonl", "--since", "99"], 2, "--since 99"),
    (["export", "urls", "DIR", "OUT.xlsx"], 2, "OUT.xlsx"),
]  # fmt: skip


_PLACES = (
    *("NEW", "EMPTY", "MINE", "MISSING", "OUT", "FILE", "BLANK", "PICTURE", "LOOP", "LOST", "PIPE", "NO"),
    *("TOML", "CUT", "NEWER"),
)


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A crawl of one page."""
    directory = tmp_path_factory.mktemp("bad") / "site"
    with Web({"host.test": {"/": html("Lighthouse")}}) as web:
        assert beamtrawl("crawl", directory, "--seed", web.url("host.test"), *LOOPBACK).code == 0
    return directory


class Places(NamedTuple):
    """Places that words of a command line name, and the files there before any command."""

    folder: Path
    names: dict[str, Path]
    before: list[dict[Path, bytes]]

    def contents(self) -> list[dict[Path, bytes]]:
        return [contents(self.folder), contents(self.names["DIR"])]


@pytest.fixture(scope="module")
def places(crawled: Path, tmp_path_factory: pytest.TempPathFactory) -> Places:
    folder = tmp_path_factory.mktemp("places")
    found = {name: folder / name for name in _PLACES}
    found["EMPTY"].mkdir()
    found["MINE"].mkdir()
    (found["MINE"] / "thesis.odt").write_text("of somebody")
    found["FILE"].write_text("a text")
    found["BLANK"].write_text("\n")
    found["PICTURE"].write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(256)))
    found["LOOP"].symlink_to(found["LOOP"])
    found["LOST"].symlink_to(folder / "nowhere")
    os.mkfifo(found["PIPE"])
    for name in ("TOML", "CUT", "NEWER"):
        shutil.copytree(crawled, found[name])
    (found["TOML"] / "crawl.toml").write_text("[scope\n")
    last = max((found["CUT"] / "manifests").iterdir()).name
    (found["CUT"] / "manifests" / last).write_text("{")
    newer = json.loads((crawled / "manifests" / last).read_text()) | {"schema_version": 99}
    (found["NEWER"] / "manifests" / last).write_text(json.dumps(newer))
    made = Places(folder, found | {"DIR": crawled}, [])
    return made._replace(before=made.contents())


def test_there_are_enough() -> None:
    assert len(BAD) >= 150


@pytest.mark.parametrize(("words", "code", "names_it"), BAD, ids=[" ".join(words) for words, _, _ in BAD])
def test_bad_input_gets_one_line_and_its_exit_code(words: list[str], code: int, names_it: str, places: Places) -> None:
    stem = {word: re.split("[./]", word)[0] for word in words}
    names = places.names
    written = [word.replace(stem[word], str(names[stem[word]]), 1) if stem[word] in names else word for word in words]
    found, line = failure(*written)
    assert found == code, line
    assert names_it in line.replace(str(names["DIR"]), "DIR").replace(f"{places.folder}/", "")
    assert "Traceback" not in line and "Error(" not in line
    assert places.contents() == places.before
