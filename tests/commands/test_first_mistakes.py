"""The mistakes of a first day: one clear line with the value and the way out."""

import doctest
import gzip
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from beamtrawl.runners.program import misplaced
from beamtrawl.runners.program.main import run
from beamtrawl.runners.terminal import units
from beamtrawl.transforms.changes import find
from tests.support.command_line import LOOPBACK, beamtrawl, failure
from tests.support.web import Answer, Web, html

SEED = "http://127.0.0.1:9/"


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A crawl of one round with one page."""
    directory = tmp_path_factory.mktemp("crawled") / "site"
    with Web({"host.test": {"/": html("Lighthouse")}}) as web:
        ran = beamtrawl("crawl", directory, "--seed", web.url("host.test"), *LOOPBACK)
        assert ran.code == 0
    return directory


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """Places that words of a command line name."""
    binary, cut, folder = tmp_path / "seeds.png", tmp_path / "cut.gz", tmp_path / "folder"
    binary.write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(256)) * 10)
    cut.write_bytes(gzip.compress(b"http://127.0.0.1:9/\n" * 1000)[:40])
    (folder / "crawl.toml").mkdir(parents=True)
    return {"NEW": tmp_path / "new", "BINARY": binary, "CUT": cut, "FOLDER": folder, "NO": tmp_path / "no" / "out"}


_FIRST = "is in the place of the crawl directory, which comes first: beamtrawl"
_IS_FOLDER = "cannot write {FOLDER}: it is a folder; name a file in it"
_NO_FOLDER = "there is no folder {NO.parent}; make it, or name another one"

# the words, the exit code, the line; DIR is the crawl, and the other words in capitals are `files`
MISTAKES = {
    "a file as the directory": (["search", "BINARY", "fish"], 1, "{BINARY} holds no crawl; it is no directory"),
    "a URL as the directory": (["crawl", "http://a.test/"], 2, f"{_FIRST} crawl DIR --seed http://a.test/"),
    "a URL and the directory": (["crawl", "http://a.test/", "NEW"], 2, f"{_FIRST} crawl {{NEW}} --seed http://a.test/"),
    "explain, swapped": (["explain", "http://a.test/", "DIR"], 2, f"{_FIRST} explain {{DIR}} http://a.test/"),
    "explain a host, swapped": (["explain", "a.test", "DIR"], 2, f"a.test {_FIRST} explain {{DIR}} a.test"),
    "search, swapped": (["search", "two words", "DIR"], 2, f"{_FIRST} search {{DIR}} 'two words'"),
    "sql, swapped": (["sql", "SELECT 1", "DIR"], 2, f"{_FIRST} sql {{DIR}} 'SELECT 1'"),
    "seeds add, swapped": (["seeds", "add", "http://a.test/", "DIR"], 2, f"{_FIRST} seeds add {{DIR}} http://a.test/"),
    "export, swapped": (["export", "urls", "u.csv", "DIR"], 2, f"{_FIRST} export urls {{DIR}} u.csv"),
    "a URL without --seed": (
        ["crawl", "NEW", "http://a.test/"],
        2,
        "give --seed: beamtrawl crawl {NEW} --seed http://a",
    ),
    "a site without --seed": (
        ["crawl", "NEW", "a.test"],
        2,
        "a.test: to start from a URL, give --seed: beamtrawl crawl",
    ),
    "a query that begins with -": (
        ["search", "DIR", "-moon"],
        2,
        "-moon is no flag; a query with such a word is one arg",
    ),
    "an option of another program as a query": (
        ["search", "DIR", "--no-verify"],
        2,
        "--no-verify is no flag; a query with",
    ),
    "a misspelled flag of a search": (["search", "DIR", "sea", "--limt", "3"], 2, "did you mean --limit?"),
    "a word of a query with -": (["search", "DIR", "sea", "-moon", "--json"], 2, "or a blank: 'WORD -moon'"),
    "help of no command": (["help", "nonsense"], 2, "nonsense: there is no such command; see: beamtrawl --help"),
    "a binary file of seeds": (
        ["crawl", "NEW", "--seeds", "BINARY"],
        2,
        "cannot read the seeds in {BINARY}: it is no text",
    ),
    "a broken gzip file of seeds": (
        ["crawl", "NEW", "--seeds", "CUT"],
        2,
        "cannot read the seeds in {CUT}: Compressed file",
    ),
    "settings in a folder": (["crawl", "FOLDER", "--seed", SEED], 2, "crawl.toml is a folder, and must be a file"),
    "a proxy that is no address": (
        ["serve", "DIR", "--trust-proxy", "nonsense"],
        2,
        "--trust-proxy nonsense: must be the IP",
    ),
    "a round to come": (
        ["changes", "DIR", "--since", "99"],
        2,
        "--since 99: the last round of the crawl is 1; name one",
    ),
    "a date to come": (
        ["changes", "DIR", "--since", "2999-01-01"],
        2,
        "--since 2999-01-01T00:00:00: it is in the future; now",
    ),
    "rows into no folder": (["export", "urls", "DIR", "NO.csv"], 2, f"cannot write {{NO}}.csv: {_NO_FOLDER}"),
    "an archive into no folder": (["export", "warc", "DIR", "NO"], 2, _NO_FOLDER),
    "a corpus into no folder": (["export", "corpus", "DIR", "NO"], 2, _NO_FOLDER),
    "an index into no folder": (["export", "ciff", "DIR", "NO"], 2, _NO_FOLDER),
    "a feed into no folder": (["changes", "DIR", "--since", "0", "--atom", "NO"], 2, _NO_FOLDER),
    "a report into no folder": (["report", "DIR", "-o", "NO"], 2, _NO_FOLDER),
    "a policy into no folder": (["policy", "DIR", "-o", "NO"], 2, _NO_FOLDER),
    "a report into a folder": (["report", "DIR", "-o", "FOLDER"], 2, _IS_FOLDER),
    "a policy into a folder": (["policy", "DIR", "-o", "FOLDER"], 2, _IS_FOLDER),
    "a feed into a folder": (["changes", "DIR", "--since", "0", "--atom", "FOLDER"], 2, _IS_FOLDER),
    "a depth below zero": (
        ["crawl", "NEW", "--depth", "-1"],
        2,
        "argument --depth: -1: must be a whole number of at least 0",
    ),
    "a depth in words": (
        ["crawl", "NEW", "--depth", "two"],
        2,
        "argument --depth: two: must be a whole number of at least 0",
    ),
    "nothing to estimate": (
        ["estimate"],
        2,
        "--hosts is missing: give --hosts and --pages, --like DIR, or --against DIR",
    ),
    "a misspelled rule": (
        ["check", "links", "DIR", "--rule", "canonical_lop"],
        2,
        "--rule: canonical_lop: no rule; did you mean canonical_loop?",
    ),
    "a misspelled licence": (
        ["export", "corpus", "DIR", "NO", "--license", "cc-by,cc-bysa"],
        2,
        "--license: 'cc-bysa': no licence; did you mean cc-by-sa?",
    ),
    "a misspelled value of a setting": (
        ["crawl", "NEW", "--set", "scope.mode=domian"],
        2,
        "must be one of host, domain, any; did you mean domain?",
    ),
    "a misspelled table of a setting": (
        ["crawl", "NEW", "--set", "politness.delay=2"],
        2,
        "politness.delay: unknown setting; did you mean politeness?",
    ),
    "a misspelled form of rows": (
        ["export", "urls", "DIR", "-", "--format", "parket"],
        2,
        "did you mean parquet?",
    ),
    "hosts in words": (["estimate", "--hosts", "ten"], 2, "argument --hosts: ten: must be a whole number"),
    "a name as a range": (
        ["crawl", "NEW", "--allow-address", "localhost"],
        2,
        "IPv6 network; give an address or a range such as 127.0.0.0/8",
    ),
    "a URL to block": (["block", "DIR", "http://a.test:80/x/*"], 2, "without http://: a.test:80/x/*; * is anything"),
    "a table that is none": (
        ["sql", "DIR", "SELECT * FROM pages"],
        1,
        "there is no table pages; the tables are alerts, alias_counts, ",
    ),
}


@pytest.mark.parametrize(("words", "code", "line"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_gets_one_line(crawled: Path, files: dict[str, Path], words: list[str], code: int, line: str) -> None:
    names = files | {"DIR": crawled}
    written = [re.sub("^[A-Z]{2,}", lambda found: str(names.get(found[0], found[0])), word) for word in words]
    assert (found := failure(*written))[0] == code
    assert line.format(**names) in found[1]
    assert not files["NEW"].exists()
    assert not files["NO"].parent.exists()


FLOATS = [
    ["crawl", "NEW", "--seed", SEED, "--delay"],
    ["crawl", "NEW", "--seed", SEED, "--round-time"],
    *(
        ["estimate", "--hosts", "1", "--pages", "1", f"--{name}"]
        for name in (
            "delay",
            "bandwidth",
            "response",
            "page-bytes",
            "price-gb-in",
            "price-gb-month",
            "price-worker-hour",
        )
    ),
    ["search", "NEW", "fish", "--timeout"],
    ["serve", "NEW", "--timeout"],
    ["serve", "NEW", "--rate"],
]


@pytest.mark.parametrize("words", FLOATS, ids=" ".join)
def test_a_number_that_is_none_is_named_with_its_flag(words: list[str]) -> None:
    for value in ("nan", "inf", "-1"):
        code, line = failure(*words, value)
        assert code == 2
        assert line.startswith(f"argument {words[-1]}: {value}: must be a number of ")
    assert failure(*words, "few")[1].startswith(f"argument {words[-1]}: 'few' is no number")


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["-V"], "beamtrawl 0."),
        (["help"], "usage: beamtrawl [-h]"),
        (["help", "crawl"], "usage: beamtrawl crawl "),
        (["help", "export", "urls"], "usage: beamtrawl export urls "),
    ],
    ids=" ".join,
)
def test_what_other_programs_understand(words: list[str], shown: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        run(words)
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith(shown)


def test_a_gzip_file_of_seeds_is_read(tmp_path: Path) -> None:
    file = tmp_path / "seeds.gz"
    file.write_bytes(gzip.compress(b"http://127.0.0.1:9/a\nhttp://127.0.0.1:9/b\n"))
    ran = beamtrawl("crawl", tmp_path / "new", "--seeds", file, "--rounds", 0, *LOOPBACK)
    assert (ran.code, ran.err.splitlines()[0]) == (0, "2 seeds added")


def test_of_many_bad_seeds_the_first_are_named(tmp_path: Path) -> None:
    file = tmp_path / "seeds.txt"
    file.write_text("\n".join(["no-url"] * 78))
    ran = beamtrawl("crawl", tmp_path / "new", "--seeds", file)
    assert ran.err.splitlines()[9:] == [
        f"{file}, line 10: 'no-url' is skipped: not an absolute URL; it must start with http:// or https://",
        "68 more are skipped",
        "beamtrawl: none of the seeds is a URL that can be crawled; give one such as https://example.org/",
    ]


def test_a_sitemap_as_a_seed_is_named_with_the_flag_for_it(tmp_path: Path) -> None:
    """As in webrecorder/browsertrix#1342: the crawl ends with one fetch and no page."""
    with Web({"a.test": {"/sitemap.xml": Answer(200, b"<urlset/>", (("Content-Type", "text/xml"),))}}) as web:
        url = web.url("a.test", "/sitemap.xml")
        ran = beamtrawl("crawl", tmp_path, *LOOPBACK, "--seed", url, "--rounds", 1)
        as_it_is_meant = beamtrawl("crawl", tmp_path / "b", *LOOPBACK, "--sitemap", url, "--rounds", 1)
    told = f"{url} looks like a sitemap: to start at the pages in it, give --sitemap in place of --seed"
    assert (told in ran.err, told in as_it_is_meant.err) == (True, False)


