"""Names: looked up once for all who ask, kept for a while, at a pace, and never waited for without end."""

import pickle
import socket
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from beamtrawl.transforms.http.dns import Names, Place, give_up_at, next_start, pinned
from beamtrawl.transforms.settings import Fetch
from tests.support.recorders import Clock, Resolver, entry

# Stated here and not imported: a changed limit fails a test.
AT_ONCE = 32


class Hanging:
    """Answers no name before it is told to."""

    def __init__(self, expected=1):
        self.expected = expected
        self.names = []
        self.threads = []
        self.asked = threading.Event()  # so many times as expected
        self.answer = threading.Event()

    def __call__(self, host, port, *, type):
        self.names.append(host)
        self.threads.append(threading.current_thread())
        if len(self.names) == self.expected:
            self.asked.set()
        self.answer.wait()
        return [entry("8.8.8.8", port)]

    def end(self):
        self.answer.set()
        for thread in self.threads:
            thread.join()


def made(resolver, clock=None, **fetch):
    clock = clock or Clock()
    return Names(Fetch(**fetch), resolver=resolver, clock=clock, sleep=clock.sleep)


def found(names, host, port=80):
    """The addresses that a host leads to, or the text of the failure."""
    try:
        return [sockaddr[0] for *_, sockaddr in names(host, port, type=socket.SOCK_STREAM)]
    except socket.gaierror as error:
        return error.strerror


@pytest.mark.parametrize(
    ("last", "now", "per_second", "expected"),
    [
        (float("-inf"), 5.0, 50, 5.0),  # the first
        (5.0, 5.0, 50, 5.02),
        (5.0, 5.015, 50, 5.02),
        (5.0, 5.02, 50, 5.02),
        (5.0, 9.0, 50, 9.0),  # what was not used before is not caught up on
        (7.0, 5.0, 4, 7.25),  # others have a time already
        (5.0, 5.0, 0.5, 7.0),
    ],
)
def test_the_next_start(last, now, per_second, expected):
    assert next_start(last, now, per_second) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("in_line", "per_second", "timeout", "expected"),
    [(0, 50, 10, 110.02), (499, 50, 10, 120.0), (1, 0.5, 1, 105.0)],
)
def test_a_look_up_is_waited_for_as_long_as_those_before_it_need_and_the_timeout(
    in_line, per_second, timeout, expected
):
    assert give_up_at(100.0, in_line, per_second, timeout) == pytest.approx(expected)


def test_what_it_gives_is_what_getaddrinfo_gives():
    names = made(Resolver(["8.8.8.8", "2606:4700::1", "8.8.8.8"]))
    assert names("a.example", 443, type=socket.SOCK_STREAM) == [
        (socket.AF_INET, socket.SOCK_STREAM, 0, "", ("8.8.8.8", 443)),
        (socket.AF_INET6, socket.SOCK_STREAM, 0, "", ("2606:4700::1", 443, 0, 0)),
    ]


def test_a_name_is_looked_up_once_for_all_ports_and_spellings_until_its_time_is_over():
    clock, resolver = Clock(), Resolver(["8.8.8.8"], ["9.9.9.9"])
    names = made(resolver, clock)
    assert [found(names, "a.example", 80), found(names, "A.Example", 443)] == [["8.8.8.8"]] * 2
    clock.now += 3599
    assert found(names, "a.example") == ["8.8.8.8"]
    assert resolver.names == ["a.example"]
    clock.now += 1
    assert found(names, "a.example") == ["9.9.9.9"]
    assert resolver.names == ["a.example"] * 2


