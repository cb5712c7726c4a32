"""Settings of all tests, and the choice of the short run.

`--short` leaves out what is marked `slow(category)`, and draws 40 examples of a property that sets no number, not 100.
"""

import contextlib
import fcntl
import gc
import signal
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from beamtrawl.runners.process.garbage import collect_rarely
from beamtrawl.runners.process.lock import HEARTBEAT_THREAD

# A slow machine is no failure: examples have no deadline, and may take long to draw. Chance is none either: each run
# draws the same examples. `--hypothesis-profile random` draws others.
settings.register_profile("random", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("beamtrawl", settings.get_profile("random"), derandomize=True)
settings.register_profile("short", settings.get_profile("beamtrawl"), max_examples=40)
settings.load_profile("beamtrawl")

collect_rarely()  # as the program does: crawls in this process build pipelines of many objects without cycles

# A shell starts what runs in its background with Ctrl-C ignored, and programs inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

TESTS = Path(__file__).parent
CACHE = TESTS.parent / ".cache"


@pytest.fixture(scope="module", autouse=True)
def _no_lock_is_left_behind() -> Iterator[None]:
    """The heartbeat of a lock that a module leaves behind goes on in the tests after it, in another module."""
    before = heartbeats()
    yield
    assert heartbeats() <= before


def heartbeats() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.name == HEARTBEAT_THREAD}


LEFT_OUT = pytest.StashKey[Counter[str]]()
"""Number of tests that a short run leaves out, by category."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--operations", type=int, default=200, help="commands beside a running crawl (test_beside.py)")
    parser.addoption("--faults", type=int, default=2, help="faults of each kind at each step; 0: all (test_faults.py)")
    parser.addoption("--kills", type=int, default=6, help="kills of a process that fetches (test_killed_fetches.py)")
    parser.addoption("--short", action="store_true", help="leave out tests marked slow, and say at the end which")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--short"):
        settings.load_profile("short")


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Iterator[None]:
    """In a new checkout, the processes of pytest-xdist collect one after the other until the first of them is done.

    It compiles all tests with their assertions, which takes as long as all other work of collecting them.
    """
    with contextlib.ExitStack() as stack:
        if hasattr(session.config, "workerinput") and not sys.dont_write_bytecode:
            CACHE.mkdir(exist_ok=True)
            lock = stack.enter_context((CACHE / "collecting.lock").open("w"))
            fcntl.flock(lock, fcntl.LOCK_EX)
            if is_compiled():
                fcntl.flock(lock, fcntl.LOCK_UN)
        return (yield)


def is_compiled() -> bool:
    """Whether most tests have been compiled by this version of pytest."""
    compiled = sum(1 for _ in TESTS.rglob(f"__pycache__/test_*-pytest-{pytest.__version__}.pyc"))
    return 2 * compiled > sum(1 for _ in TESTS.rglob("test_*.py"))


@pytest.hookimpl(trylast=True)  # of what -k and -m have chosen
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--short"):
        slow = [(item, mark.args[0]) for item in items if (mark := item.get_closest_marker("slow"))]
        config.stash[LEFT_OUT] = Counter(category for _, category in slow)
        config.hook.pytest_deselected(items=[item for item, _ in slow])
        items[:] = [item for item in items if not item.get_closest_marker("slow")]
    # Files that take long come first, so that the processes of pytest-xdist end at the same time: those with most tests
    # that are slow, then those that crawl.
    modules = [getattr(item, "module", None) for item in items]
    length = Counter(module for module in {*modules} if hasattr(module, "crawl"))
    length.update(module for item, module in zip(items, modules, strict=True) if item.get_closest_marker("slow"))
    items.sort(key=lambda item: -length[getattr(item, "module", None)])


def pytest_collection_finish() -> None:
    gc.freeze()  # modules and items stay: no collection of the tests, nor those at the end, goes through them again


def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workeroutput"):  # a worker of pytest-xdist: the tests are collected here only
        session.config.workeroutput["left_out"] = dict(session.config.stash.get(LEFT_OUT, Counter()))


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node) -> None:
    """In pytest-xdist's main process: every worker collects the same tests, so the last count stays."""
    node.config.stash[LEFT_OUT] = Counter(node.workeroutput["left_out"]) if hasattr(node, "workeroutput") else Counter()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if left_out := config.stash.get(LEFT_OUT, Counter()):
        terminalreporter.section("slow tests that were not run")
        for category, count in sorted(left_out.items()):
            terminalreporter.line(f"{count:5} {category}")
        terminalreporter.line("To run them too: python tests/check.py --all")
