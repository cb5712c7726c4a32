"""Reads the size of a Flink cluster from its REST interface."""

from typing import NamedTuple

import requests

_SECONDS = 10.0  # a running cluster responds in milliseconds


class Overview(NamedTuple):
    """The size of a cluster."""

    version: str  # such as 1.20.5
    task_managers: int
    slots: int


def overview(address: str) -> Overview | None:
    """Return the size of the cluster with a JobManager at a host:port or URL; None if no Flink responds there."""
    url = address if "://" in address else f"http://{address}"
    try:
        fields = requests.get(f"{url.rstrip('/')}/overview", timeout=_SECONDS).json()
        return Overview(fields["flink-version"], fields["taskmanagers"], fields["slots-total"])
    except (requests.RequestException, KeyError, TypeError):
        return None
