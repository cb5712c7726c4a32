"""The program `beamtrawl`: what each command is called and takes."""

import argparse
import logging
import sys
import traceback
from collections.abc import Sequence
from typing import NoReturn

from runners.errors import Failure, Usage
from transforms.crawl_dir import CrawlDirError
from transforms.settings import SettingsError


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line."""

    def error(self, message: str) -> NoReturn:
        raise Usage(f"{message}; see: {self.prog} --help")


def parser() -> argparse.ArgumentParser:
    from runners.commands import COMMANDS  # imports Beam, which logs at once: after `_quiet`

    top = _Parser(prog="beamtrawl", description=__doc__, allow_abbrev=False)
    top.add_argument("--debug", action="store_true", help="show a traceback when something fails")
    subparsers = top.add_subparsers(metavar="COMMAND", required=True, parser_class=_Parser)
    for command in COMMANDS:
        sub = subparsers.add_parser(
            command.name, help=command.summary, description=command.summary, allow_abbrev=False
        )
        sub.add_argument("--debug", action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS)
        command.add_arguments(sub)
        sub.set_defaults(run=command.run)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command. Exit codes: 0 for success, 1 for failure, 2 for usage."""
    words = list(sys.argv[1:] if argv is None else argv)
    cut = words.index("--") if "--" in words else len(words)
    debug = "--debug" in words[:cut]
    _quiet(debug)
    try:
        arguments = parser().parse_args(words[:cut])
        arguments.beam = words[cut + 1 :]
        return int(arguments.run(arguments) or 0)
    except Usage as error:
        return _fail(str(error), 2, debug)
    except (Failure, CrawlDirError, SettingsError) as error:
        return _fail(str(error), 1, debug)
    except KeyboardInterrupt:
        return _fail("stopped", 130, debug)
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output has gone: nothing to tell it
        return 1
    except Exception as error:  # the last resort: one line for the user, the rest for --debug
        return _fail(f"{type(error).__name__}: {_last_line(error)} (--debug shows where)", 1, debug)


def _quiet(debug: bool) -> None:
    """Beam warns of much that is none of a user's business; errors come through."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
    if not debug:
        handler.addFilter(lambda record: record.levelno >= logging.ERROR or "apache_beam" not in record.pathname)
    logging.basicConfig(level=logging.WARNING, handlers=[handler])


def _fail(message: str, code: int, debug: bool) -> int:
    if debug:
        traceback.print_exc()
    print(f"beamtrawl: {message}", file=sys.stderr)
    return code


def _last_line(error: Exception) -> str:
    """Beam wraps a worker's traceback into the message; its last line says what happened."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    return lines[-1].strip() if lines else "no message"


if __name__ == "__main__":
    sys.exit(main())
