"""The command line when something is wrong: one line that names it, an exit code, and nothing changed."""

import contextlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from beamtrawl.runners.program.main import run
from beamtrawl.search.answers.cursor import Cursor, encode
from tests.support.command_line import LOOPBACK, PROGRAM, beamtrawl, contents, failure
from tests.support.web import Web, html


@pytest.fixture
def planned(tmp_path: Path) -> Path:
    """A crawl that has a seed and no round yet."""
    directory = tmp_path / "planned"
    assert beamtrawl("crawl", directory, "--seed", "http://127.0.0.1:9/", "--rounds", 0).code == 0
    return directory


# the words, what the message says; NEW stands for a directory that is not there
MISUSED = {
    "no command": ([], "the following arguments are required: COMMAND"),
    "an unknown command": (["craw1", "NEW"], "craw1: there is no such command; did you mean crawl?"),
    "no directory": (["crawl"], "DIR"),
    "an unknown flag": (["crawl", "NEW", "--no-such-flag"], "--no-such-flag"),
    "a flag cut short": (
        ["crawl", "NEW", "--round", "3"],
        "--round 3; did you mean --rounds?; see: beamtrawl crawl --help",
    ),
    "no workers": (["crawl", "NEW", "--seed", "http://127.0.0.1:9/", "--workers", "0"], "workers = 0: must be"),
    "a flag of another command": (["status", "NEW", "--limit", "3"], "--limit"),
    "a word too many": (["status", "NEW", "stray"], "stray"),
    "rounds that are no number": (
        ["crawl", "NEW", "--rounds", "few"],
        "argument --rounds: few: must be a whole number",
    ),
    "rounds below zero": (
        ["crawl", "NEW", "--rounds", "-1"],
        "argument --rounds: -1: must be a whole number of at least 0",
    ),
    "more digits than a number may have": (
        ["crawl", "NEW", "--max-pages", "9" * 5000],
        f"limits.max_pages = {'9' * 30}: must be at most 1000000000000",
    ),
    "half a page": (["crawl", "NEW", "--max-pages", "0.5"], "argument --max-pages: 0.5: must be a whole number"),
    "a delay that is no number": (["crawl", "NEW", "--delay", "long"], "'long'"),
    "a delay below zero": (["crawl", "NEW", "--delay", "-1"], "argument --delay: -1: must be a number of at least 0"),
    "a delay that never ends": (
        ["crawl", "NEW", "--delay", "inf"],
        "argument --delay: inf: must be a number of at least 0",
    ),
    "no pages of a host": (["crawl", "NEW", "--max-pages-per-host", "-1"], "--max-pages-per-host: -1"),
    "an unknown scope": (["crawl", "NEW", "--scope", "planet"], "'planet'"),
    "an unknown runner": (["crawl", "NEW", "--runner", "storm"], "'storm'"),
    "no range of addresses": (["crawl", "NEW", "--allow-address", "here"], "'here'"),
    "a name that robots.txt cannot hold": (["crawl", "NEW", "--robot", "my robot"], '"my robot"'),
    "no mail address": (["crawl", "NEW", "--contact", "me"], 'robot.contact = "me"'),
    "a new crawl without a seed": (
        ["crawl", "NEW"],
        "needs a URL to start from: --seed URL, --sitemap URL or --seeds FILE",
    ),
    "a file of seeds that is missing": (["crawl", "NEW", "--seeds", "no/file"], "no/file: No such file"),
    "an unknown option of Beam": (["crawl", "NEW", "--", "--no-such-option=1"], "--no-such-option=1"),
    "a bad value for Beam": (["crawl", "NEW", "--", "--direct_num_workers=many"], "'many'"),
    "options of Beam for a command without": (["search", "NEW", "fish", "--", "--streaming"], "--streaming"),
    "no query": (["search", "NEW"], "QUERY"),
    "a negative offset": (["search", "NEW", "fish", "--offset", "-1"], "--offset: -1"),
    "no cursor": (["search", "NEW", "fish", "--after", "odd"], "--after: 'odd' is not a cursor"),
    "a cursor and an offset": (["search", "NEW", "fish", "--after", "odd", "--offset", "1"], "neither offset nor"),
    "a cursor of another round": (
        ["search", "NEW", "fish", "--as-of", "2", "--after", encode(Cursor(1.0, "u", 1, 9), "fish", "score")],
        "--as-of 2: the cursor of --after is of the index as of round 1",
    ),
    "an unknown order": (["search", "NEW", "fish", "--sort", "rank"], "rank"),
    "no hits wanted": (["search", "NEW", "fish", "--limit", "0"], "--limit: 0"),
    "two forms at once": (["sql", "NEW", "SELECT 1", "--json", "--csv"], "--csv"),
    "seeds without an action": (["seeds"], "ACTION"),
    "a rate below zero": (["serve", "NEW", "--rate", "-1"], "argument --rate: -1: must be"),
    "a rate that is no number": (["serve", "NEW", "--rate", "nan"], "argument --rate: nan: must be"),
    "a port that is no number": (["serve", "NEW", "--port", "http"], "argument --port: http: must be a whole number"),
}


