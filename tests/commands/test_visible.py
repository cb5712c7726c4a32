"""What a terminal would act on is shown as text: whatever pages say, by every command, piped and on a terminal."""

import contextlib
import io
import json
import os
import pty
import re
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import BinaryIO

import pytest
from hypothesis import given, strategies as st

from beamtrawl.runners.program.main import run
from beamtrawl.runners.progress.events import Event
from beamtrawl.runners.progress.live import LiveOutput
from beamtrawl.runners.progress.outputs import TextOutput
from beamtrawl.runners.terminal.visible import VisibleStream, visible
from tests.support.command_line import LOOPBACK, PROGRAM
from tests.support.tables import each_row
from tests.support.web import Answer, Web, html, plain

ACTED_ON = re.compile(
    "[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)

# text, as shown
SHOWN = {
    "text": ("Hafen, 항구\tand\nZürich", None),
    "an escape sequence": ("\x1b[31mred", r"\u001b[31mred"),
    "a title of the window": ("\x1b]0;x\x07", r"\u001b]0;x\u0007"),
    "a carriage return": ("a\rb", r"a\u000db"),
    "backspaces": ("a\b\x7f", r"a\u0008\u007f"),
    "an 8-bit sequence": ("\x9b31m\x85", r"\u009b31m\u0085"),
    "an override": ("\u202efdp.exe\u202c", r"\u202efdp.exe\u202c"),
    "isolates and marks": ("\u2066\u2069\u200e\u200f\u061c", r"\u2066\u2069\u200e\u200f\u061c"),
    "line separators": ("\u2028\u2029", r"\u2028\u2029"),
    "a byte order mark": ("\ufeff", r"\ufeff"),
    "half a character": ("\udc9b", r"\udc9b"),
    "joiners": ("\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 \U0001f468\u200d\U0001f33e", None),
    "a backslash": (r"\u202e", None),
}


@each_row(SHOWN)
def test_what_is_shown(text: str, shown: str | None) -> None:
    assert visible(text) == (text if shown is None else shown)


@given(st.text(st.characters(exclude_categories=[])))
def test_nothing_is_left_and_json_stays_the_same(text: str) -> None:
    assert not ACTED_ON.search(visible(text))
    assert json.loads(visible(json.dumps(text, ensure_ascii=False))) == text


HOSTILE = [
    "\x1b[31mred",
    "\x1b]0;owned\x07",
    "\x1b]8;;http://evil.test/\x1b\\link\x1b]8;;\x1b\\",
    "\x1b[2J\x1b[H",
    "\x1bP$q\x1b\\",
    "\x9b2J",
    "\x9d0;owned\x9c",
    "pay\u202efdp.exe",
    "\u2066a\u2067b\u2068c\u2069",
    "\u202aa\u202bb\u202cc\u202d",
    "up\x1b[Aover\r\b\b\x7f",
    "\u200e\u200f\u061c\ufeff\u2028\u2029",
    "\x0e\x0f\x05\x85",
]
PAGES = 2 * len(HOSTILE)


def hostile(number: int) -> str:
    return HOSTILE[number % len(HOSTILE)]


def page(number: int) -> Answer:
    """A page whose title, texts, anchors, links and headers hold control characters, some as references."""
    text = hostile(number)
    link = "".join(f"%{byte:02X}" for byte in text.encode())
    body = (
        f"<!doctype html><html lang='en\x1b[31m'><title>harbour {number} {text}</title>"
        f"<meta name=description content='{text}'><meta name=robots content='none\x1b[31m, x{text}'>"
        f"<h1>harbour &#x202e;{text}&#x9b;</h1><p>The harbour has {number} ships {text}.</p>"
        f"<a href='/{number + 1}'>ship {text}</a><a href='/{link}?{link}={link}'>{text}</a>"
        f"<a href='http://{number}\u202e.test/\x1b[2J'>{text}</a><a href='/gone/{number}'>gone</a>"
    )
    header = text.encode("utf-8").decode("latin-1").replace("\r", " ").replace("\n", " ")
    headers = [("Content-Type", f"text/html; charset=utf-8; x={header}"), ("ETag", f'"{header}"'), ("X-A", header)]
    return Answer(body=body.encode(), headers=tuple(headers))


def answers() -> dict[str, Answer]:
    lines = "".join(f"Disallow: /no{number}{text}\n" for number, text in enumerate(HOSTILE))
    robots = f"User-agent: *\n{lines}Disallow: /1\x1b[2J\nSitemap: /{HOSTILE[0]}.xml\nContent-Usage: {HOSTILE[1]}\n"
    pages = {f"/{number}": page(number) for number in range(PAGES)}
    index = html("harbour \x1b[31m", links=[f"/{number}" for number in range(PAGES)] + ["/r", "/no0%1B[31mred"])
    return pages | {
        "/": index,
        "/robots.txt": plain(robots),
        "/r": Answer(302, headers=(("Location", "/%E2%80%AE%1B[2J"),)),
        "/bad": Answer(body=b"%PDF-\x1b[2J", headers=(("Content-Type", "application/pdf\x1b[31m"),)),
    }


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """A crawl of such pages, and the URL of their site."""
    directory = tmp_path_factory.mktemp("crawl") / "c"
    with Web({"a.test": answers()}) as web:
        url = web.url("a.test")
        seeds = ("--seed", url, "--seed", f"{url}new\x1b[2J\u202e")
        robot = ("--robot", "Robot/1", "--contact", "a@b.test")
        assert_safe(in_this_process("crawl", directory, *seeds, *robot, "--rounds", "3", *LOOPBACK))
        yield directory, url


def piped(*words: object, code: int = 0) -> str:
    """All that a command writes to pipes."""
    command = [*PROGRAM, *map(str, words)]
    ran = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=120, check=False)
    assert ran.returncode == code, ran.stderr
    return (ran.stdout + ran.stderr).decode()


