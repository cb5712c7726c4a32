"""The tables of a crawl directory: their Arrow schemas, by subject.

Columns may be added, never renamed (docs/tables.md). Times are UTC microseconds; `url_key` is `canonical.url_key`.
Hive-style folders (`documents/round=000003/…`) let any engine read a table.
"""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from .columns import KEY, SITEMAP, TIME
from .documents import (
    ALERTS,
    DIGESTS,
    DOCUMENTS,
    HOST_RANKS,
    LINKS,
    NEAR,
    RANKS,
    TOMBSTONES,
    AlertRow,
    DocumentRow,
    TombstoneRow,
)
from .fetching import FRONTIER, FRONTIER_LEFT, HOSTS, ROBOTS, SEEDS, VISITS, HostRow, RobotsRow, VisitRow
from .urls import (
    ALIAS_COUNTS,
    ALIASES,
    CHANGE_RATES,
    EXTERNAL_TARGETS,
    HOST_CHANGES,
    REJECTIONS,
    REVISITS,
    TRAP_QUEUES,
    TRAP_SAMPLES,
    TRAPS,
    URLS,
)

Row = dict[str, Any]
"""A row of a table or a batch whose columns its schema names; those with a TypedDict have a type of their own."""

TABLES: Mapping[str, pa.Schema] = {
    "frontier": FRONTIER,
    "frontier_left": FRONTIER_LEFT,
    "visits": VISITS,
    "robots": ROBOTS,
    "documents": DOCUMENTS,
    "links": LINKS,
    "urls": URLS,
    "external": EXTERNAL_TARGETS,
    "revisits": REVISITS,
    "change_rates": CHANGE_RATES,
    "host_changes": HOST_CHANGES,
    "aliases": ALIASES,
    "alias_counts": ALIAS_COUNTS,
    "digests": DIGESTS,
    "near": NEAR,
    "tombstones": TOMBSTONES,
    "hosts": HOSTS,
    "host_turns": HOSTS,
    "rejections": REJECTIONS,
    "traps": TRAPS,
    "trap_samples": TRAP_SAMPLES,
    "trap_queues": TRAP_QUEUES,
    "alerts": ALERTS,
    "seeds": SEEDS,
    "ranks": RANKS,
    "host_ranks": HOST_RANKS,
}
