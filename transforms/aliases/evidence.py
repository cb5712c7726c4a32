"""Evidence for and against alias rules, and the state of a rule that follows from it (docs/aliases.md)."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ..tables.schemas import Row
from ..urls.canonical import host
from .rules import Rule, Stratum

ENOUGH = 5
"""Number of contents shared by URLs that a rule equates in a scope, before the rule is used there."""

ENOUGH_MORE = 3
"""The same number for a rule that is used in another scope of the same owner, and was dropped in none."""

MAX_TRACKED = 16
"""Maximum number of tracked rules per origin, in any number of scopes: a site with one response for all URLs suggests
unlimited rules."""

_MAX_EVIDENCE, _MAX_AGAINST = 20, 3  # maximum number of stored pairs


class Member(NamedTuple):
    """A URL that is equivalent to others if a rule is right."""

    url: str
    rest: bytes  # key of its form without the rule: members with the same rest are no evidence
    digest: bytes  # of its content
    round: int  # round of that content
    scope: str | None = None  # in which the rule changes this URL; None: it does not change it
    foreign: bool | None = None  # only other sites link it


class Pair(NamedTuple):
    """Two URLs that are equivalent if a rule is right; the first is visited for the first time in this round."""

    url: str
    other_url: str
    digest: bytes | None  # of the content of both; None: their contents differ


def weigh(members: Iterable[Member], round_: int, scope: str) -> Pair | None:
    """A pair of URLs that is new evidence for or against a rule in a scope; None if there is none.

    A page that was visited before and again in this round is no evidence: it may have changed since the others were
    visited. A URL that only other sites link is evidence against a rule alone: what they invent would show a rule for
    some pages of a host that holds pages of others back.
    """
    newest: dict[str, Member] = {}
    old = set()
    for member in sorted(members, key=lambda member: (-member.round, member[:4])):
        newest.setdefault(member.url, member)
        if member.round < round_:
            old.add(member.url)
    everything = sorted(newest.values(), key=lambda member: member[:4])
    digests = {member.digest for member in everything}
    for member in everything:
        for other in everything if member.url not in old else ():
            is_of_scope = scope in (member.scope, other.scope) and other.rest != member.rest
            agrees = len(digests) == 1 and not (member.foreign or other.foreign)
            if is_of_scope and (other.digest != member.digest or agrees):
                return Pair(member.url, other.url, member.digest if other.digest == member.digest else None)
    return None


def with_pairs(
    stratum: Stratum, before: Row | None, pairs: Iterable[Pair], round_: int, enough: int = ENOUGH
) -> Row | None:
    """The new row of table aliases of a rule in a scope; None if there is no new evidence, or it was dropped."""
    (rule, scope), known = stratum, before or {"support": 0, "contradictions": 0, "state": "proposed", "since": round_}
    evidence, against = list(known.get("evidence") or ()), list(known.get("against") or ())
    support, contradictions = known["support"], known["contradictions"]
    contents = {pair["digest"] for pair in evidence}
    for pair in sorted(set(pairs), key=lambda pair: pair[:2]):
        row = pair._asdict()
        if pair.digest is None:
            contradictions += 1
            against = [*against, row][:_MAX_AGAINST]
        elif pair.digest not in contents:
            contents.add(pair.digest)
            support += 1
            evidence = [*evidence, row][:_MAX_EVIDENCE]
    if known["state"] == "dropped" or (support, contradictions) == (known["support"], known["contradictions"]):
        return None
    state = state_of(support, contradictions, known["state"], enough)
    return rule._asdict() | {
        "template": scope,
        "host": host(rule.origin + "/"),
        "support": support,
        "contradictions": contradictions,
        "state": state,
        "since": known["since"] if state == known["state"] else round_,
        "round": round_,
        "evidence": evidence,
        "against": against,
    }


def state_of(support: int, contradictions: int, before: str, enough: int = ENOUGH) -> str:
    """The state of a rule in a scope: proposed, used, or dropped, which is permanent.

    One difference is enough to drop it: it may hide a page, and losing a page is worse than fetching one twice.
    """
    if before == "dropped" or contradictions:
        return "dropped"
    return "used" if before == "used" or support >= enough else "proposed"


def choose(before: Mapping[Stratum, Row], suggested: Iterable[tuple[Rule, bytes]]) -> list[Rule]:
    """The rules to be tracked: those used in any scope, and for each origin those with the most evidence.

    `suggested` are rules that explain why two URLs of this round have the same content, with its digest.
    """
    used = {rule for (rule, _), row in before.items() if row["state"] == "used"}
    strength = Counter(rule for rule, _ in set(suggested))
    for (rule, _), row in before.items():
        if row["state"] == "proposed":
            strength[rule] += row["support"]
    chosen, taken = sorted(used), Counter[str]()
    for rule in sorted(strength.keys() - used, key=lambda rule: (-strength[rule], rule)):
        taken[rule.origin] += 1
        if taken[rule.origin] <= MAX_TRACKED:
            chosen.append(rule)
    return sorted(chosen)
