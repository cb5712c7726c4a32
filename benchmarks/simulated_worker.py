"""A worker of a crawl in simulated time: its hosts, its network, and its rounds.

The scheduler, the budgets, the delays, the retries and the selection are the product's own code, run by a simulated
clock. What is simulated are the hosts (how many pages, how they answer), and the processor and the line of the worker.
"""

import dataclasses
import math
from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any, NamedTuple

import numpy as np

from beamtrawl.runners.estimate.plan import DEFAULTS
from beamtrawl.transforms.frontier.selection import Due
from beamtrawl.transforms.frontier.url_states import after_visit
from beamtrawl.transforms.http.dns import next_start
from beamtrawl.transforms.http.reply import Reply
from beamtrawl.transforms.http.request_headers import Identity
from beamtrawl.transforms.http.transport import Method
from beamtrawl.transforms.outcomes import Outcome
from beamtrawl.transforms.politeness.context import VisitContext
from beamtrawl.transforms.politeness.host_queue import BrowserRules, HostTurn
from beamtrawl.transforms.politeness.request_pool import WAITING_SHARE
from beamtrawl.transforms.politeness.scheduler import HostScheduler
from beamtrawl.transforms.politeness.works import turn_of, work_of
from beamtrawl.transforms.settings import Limits, Settings, Traps
from beamtrawl.transforms.tables.schemas import HostRow, RobotsRow
from tests.support.simulation import SimulatedTime

ROBOTS = "/robots.txt"
DENIED = b"User-agent: *\nDisallow: /\n"


@dataclasses.dataclass(frozen=True)
class World:
    """The hosts of a crawl; docs/scale.md has the sources of the values."""

    exponent: float = 1.8  # of the density of hosts by pages: 1.65 to 1.91 (Huberman and Adamic, Nature 399, 1999)
    largest: int = 540_000  # pages; with 1.8 the mean is 52 a host, as in CC-MAIN-2024-42
    answer: float = 0.5  # seconds, the median over hosts
    spread: float = 1.0  # standard deviation of its logarithm
    slow_answer: float = 10.0  # seconds, of slow hosts
    page_bytes: int = 185_000
    kinds: tuple[tuple[str, float], ...] = (  # shares of the URLs that Common Crawl lost, by reason: CC-MAIN-2026-21
        ("slow", 0.044),
        ("refuses", 0.04),
        ("silent", 0.04),
        ("fails", 0.041),
        ("denies", 0.095),
    )


class Host(NamedTuple):
    """A host: `kind` is healthy, slow, refuses (connections), silent, fails (503) or denies (robots.txt)."""

    name: str
    pages: int
    kind: str
    answer: float  # seconds


@dataclasses.dataclass(frozen=True)
class Machine:
    """What a worker and a step take; seconds, unless stated."""

    fetch_cpu: float = DEFAULTS.fetch_cpu  # of a request
    update_cpu: float = DEFAULTS.update_cpu  # of a page
    line: float = math.inf  # bits a second
    start: float = DEFAULTS.fetch_start + DEFAULTS.update_start  # of both steps of a round, whatever their size


class Round(NamedTuple):
    """What one worker did in a round."""

    chosen: int  # URLs that the round gave to the worker
    ends: Counter[str]  # URLs by outcome; "left": no time for them after the first answer
    requests: int
    seconds: float  # of fetching
    load: Mapping[str, float]  # use of cpu, line, connections and look-ups, from 0 to 1


def sizes(random: np.random.Generator, count: int, exponent: float, largest: int) -> list[int]:
    """Numbers of pages of hosts by a power law: from 1 to `largest`, the density falls with `exponent` (not 1)."""
    power = 1 - exponent
    drawn = 1 - random.random(count) * (1 - (largest + 1) ** power)
    return np.minimum(np.floor(drawn ** (1 / power)), largest).astype(int).tolist()


def hosts_of(world: World, count: int, seed: Sequence[int]) -> list[Host]:
    """So many hosts, the same for the same seed."""
    random = np.random.default_rng(seed)
    pages = sizes(random, count, world.exponent, world.largest)
    names, shares = zip(*world.kinds, ("healthy", 1 - sum(share for _, share in world.kinds)), strict=True)
    kinds = random.choice(names, count, p=shares).tolist()
    answers = (world.answer * np.exp(world.spread * random.standard_normal(count))).tolist()
    return [
        Host(f"h{number}.test", pages[number], kind, world.slow_answer if kind == "slow" else answers[number])
        for number, kind in enumerate(kinds)
    ]


