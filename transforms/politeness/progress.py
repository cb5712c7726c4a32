"""How the visits of one bundle go: counters for Beam, and a file for people who watch."""

import json
import time
from typing import Any

from apache_beam.metrics import Metrics

from ..http.reply import Reply
from ..outcomes import Outcome
from ..storage import filesystem


class Report:
    """Counts visits; to be used in the bundle's own thread, as counters of Beam's are lost from any other."""

    def __init__(self) -> None:
        self._outcomes: dict[str, int] = {}
        self._bytes = 0
        self._name = f"{time.time_ns():x}"

    def count(self, end: Outcome, reply: Reply) -> None:
        Metrics.counter("visits", end.value).inc()
        self._outcomes[end.value] = self._outcomes.get(end.value, 0) + 1
        self._bytes += len(reply.body)

    def write(self, prefix: str, active: int, waiting: int) -> None:
        """Write `PREFIX-….json` anew: outcomes, bytes, hosts being asked and hosts that wait."""
        line: dict[str, Any] = {
            "outcomes": self._outcomes, "bytes": self._bytes, "active": active, "waiting": waiting,
        }  # fmt: skip
        filesystem.write_bytes(f"{prefix}-{self._name}.json", json.dumps(line).encode())
