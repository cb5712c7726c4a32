"""Calls in threads come back to whoever waits for them, and nobody waits for longer than was said."""

import threading
import time

from beamtrawl.transforms.politeness.clock import ThreadCalls


def test_a_wait_ends_also_if_its_time_is_over_before_it_begins() -> None:
    """As that of queue.SimpleQueue does not, in CPython 3.11."""
    calls: ThreadCalls[int] = ThreadCalls(threads=1)
    waits = []

    def wait_often() -> None:
        for number in range(2_000):
            calls.start(lambda number=number: number)
            while calls.take(0.0) is None:
                time.sleep(0)  # lets the thread go on; a longer take would leave the queue's lock in another state
            waits.append(calls.take(1e-7))

    waiting = threading.Thread(target=wait_often, daemon=True)
    waiting.start()
    waiting.join(120)
    assert waits == [None] * 2_000
