"""The program `beamtrawl`."""

import atexit
import contextlib
import logging
import os
import signal
import sys
from collections.abc import Sequence

from ..process.background import INTERRUPTS
from ..process.garbage import collect_rarely
from ..terminal.errors import BEAM_REPEATS
from ..terminal.visible import make_visible


def main() -> int:
    """The console script."""
    ending = Ending()
    try:
        ending.code = _run(sys.argv[1:])
    except SystemExit as ended:  # of argparse, after --help and --version
        ending.code = int(ended.code or 0)
    except KeyboardInterrupt:  # while modules are imported
        ending.code = 130
        raise
    return ending.code


def _run(words: Sequence[str]) -> int:
    open_closed_streams()
    os.environ.setdefault("MIMALLOC_ARENA_RESERVE", "16384")  # kB; Arrow's allocator reserves 1 GB of `ulimit -v` else
    if sys.stderr.isatty():
        print(starting(words), end="", file=sys.stderr, flush=True)
    make_visible()
    for number in INTERRUPTS:  # same as Ctrl-C: locks are released
        if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup sets SIGHUP
            signal.signal(number, interrupt)
    quiet("--debug" in words)
    collect_rarely()
    from .main import run  # after the handler: imports of a command may log

    return run(words)


def interrupt(*_: object) -> None:
    """End what is under way. Without a text, Beam makes a RuntimeError of it if a function of a pipeline runs."""
    raise KeyboardInterrupt("a signal")


def starting(words: Sequence[str]) -> str:
    r"""Return what a terminal shows while a command imports Beam; the first line of the command overwrites it.

    >>> starting(["crawl", "./site"]), starting(["crawl", "--help"]), starting(["search", "./site", "moon"])
    ('starting …\r', '', '')
    """
    is_help = not {"-h", "--help"}.isdisjoint(words)
    return "starting …\r" if words[:1] == ["crawl"] and not is_help else ""


def quiet(debug: bool) -> None:
    """Drop Beam's log messages below the level ERROR, unless `debug`: they do not concern users.

    Exceptions in workers are not logged: they end the command, which shows them.
    """
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
    if not debug:
        handler.addFilter(lambda record: record.levelno >= logging.ERROR or "apache_beam" not in record.pathname)
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    for name in BEAM_REPEATS:
        logging.getLogger(name).setLevel(logging.CRITICAL)


def open_closed_streams() -> None:
    """Connect standard streams that the process was started without (`>&-`, some supervisors) to the null device.

    Else the next file that is opened gets the descriptor of standard output, and what a library or a child process
    prints goes into a table.
    """
    for descriptor, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:
            opened = os.open(os.devnull, os.O_RDWR)
            if opened != descriptor:
                os.dup2(opened, descriptor)
                os.close(opened)
            os.set_inheritable(descriptor, True)
            setattr(sys, name, open(descriptor, mode, encoding="utf-8", closefd=False))  # noqa: SIM115


class Ending:
    """Ends the process without the interpreter's finalization, which leaves its memory to the system.

    To be made before anything else that registers functions with atexit: those run before it, after all threads but
    daemons have ended. Threads of Arrow hold objects of Python for a moment after a read from an object store has
    returned; if the interpreter is finalized meanwhile, they abort or block the process (apache/arrow#33975, #50482).
    """

    def __init__(self) -> None:
        self.code = 1
        """The exit code; 1 until somebody says otherwise."""
        atexit.register(self._end)

    def _end(self) -> None:
        try:
            if not sys.stdout.closed:
                sys.stdout.flush()
        except OSError as error:
            self.code = self.code or 1
            if not isinstance(error, BrokenPipeError):  # its reader has read enough
                print(f"beamtrawl: the output cannot be written: {error.strerror}", file=sys.stderr)
        finally:
            with contextlib.suppress(OSError, ValueError):  # closed
                sys.stderr.flush()
            os._exit(self.code)
