"""The alias rules in use, as a person sees them: one for all templates of an origin."""

import shlex
from typing import TypedDict

from ...transforms.aliases.learned_rules import KnownRules
from ...transforms.aliases.rules import Rule
from ...transforms.aliases.sample import Count
from ...transforms.urls.canonical import host


class AliasRule(TypedDict):
    """An active rule by which URLs of an origin are aliases."""

    origin: str
    host: str
    rule: str
    templates: list[str]  # of the URLs that it makes
    support: int  # contents shared by such URLs
    contradictions: int  # pairs of such URLs with different contents, which end the rule in their template
    held: int  # URLs that it holds back
    sampled: int  # others that were fetched to verify it
    since: int  # round
    pattern: str  # what releases its URLs


def alias_rules(known: KnownRules) -> list[AliasRule]:
    """The active alias rules, those that hold back most first."""
    found: dict[Rule, list[str]] = {}
    for rule, scope in sorted({*known.rows, *known.counts}):
        if rule in known.used and known.used.holds(rule, scope):
            found.setdefault(rule, []).append(scope)
    rules = [_alias_rule(rule, scopes, known) for rule, scopes in found.items()]
    return sorted(rules, key=lambda row: (-row["held"], -row["support"], row["origin"], row["rule"]))


def _alias_rule(rule: Rule, scopes: list[str], known: KnownRules) -> AliasRule:
    rows = [known.rows[rule, scope] for scope in scopes if (rule, scope) in known.rows]
    counts = [known.counts.get((rule, scope), Count()) for scope in scopes]
    return AliasRule(
        origin=rule.origin,
        host=host(f"{rule.origin}/"),
        rule=rule.name,
        templates=scopes,
        support=sum(row["support"] for row in rows),
        contradictions=sum(row["contradictions"] for row in rows),
        held=sum(count.held for count in counts),
        sampled=sum(count.sampled for count in counts),
        since=min(row["since"] for row in rows if row["state"] == "used"),
        pattern=pattern_of(rule.origin, scopes),
    )


def pattern_of(origin: str, scopes: list[str]) -> str:
    """The HOST/PATTERN of the URLs of some templates: their common first folder, or the host.

    >>> pattern_of("http://a.org", ["/docs/*", "/docs/*/*.html?id"]), pattern_of("http://a.org", ["/docs/*", "/*"])
    ('a.org/docs/*', 'a.org/*')
    """
    folders = {scope.partition("?")[0].split("/")[1] if scope.count("/") > 1 else "" for scope in scopes}
    folder = folders.pop() if len(folders) == 1 else ""
    is_name = folder and not any(mark in folder[1:] or folder == mark for mark in "*#~")
    return f"{host(f'{origin}/')}/{folder}/*" if is_name else f"{host(f'{origin}/')}/*"


def alias_line(row: AliasRule, directory: str) -> str:
    """One line of `status`: the rule, its evidence, what it holds back, and how to release that."""
    where = row["templates"][0] if len(row["templates"]) == 1 else f"{len(row['templates'])} templates"
    return (
        f"alias rule: {row['origin']} {row['rule']} in {where} ({row['support']} pages agree, {row['held']} held back,"
        f" {row['sampled']} others fetched to verify it); to release them:"
        f" beamtrawl release {shlex.quote(directory)} {shlex.quote(row['pattern'])}"
    )
