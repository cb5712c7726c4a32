"""The context of visits, for tests of what runs them."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from beamtrawl.transforms.http.client import Client
from beamtrawl.transforms.http.request_headers import Identity
from beamtrawl.transforms.politeness.context import VisitContext
from beamtrawl.transforms.politeness.host_queue import BrowserRules
from tests.support.crawls import settings


def visit_context(
    open_client: Callable[[BrowserRules], Client],
    changes: dict[str, Any],
    round_: int = 1,
    deadline: datetime | None = None,
    **fields: Any,
) -> VisitContext:
    """The context of a round with changed settings (`tests.support.crawls.settings`), and further fields."""
    chosen = settings(**changes)
    return VisitContext(
        politeness=chosen.politeness,
        limits=chosen.limits,
        fetch=chosen.fetch,
        traps=chosen.traps,
        identity=Identity.of(chosen.robot),
        round=round_,
        deadline=deadline,
        requests_before=None,
        opener=lambda names: open_client,
        **fields,
    )