@pytest.mark.parametrize(("words", "said"), MISUSED.values(), ids=MISUSED)
def test_what_cannot_be_understood_is_named_and_changes_nothing(tmp_path: Path, words: list[str], said: str) -> None:
    new = tmp_path / "new"
    code, line = failure(*(new if word == "NEW" else word for word in words))
    assert code == 2
    assert said in line
    assert not new.exists()


@pytest.mark.parametrize(
    "words",
    [["status"], ["search", "fish"], ["sql", "SELECT 1"], ["serve"], ["clean"], ["seeds add", "http://a.test/"]],
)
def test_a_directory_that_is_no_crawl_is_left_alone(tmp_path: Path, words: list[str]) -> None:
    new = tmp_path / "new"
    code, line = failure(*words[0].split(), new, *words[1:])
    assert (code, line) == (1, f"{new} holds no crawl; start one with: beamtrawl crawl {new} --seed URL")
    assert not new.exists()


def test_a_traceback_is_shown_on_request_alone(tmp_path: Path) -> None:
    for words in (["--debug", "status", tmp_path], ["status", tmp_path, "--debug"]):
        code, _, err = beamtrawl(*words)
        assert code == 1
        assert err.startswith("Traceback")
        assert err.splitlines()[-1].startswith("beamtrawl: ")


def test_help_names_every_command() -> None:
    with pytest.raises(SystemExit) as ended, contextlib.redirect_stdout(io.StringIO()) as out:
        run(["--help"])
    assert ended.value.code == 0
    for name in ("crawl", "seeds", "status", "search", "serve", "sql", "clean", "demo"):
        assert f"    {name} " in out.getvalue()


BAD_SEEDS = {
    "not-a-url": "not an absolute URL; it must start with http:// or https://",
    "ftp://a.test/": "only http and https URLs can be crawled",
    "http://[": "not a URL",
}


def test_nothing_but_bad_seeds_is_an_error(tmp_path: Path) -> None:
    words = [word for seed in BAD_SEEDS for word in ("--seed", seed)]
    code, _, err = beamtrawl("crawl", tmp_path / "new", *words)
    *named, last = err.splitlines()
    assert code == 2
    assert named == [f"--seed {seed!r} is skipped: {problem}" for seed, problem in BAD_SEEDS.items()]
    assert last.startswith("beamtrawl: none of the seeds is a URL")
    assert not (tmp_path / "new").exists()


def test_a_file_of_seeds_may_hold_comments_and_bad_lines(tmp_path: Path) -> None:
    file = tmp_path / "seeds.txt"
    lines = ["\ufeff# the harbour", "", "http://127.0.0.1:9/a\ta note", *BAD_SEEDS, "http://127.0.0.1:9/b"]
    file.write_text("\r\n".join(lines), encoding="utf-8")
    code, _, err = beamtrawl("crawl", tmp_path / "new", "--seeds", file, "--rounds", 0, *LOOPBACK)
    assert code == 0
    assert err.splitlines() == [
        *(
            f"{file}, line {n}: {seed!r} is skipped: {problem}"
            for n, (seed, problem) in enumerate(BAD_SEEDS.items(), 4)
        ),
        "2 seeds added",
        "0 rounds done, 2 URLs in the frontier",
    ]
    found = beamtrawl("sql", tmp_path / "new", "SELECT url, metadata FROM seeds ORDER BY url", "--json").out
    assert [tuple(row.values()) for row in json.loads(found)] == [
        ("http://127.0.0.1:9/a", "a note"),
        ("http://127.0.0.1:9/b", None),
    ]


def test_flags_that_a_crawl_toml_of_before_does_not_keep_are_named(tmp_path: Path) -> None:
    file = tmp_path / "crawl.toml"
    file.write_text('[scope]\nexclude = ["/print/"]\n')
    words = ["crawl", tmp_path, "--seed", "http://127.0.0.1:9/", "--depth", 2, "--rounds", 0, *LOOPBACK]
    warned = (
        "crawl.toml was there before the crawl and stays as it is: scope.depth, politeness.delay, fetch.allow_addresses"
        " hold for this run only; to keep them, write them into it"
    )
    assert beamtrawl(*words).err.splitlines() == [warned, "1 seed added", "0 rounds done, 1 URL in the frontier"]
    assert file.read_text().count("\n") == 2
    assert warned not in beamtrawl(*words).err, "the crawl has begun"


