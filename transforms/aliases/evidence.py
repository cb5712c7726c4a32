"""Evidence for and against alias rules, and the state of a rule that follows from it (SPEC E6; docs/aliases.md)."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from ..urls.canonical import domain, host
from .rules import BETWEEN_ORIGINS, Rule

ENOUGH = 5
"""Number of contents shared by URLs that a rule equates, before the rule is used."""

ENOUGH_ACROSS_DOMAINS = 20
"""The same number for rules between hosts of different registered domains."""

BORNE_BETWEEN_ORIGINS = 20
"""Rules between origins tolerate one differing content per this many equal ones: a path rarely names different pages on
both, but pages change between two visits. Any other rule is dropped at the first difference: it may hide a page."""

MAX_TRACKED = 16
"""Maximum number of tracked rules per origin: a site with one response for all URLs suggests unlimited rules."""

_MAX_EVIDENCE, _MAX_AGAINST = 20, 3  # maximum number of stored pairs

Row = dict[str, Any]


class Member(NamedTuple):
    """A URL that is equivalent to others if a rule is right."""

    url: str
    rest: bytes  # key of its form without the rule: members with the same rest are no evidence
    digest: bytes  # of its content
    round: int  # round of that content


class Pair(NamedTuple):
    """Two URLs that are equivalent if a rule is right; the first is visited for the first time in this round."""

    url: str
    other_url: str
    digest: bytes | None  # of the content of both; None: their contents differ


def weigh(members: Iterable[Member], round_: int) -> Pair | None:
    """A pair of URLs that is new evidence for or against a rule; None if there is none.

    A page that was visited before and again in this round is no evidence: it may have changed since the others were
    visited.
    """
    newest: dict[str, Member] = {}
    old = set()
    for member in sorted(members, key=lambda member: (-member.round, member)):
        newest.setdefault(member.url, member)
        if member.round < round_:
            old.add(member.url)
    everything = sorted(newest.values())
    digests = {member.digest for member in everything}
    for member in everything:
        for other in everything if member.url not in old else ():
            if other.rest != member.rest and (other.digest != member.digest or len(digests) == 1):
                return Pair(member.url, other.url, member.digest if other.digest == member.digest else None)
    return None


def judge(rule: Rule, before: Row | None, pairs: Iterable[Pair], round_: int) -> Row | None:
    """The rule's new row of table aliases; None if there is no new evidence."""
    known = before or {"support": 0, "contradictions": 0, "state": "proposed", "since": round_}
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
    if (support, contradictions) == (known["support"], known["contradictions"]):
        return None
    state = state_of(rule, support, contradictions, known["state"])
    return rule._asdict() | {
        "host": host(rule.origin + "/"),
        "support": support,
        "contradictions": contradictions,
        "state": state,
        "since": known["since"] if state == known["state"] else round_,
        "round": round_,
        "evidence": evidence,
        "against": against,
    }


def state_of(rule: Rule, support: int, contradictions: int, before: str) -> str:
    """The state of a rule: proposed, used, or dropped, which is permanent."""
    borne, enough = 0, ENOUGH
    if rule.kind in BETWEEN_ORIGINS:
        borne = 1 + support // BORNE_BETWEEN_ORIGINS
        if domain(host(rule.origin + "/")) != domain(host(rule.detail + "/")):
            enough = ENOUGH_ACROSS_DOMAINS
    if before == "dropped" or contradictions > borne:
        return "dropped"
    is_sure = support >= enough and contradictions * BORNE_BETWEEN_ORIGINS <= support
    return "used" if before == "used" or is_sure else "proposed"


def choose(before: Mapping[Rule, Row], suggested: Iterable[tuple[Rule, bytes]]) -> list[Rule]:
    """The rules to be tracked: those in use, and for each origin those with the most evidence.

    `suggested` are rules that explain why two URLs of this round have the same content, with its digest.
    """
    contents: dict[Rule, set[bytes]] = {rule: set() for rule, row in before.items() if row["state"] == "proposed"}
    for rule, digest in suggested:
        if rule not in before or rule in contents:
            contents.setdefault(rule, set()).add(digest)
    support = {rule: before[rule]["support"] if rule in before else 0 for rule in contents}
    strength = {rule: support[rule] + len(digests) for rule, digests in contents.items()}
    chosen = [rule for rule, row in before.items() if row["state"] == "used"]
    taken: dict[str, int] = {}
    for rule in sorted(strength, key=lambda rule: (-strength[rule], rule)):
        taken[rule.origin] = taken.get(rule.origin, 0) + 1
        if taken[rule.origin] <= MAX_TRACKED:
            chosen.append(rule)
    return sorted(chosen)
