"""The page of a crawl that may be running: a report that is made from what is stored now, and renews itself.

It reads the manifests, the lock and the reports of workers, and writes nothing.
"""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime

from ...transforms.directory.crawl_dir import CrawlDir, Manifest, next_step
from ...transforms.directory.crawl_settings import stored_settings
from ...transforms.outcomes import CrawlDirError, Outcome
from ...transforms.settings import Settings
from ..progress.elsewhere import FoundStep, find_step, running_of
from ..progress.running import History, Reported, Running
from ..progress.words import why_slow
from ..state.crawl_status import Status, refreshed, rows_of, summarize
from ..terminal.units import duration
from .content import Alert, Chart, Columns, Figure, Figures, Part, Report, Section, Table
from .page import render_report
from .sections.rounds import OF_STEPS, Round, read_rounds

_EVERY_S = 5.0  # as often as workers report to an object store
_ROUNDS = 20  # that are shown
_SHARE, _LONGEST_S = 0.0005, 600.0
"""The share of the time that goes into summaries after commits, and the longest time without one."""


class LivePage:
    """Renders the page, at most once in a while for all who look at it. Threads may call it."""

    def __init__(self, crawl: CrawlDir, clock: Callable[[], float] = time.time) -> None:
        self._crawl, self._clock = crawl, clock
        self._lock = threading.Lock()
        self._page, self._made_at = "", 0.0
        self._known: tuple[list[Manifest], Settings, Status] | None = None
        self._look_at = 0.0

    def __call__(self) -> str:
        """Return the page as HTML; CrawlDirError if nothing of the crawl can be read."""
        with self._lock:
            now = self._clock()
            if not self._page or not 0 <= now - self._made_at < _EVERY_S / 2:
                self._page, self._made_at = self._render(now), now
            return self._page

    def _render(self, now: float) -> str:
        manifests, settings, status = self._state(now)
        step = next_step(manifests)
        found = find_step(self._crawl, step)
        at = datetime.fromtimestamp(now, UTC)
        rows = rows_of(step, manifests, status.frontier, status.outcomes, settings.limits)
        running = running_of(found, rows if found.step.kind == step.kind else 0, now) if found else None
        name = self._crawl.root.rstrip("/").rpartition("/")[2] or self._crawl.root
        sections = list(_sections(manifests, status, running, at))
        return render_report(Report(name, self._crawl.root, at, sections, "Crawl", _state(status, found), _EVERY_S))

    def _state(self, now: float) -> tuple[list[Manifest], Settings, Status]:
        """Return what is committed. After a commit, what takes long to find is found anew only once in a while."""
        manifests = self._crawl.require_manifests()
        known = self._known
        if known is None or known[0] != manifests:
            settings = stored_settings(self._crawl)
            try:
                if known and now < self._look_at:
                    status = refreshed(known[2], self._crawl, manifests)
                else:
                    began = time.process_time()
                    status = summarize(self._crawl, datetime.fromtimestamp(now, UTC), settings, self._crawl.space())
                    self._look_at = now + min((time.process_time() - began) / _SHARE, _LONGEST_S)
                self._known = known = manifests, settings, status
            except CrawlDirError:  # a merge may have removed a file since the manifests were read
                if known is None:
                    raise
        return known


def _state(status: Status, found: FoundStep | None) -> str:
    """Return in a sentence what happens, without figures that change all the time."""
    if found is None:
        last = f" Its last step ended at {_time(status.last_step_at)} UTC." if status.last_step_at else ""
        return f"No process works on this crawl. {status.next_line}{last}"
    process = f"Process {found.owner.get('pid')} on {found.owner.get('host')}"
    if found.began is None:
        return f"{process} is between two steps, or waits for URLs to be due."
    stage = f": {found.reported.stage.name}" if found.reported.stage else ""
    return f"{process}: {found.step.kind} of round {found.step.round}, since {_time(found.began)} UTC{stage}."


def _time(moment: float) -> str:
    return f"{datetime.fromtimestamp(moment, UTC):%Y-%m-%d %H:%M:%S}"


def _sections(
    manifests: Sequence[Manifest], status: Status, running: Running | None, now: datetime
) -> Iterator[Section]:
    rounds = read_rounds(manifests)[-_ROUNDS:]
    yield Section("now", "Now", list(_now(status, running, rounds, now)))
    alarms: list[Part] = [Alert(line) for line in status.alarms]
    yield Section("alarms", "Alarms", alarms or ["No alarms."])
    if running and running.step.kind == "fetch":
        yield Section("failures", "Newest failures", [_failures(running.reported)])
    yield Section("outcomes", "Outcomes", [_outcomes(status, running)])
    yield Section("rounds", "Rounds", [_rounds(rounds)])
    yield Section("hosts", "Hosts that may not be requested yet", [_waits(status)])