def test_seeds_from_standard_input(tmp_path: Path) -> None:
    words = [*PROGRAM, "crawl", str(tmp_path / "new"), "--seeds", "-", "--rounds", "0", *LOOPBACK]
    ran = subprocess.run(words, input="http://127.0.0.1:9/\nbad\n", capture_output=True, text=True, check=True)
    assert ran.stderr.splitlines()[:2] == [
        "-, line 2: 'bad' is skipped: not an absolute URL; it must start with http:// or https://",
        "1 seed added",
    ]


@pytest.mark.parametrize(
    ("text", "reason"),
    [("http://a.test/".encode("utf-16"), "it is UTF-16; save it as UTF-8"), (None, "Is a directory")],
    ids=["UTF-16", "a directory"],
)
def test_a_file_of_seeds_that_cannot_be_read(tmp_path: Path, text: bytes | None, reason: str) -> None:
    file = tmp_path / "seeds.txt"
    file.mkdir() if text is None else file.write_bytes(text)
    code, line = failure("crawl", tmp_path / "new", "--seeds", file)
    assert code == 2
    assert line.startswith(f"cannot read the seeds in {file}: ")
    assert reason in line
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("below", "code", "said"),
    [
        ("file", 2, "{dir} is no directory; name another one"),
        ("file/crawl", 1, "cannot write {dir}: Not a directory; name a directory that you may write"),
    ],
)
def test_a_directory_that_cannot_be_written(tmp_path: Path, below: str, code: int, said: str) -> None:
    (tmp_path / "file").write_text("here first")
    failed = failure("crawl", tmp_path / below, "--seed", "http://127.0.0.1:9/", *LOOPBACK)
    assert failed == (code, said.format(dir=tmp_path / below))
    assert (tmp_path / "file").read_text() == "here first"


# what is told of the robot, what is missing
NAMELESS = {
    "nothing": ([], "add --robot NAME --contact MAIL --info-url URL,"),
    "a name": (["--robot", "Trawler"], "add --contact MAIL --info-url URL,"),
    "all but a page": (["--robot", "Trawler", "--contact", "me@robot.invalid"], "add --info-url URL,"),
}


@pytest.mark.parametrize(("words", "missing"), NAMELESS.values(), ids=NAMELESS)
def test_a_public_crawl_needs_a_name_and_a_contact(tmp_path: Path, words: list[str], missing: str) -> None:
    """Before anybody is asked, also those who need no name."""
    with Web({"a.test": {"/": html("Home")}}) as web:
        seeds = ["--seed", web.url("a.test"), "--seed", "http://harbour.invalid/"]
        code, line = failure("crawl", tmp_path / "new", *seeds, *words, *LOOPBACK)
        assert web.requests == []
    assert code == 2
    assert line.startswith("http://harbour.invalid/ is not on this machine")
    assert missing in line
    assert not (tmp_path / "new").exists()


def test_public_seeds_need_a_name_and_a_contact(planned: Path) -> None:
    code, line = failure("seeds", "add", planned, "http://harbour.invalid/")
    assert code == 2
    assert "set name, contact, info_url under [robot] in crawl.toml" in line
    assert json.loads(beamtrawl("status", planned, "--json").out)["frontier"] == {"seed": 1}


def test_a_seed_whose_address_is_refused_is_said_to_be(tmp_path: Path) -> None:
    _, _, err = beamtrawl("crawl", tmp_path / "new", "--seed", "http://127.0.0.1:9/", "--rounds", 0)
    assert err.splitlines()[0] == (
        "http://127.0.0.1:9/ has a loopback address, which is refused; to allow it: --allow-address 127.0.0.0/8"
    )


