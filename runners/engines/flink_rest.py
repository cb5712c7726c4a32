"""Reads the size of a Flink cluster from its REST interface."""

from typing import Any, NamedTuple

import requests

_SECONDS = 10.0  # a running cluster responds in milliseconds


class Overview(NamedTuple):
    """The size of a cluster."""

    version: str  # such as 1.20.5
    task_managers: int
    slots: int


class FlinkRest:
    """A cluster, by the host:port or URL of its JobManager."""

    def __init__(self, address: str) -> None:
        self._url = address if "://" in address else f"http://{address}"

    def overview(self) -> Overview | None:
        """Return the size of the cluster; None if no Flink responds at the address."""
        try:
            fields = self._get("overview")
            return Overview(fields["flink-version"], fields["taskmanagers"], fields["slots-total"])
        except (requests.RequestException, KeyError, TypeError):
            return None

    def task_managers(self) -> set[str] | None:
        """Return the ids of the TaskManagers; None if no Flink responds at the address.

        One that has ended stays until its heartbeat times out.
        """
        try:
            return {each["id"] for each in self._get("taskmanagers")["taskmanagers"]}
        except (requests.RequestException, KeyError, TypeError):
            return None

    def _get(self, path: str) -> Any:
        return requests.get(f"{self._url.rstrip('/')}/{path}", timeout=_SECONDS).json()