def test_a_site_that_is_no_url_is_named_as_one(tmp_path: Path) -> None:
    ran = beamtrawl("crawl", tmp_path / "new", "--seed", "a.test:80/x")
    assert ran.err.splitlines() == [
        "beamtrawl: --seed 'a.test:80/x': not an absolute URL; it must start with http:// or https://;"
        " give one such as https://a.test:80/x"
    ]


def test_a_bad_url_of_seeds_add_is_named_in_one_line(crawled: Path) -> None:
    ran = beamtrawl("seeds", "add", crawled, "fish")
    assert (ran.code, ran.err) == (
        2,
        "beamtrawl: URL 'fish': not an absolute URL; it must start with http:// or https://;"
        " give one such as https://example.org/\n",
    )


def test_one_of_a_thing_is_no_plural(crawled: Path, tmp_path: Path) -> None:
    said = [
        beamtrawl("search", crawled, "lighthouse").out,
        beamtrawl("search", crawled, "lighthouse", "--explain").out,
        beamtrawl("export", "documents", crawled, tmp_path / "out.csv").out,
        beamtrawl("export", "warc", crawled, tmp_path / "warc").out,
        beamtrawl("export", "ciff", crawled, tmp_path / "out.ciff").out,
        beamtrawl("explain", crawled, host_of(crawled)).out,
    ]
    for out in said:
        assert out
        assert not re.search(r"\b1 [A-Za-z]{3,}s\b", out), out