def _now(status: Status, running: Running | None, rounds: Sequence[Round], now: datetime) -> Iterator[Part]:
    waiting = sum(status.frontier.values())
    earlier = Chart(
        "Rate by round", "round", "requests a second", [r.name for r in rounds], {"rate": [r.rate for r in rounds]}
    )
    if running is None or running.step.kind != "fetch":
        before = " before" if running else ""
        yield Figures([Figure(f"URLs in the frontier{before}", waiting), *_idle(status, running)])
        if rounds:
            yield earlier
        return
    known, left = running.reported, running.seconds_left
    yield Figures(
        [
            Figure("visits of this round", running.done),
            Figure("URLs of this round, at most", running.total),
            Figure("requests a second, now", known.rate, "number"),
            Figure("requests a second, mean", running.mean_rate, "number"),
            Figure("received", known.bytes, "bytes"),
            Figure("time", duration(running.seconds), "text"),
            Figure("left of this round, about", None if left is None else duration(left), "text"),
            Figure("hosts with a request under way", known.active),
            Figure("hosts in their delay", known.waiting),
            Figure("hosts backing off", known.backing_off),
            Figure("URLs queued", known.queued),
            Figure("URLs in the frontier before", waiting),
        ]
    )
    yield _rates(known.history, now.timestamp())
    if rounds:
        yield earlier
    columns: Columns = {"host": "text", "URLs": "count", "reason": "text", "until (UTC)": "right"}
    ends = [f"{_date(now.timestamp() + q.seconds):%H:%M:%S}" if q.holds else "a later round" for q in known.queues]
    rows = [(q.name, q.urls, why_slow(q), end) for q, end in zip(known.queues, ends, strict=True)]
    note = "The URLs of a host with a long delay are left to a later round once all others are done."
    yield Table("Hosts that hold the round", columns, rows, note) if rows else "No host holds the round."


def _idle(status: Status, running: Running | None) -> Iterator[Figure]:
    """Yield the figures of a crawl that does not fetch: an update step or an import, or what is due."""
    if running is None:
        yield Figure("due", status.due)
        yield Figure("not due yet", status.later)
        if status.next_due_at:
            yield Figure("first due (UTC)", _date(status.next_due_at), "time")
        return
    if stage := running.reported.stage:
        yield Figure("stage", f"{stage.number} of {stage.stages}", "text")
    yield Figure("done", running.done)
    if running.rows:
        yield Figure("visits to process", running.rows)
    yield Figure("time", duration(running.seconds), "text")


def _rates(history: History, now: float) -> Chart:
    """Return the chart of requests a second since the step began; the last bucket may be shorter than the others."""
    labels, rates = [], []
    for number, count in enumerate(history.counts):
        seconds = number * history.width_s
        width_s = min(history.width_s, max(1.0, now - history.began - seconds))
        labels.append(f"{int(seconds) // 60}:{int(seconds) % 60:02}")
        rates.append(count / width_s)
    return Chart("Rate of this round", "minutes:seconds since its start", "requests a second", labels, {"rate": rates})


def _failures(reported: Reported) -> Part:
    if not reported.failures:
        return "No visit of this step has failed."
    columns: Columns = {"time (UTC)": "right", "URL": "text", "outcome": "text", "error": "text"}
    rows = [(f"{_date(f.at):%H:%M:%S}", f.url, f.outcome, f.error) for f in reported.failures]
    return Table("Visits of this step that failed, newest first", columns, rows)


def _outcomes(status: Status, running: Running | None) -> Part:
    now = running.reported.outcomes if running else {}
    counts = [(o, now.get(o, 0), status.outcomes.get(o, 0)) for o in Outcome if now.get(o) or status.outcomes.get(o)]
    if not counts:
        return "No visits yet."
    columns: Columns = {"outcome": "text", "this step": "count", "committed before": "count"}
    rows = sorted(counts, key=lambda row: -row[1] - row[2])
    return Table("Visits by outcome", columns, rows)


def _rounds(rounds: Sequence[Round]) -> Part:
    if not rounds:
        return "No round has been committed yet."
    columns: Columns = {"round": "text", "visits": "count", **OF_STEPS}
    rows = [(r.name, r.visits, r.fetch_s, *r.update) for r in reversed(rounds)]
    return Table("Committed rounds, newest first", columns, rows)


def _waits(status: Status) -> Part:
    if not status.waits:
        return "All hosts with waiting URLs may be requested."
    columns: Columns = {"host": "text", "until (UTC)": "time", "reason": "text", "URLs": "count"}
    rows = [(w.host, _date(w.until), w.why, w.urls) for w in status.waits]
    more = f"{status.waiting_hosts - len(rows)} more hosts wait." if status.waiting_hosts > len(rows) else ""
    return Table("With the most waiting URLs", columns, rows, more)


def _date(moment: float) -> datetime:
    return datetime.fromtimestamp(moment, UTC)