def reply_of(host: Host, path: str, settings: Settings) -> Reply:
    """The answer of a host, with its duration."""
    limit = settings.fetch.read_timeout
    if host.kind == "refuses":
        return Reply(failure=Outcome.CONNECT_ERROR, elapsed_s=min(host.answer, 0.1))
    if host.kind == "silent" or host.answer > limit:
        return Reply(failure=Outcome.TIMEOUT, elapsed_s=limit)
    if path == ROBOTS:
        return Reply(200, body=DENIED if host.kind == "denies" else b"", elapsed_s=host.answer)
    return Reply(503 if host.kind == "fails" else 200, elapsed_s=host.answer)


class WorkerTime(SimulatedTime):
    """The clock of a worker whose processor handles one answer after another."""

    def __init__(self, cpu: float) -> None:
        super().__init__()
        self._cpu = cpu
        self.taken = 0

    def take(self, timeout: float) -> Any:
        call = super().take(timeout)
        if call is not None:
            self.taken += 1
            self.sleep(self._cpu)
        return call


class Network:
    """All hosts as one worker sees them: names are looked up at a limited rate, bodies share the line."""

    def __init__(self, hosts: Iterable[Host], world: World, machine: Machine, settings: Settings, time: WorkerTime):
        self._hosts = {host.name: host for host in hosts}
        self._world, self._machine, self._settings, self._time = world, machine, settings, time
        self._known: set[str] = set()
        self._last_look_up, self._line_free = -math.inf, 0.0
        self.in_flight = 0.0  # seconds, summed over requests
        self.line = 0.0  # seconds of use

    @property
    def look_ups(self) -> int:
        return len(self._known)

    def open_client(self, browser_rules: BrowserRules) -> "Network":
        return self

    def head(self, url: str, headers: Mapping[str, str], method: Method = "HEAD") -> Reply:
        return self.get(url, headers)._replace(body=b"")

    def get(self, url: str, headers: Mapping[str, str], any_type: bool = False) -> Reply:
        began = self._time.monotonic()
        name, _, path = url.removeprefix("http://").partition("/")
        if name not in self._known:
            self._known.add(name)
            self._last_look_up = next_start(self._last_look_up, began, self._settings.fetch.lookups_per_second)
            self._time.sleep(self._last_look_up - began)
        asked = self._time.monotonic()
        reply = reply_of(self._hosts[name], f"/{path}", self._settings)
        ends = asked + reply.elapsed_s
        if reply.status == 200 and f"/{path}" != ROBOTS:
            use = 8 * self._world.page_bytes / self._machine.line
            self._line_free = max(self._line_free, asked) + use
            self.line += use
            ends = max(ends, self._line_free)
        self._time.sleep(ends - asked)
        self.in_flight += ends - began
        return reply._replace(elapsed_s=ends - asked)  # as in the product, without the look-up

    def abort(self) -> None:
        pass

    def forget(self) -> None:
        pass

    def close(self) -> None:
        pass


