"""Bodies in bounded memory: none waits for another while it is read, and what does not fit goes to a file."""

import random
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from beamtrawl.transforms.http.body_buffer import OWN_BYTES, BodyBuffer, BodyMemory
from beamtrawl.transforms.http.errors import RequestError
from beamtrawl.transforms.outcomes import Outcome
from tests.support.tables import each_row

PART = 65_536


def filled(memory: BodyMemory, *sizes: int) -> BodyBuffer:
    buffer = BodyBuffer(memory)
    for number, size in enumerate(sizes):
        buffer.append(bytes([number % 256]) * size)
    return buffer


def content(*sizes: int) -> bytes:
    return b"".join(bytes([number % 256]) * size for number, size in enumerate(sizes))


# bytes for reading; bytes of the parts
BODIES = {
    "nothing": (0, ()),
    "small, without memory": (0, (OWN_BYTES,)),
    "just too large for no memory": (0, (OWN_BYTES, 1)),
    "large, in memory": (10 * PART, (PART,) * 10),
    "large, to a file half way": (3 * PART, (PART,) * 10),
    "large, in small parts": (PART, (999,) * 500),
    "in one part": (0, (20 * PART,)),
}


@each_row(BODIES)
def test_a_body_comes_back_as_it_was(reading: int, sizes: tuple[int, ...]) -> None:
    memory = BodyMemory(reading, 4 * PART)
    buffer = filled(memory, *sizes)
    assert buffer.load() == content(*sizes)
    buffer.release()
    assert memory.try_take(reading)  # all was given back
    assert memory.take_loaded(4 * PART, 0) == 4 * PART


def test_bodies_that_are_read_wait_for_nobody() -> None:
    """All have begun and none has ended: with memory for one of them, each still takes all of its parts."""
    memory = BodyMemory(PART, 10 * PART)
    buffers = [BodyBuffer(memory) for _ in range(64)]
    for number in range(10):
        for buffer in buffers:
            buffer.append(bytes([number]) * PART)
    for buffer in buffers:
        assert buffer.load() == content(*[PART] * 10)
        buffer.release()


def test_complete_bodies_wait_in_order_for_memory() -> None:
    memory = BodyMemory(0, 10)
    assert memory.take_loaded(8, 0) == 8
    order: list[str] = []
    waits = threading.Event()

    def take(name: str, count: int) -> None:
        waits.set()
        memory.take_loaded(count, 30)
        order.append(name)

    large = threading.Thread(target=take, args=("large", 9))
    large.start()
    assert waits.wait(60)
    while not memory._waiting:  # it stands in line
        pass
    small = threading.Thread(target=take, args=("small", 1))
    small.start()
    while len(memory._waiting) < 2:
        pass
    assert order == []  # there is room for the small one, but it came later
    memory.give_back_loaded(8)
    large.join(60)
    small.join(60)
    assert order == ["large", "small"]


def test_a_body_for_which_no_memory_becomes_free_is_deferred() -> None:
    memory = BodyMemory(0, 10)
    memory.take_loaded(8, 0)
    with pytest.raises(RequestError) as caught:
        memory.take_loaded(3, 0.01)
    assert caught.value.outcome is Outcome.DEFERRED
    assert memory.take_loaded(2, 0) == 2  # what could not be taken was not, and nobody waits any more


def test_a_body_longer_than_all_memory_takes_all_of_it() -> None:
    memory = BodyMemory(0, 10)
    assert memory.take_loaded(1000, 0) == 10


def test_a_body_that_no_disk_takes_is_deferred() -> None:
    buffer = BodyBuffer(BodyMemory(0, PART))
    before, tempfile.tempdir = tempfile.tempdir, "/nowhere"
    try:
        with pytest.raises(RequestError) as caught:
            buffer.append(bytes(2 * PART))
    finally:
        tempfile.tempdir = before
    assert caught.value.outcome is Outcome.DEFERRED
    assert "/nowhere" in caught.value.text
    buffer.release()


def test_many_threads_with_partial_bodies() -> None:
    """Bodies of any length in 64 threads: each comes back whole, and no more memory is out than there is."""
    memory = BodyMemory(8 * PART, 40 * PART)
    everybody = threading.Barrier(64, timeout=60)
    loaded, most, lock = 0, 0, threading.Lock()

    def fetch(number: int) -> bool:
        nonlocal loaded, most
        sizes = [PART] * random.Random(number).choice([1, 2, 30, 40])
        buffer = BodyBuffer(memory)
        buffer.append(bytes([0]) * sizes[0])
        everybody.wait()  # all have begun before any goes on
        for part in range(1, len(sizes)):
            buffer.append(bytes([part % 256]) * sizes[part])
        data = buffer.load()
        with lock:
            loaded += buffer._loaded
            most = max(most, loaded)
        with lock:
            loaded -= buffer._loaded
        buffer.release()
        return data == content(*sizes)

    with ThreadPoolExecutor(64) as pool:
        assert all(pool.map(fetch, range(64)))
    assert most <= 40 * PART
    assert memory.try_take(8 * PART)
    assert memory.take_loaded(40 * PART, 0)