def in_this_process(*words: object, code: int = 0) -> str:
    """All that a command writes to streams as the program makes them, when they are no terminal."""
    written = [io.BytesIO(), io.BytesIO()]
    returned = _run(words, *written)
    found = b"".join(stream.getvalue() for stream in written).decode()
    assert returned == code, found
    return found


def _run(words: tuple[object, ...], out: BinaryIO, err: BinaryIO) -> int:
    """The exit code of a command in this process, whose streams are as the program makes them."""
    out, err = (VisibleStream(stream, encoding="utf-8", errors="backslashreplace") for stream in (out, err))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        returned = run([str(word) for word in words])
    for stream in (out, err):
        stream.flush()
        stream.detach()
    return returned


def on_this_terminal(*words: object, code: int = 0) -> str:
    """All that a command in this process writes to a terminal, with the line ends of the program."""
    end, own = pty.openpty()
    with ThreadPoolExecutor(1) as pool:
        shown = pool.submit(_read_to_the_end, end)
        with os.fdopen(own, "wb", 0) as terminal:
            returned = _run(words, terminal, terminal)
        found = shown.result()
    assert returned == code, found
    return found


def on_a_terminal(*words: object, code: int = 0) -> str:
    """All that a command writes to a terminal, with the line ends of the program."""
    end, own = pty.openpty()
    process = subprocess.Popen([*PROGRAM, *map(str, words)], stdin=own, stdout=own, stderr=own)
    os.close(own)
    found = _read_to_the_end(end)
    assert process.wait(120) == code, found
    return found


def _read_to_the_end(end: int) -> str:
    """What a terminal gets until the other end is closed."""
    found = b""
    try:
        while data := os.read(end, 65_536):
            found += data
    except OSError:  # the program has closed its end
        pass
    finally:
        os.close(end)
    return found.decode().replace("\r\n", "\n")


OWN = re.compile(r"\x1b\[(?:\?25[lh]|(?!31m)[0-9;]*m|1A|2K)|\r")
"""What the progress draws with. The pages of the site have other sequences, and the colour 31."""


def assert_safe(text: str) -> None:
    assert text
    found = ACTED_ON.search(text)
    assert not found, text[max(0, found.start() - 60) : found.end() + 60]


COMMANDS = {
    "search": ["search", "{dir}", "harbour", "--limit", "60", "--facets", "5", "--explain"],
    "search --json": ["search", "{dir}", "harbour", "--limit", "60", "--json"],
    "search for an escape": ["search", "{dir}", "\x1b[31mhrabour\u202e"],
    "explain": ["explain", "{dir}", "{url}7"],
    "explain several": ["explain", "{dir}", "{url}7", "{url}%1B[2J", "{url}no0%1B[31mred", "{url}1\u202e"],
    "explain --json": ["explain", "{dir}", "{url}7", "--json"],
    "explain a host": ["explain", "{dir}", "{host}"],
    "explain no host": ["explain", "{dir}", "a\x1b[2J"],
    "sql": ["sql", "{dir}", "SELECT title, text, url, language FROM documents"],
    "sql --json": ["sql", "{dir}", "SELECT * FROM documents", "--json"],
    "sql --jsonl": ["sql", "{dir}", "SELECT * FROM links", "--jsonl"],
    "sql --csv": ["sql", "{dir}", "SELECT * FROM visits", "--csv"],
    "sql headers": ["sql", "{dir}", "SELECT headers, media_type, robots_rule, error FROM visits"],
    "sql error": ["sql", "{dir}", "SELECT '\x1b[2J' FROM \"\x1b]0;x\x07\""],
    "status": ["status", "{dir}"],
    "status --json": ["status", "{dir}", "--json"],
    "changes": ["changes", "{dir}", "--since", "2020-01-01"],
    "changes --json": ["changes", "{dir}", "--since", "2020-01-01", "--json"],
    "report": ["report", "{dir}"],
    "block": ["block", "{dir}", "{host}/\x1b[31m\u202e*"],
    "blocks": ["blocks", "{dir}"],
    "blocks --json": ["blocks", "{dir}", "--json"],
    "seeds": ["seeds", "add", "{dir}", "{url}seed\x1b[31m\u202e", "no\x1b[31m\u202e URL"],
    "release": ["release", "{dir}", "\x1b[31m"],
    "compact": ["compact", "{dir}"],
    "check url": ["check", "url", "{url}%1B[2J\x1b[31m\u202e"],
    "check page": ["check", "page", "{url}3", "--allow-address", "127.0.0.0/8"],
    "check page --json": ["check", "page", "{url}3", "--json", "--allow-address", "127.0.0.0/8"],
    "check robots": ["check", "robots", "{url}", "--url", "/no0%1B[31mred", "--allow-address", "127.0.0.0/8"],
    "check robots --json": ["check", "robots", "{url}", "--json", "--allow-address", "127.0.0.0/8"],
    "check crawl": ["check", "crawl", "{dir}"],
    "rank": ["rank", "{dir}"],
    "no command": ["\x1b[31m\u202e"],
    "no option": ["search", "--\x1b[31m\u202e"],
    "no directory": ["--debug", "status", "/no\x1b[2J\udc9b"],
    "export": ["export", "documents", "{dir}", "-"],
}


