"""Rights of imported pages, by the robots.txt files of the import and those known before."""

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

import pyarrow as pa

from ..robots import rules
from ..robots.lookup import Robots
from ..robots.rules import Verdict
from ..tables.schemas import VISITS
from ..urls.canonical import origin as origin_of

RIGHTS = pa.schema([VISITS.field(name) for name in ("robots_at", "robots_usage", "robots_signals")])
"""Columns of table visits that a robots.txt decides."""


class RobotsText(NamedTuple):
    """The robots.txt of an origin at a time; without a body, it says nothing about uses of content."""

    origin: str
    fetched_at: datetime
    body: bytes | None


class Rights:
    """The newest robots.txt of each origin, whether it is older or newer than a page: an author's last word counts."""

    def __init__(self, texts: Iterable[RobotsText], token: str) -> None:
        newest: dict[str, RobotsText] = {}
        for text in texts:
            if text.origin not in newest or text.fetched_at > newest[text.origin].fetched_at:
                newest[text.origin] = text
        self._robots = {
            text.origin: Robots(Verdict.RULES, rules.parse(text.body, token, text.origin), fetched_at=text.fetched_at)
            for text in newest.values()
            if text.body
        }

    def of(self, planned: pa.Table) -> pa.Table:
        """Rows with a `url`, each with the columns of RIGHTS."""
        found = [self._about(url) for url in planned["url"].to_pylist()] if self._robots else [None] * len(planned)
        columns = zip(*(each or (None,) * len(RIGHTS) for each in found), strict=True) if found else [()] * len(RIGHTS)
        for field, values in zip(RIGHTS, columns, strict=True):
            planned = planned.append_column(field, pa.array(values, field.type))
        return planned

    def _about(self, url: str) -> tuple[datetime | None, str | None, str | None] | None:
        robots = self._robots.get(origin_of(url))
        return (robots.fetched_at, robots.usage(url) or None, robots.signals(url) or None) if robots else None
