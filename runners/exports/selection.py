"""Selects the documents of an export: the newest versions, without those that must not be used for its purpose."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import pyarrow as pa

from ...transforms.blocks.files import BlockFiles
from ...transforms.blocks.rules import NO_BLOCKS, Blocks
from ...transforms.directory.crawl_dir import CrawlDir, Manifest
from ...transforms.outcomes import REMOVES_PAGE, Outcome
from ...transforms.rights import signals
from ...transforms.rights.tdm_rules import TdmRules, concluded, effect, read_tdm_rules
from ...transforms.robots.stored_signals import NO_SIGNALS, StoredSignals, read_signals
from ..terminal.errors import Usage


class Purpose(NamedTuple):
    """What an export is made for."""

    signal: str  # the content signal about it
    column: str  # of table documents: the conclusion as of the fetch
    reason: str  # why a document is left out, and the name by which an operator sets that aside


TRAINING = Purpose(signals.AI_TRAIN, "ai_training", "reserved")
INPUT = Purpose(signals.AI_INPUT, "ai_input", "reserved_input")
"""The input of models: retrieval for generated answers, agents."""
SEARCH = Purpose(signals.SEARCH, "search", "reserved_search")
"""A search index, of another engine. Reservations of text and data mining (TDMRep) are not about it."""

NEWEST = (
    "SELECT * FROM documents QUALIFY row_number() OVER (PARTITION BY url_key ORDER BY round DESC, fetched_at DESC) = 1"
)
"""The newest version of each page."""

BLOCKED = "blocked"
"""Why a page that matches a block of the operator is left out."""

_REMOVING, ANSWERS = (
    ", ".join(f"'{outcome}'" for outcome in sorted(some))
    for some in (REMOVES_PAGE, REMOVES_PAGE | {Outcome.FETCHED, Outcome.NOT_MODIFIED})
)
"""Outcomes in SQL: a failure (5xx, a timeout, a host that waits) is no answer, and removes no page, as for searches."""

LAST_ANSWERS = (
    "SELECT url, arg_max(outcome, fetched_at) AS last_answer FROM visits"
    f" WHERE kind IS NULL AND outcome IN ({ANSWERS}) GROUP BY url"
)
"""The outcome of the last visit of each page that was an answer."""

GONE = (
    "COALESCE(state, 'fetched') <> 'fetched'"
    f" AND NOT (state IN ('due', 'failed') AND COALESCE(last_answer NOT IN ({_REMOVING}), false))"
)
"""Whether a page is gone today. One that could not be fetched lately, or is due, is as its last answer said."""

REASONS = {
    "gone": GONE,
    "no_text": "COALESCE(text, '') = '' AND duplicate_of IS NULL",
    "duplicate": "duplicate_of IS NOT NULL OR near_duplicate_of IS NOT NULL",
    "noindex": "COALESCE(noindex, false)",
    "noarchive": "COALESCE(noarchive, false)",
    "unavailable": "unavailable_after <= now()",
    INPUT.reason: "COALESCE(NOT ai_input, false)",
}
"""Why a page is left out of what models are given, by the first condition that holds."""

OVERRIDES = ("duplicate", "noindex", "noarchive", INPUT.reason)
"""Reasons that an operator may set aside by name."""

_JUDGED = ("url", "tdm_reservation", "ai_input")  # columns that `Rights` reads


class Rights(NamedTuple):
    """What the operator, and the newest robots.txt, licences and tdmrep.json of hosts, say about uses of documents."""

    blocks: Blocks = NO_BLOCKS
    tdm_rules: TdmRules = MappingProxyType({})
    signals: StoredSignals = NO_SIGNALS

    @classmethod
    def read(cls, crawl: CrawlDir, manifests: Collection[Manifest], robot: str) -> "Rights":
        """Those of a crawl by a robot with this product token."""
        manifests = list(manifests)
        signals = read_signals(crawl, manifests, robot)
        return cls(BlockFiles(crawl).read(), read_tdm_rules(crawl, manifests), signals)

    def mining(self, url: str) -> bool | None:
        """Whether the file of TDMRep of its host reserves a page from text and data mining; None: it says nothing."""
        file_and_rule = effect(self.tdm_rules, url)
        return file_and_rule[1].reserved if file_and_rule else None

    def may_use(self, purpose: Purpose, document: Mapping[str, Any]) -> bool | None:
        """Whether a document (columns of DOCUMENTS) may be used: False if anything reserves it, None: nothing is said.

        A no of the newest robots.txt holds. The reservation by the file of TDMRep is replaced by what a page or its
        header says of it.
        """
        if self.signals.denies(document["url"], purpose.signal):
            return False
        stated: bool | None = document[purpose.column]
        mining = None if document["tdm_reservation"] is not None else self.mining(document["url"])
        return stated if mining is None else concluded(stated, mining)

    def reason(self, purpose: Purpose, row: Mapping[str, Any], include: Collection[str]) -> str | None:
        """Why a document (its column `reason` included) is left out; None if it is not."""
        if self.blocks.match(row["url"]):
            return BLOCKED
        is_left_out = purpose.reason not in include and self.may_use(purpose, row) is False
        return row["reason"] or (purpose.reason if is_left_out else None)


def query(
    columns: Iterable[str],
    where: str,
    include: Collection[str],
    reasons: Mapping[str, str] = REASONS,
    order: str = "url",
) -> str:
    """The newest documents for which a condition holds, each with the `reason` why it is left out, or null.

    `columns` are further ones.
    """
    cases = " ".join(f"WHEN {condition} THEN '{name}'" for name, condition in reasons.items() if name not in include)
    names = ", ".join(dict.fromkeys([*_JUDGED, *columns]))
    return (
        f"SELECT {names}, CASE {cases} END AS reason FROM (SELECT * FROM"
        f" (SELECT d.*, u.state, a.last_answer FROM ({NEWEST}) d LEFT JOIN urls u USING (url_key)"
        f" LEFT JOIN ({LAST_ANSWERS}) a ON a.url = d.url) WHERE ({where}\n)) ORDER BY {order}"
    )


OTHER = "other"
"""Why a page is left out for which the condition of the operator does not hold."""


def unless(where: str, reasons: Mapping[str, str]) -> Mapping[str, str]:
    """Further reasons to leave pages out, after OTHER: for exports that also say what is not in them any more."""
    return {OTHER: f"NOT COALESCE(({where}\n), false)"} | dict(reasons)


def left_out(counts: Mapping[str, int], what: str = "") -> str:
    """What was left out, by reason, behind a message; "" if nothing was."""
    names = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
    return f" ({what}left out: {names})" if names else ""


def last_round(manifests: Collection[Manifest], since: int | None) -> int:
    """The last round with documents; Usage if it is before `since`."""
    last = max((manifest.round for manifest in manifests if manifest.step == "update"), default=0)
    if since is not None and since > last:
        raise Usage(f"--since {since}: the last round with documents is {last}; name it, or one before it")
    return last


class Selected:
    """The rows of `query` without a reason, and how many were left out."""

    def __init__(self, batches: Iterable[pa.RecordBatch], rights: Rights, include: Collection[str]) -> None:
        self._batches, self._rights, self._include = batches, rights, include
        self.left_out: Counter[str] = Counter()
        self.count = 0

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for batch in self._batches:
            for row in batch.to_pylist():
                if reason := self._rights.reason(INPUT, row, self._include):
                    self.left_out[reason] += 1
                else:
                    self.count += 1
                    yield row
