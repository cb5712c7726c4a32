"""`sql` on a terminal: a prompt that answers one statement after the other, and survives a bad one."""

import os
import pty
import select
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from beamtrawl.runners.commands.sql import FIRST
from beamtrawl.transforms.tables.schemas import TABLES
from tests.support.command_line import PROGRAM
from tests.support.committed import commit_rows

PROMPT = "sql> "
PATIENCE_S = 60.0
RECALL = "\x10"  # Ctrl-P: the line before
END = "\x04"  # Ctrl-D


class Terminal:
    """A program with a terminal of its own."""

    def __init__(self, *command: object) -> None:
        self._end, own = pty.openpty()
        self.process = subprocess.Popen(
            [*map(str, command)], stdin=own, stdout=own, stderr=own, env=os.environ | {"TERM": "dumb"}
        )
        os.close(own)

    def answer(self, typed: str = "") -> list[str]:
        """Type, and return the lines up to the next prompt, without what was typed; all lines if the program ends."""
        os.write(self._end, typed.encode())
        text, ends_at = "", time.monotonic() + PATIENCE_S
        while not text.endswith(PROMPT):
            readable, _, _ = select.select([self._end], [], [], max(0.0, ends_at - time.monotonic()))
            assert readable, f"no prompt after {text!r}"
            try:
                text += os.read(self._end, 65_536).decode()
            except OSError:  # the program has closed its end
                break
        lines = text.removesuffix(PROMPT).splitlines()
        return lines[1:] if typed else lines

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._end)


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    commit_rows(tmp_path, "update", 1, {"documents": [{"url": "http://a.test/", "title": "Harbour"}]})
    opened = Terminal(*PROGRAM, "sql", tmp_path)
    yield opened
    opened.close()


def test_a_conversation(terminal: Terminal) -> None:
    first, head, _, *tables = terminal.answer()
    assert (first[:14], head.split()) == ("SQL of DuckDB,", ["table", "a", "row", "for", "each", "columns"])
    assert [line.split()[0] for line in tables] == [name for name, *_ in FIRST]
    title = ["title", "-------", "Harbour"]
    assert terminal.answer("SELECT title FROM documents;\n") == title
    assert terminal.answer(f"{RECALL}\n") == title  # lines can be recalled and edited
    (error,) = terminal.answer("SELECT nothing FROM documents;\n")
    assert 'column "nothing" not found' in error
    assert terminal.answer("SELECT 3\n") == []  # a statement goes on until its semicolon
    assert terminal.answer("  + 4 AS sum;\n") == ["sum", "---", "7"]
    (refused,) = terminal.answer("DROP VIEW documents;\n")
    assert "DROP is refused" in refused
    assert terminal.answer(END) == []
    assert terminal.process.wait(PATIENCE_S) == 0


def test_the_tables_to_begin_with_have_these_columns() -> None:
    for name, row, columns in FIRST:
        assert {*columns.split(", ")} <= {*TABLES[name].names}
        listed = "`, `".join(columns.split(", "))
        assert f"| [{name}](#{name}) | {row} | `{listed}` |" in Path("docs/tables.md").read_text()
