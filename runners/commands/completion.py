"""`beamtrawl completion`: print a script with which a shell completes command lines."""

import argparse
from collections.abc import Iterator

import shtab

from .registry import COMMANDS

SHELLS = ("bash", "zsh", "fish")

_PATHS = {"DIR": shtab.DIRECTORY, "FILE": shtab.FILE, "OUT": shtab.FILE}
"""Arguments that are paths, by their name in the help."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help=", ".join(SHELLS))


def run(arguments: argparse.Namespace) -> None:
    """Print the script for a shell."""
    print(shtab.complete(whole_parser(), shell=arguments.shell))


def whole_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line with the arguments of all commands; paths are marked for shtab."""
    top = argparse.ArgumentParser(prog="beamtrawl")
    top.add_argument("--version", action="store_true", help="show the version")
    commands = top.add_subparsers()
    for command in COMMANDS:
        command.load().add_arguments(commands.add_parser(command.name, help=command.summary))
    for action in _actions(top):
        name = action.metavar if isinstance(action.metavar, str) else ""
        for part, path in _PATHS.items():
            if part in name.split("|"):
                action.complete = path  # type: ignore[attr-defined]  # an attribute that shtab defines
    return top


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from _actions(command)