@pytest.mark.parametrize(
    ("failure", "text"),
    [
        (socket.gaierror(socket.EAI_NONAME, "Name or service not known"), "Name or service not known"),
        (socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution"), "Temporary failure in name"),
        (OSError("no file descriptor is left"), "no file descriptor is left"),
        (TimeoutError("timed out"), "timed out"),
        (UnicodeError("label too long"), "label too long"),
        (ValueError("embedded null character"), "embedded null character"),
        ([], "no address"),  # an empty answer
    ],
)
def test_a_failure_is_kept_too_but_not_as_long(failure, text):
    clock, resolver = Clock(), Resolver(failure, ["8.8.8.8"])
    names = made(resolver, clock)
    assert text in found(names, "gone.example")
    clock.now += 299
    assert text in found(names, "gone.example")
    assert resolver.names == ["gone.example"]
    clock.now += 1
    assert found(names, "gone.example") == ["8.8.8.8"]


def test_threads_that_ask_at_once_share_one_look_up():
    resolver = Hanging()
    names = made(resolver)
    barrier = threading.Barrier(50)

    def ask(_):
        barrier.wait()
        return found(names, "a.example")

    with ThreadPoolExecutor(50) as pool:
        answers = pool.map(ask, range(50))
        resolver.asked.wait()
        resolver.answer.set()
        assert list(answers) == [["8.8.8.8"]] * 50
    assert resolver.names == ["a.example"]


def test_a_burst_is_spread_and_nothing_is_caught_up_on():
    starts, clock = [], Clock()

    def resolver(host, port, *, type):
        starts.append(clock.now - 1000)
        return [entry("8.8.8.8", port)]

    names = made(resolver, clock, lookups_per_second=50)
    for number in range(100):
        found(names, f"h{number}.example")
    clock.now = 1010.0
    for number in range(3):
        found(names, f"later{number}.example")
    assert starts == pytest.approx([number / 50 for number in range(100)] + [10.0, 10.02, 10.04])


def test_a_burst_of_threads_is_spread_too():
    class Still(Clock):
        def sleep(self, seconds):  # so that every pause tells when, after the burst, a look-up starts
            self.slept.append(seconds)

    clock, count = Still(), 100
    names = made(lambda host, port, *, type: [entry("8.8.8.8", port)], clock, lookups_per_second=50)
    with ThreadPoolExecutor(count) as pool:
        assert list(pool.map(lambda n: found(names, f"h{n}.example"), range(count))) == [["8.8.8.8"]] * count
    assert sorted(clock.slept) == pytest.approx([number / 50 for number in range(1, count)])


def test_the_time_in_line_is_no_part_of_the_timeout():
    class Line(Clock):
        def __init__(self):
            super().__init__()
            self.lined_up, self.go = threading.Semaphore(0), threading.Event()

        def sleep(self, seconds):
            until = self.now + seconds
            self.lined_up.release()
            self.go.wait()
            self.now = max(self.now, until)

    clock, resolver = Line(), Hanging(3)
    names = made(resolver, clock, lookups_per_second=0.1, connect_timeout=5)
    with ThreadPoolExecutor(3) as pool:
        asked = [pool.submit(found, names, "first.example")]
        for name in ("second.example", "third.example"):
            asked.append(pool.submit(found, names, name))
            clock.lined_up.acquire()
        clock.go.set()
        resolver.asked.wait()
        resolver.end()
    assert clock.now == 1020
    assert asked[2].result() == ["8.8.8.8"]


def test_only_so_many_run_at_a_time():
    lock, together = threading.Lock(), threading.Barrier(AT_ONCE, timeout=60)
    running, most = 0, 0

    def resolver(host, port, *, type):
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        together.wait()
        with lock:
            running -= 1
        return [entry("8.8.8.8", port)]

    names = made(resolver, lookups_per_second=1e6)
    with ThreadPoolExecutor(4 * AT_ONCE) as pool:
        list(pool.map(lambda n: found(names, f"h{n}.example"), range(4 * AT_ONCE)))
    assert most == AT_ONCE


def test_a_look_up_that_hangs_holds_nobody_and_counts_when_it_ends():
    resolver = Hanging()
    names = Names(Fetch(connect_timeout=0.05, lookups_per_second=1000), resolver=resolver)
    assert found(names, "slow.example") == "no answer within 0.05 s"
    resolver.asked.wait()  # on a busy machine, its thread may come later
    assert found(names, "slow.example") == "no answer within 0.05 s"
    assert resolver.threads[0].daemon
    resolver.end()
    assert found(names, "slow.example") == ["8.8.8.8"]
    assert resolver.names == ["slow.example"]


def test_those_who_come_later_do_not_wait_for_a_look_up_that_hangs():
    clock, resolver = Clock(), Hanging()
    names = made(resolver, clock, connect_timeout=600)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(found, names, "slow.example")
        resolver.asked.wait()
        clock.now += 601
        assert found(names, "slow.example") == "no answer within 600 s"
        resolver.end()


def test_when_all_turns_hang_nothing_more_is_asked_and_what_was_not_asked_is_not_kept():
    resolver = Hanging(AT_ONCE)
    names = Names(Fetch(connect_timeout=0.05, lookups_per_second=1e6), resolver=resolver)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(lambda n: found(names, f"h{n}.example"), range(AT_ONCE)))
    resolver.asked.wait()
    assert found(names, "late.example") == "too many look-ups hang: none could start in time"
    resolver.end()
    assert found(names, "late.example") == ["8.8.8.8"]
    assert resolver.names.count("late.example") == 1
    assert len(resolver.names) == AT_ONCE + 1


def test_a_fault_of_the_resolver_is_no_failure_of_a_name():
    resolver = Resolver(TypeError("a bug"), ["8.8.8.8"])
    names = made(resolver)
    with pytest.raises(TypeError, match="a bug"):
        names("a.example", 80)
    assert found(names, "a.example") == ["8.8.8.8"]


