"""Pages of the documentation that are generated from the code.

python docs/reference.py [FOLDER] writes them, into docs/ unless another folder is named.

`commands.md` holds the help of each command as the program prints it, `settings.md` the comments of `crawl.toml`.
"""

import argparse
import contextlib
import dataclasses
import io
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from unicodedata import normalize

from beamtrawl.runners.program import main as program
from beamtrawl.transforms.settings.fields import default_of, kind_of
from beamtrawl.transforms.settings.sections import RULES, SECTIONS
from beamtrawl.transforms.settings.toml_values import to_toml

WIDTH = 80  # columns of the help

GUIDES = {
    "crawl": "running.md",
    "seeds": "running.md",
    "status": "monitoring.md#alarms",
    "watch": "progress.md#the-page",
    "release": "traps.md",
    "block": "blocks.md#blocks",
    "unblock": "blocks.md#blocks",
    "blocks": "blocks.md#blocks",
    "rank": "ranking.md#scoring",
    "estimate": "estimates.md#estimates",
    "compact": "compaction.md",
    "search": "searching.md",
    "serve": "gateway.md",
    "mcp": "mcp.md#a-crawl-for-assistants",
    "sql": "tables.md",
    "explain": "explain.md#state-of-a-url",
    "changes": "changes.md#changes",
    "check": "explain.md#checks-without-a-crawl",
    "export": "export.md",
    "clean": "running.md#repair",
    "policy": "politeness.md#the-robots-page",
    "report": "monitoring.md#the-report",
    "completion": "running.md#completion-in-a-shell",
    "demo": "tutorial.md",
}
"""The page that tells more about a command."""


def commands() -> str:
    """The text of commands.md."""
    lines = [
        "# Commands",
        "",
        "The help of each command, as `beamtrawl COMMAND --help` prints it, with a short usage. "
        "This page is generated: `python docs/reference.py`.",
        "",
        *_block(_help()),
    ]
    for words, level in _walk():
        lines += ["", f"{'#' * level} beamtrawl {' '.join(words)}", ""]
        if guide := GUIDES.get(words[0]) if level == 2 else None:
            lines += [f"[Guide]({guide})", ""]
        lines += _block(_help(*words))
    return "\n".join(lines) + "\n"


def settings() -> str:
    """The text of settings.md."""
    lines = [
        "# Settings",
        "",
        "`DIR/crawl.toml` holds the settings of a crawl. The first run writes it, with these comments and the values",
        "of its flags; a flag of a later run overrides a setting for that run. An unknown key or a bad value is",
        "refused, with its line. This page is generated: `python docs/reference.py`.",
    ]
    tables = {f"[{name}]": field.type for name, field in SECTIONS.items()}
    for name, kind in (tables | {f"[[{name}]]": kind for name, kind in RULES.items()}).items():
        lines += ["", f"## {name}", "", _plain(kind.__doc__ or ""), ""]
        lines += ["| key | default | values | meaning |", "|---|---|---|---|"]
        for field in dataclasses.fields(kind):
            default = default_of(field)
            shown = "unset" if default is None else f"`{to_toml(default)}`"
            secret = " Secret: never logged or stored in tables." if field.metadata["secret"] else ""
            meaning = _plain(field.metadata["comment"]) + secret
            lines.append(f"| `{field.name}` | {shown} | {_values(field)} | {meaning} |")
    return "\n".join(lines) + "\n"


def _values(field: dataclasses.Field) -> str:
    """The values that a setting accepts."""
    kind, _ = kind_of(field)
    if choices := field.metadata["choices"]:
        return ", ".join(f"`{to_toml(choice)}`" for choice in choices)
    if kind in (int, float):
        least, most = field.metadata["within"] or (0, None)
        bound = f"{least} to {most}" if most else "more than 0" if field.metadata["positive"] else "at least 0"
        return f"integer, {bound}" if kind is int else f"number, {bound}"
    return {bool: "`true`, `false`", str: "string"}.get(kind, "list of strings")


PAGES = {"commands.md": commands, "settings.md": settings}


def _walk() -> Iterator[tuple[list[str], int]]:
    """The words of each command and subcommand, and the level of its heading."""
    top = program.parser()
    for name in _choices(top):
        _printed(top, name)  # adds the arguments of the command
        command = _choices(top)[name]
        yield [name], 2
        for kind in _choices(command):
            yield [name, kind], 3


def _choices(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    groups = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    return groups[0].choices if groups else {}


def _help(*words: str) -> str:
    return _printed(program.parser(), *words)


def _printed(parser: argparse.ArgumentParser, *words: str) -> str:
    """The help of a command. Its usage names no options, which follow below it, and `--help` is left out."""
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.suppress(SystemExit):
        parser.parse_args([*words, "--help"])
    usage, _, rest = out.getvalue().partition("\n\n")
    start = " ".join(["usage: beamtrawl", *words])
    arguments = " ".join(usage.split()).removeprefix(start).replace(" [options]", "")
    arguments = re.sub(r" \[-(?!- )(?:[^\[\]]|\[[^\]]*\])*\]", "", arguments)
    rest = re.sub(r"\n +-h, --help .*(?:\n {20,}\S.*)*", "", rest).replace("options:\n\n", "")
    rest = re.sub(r"positional arguments:\n(?: +\S+\n)+\n", "", rest)  # that the usage names
    return f"{start}{' [options]' if 'options:' in rest else ''}{arguments}\n\n{rest}"


def _block(text: str) -> list[str]:
    return ["```text", *text.rstrip().split("\n"), "```"]


def _plain(text: str) -> str:
    """A comment as a cell of a table, in one line."""
    text = re.sub(r"\s+", " ", normalize("NFC", text)).strip()
    return re.sub(r"([|*_<>\\])", r"\\\1", text)


def main() -> None:
    """Write the pages."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    os.environ["COLUMNS"] = str(WIDTH + 2)  # argparse leaves two free
    for name, render in PAGES.items():
        (folder / name).write_text(render(), encoding="utf-8")


if __name__ == "__main__":
    main()
