"""What a user reads when a step of a pipeline fails with an error that has a message for them."""

import pytest

from beamtrawl.runners.engines.expected import message_of, reporting
from beamtrawl.runners.terminal.errors import Failure
from beamtrawl.transforms.outcomes import CrawlDirError, DiskError
from tests.support.tables import each_row

TRACE = "Traceback (most recent call last):\n  File 'x', line 1\n"
MESSAGES = {
    "in this process": (CrawlDirError("x cannot be read; y [while running 'Read/A']"), "x cannot be read; y"),
    "in a worker": (
        RuntimeError(f"{TRACE}beamtrawl.transforms.outcomes.DiskError: full [while running 'B']\n\n"),
        "full",
    ),
    "in a worker, wrapped": (RuntimeError(f"{TRACE}RuntimeError: beamtrawl.transforms.outcomes.DiskError: no"), "no"),
    "with a cause": (
        RuntimeError(f"{TRACE}beamtrawl.a.B: first\n{TRACE}beamtrawl.a.B: last [while running 'C']"),
        "last",
    ),
    "of others": (RuntimeError(f"{TRACE}ValueError: beamtrawl.x: no"), None),
    "ours, in a sentence": (ValueError("see beamtrawl.errors: no"), None),
}


@each_row(MESSAGES)
def test_the_message_for_the_user(error: Exception, message: str | None) -> None:
    assert message_of(error) == message


def test_a_failure_has_the_message_and_the_cause() -> None:
    with pytest.raises(Failure, match=r"^full$") as caught, reporting():
        raise DiskError("full [while running 'A']")
    assert isinstance(caught.value.__cause__, DiskError)
    with pytest.raises(KeyError), reporting():
        raise KeyError
