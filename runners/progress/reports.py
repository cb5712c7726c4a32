"""What the workers of a step have reported, in files that the driver reads."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ...transforms.files import filesystem
from ...transforms.outcomes import count_requests


class Stage(NamedTuple):
    """The furthest stage of a step on which a worker has reported."""

    number: int  # from 1
    stages: int
    name: str
    parsed: int  # rows of the first stage so far, over all workers


class Reported(NamedTuple):
    """The sum of the workers' reports."""

    workers: int = 0  # that have reported
    outcomes: Mapping[str, int] = {}  # visits
    bytes: int = 0  # of bodies
    active: int = 0  # hosts with a request under way
    waiting: int = 0  # hosts in their ordinary delay
    backing_off: int = 0  # hosts that failed or asked for a longer wait
    queued: int = 0  # URLs that the workers have taken and not visited yet
    longest_queue_s: float = 0.0  # until the longest queue of a host is empty, at its delay
    ends_in_s: float | None = None  # until the time of the round is over
    stage: Stage | None = None

    @property
    def visits(self) -> int:
        return sum(self.outcomes.values())

    @property
    def requests(self) -> int:
        """Those of the visits for which a request was sent."""
        return count_requests(self.outcomes)


NOTHING = Reported()


def add_up(reports: Iterable[Mapping[str, Any]]) -> Reported:
    """Return the sum of reports; those of other versions may lack fields."""
    reports = list(reports)
    fetching = [report for report in reports if "outcomes" in report]
    stages = [report for report in reports if "stage" in report]
    outcomes: Counter[str] = Counter()
    for report in fetching:
        outcomes.update(report["outcomes"])
    sums = {
        name: sum(report.get(name, 0) for report in fetching)
        for name in ("bytes", "active", "waiting", "backing_off", "queued")
    }
    return Reported(
        workers=len(reports),
        outcomes=dict(outcomes),
        **sums,
        longest_queue_s=max((report.get("longest_queue_s", 0.0) for report in fetching), default=0.0),
        ends_in_s=max((left for report in fetching if (left := report.get("ends_in_s")) is not None), default=None),
        stage=_furthest(stages),
    )


def _furthest(reports: Sequence[Mapping[str, Any]]) -> Stage | None:
    if not reports:
        return None
    last = max(reports, key=lambda report: report["stage"])
    parsed = sum(report["rows"] for report in reports if report["stage"] == 1)
    return Stage(last["stage"], last["stages"], last["name"], parsed)


def read_reports(prefix: str) -> list[dict[str, Any]]:
    """Return the reports that workers have written so far; incomplete files are skipped until the next call."""
    reports = []
    folder, name = filesystem.split(prefix)
    for path in filesystem.match(folder, name + "*"):
        try:
            reports.append(json.loads(filesystem.read_bytes(path)))
        except (ValueError, OSError):
            continue
    return reports