FAIL = {
    **dict.fromkeys(["explain no host", "sql error", "no directory"], 1),
    **dict.fromkeys(["release", "block", "no command", "no option"], 2),
}
"""Exit codes of those that fail."""


ON_A_TERMINAL = ["search", "explain several", "sql", "sql --csv", "status", "seeds", "check robots", "no command"]
OTHERS = [pytest.param(name, marks=pytest.mark.slow("every command")) for name in COMMANDS if name not in ON_A_TERMINAL]


@pytest.mark.parametrize("name", [*ON_A_TERMINAL, *OTHERS])
def test_no_command_passes_on_to_a_pipe_what_a_terminal_acts_on(crawled: tuple[Path, str], name: str) -> None:
    assert_safe(in_this_process(*words_of(name, *crawled), code=FAIL.get(name, 0)))


@pytest.mark.slow("processes")
@pytest.mark.parametrize(("to_pipe", "to_terminal"), [("search", "no option"), ("sql error", "search")])
def test_the_streams_of_the_program_are_such(crawled: tuple[Path, str], to_pipe: str, to_terminal: str) -> None:
    """The output of one of the commands, and the errors of the other."""
    assert_safe(piped(*words_of(to_pipe, *crawled), code=FAIL.get(to_pipe, 0)))
    assert_safe(OWN.sub("", on_a_terminal(*words_of(to_terminal, *crawled), code=FAIL.get(to_terminal, 0))))


@pytest.mark.parametrize("name", [*ON_A_TERMINAL, *OTHERS])
def test_no_command_passes_it_on_to_a_terminal(crawled: tuple[Path, str], name: str) -> None:
    code = 2 if name == "report" else FAIL.get(name, 0)  # HTML is refused on a terminal
    assert_safe(OWN.sub("", on_this_terminal(*words_of(name, *crawled), code=code)))


def words_of(name: str, directory: Path, url: str) -> list[str]:
    values = {"dir": directory, "url": url, "host": url.split("/")[2]}
    return [word.format_map(values) for word in COMMANDS[name]]


def test_an_export_to_a_terminal_is_visible_and_to_a_pipe_exact(crawled: tuple[Path, str]) -> None:
    words = ["export", "documents", crawled[0], "-", "--format", "csv"]
    assert_safe(on_this_terminal(*words))
    assert "pay\u202efdp.exe" in in_this_process(*words)


def test_the_json_of_a_page_is_its_text(crawled: tuple[Path, str]) -> None:
    query = f"SELECT title FROM documents WHERE url = '{crawled[1]}7'"
    rows = json.loads(in_this_process("sql", crawled[0], query, "--json"))
    assert rows == [{"title": "harbour 7 pay\u202efdp.exe"}]


def test_a_crawl_on_a_terminal_draws_with_nothing_but_its_own_sequences(tmp_path: Path) -> None:
    with Web({"a.test": answers()}) as web:
        robot = ("--robot", "Robot/1", "--contact", "a@b.test")
        text = on_a_terminal("crawl", tmp_path / "c", "--seed", web.url("a.test"), *robot, "--rounds", "1", *LOOPBACK)
    assert OWN.search(text)
    assert_safe(OWN.sub("", text))


def test_the_progress_shows_what_a_warning_says() -> None:
    event = Event("warning", "the host \x1b[31m\u202e is gone")
    for output in (TextOutput(stream := io.StringIO()), LiveOutput(drawn := io.StringIO())):
        output.event(event)
    assert stream.getvalue() == drawn.getvalue() == "the host \\u001b[31m\\u202e is gone\n"


@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
def test_what_a_charset_cannot_encode_is_an_escape(tmp_path: Path, locale: str) -> None:
    environment = os.environ | {"LC_ALL": locale, "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    command = [*PROGRAM, "status", tmp_path / "\ud56d\x1b[2J"]
    ran = subprocess.run(command, env=environment, capture_output=True, check=False)
    assert b"\\u001b[2J" in ran.stderr
    assert ran.returncode == 1
