"""Rounds: visits, rates and durations, from the counters of manifests."""

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from datetime import datetime

from ....transforms.directory.crawl_dir import Manifest
from ....transforms.directory.manifests import moment
from ....transforms.outcomes import COUNTED_LATER, Outcome
from ...estimate.measured import memory_of
from ..charts import bins
from ..content import Chart, Columns, Part, Section, Table, count_columns
from ..source import Source

_GOOD = (Outcome.FETCHED, Outcome.NOT_MODIFIED)
_MOVED = (Outcome.REDIRECTED, Outcome.REDIRECT_LOOP, Outcome.BAD_REDIRECT)
_ABSENT = (
    *(Outcome.GONE, Outcome.PAYMENT_REQUIRED, Outcome.FORBIDDEN, Outcome.CLIENT_ERROR),
    *(Outcome.UNWANTED_TYPE, Outcome.TOO_LONG),
)
_NOT_REQUESTED = (Outcome.DENIED_ROBOTS, Outcome.BLOCKED_ADDRESS, Outcome.DEFERRED, Outcome.UNREACHABLE_ROBOTS)
CLASSES = {
    "fetched": _GOOD,
    "redirected": _MOVED,
    "no page": _ABSENT,
    "not requested": _NOT_REQUESTED,
    "failed": tuple(o for o in Outcome if o not in {*_GOOD, *_MOVED, *_ABSENT, *_NOT_REQUESTED, *COUNTED_LATER}),
}
"""Outcomes in classes that a chart can tell apart."""


OF_STEPS: Columns = {"fetch": "seconds", "update": "seconds"}
OF_STEPS |= {"pages": "count", "new URLs": "count", "then waiting": "count"}
"""Columns of the steps of a round: `fetch_s`, and `update`."""


@dataclasses.dataclass
class Round:
    """The counts of one round, or of several in a row."""

    first: int
    last: int
    started: datetime | None = None
    fetch_s: float = 0.0
    update_s: float = 0.0
    outcomes: dict[str, int] = dataclasses.field(default_factory=dict)  # by class
    requested: int = 0
    documents: int = 0
    new_urls: int = 0
    waiting: int | None = None  # in the frontier afterwards
    is_updated: bool = False  # also in part, if there are several

    @property
    def name(self) -> str:
        return f"{self.first}" if self.first == self.last else f"{self.first}–{self.last}"

    @property
    def visits(self) -> int:
        return sum(self.outcomes.values())

    @property
    def update(self) -> tuple[float | None, int | None, int | None, int | None]:
        """Its update step: seconds, pages, new URLs and the frontier afterwards; nothing before it is done."""
        done = (self.update_s, self.documents, self.new_urls, self.waiting)
        return done if self.is_updated else (None, None, None, None)

    @property
    def rate(self) -> float | None:
        """Requests a second of the fetch steps."""
        return self.requested / self.fetch_s if self.fetch_s and self.requested else None

    @property
    def update_rate(self) -> float | None:
        """Pages a second of the update steps."""
        return self.documents / self.update_s if self.update_s and self.documents else None


def read_rounds(manifests: Sequence[Manifest]) -> list[Round]:
    """Return the counts of each round that has a fetch step."""
    rounds: dict[int, Round] = {}
    for m in manifests:
        if m.step == "fetch":
            counts = rounds.setdefault(m.round, Round(m.round, m.round))
            counts.started = moment(m.started_at) if m.started_at else None
            counts.fetch_s += m.seconds
            for name, outcomes in CLASSES.items():
                counts.outcomes[name] = sum(m.counters.get(outcome, 0) for outcome in outcomes)
            counts.requested = counts.visits - sum(m.counters.get(outcome, 0) for outcome in _NOT_REQUESTED)
        elif m.step == "update" and m.round in rounds:
            counts = rounds[m.round]
            counts.is_updated = True
            counts.update_s += m.seconds
            counts.documents += m.counters.get("documents_rows", 0)
            counts.new_urls += m.counters.get("new", 0)
            counts.waiting = m.counters.get("frontier_waiting")
    return [rounds[number] for number in sorted(rounds)]


_SUMS = ("fetch_s", "update_s", "requested", "documents", "new_urls")


def merge(rounds: Sequence[Round]) -> Round:
    """Return the sums of consecutive rounds, with what waited after the last."""
    first, last = rounds[0], rounds[-1]
    return Round(
        first=first.first,
        last=last.last,
        started=first.started,
        outcomes={name: sum(r.outcomes.get(name, 0) for r in rounds) for name in CLASSES},
        waiting=last.waiting,
        is_updated=any(r.is_updated for r in rounds),
        **{name: sum(getattr(r, name) for r in rounds) for name in _SUMS},
    )


def section(source: Source) -> Section:
    each = read_rounds(source.manifests)
    if not each:
        return Section("rounds", "Rounds", ["No round has been fetched yet."])
    rounds = [merge(each[part.start : part.stop]) for part in bins(len(each))]
    seeds = sum(m.counters.get("seeds", 0) for m in source.manifests if m.step == "seeds")
    parts: list[Part] = [*_charts(rounds, seeds), _table(rounds, len(each))]
    if memory := memory_of(source.manifests):
        parts.append(_memory(memory))
    return Section("rounds", "Rounds", parts)


def _memory(memory: Mapping[str, tuple[int, int]]) -> Table:
    columns: Columns = {"step": "text", "projected": "bytes", "peak": "bytes", "difference": "change"}
    rows = [(step, projected, peak, projected / peak - 1) for step, (projected, peak) in memory.items()]
    note = "All processes on the machine, of the step of each kind that took most; the projection is an upper bound."
    return Table("Memory", columns, rows, note)


def _charts(rounds: Sequence[Round], seeds: int) -> list[Chart]:
    labels = [r.name for r in rounds]
    by_class = {name: [float(r.outcomes[name]) for r in rounds] for name in CLASSES}
    visits = {name: counts for name, counts in by_class.items() if any(counts)}
    rates = {"requests (fetch)": [r.rate for r in rounds], "pages (update)": [r.update_rate for r in rounds]}
    durations = {"fetch": [r.fetch_s for r in rounds], "update": [r.update_s for r in rounds]}
    growth: dict[str, Sequence[float | None]] = {
        "found": _cumulated([r.new_urls for r in rounds], seeds),
        "fetched": _cumulated([r.outcomes["fetched"] for r in rounds]),
        "waiting": [r.waiting for r in rounds],
    }
    return [
        Chart("Visits by round", "round", "visits", labels, visits),
        Chart("Rates", "round", "a second of the step", labels, rates, "lines"),
        Chart("Duration of steps", "round", "seconds", labels, durations),
        Chart("Growth of the crawl", "round", "URLs, cumulative", labels, growth, "lines"),
    ]


def _table(rounds: Sequence[Round], number: int) -> Table:
    """The table of so many rounds, of which several in a row may be one row."""
    columns: Columns = {"round": "text", "begun (UTC)": "time", "visits": "count"}
    columns |= count_columns(*CLASSES) | OF_STEPS
    rows = [(r.name, r.started, r.visits, *map(r.outcomes.get, CLASSES), r.fetch_s, *r.update) for r in rounds]
    note = "“No page” are 404, 410, other 4xx, unwanted types and answers beyond the limits; outcomes are below."
    if len(rounds) < number:
        note += f" Consecutive rounds are summed up: there are {number:,}."
    return Table("Round by round", columns, rows, note)


def _cumulated(counts: Sequence[int], start: int = 0) -> list[float]:
    return [float(total) for total in itertools.accumulate(counts, initial=start)][1:]