@pytest.mark.parametrize(
    ("literal", "address"),
    [
        ("8.8.8.8", "8.8.8.8"),
        ("127.1", "127.0.0.1"),
        ("0x7f000001", "127.0.0.1"),
        ("１２７.0.0.1", "127.0.0.1"),
        ("2606:4700::1111", "2606:4700::1111"),
        ("::FFFF:10.0.0.1", "::ffff:10.0.0.1"),
    ],
)
def test_a_literal_address_needs_no_look_up_and_no_turn(literal, address):
    resolver, clock = Resolver([]), Clock()
    names = made(resolver, clock, lookups_per_second=0.1)
    for _ in range(3):
        assert found(names, literal) == [address]
    assert (resolver.names, clock.slept) == ([], [])


def test_names_that_dns_cannot_carry_fail():
    names = Names(Fetch())  # the system's own resolver, which refuses them before it asks
    for name in ("a" * 64 + ".example", "a..b", "nul\0.example"):
        assert isinstance(found(names, name), str)


PINS = (
    "staging.example:443:127.0.0.1",
    "Two.example.:80:8.8.8.8",
    "two.example:80:[2606:4700::1]",
    "two.example:80:9.9.9.9",
    "bücher.example:80:8.8.4.4",
    "8.8.8.8:80:9.9.9.9",
)


def test_pins_by_name_and_port():
    assert pinned(PINS) == {
        ("staging.example", 443): (Place(socket.AF_INET, "127.0.0.1"),),
        ("two.example", 80): (
            Place(socket.AF_INET, "8.8.8.8"),
            Place(socket.AF_INET6, "2606:4700::1"),
            Place(socket.AF_INET, "9.9.9.9"),
        ),
        ("xn--bcher-kva.example", 80): (Place(socket.AF_INET, "8.8.4.4"),),
        ("8.8.8.8", 80): (Place(socket.AF_INET, "9.9.9.9"),),
    }


@pytest.mark.parametrize(
    ("host", "port", "expected", "asked"),
    [
        ("staging.example", 443, ["127.0.0.1"], []),
        ("STAGING.example", 443, ["127.0.0.1"], []),
        ("two.example", 80, ["8.8.8.8", "2606:4700::1", "9.9.9.9"], []),
        ("xn--bcher-kva.example", 80, ["8.8.4.4"], []),
        ("8.8.8.8", 80, ["9.9.9.9"], []),
        ("8.8.8.8", 81, ["8.8.8.8"], []),
        ("staging.example", 80, ["1.1.1.1"], ["staging.example"]),  # another port: as if there were no pin
        ("www.staging.example", 443, ["1.1.1.1"], ["www.staging.example"]),
    ],
)
def test_a_pin_comes_before_any_look_up(host, port, expected, asked):
    resolver = Resolver(["1.1.1.1"])
    names = made(resolver, resolve=list(PINS))
    assert found(names, host, port) == expected
    assert resolver.names == asked


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("a.example", ["8.8.8.8", "1.1.1.1"]),
        ("a.example:8080", ["8.8.8.8", "1.1.1.1"]),
        ("8.8.8.8", ["8.8.8.8"]),
        ("8.8.8.8:81", ["8.8.8.8"]),
        ("[2606:4700::1]", ["2606:4700::1"]),
        ("[2606:4700::1]:8080", ["2606:4700::1"]),
        ("pin.example", ["9.9.9.8", "9.9.9.9"]),  # of http, then of https
        ("pin.example:8080", ["9.9.9.7"]),
        ("pin.example:81", ["8.8.8.8", "1.1.1.1"]),
    ],
)
def test_the_addresses_of_a_host(host, expected):
    pins = ["pin.example:443:9.9.9.9", "pin.example:80:9.9.9.8", "pin.example:8080:9.9.9.7"]
    resolver = Resolver(["8.8.8.8", "1.1.1.1", "8.8.8.8"])
    assert made(resolver, resolve=pins).addresses_of(host) == expected


def test_a_host_that_does_not_resolve_has_no_addresses():
    assert made(Resolver(socket.gaierror(socket.EAI_NONAME, "unknown"))).addresses_of("gone.example:81") == []


def test_it_stays_where_it_was_made():
    with pytest.raises(TypeError, match="pickle"):
        pickle.dumps(Names(Fetch()))


def test_what_was_looked_up_elsewhere_is_not_looked_up_again():
    resolver = Resolver(["8.8.8.8"])
    names = made(resolver, resolve=["pin.example:443:9.9.9.9"])
    for host in ("a.example:8080", "pin.example", "[2606:4700::1]:81"):
        names.learn(host, ["1.1.1.1", "2606:4700::2"])
    names.learn("unknown.example", [])
    assert names.addresses_of("a.example") == ["1.1.1.1", "2606:4700::2"]
    assert resolver.names == []
    assert names.addresses_of("pin.example:443") == ["9.9.9.9"]
    assert names.addresses_of("unknown.example:80") == ["8.8.8.8"]