class Waiting:
    """The URLs of a host that wait, and what is known of the host."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.row: HostRow | None = None
        self.robots: list[RobotsRow] = []
        self._fresh = iter(range(host.pages))
        self._ready: deque[int] = deque()
        self.left = host.pages
        self._retries: dict[int, tuple[int, Any]] = {}  # failures and the time of the next try, by URL

    def due(self, count: int, now: Any) -> list[tuple]:
        """At most so many waiting URLs, as the fetch step takes them."""
        numbers = [number for number, (_, at) in self._retries.items() if at is None or at <= now][:count]
        while len(self._ready) < count - len(numbers) and (number := next(self._fresh, None)) is not None:
            self._ready.append(number)
        numbers += list(self._ready)[: count - len(numbers)]
        return [
            tuple(self._due(number, self._retries[number][0] if number in self._retries else 0)) for number in numbers
        ]

    def _due(self, number: int, failures: int) -> Due:
        name = self.host.name
        key = f"{name[1:-5]}/{number}".encode()
        return Due(key, f"http://{name}/{number}", name, 1, 1.0, None, None, None, 0, 0, failures)

    def visited(self, row: Any, limits: Limits) -> None:
        """Update the state after a visit, by the rules of the update step."""
        number = int(row["url"].rpartition("/")[2])
        failures = self._retries.pop(number, (0, None))[0]
        if self._ready and number == self._ready[0]:
            self._ready.popleft()
        elif number in self._ready:
            self._ready.remove(number)
        again = None
        if row["outcome"] != Outcome.FETCHED:
            url = dict.fromkeys(("digest", "last_fetched_at", "last_status")) | {"failures": failures, "fetches": 0}
            unknown = dict.fromkeys(("respelled", "digest", "etag", "last_modified"))
            fact = row | unknown | {"denied_meta": False, "denied_search": False}
            _, again = after_visit(url, fact, limits)
        if again:
            self._retries[number] = (again["failures"], again["due_at"])
        else:
            self.left -= 1


class Worker:
    """A worker with its share of the hosts, over several rounds."""

    def __init__(self, hosts: Sequence[Host], world: World, machine: Machine, settings: Settings, seed: Sequence[int]):
        self._world, self._machine, self._settings = world, machine, settings
        self._time = WorkerTime(machine.fetch_cpu)
        self._waiting = {host.name: Waiting(host) for host in hosts}
        self._random = np.random.default_rng(seed)
        self._round = 0

    def pause(self, seconds: float) -> None:
        """Let time pass between two rounds."""
        self._time.sleep(seconds)

    def run(self, pages: int | None = None) -> Round:
        """Run the fetch step of a round; with `pages`, it gets about so many URLs at most."""
        self._round += 1
        limits, now = self._settings.limits, self._time.utc()
        hosts = [each.host for each in self._waiting.values()]
        network = Network(hosts, self._world, self._machine, self._settings, self._time)
        context = VisitContext(
            politeness=self._settings.politeness,
            limits=limits,
            fetch=self._settings.fetch,
            traps=Traps(detect=False),
            identity=Identity.of(self._settings.robot),
            round=self._round,
            deadline=now + timedelta(seconds=limits.round_time),
            requests_before=None,
            opener=lambda names: network.open_client,
        )
        scheduler = HostScheduler(context, {}, clock=self._time, calls=self._time)
        began, taken, chosen = self._time.monotonic(), self._time.taken, 0
        for turn in self._turns(context, now, pages):
            chosen += len(turn.queue)
            scheduler.add(turn.host, [turn])
        ends: Counter[str] = Counter()
        for event in scheduler.pump(wait=True):
            row: Any = event.row
            if event.table == "visits":
                ends[row["outcome"]] += 1
                self._waiting[row["host"]].visited(row, limits)
            elif event.table == "robots":
                self._waiting[row["host"]].robots = [row]
            else:
                self._waiting[row["host"]].row = row
        scheduler.close()
        seconds = max(self._time.monotonic() - began, 1e-9)
        ends["left"] = chosen - ends.total()
        load = {
            "cpu": (self._time.taken - taken) * self._machine.fetch_cpu / seconds,
            "line": network.line / seconds,
            "connections": network.in_flight / (WAITING_SHARE * self._settings.fetch.connections) / seconds,
            "look-ups": network.look_ups / self._settings.fetch.lookups_per_second / seconds,
        }
        return Round(chosen, ends, self._time.taken - taken, seconds, load)

    def _turns(self, context: VisitContext, now: Any, pages: int | None) -> list[HostTurn]:
        politeness, limits = context.politeness, context.limits
        most = limits.max_pages_per_host_per_round
        if politeness.delay:
            most = min(most, 1 + int(limits.round_time / politeness.delay))
        waiting = [each for each in self._waiting.values() if each.left]
        counts = np.array([min(each.left, most) for each in waiting], dtype=int)
        if pages is not None and counts.sum() > pages:
            counts = self._random.binomial(counts, pages / counts.sum())
        turns = []
        for each, count in zip(waiting, counts.tolist(), strict=True):
            sides: dict[str, list[Any]] = {
                "due": [each.due(count, now)],
                "hosts": [each.row] if each.row else [],
                "robots": each.robots,
                "visited": [],
                "traps": [],
            }
            if count and (work := work_of(each.host.name, sides, context, now)):
                turns.append(turn_of(work, context, now, self._time))
        self._random.shuffle(turns)  # type: ignore[arg-type]
        return turns
