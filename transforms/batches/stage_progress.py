"""Reports from workers on the stages of a step, in files that the driver reads."""

import contextlib
import json
import os
import time
from typing import Any

from ..files import filesystem

_INTERVAL_S = 1.0  # between two reports of a worker, where the store allows it


class StageProgress:
    """Reports that a worker processes a stage of a step, in a file of its own, at most once per interval.

    `number` counts the stages of the step from 1. A report that cannot be
    written is dropped.
    """

    def __init__(self, prefix: str, name: str, number: int, stages: int) -> None:
        self._prefix, self._name, self._number, self._stages = prefix, name, number, stages
        self._path = ""
        self._rows = 0
        self._next_at = 0.0

    def __getstate__(self) -> tuple[Any, ...]:
        return self._prefix, self._name, self._number, self._stages

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.__init__(*state)  # type: ignore[misc]  # each worker counts its own rows

    def report(self, rows: int = 0) -> None:
        """Count processed rows, and report them if it is time."""
        self._rows += rows
        if (now := time.monotonic()) < self._next_at:
            return
        self._next_at = now + max(_INTERVAL_S, filesystem.store_of(self._prefix).report_s)
        self._path = self._path or f"{self._prefix}-{self._number}-{os.getpid()}-{time.time_ns():x}.json"
        report = {"stage": self._number, "stages": self._stages, "name": self._name, "rows": self._rows}
        with contextlib.suppress(OSError):
            filesystem.write_bytes(self._path, json.dumps(report).encode(), durable=False)