# what is changed in a manifest: what the message says
MANIFESTS = {
    "cut short": (lambda text: text[: len(text) // 2], "manifests/000000-seeds.json cannot be used"),
    "empty": (lambda text: "", "manifests/000000-seeds.json cannot be used"),
    "of another program": (lambda text: '{"format": "other"}', "it is not a manifest of Beamtrawl"),
    "of another step": (lambda text: text.replace('"step": "seeds"', '"step": "fetch"'), "it says it is 000000-fetch"),
    "of a newer program": (
        lambda text: text.replace('"schema_version": 4', '"schema_version": 99'),
        "update Beamtrawl",
    ),
    "without its files": (lambda text: text.replace('"files"', '"flies"'), "it lacks 'files'"),
}


@pytest.mark.parametrize(("change", "said"), MANIFESTS.values(), ids=MANIFESTS)
def test_a_manifest_that_cannot_be_used(planned: Path, change: Callable[[str], str], said: str) -> None:
    manifest = planned / "manifests" / "000000-seeds.json"
    manifest.write_text(change(manifest.read_text()))
    before = contents(planned)
    for words in (
        ["crawl"],
        ["status"],
        ["search", "fish"],
        ["sql", "SELECT 1"],
        ["clean"],
        ["seeds add", "http://a.test"],
    ):
        code, line = failure(*words[0].split(), planned, *words[1:])
        assert code == 1
        assert said in line
    assert contents(planned) == before


# what is changed in crawl.toml: what the message says
SETTINGS = {
    "an unknown key": ("delay = ", "dealy = ", "politeness.dealy: unknown key; did you mean delay?"),
    "a bad value": ("delay = 1.0", "delay = -4", "politeness.delay = -4: must be a number of at least 0"),
    "a value of another kind": ("delay = 1.0", 'delay = "long"', 'politeness.delay = "long": must be a number'),
}


@pytest.mark.parametrize(("old", "new", "said"), SETTINGS.values(), ids=SETTINGS)
def test_a_setting_that_cannot_be_used(planned: Path, old: str, new: str, said: str) -> None:
    file = planned / "crawl.toml"
    lines = file.read_text().splitlines()
    (number,) = [n for n, line in enumerate(lines) if line.startswith(old)]
    lines[number] = lines[number].replace(old, new)
    file.write_text("\n".join(lines))
    assert failure("crawl", planned) == (2, f"crawl.toml, line {number + 1}: {said}")


@pytest.mark.parametrize("module", ["logging", "argparse"])
def test_ctrl_c_while_the_program_is_imported_says_one_word(tmp_path: Path, module: str) -> None:
    tmp_path.joinpath(f"{module}.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), *filter(None, sys.path)])}
    words = [sys.executable, "-m", "beamtrawl", "status", tmp_path]
    ran = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (130, "", "beamtrawl: stopped\n")


ENCODINGS = ("utf-8-sig", "utf-16", "utf-16-le", "utf-16-be")


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_settings_in_the_encodings_of_editors_are_read(planned: Path, encoding: str) -> None:
    file = planned / "crawl.toml"
    mark = "\ufeff" if encoding.endswith("e") else ""
    file.write_bytes((mark + file.read_text()).encode(encoding))
    code, _, err = beamtrawl("crawl", planned, "--rounds", 0)
    assert (code, err) == (0, "0 rounds done, 1 URL in the frontier\n")


def test_settings_in_another_encoding_are_refused(planned: Path) -> None:
    file = planned / "crawl.toml"
    file.write_bytes(file.read_bytes().replace(b"# ", b"# \xe4", 1))
    code, line = failure("crawl", planned)
    assert code == 2  # as for other mistakes in it
    assert "crawl.toml, line 1: the byte 0xe4 is not UTF-8; save it as UTF-8" in line


def test_a_bad_byte_in_a_file_of_seeds_costs_its_line_only(tmp_path: Path) -> None:
    file = tmp_path / "seeds.txt"
    file.write_bytes(b"\xef\xbb\xbfhttp://127.0.0.1:9/a\nhttp://127.0.0.1:9/\xff\nhttp://127.0.0.1:9/b\n")
    code, out, err = beamtrawl("crawl", tmp_path / "new", "--seeds", file, "--rounds", 0, *LOOPBACK)
    assert (code, out) == (0, "")
    assert err.splitlines() == [
        f"{file}, line 2: 'http://127.0.0.1:9/\\udcff' is skipped: the byte 0xff is not UTF-8",
        "2 seeds added",
        "0 rounds done, 2 URLs in the frontier",
    ]


@pytest.mark.parametrize("port", ["-1", "65536", "http"])
def test_a_port_that_cannot_be(planned: Path, port: str) -> None:
    assert failure("serve", planned, "--port", port) == (
        2,
        f"argument --port: {port}: must be a whole number from 0 to 65535; see: beamtrawl serve --help",
    )


def test_a_search_before_there_is_an_index(planned: Path) -> None:
    expected = (1, f"{planned} has no index yet; go on with: beamtrawl crawl {planned}")
    assert failure("search", planned, "fish") == failure("serve", planned) == expected


def test_the_program_says_nothing_but_its_one_line(tmp_path: Path) -> None:
    """Not even what Beam has to say while it is imported."""
    command = [*PROGRAM, "status", str(tmp_path)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    expected = f"beamtrawl: {tmp_path} holds no crawl; start one with: beamtrawl crawl {tmp_path} --seed URL\n"
    assert (ran.returncode, ran.stdout, ran.stderr) == (1, "", expected)
