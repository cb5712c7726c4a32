"""Alias rules: equivalences of URLs that are learned from content, and how each rewrites a URL.

Rules are proposed from pairs of URLs with the same content, and used where there is enough evidence (`evidence`,
`scopes`, docs/aliases.md). No rule leads from one host to another, except between a name with and without `www.` and
between http and https. A rewritten URL is compared with other URLs; it is never fetched for verification.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import NamedTuple

from ..urls.canonical import dedup_form, host, neatness, origin
from ..urls.dedup import split
from .exempt import EXEMPT_NOTHING, Exempt
from .scopes import Where, scope_of


class Kind(StrEnum):
    """The difference between two URLs with the same content."""

    INDEX_PAGE = "index_page"
    """`/a/index.html` and `/a/`; the detail is the name."""
    CASE = "case"
    """Letter case of the path."""
    TRAILING_SLASH = "trailing_slash"
    """`/a/` and `/a`."""
    PARAMETER = "parameter"
    """A query parameter without effect; the detail is its name."""
    WWW = "www"
    """A host with and without `www.`; the detail is the origin that represents both, as for the next kind."""
    SCHEME = "scheme"
    """http and https of one host name."""


KINDS = frozenset(kind.value for kind in Kind)
BETWEEN_ORIGINS = frozenset({Kind.WWW, Kind.SCHEME})


class Rule(NamedTuple):
    """A rule for the URLs of one origin."""

    origin: str  # scheme://host[:port]
    kind: str
    detail: str = ""

    @property
    def name(self) -> str:
        """The rule without its origin, such as `parameter ref`."""
        return f"{self.kind} {self.detail}".rstrip()


Stratum = tuple[Rule, str]
"""A rule, and the scope of the URLs that it makes."""

_ESCAPE_OR_CAPITALS = re.compile("%..|[A-Z]+")


def explain_pair(one: str, other: str) -> Rule | None:
    """The rule that equates two URLs in dedup form; None if they are equal or differ in more than one way.

    >>> explain_pair("http://a.org/b/index.html", "http://a.org/b/")
    Rule(origin='http://a.org', kind='index_page', detail='index.html')
    """
    (origin_a, path_a, query_a), (origin_b, path_b, query_b) = split(one), split(other)
    if origin_a != origin_b:
        return _between_origins(origin_a, origin_b) if (path_a, query_a) == (path_b, query_b) else None
    if query_a != query_b:
        name = _differing_parameter(query_a, query_b) if path_a == path_b else None
        return None if name is None else Rule(origin_a, Kind.PARAMETER.value, name)
    if path_a == path_b:
        return None
    if _lower(path_a) == _lower(path_b):
        return Rule(origin_a, Kind.CASE.value)
    short, long = sorted((path_a, path_b), key=len)
    if not long.startswith(short):
        return None
    rest = long[len(short) :]
    if rest == "/" and not short.endswith("/"):
        return Rule(origin_a, Kind.TRAILING_SLASH.value)
    is_name = short.endswith("/") and "/" not in rest
    return Rule(origin_a, Kind.INDEX_PAGE.value, rest) if is_name else None


def apply(rule: Rule, url: str) -> str:
    """A URL in dedup form, rewritten by a rule; the URL itself if the rule does not apply."""
    start, path, query = split(url)
    if start != rule.origin:
        return url
    if rule.kind in BETWEEN_ORIGINS:
        start = rule.detail
    elif rule.kind == Kind.PARAMETER:
        query = _without(query, rule.detail)
    elif rule.kind == Kind.INDEX_PAGE:
        path = path.removesuffix(rule.detail) if path.endswith("/" + rule.detail) else path
    elif rule.kind == Kind.CASE:
        path = _lower(path)
    elif rule.kind == Kind.TRAILING_SLASH and path != "/":
        path = path.removesuffix("/")
    return f"{start}{path}?{query}" if query else start + path


def undo(rule: Rule, url: str) -> str | None:
    """The only other URL that a rule rewrites to this one; None if there is none, or an unlimited number."""
    start, path, query = split(url)
    tail = f"?{query}" if query else ""
    if rule.kind in BETWEEN_ORIGINS:
        return rule.origin + path + tail if start == rule.detail else None
    if start != rule.origin:
        return None
    if rule.kind == Kind.INDEX_PAGE:
        return f"{start}{path}{rule.detail}{tail}" if path.endswith("/") else None
    if rule.kind == Kind.TRAILING_SLASH:
        return f"{start}{path}/{tail}" if not path.endswith("/") else None
    return None


class Rules:
    """A set of rules with lookup by origin. Immutable and picklable.

    A rule applies to the URLs of its origin if the scope of the result is one `where` the rule holds; without an entry
    there, to all of them. No rule leads from or to a URL that is exempt.
    """

    def __init__(
        self, rules: Iterable[Rule], where: Mapping[Rule, Where] | None = None, exempt: Exempt = EXEMPT_NOTHING
    ) -> None:
        self._where, self._exempt = where or {}, exempt
        self._changing: dict[str, list[Rule]] = {}
        self._leading_to: dict[str, list[Rule]] = {}
        for rule in sorted(rules):
            self._changing.setdefault(rule.origin, []).append(rule)
            into = rule.detail if rule.kind in BETWEEN_ORIGINS else rule.origin
            self._leading_to.setdefault(into, []).append(rule)
        self.hosts = frozenset(map(host, (f"{name}/" for name in {*self._changing, *self._leading_to})))
        """The hosts of URLs to which any rule may apply."""

    def __bool__(self) -> bool:
        return bool(self.hosts)

    def __contains__(self, rule: Rule) -> bool:
        return rule in self._changing.get(rule.origin, ())

    def of(self, url: str) -> list[Rule]:
        """The rules that rewrite from or to the origin of a URL."""
        name = origin(url)
        return sorted({*self._changing.get(name, ()), *self._leading_to.get(name, ())})

    def holds(self, rule: Rule, scope: str) -> bool:
        """Whether a rule of the set applies to URLs of a scope."""
        return rule not in self._where or self._where[rule].holds(scope)

    def is_trusted(self, rule: Rule, scope: str) -> bool:
        """Whether other scopes of the same owner show that a rule is right."""
        return rule in self._where and self._where[rule].is_trusted(scope)

    def steps(self, url: str, plus: Rule | None = None, minus: Rule | None = None) -> Iterator[tuple[Rule, str]]:
        """The rules that rewrite a URL to its normal form, each with its result.

        `plus` is an additional rule, which applies in all scopes; `minus` an excluded one.
        """
        # Terminates: each rule removes characters or capitals, or leads to an origin that is earlier in a total order.
        changed = not self._exempt(url)
        url = dedup_form(url)
        while changed:
            changed = False
            further = (plus,) if plus else ()
            for rule in (*self._changing.get(origin(url), ()), *further):
                if rule == minus or (after := apply(rule, url)) == url:
                    continue
                after = dedup_form(after)
                if (rule == plus or self.holds(rule, scope_of(after))) and not self._exempt(after):
                    url, changed = after, True
                    yield rule, url

    def strata(self, url: str) -> set[Stratum]:
        """The rules that rewrite a URL, each with the scope of the result."""
        return {(rule, scope_of(form)) for rule, form in self.steps(url)}

    def between(self, one: str, other: str) -> frozenset[Stratum]:
        """The rules without which two URLs of one class would not be in one class."""
        strata = self.strata(one) | self.strata(other)
        if len(strata) < 2:
            return frozenset(strata)
        needed = {rule for rule, _ in strata if self.normal(one, minus=rule) != self.normal(other, minus=rule)}
        return frozenset(stratum for stratum in strata if stratum[0] in needed or not needed)

    def normal(self, url: str, plus: Rule | None = None, minus: Rule | None = None) -> str:
        """The common form of all URLs that the rules equate. In dedup form; no rule changes it further."""
        form = dedup_form(url)
        for _, form in self.steps(url, plus, minus):  # noqa: B007
            pass
        return form

    def forms(self, url: str) -> set[str]:
        """The URL's normal form, and the URLs that are one rule away from it or from the URL."""
        ends = {dedup_form(url), self.normal(url)}
        images = (image(rule, end) for end in ends for rule in self.of(end) for image in (apply, undo))
        return ends.union(map(dedup_form, filter(None, images)))