def host_of(crawl: Path) -> str:
    return beamtrawl("sql", crawl, "SELECT host FROM hosts", "--csv").out.splitlines()[1]


def test_the_title_of_a_feed_has_no_path(crawled: Path, tmp_path: Path) -> None:
    assert beamtrawl("changes", crawled, "--since", "0", "--atom", tmp_path / "feed.xml").code == 0
    feed = (tmp_path / "feed.xml").read_text()
    assert "<title>Changes of site</title>" in feed
    assert str(crawled.parent) not in feed


def test_examples_in_docstrings() -> None:
    for module in (misplaced, units, find):
        assert doctest.testmod(module).failed == 0
    assert (
        find.later_than(find.Since(None, datetime(2026, 1, 1, tzinfo=UTC)), 3, datetime(2026, 1, 2, tzinfo=UTC)) is None
    )


def test_a_host_whose_credentials_were_never_sent_is_named(tmp_path: Path) -> None:
    """As one with a port that the line does not have; what is sent is not repeated."""
    with Web({"a.test": {"/": html("Quay")}}) as web:
        words = ["--seed", web.url("a.test"), *LOOPBACK]
        other, own = (
            beamtrawl("crawl", tmp_path / name, *words, "--set", f'fetch.credentials=["{name} me:secret"]')
            for name in ("a.test", web.authority("a.test"))
        )
    assert "this crawl has sent no request to a.test, to which credentials or headers are bound" in other.err
    assert "secret" not in other.err
    assert (other.code, own.code, "sent no request" in own.err) == (0, 0, False)
