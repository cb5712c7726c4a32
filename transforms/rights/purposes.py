"""Whether a document may be used for a purpose, by all that its author says: for exports of documents."""

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from . import signals
from .signals import AI_INPUT, AI_TRAIN
from .tdm_rules import concluded


class Purpose(NamedTuple):
    """What an export is made for."""

    signal: str  # the content signal about it
    column: str  # of table documents: the conclusion as of the fetch
    reason: str  # why a document is left out, and the name by which an operator sets that aside


TRAINING = Purpose(AI_TRAIN, "ai_training", "reserved")
INPUT = Purpose(AI_INPUT, "ai_input", "reserved_input")
"""The input of models: retrieval for generated answers, agents."""
SEARCH = Purpose(signals.SEARCH, "search", "reserved_search")
"""A search index, of another engine. Reservations of text and data mining (TDMRep) are not about it."""


def may_use(purpose: Purpose, document: Mapping[str, Any], denied_now: bool, mining: bool | None) -> bool | None:
    """Whether a document (columns of DOCUMENTS) may be used: False if anything reserves it, None if nothing is stated.

    `denied_now` is whether the newest robots.txt says no (`StoredSignals.denies`), `mining` the reservation by the file
    of TDMRep, which the statement of a page or of its header replaces; None: there is none.
    """
    if denied_now:
        return False
    stated: bool | None = document[purpose.column]
    if mining is None or document["tdm_reservation"] is not None:
        return stated
    return concluded(stated, mining)


def left_out(purpose: Purpose, allowed: bool | None, include: Collection[str]) -> str | None:
    """Why a document is left out of an export for a purpose; None if it is not, or the operator has it included."""
    return purpose.reason if allowed is False and purpose.reason not in include else None