NO_RULES = Rules(())


def _between_origins(one: str, other: str) -> Rule | None:
    """The rule between two origins of one host name; None for other hosts, which may belong to others.

    The neater origin represents both: a total order, so that rules have no cycles.
    """
    into, from_ = sorted((one, other), key=neatness)
    names = [re.sub(r":[0-9]+$", "", name.partition("://")[2]) for name in (into, from_)]
    if names[0] == names[1]:
        is_scheme = into.partition(":")[0] != from_.partition(":")[0]
        return Rule(from_, Kind.SCHEME.value, into) if is_scheme else None
    is_www = names[0].removeprefix("www.") == names[1].removeprefix("www.")
    return Rule(from_, Kind.WWW.value, into) if is_www else None


def _differing_parameter(one: str, other: str) -> str | None:
    """The name of the only parameter in which two queries differ."""
    pieces = [query.split("&") if query else [] for query in (one, other)]
    names = {piece.partition("=")[0] for piece in set(pieces[0]) ^ set(pieces[1])}
    if len(names) != 1 or _without(one, *names) != _without(other, *names):
        return None
    return names.pop()


def _without(query: str, name: str) -> str:
    return "&".join(piece for piece in query.split("&") if piece.partition("=")[0] != name)


def _lower(path: str) -> str:
    """The path in lower case except for escapes, which stay in upper case (RFC 3986 section 6.2.2.1)."""
    return _ESCAPE_OR_CAPITALS.sub(lambda match: match[0] if match[0][0] == "%" else match[0].lower(), path)
