"""Runs a command line and returns its exit code."""

import argparse
import re
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from ... import __version__
from ...transforms.outcomes import BeamtrawlError, meant
from ..commands.examples import EXAMPLES
from ..commands.registry import COMMANDS, Command
from ..process.absent import BEAM_OPTIONAL, absent, keep_pandas_out
from ..process.failed_threads import limit_reached
from ..process.garbage import importing
from ..terminal.errors import Usage, full_traceback, one_line
from .beam_options import asks_for_runner
from .misplaced import dashed_query, misplaced, unrecognized
from .suggest import with_suggestion

_UNDECODED = re.compile("[\udc80-\udcff]")  # what Python makes of other bytes on a command line (PEP 383)


class _Parser(argparse.ArgumentParser):
    """An ArgumentParser that reports errors in one line."""

    def error(self, message: str) -> NoReturn:
        raise Usage(f"{with_suggestion(message)}; see: {self.prog} --help")


class _CommandParser(_Parser):
    """Imports the module of its command when the command is chosen, and adds the arguments then."""

    command: Command | None = None

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        if self.command:
            with importing():
                module = self.command.load()
            module.add_arguments(self)
            self.set_defaults(run=module.run)
            _add_examples(self, self.command.name)
            self.command = None
        if self.prog.endswith(" search") and (line := dashed_query(args, self._option_string_actions)):
            raise Usage(line)
        found, unknown = super().parse_known_args(args, namespace)
        for action in self._actions:  # argparse gives an optional argument no word behind a flag (bpo-15112)
            is_left = not action.option_strings and action.nargs == "?" and getattr(found, action.dest, "") is None
            if is_left and unknown and not unknown[0].startswith("-"):
                setattr(found, action.dest, unknown.pop(0))
        self._refuse_misplaced(found, unknown)
        if unknown:  # here, so that the message names the command
            hint = meant(unknown[0].partition("=")[0], self._option_string_actions)
            self.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")
        return found, unknown

    def _refuse_misplaced(self, found: argparse.Namespace, unknown: Sequence[str]) -> None:
        """Raise Usage if the words without a flag are in the wrong order, or one of them needs a flag."""
        places = [action.dest for action in self._actions if not action.option_strings and action.dest != "dir"]
        words = [word for place in places for word in _listed(getattr(found, place, None))]
        words += [word for word in unknown if not word.startswith("-")]
        directory = getattr(found, "dir", None)
        if directory is None:
            return
        line = misplaced(self.prog, directory, words) or unrecognized(self.prog, directory, unknown)
        if line:
            raise Usage(line)


def _listed(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else [word for word in value or () if isinstance(word, str)]


def _add_examples(parser: argparse.ArgumentParser, words: str) -> None:
    """Add an example to the help of a command and of the commands below it."""
    if example := EXAMPLES.get(words):
        parser.epilog = " ".join(filter(None, (parser.epilog, f"Example: {example}")))
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, below in action.choices.items():
                _add_examples(below, f"{words} {name}")


def parser() -> argparse.ArgumentParser:
    top = _Parser(
        prog="beamtrawl", description="A polite, breadth-first web crawler and full-text indexer.", allow_abbrev=False
    )
    top.epilog = (
        "Exit codes: 0 success, 1 failure, 2 a command line that cannot be understood, 3 alarms (status --check),"
        " findings (check links --fail-on) or damaged archives (import warc), 4 a crawl without a page,"
        " 130 interrupted. Example: beamtrawl demo"
    )
    top.add_argument("-V", "--version", action="version", version=f"beamtrawl {__version__}")
    top.add_argument("--debug", action="store_true", help="show a traceback when something fails")
    subparsers = top.add_subparsers(metavar="COMMAND", required=True, parser_class=_CommandParser)
    for command in COMMANDS:
        sub = subparsers.add_parser(command.name, help=command.summary, description=command.summary, allow_abbrev=False)
        sub.add_argument("--debug", action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS)
        sub.command = command
    return top


def run(words: Sequence[str]) -> int:
    """Run a command. Exit codes: 0 for success, 1 for failure, 2 for usage, 130 for an interrupt.

    A command may define others: 3 for alarms (`status --check`), findings (`check links --fail-on`) and damage
    (`import warc`), 4 for a crawl without a page.
    """
    cut = words.index("--") if "--" in words else len(words)
    debug = "--debug" in words[:cut]
    try:
        with absent(() if asks_for_runner(words) else BEAM_OPTIONAL):
            arguments = parser().parse_args(_help_asked(words[:cut]))
        keep_pandas_out()
        arguments.beam = list(words[cut + 1 :])
        if arguments.beam and "runner" not in arguments:
            raise Usage(f"{arguments.beam[0]}: what comes after -- goes to Beam, and this command does not run it")
        return int(arguments.run(arguments) or 0)
    except BeamtrawlError as error:
        return _fail(str(error), 2 if error.is_usage else 1, debug)
    except KeyboardInterrupt:
        return _fail("stopped", 130, debug)
    except BrokenPipeError:
        sys.stderr.close()  # the reader of stdout has closed the pipe
        return 1
    except Exception as error:  # any other error: one line for the user, the traceback with --debug
        line = one_line(error)
        if word := next(filter(_UNDECODED.search, words[:cut]), None):  # as a path it may be as it is
            return _fail(f"{word}: its bytes are not UTF-8", 2, debug)
        return _fail(f"{limit_reached(line) or line} (--debug shows where)", 1, debug)


def _help_asked(words: Sequence[str]) -> Sequence[str]:
    """The words of a command line, with --help in the place of `help COMMAND`."""
    return [*words[1:], "--help"] if words[:1] == ["help"] else words


def _fail(message: str, code: int, debug: bool) -> int:
    if debug and (error := sys.exc_info()[1]):
        print(full_traceback(error), file=sys.stderr)
    print(f"beamtrawl: {message}", file=sys.stderr)
    return code
