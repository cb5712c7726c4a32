"""Decides which rules of a robots.txt match a URL.

Protego does for small files, as the project requires. It compares each rule with each URL, which takes up to a tenth of
a second for a file of 1 MiB with wildcards; `path_patterns` does for larger files, within a millisecond.
"""

import re
import string
from collections.abc import Iterator, Sequence
from typing import NamedTuple
from urllib.parse import quote

from protego import Protego

from .path_patterns import Patterns, TooExpensive

MOST_RULES, MOST_CHARACTERS = 100, 1000
"""Rules and characters of patterns of a small file: Protego compares 1,000 characters in less than a millisecond."""

_PLAIN = re.compile(rb"[!-$&-~]*")
_VISIBLE = string.ascii_letters + string.digits + string.punctuation
_ESCAPE = re.compile(rb"%[0-9A-Fa-f]{2}")
_AUTHORITY = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^/?#]*")
_ESCAPED_SLASH = re.compile("%2f", re.IGNORECASE)
_UNRESERVED = re.compile(r"[A-Za-z0-9._~/=-]*")
_ROBOTS_TXT = re.compile(r"/robots\.txt(?:[;?]|$)")


class Rule(NamedTuple):
    """An Allow or Disallow line."""

    allow: bool
    pattern: str  # printable ASCII without spaces; other bytes percent-encoded
    text: str  # as written, without comment

    def __str__(self) -> str:
        return f"{'Allow' if self.allow else 'Disallow'}: {self.text}"


class FewRules:
    """The rules of a small file, matched by Protego."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._all = protego(rules)
        self._longest_first = sorted(rules, key=lambda rule: len(rule.pattern), reverse=True)
        self._alone: dict[Rule, Protego] = {}  # as far as they were needed: making one takes longer than all decisions

    def allows(self, url: str) -> tuple[bool, str]:
        """Whether a canonical URL may be fetched, and the deciding rule.

        That is the longest match among the rules that agree with the result.
        """
        target = target_of(url)
        allowed = bool(self._all.can_fetch(target, "*"))
        deciding = (rule for rule in self._longest_first if rule.allow is allowed)
        return allowed, next((str(rule) for rule in deciding if self._is_match(rule, target)), "")

    def _is_match(self, rule: Rule, target: str) -> bool:
        if rule not in self._alone:
            self._alone[rule] = protego([rule._replace(allow=False)])
        return not self._alone[rule].can_fetch(target, "*")


class ManyRules:
    """The rules of any file, with the same results; a URL that would take too long is forbidden."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._patterns = Patterns((pattern, rule) for rule in rules for pattern in patterns_of(rule))

    def allows(self, url: str) -> tuple[bool, str]:
        """Whether a canonical URL may be fetched, and the deciding rule, empty if that is not known."""
        path = path_of(target_of(url))
        if _ROBOTS_TXT.match(path):
            return True, ""
        try:
            matching = self._patterns.longest(path)
        except TooExpensive:
            return False, ""
        # Of equally long ones, Allow wins (RFC 9309, 2.2.2).
        decisive = next((rule for rule in matching if rule.allow), next(iter(matching), None))
        return (decisive.allow, str(decisive)) if decisive else (True, "")


def matcher(rules: Sequence[Rule]) -> FewRules | ManyRules:
    """Matches the rules, at most a millisecond per URL."""
    is_small = len(rules) <= MOST_RULES and sum(len(rule.pattern) for rule in rules) <= MOST_CHARACTERS
    return FewRules(rules) if is_small else ManyRules(rules)


def rule_of(allow: bool, value: bytes) -> Rule:
    text = value.decode("utf-8", "replace")
    value = _ESCAPE.sub(lambda match: match[0].upper(), value)
    if _PLAIN.fullmatch(value):
        return Rule(allow, value.decode("ascii"), text)
    path, mark, query = quote(value, safe=_VISIBLE).partition("?")
    return Rule(allow, path + mark + _ESCAPED_SLASH.sub("/", query), text)


def target_of(url: str) -> str:
    """A URL normalized for Protego.

    An escaped slash differs from a slash in a path, but is equivalent in a query (the last row of the
    table in RFC 9309 section 2.2.2); Protego distinguishes them in both.
    """
    scheme = _AUTHORITY.match(url)
    raw = url[scheme.end() if scheme else 0 :].partition("#")[0].encode("utf-8", "replace")
    rest = _ESCAPE.sub(lambda match: match[0].upper(), raw).decode()
    path, mark, query = rest.partition("?")
    slash = "" if path.startswith("/") else "/"
    return f"http://host{slash}{path}{mark}{_ESCAPED_SLASH.sub('/', query)}"


def protego(rules: Sequence[Rule]) -> Protego:
    """The rules as Protego reads them, for the agent `*`."""
    lines = (f"{'Allow' if rule.allow else 'Disallow'}: {rule.pattern}" for rule in rules)
    return Protego.parse("\n".join(["User-agent: *", *lines]))


def patterns_of(rule: Rule) -> Iterator[str]:
    """The patterns of a rule in the spelling of `path_of`, as Protego reads them.

    A final `$` may also be meant as that character, and `index.html` as the folder; an absolute URL matches in a path.

    >>> list(patterns_of(Rule(False, "/%7Ea$", "")))
    ['/~a$', '/~a%24']
    """
    written = f"/{rule.pattern}" if rule.pattern.startswith(("http://", "https://")) else rule.pattern
    body = written.removesuffix("$")
    if spelled := _spelled(body, kept="/%*") + written[len(body) :]:
        yield spelled
    if body != written:
        yield _spelled(written, kept="/%*")
    if rule.allow and spelled.endswith("/index.html"):
        yield spelled.removesuffix("index.html") + "$"


def path_of(target: str) -> str:
    """Path and query of a `target_of`, without superfluous escapes."""
    return _spelled(target.removeprefix("http://host"), kept="/%")


def _spelled(text: str, kept: str) -> str:
    """The text with escapes of what needs one only; the characters `kept` stay as they are, escaped or not."""
    if _UNRESERVED.fullmatch(text.replace("*", "") if "*" in kept else text):
        return text
    raw = _ESCAPE.sub(lambda match: _unescaped(match[0], kept.encode()), text.encode())
    return quote(raw.decode("utf-8", "replace"), safe=f"{kept}=")


def _unescaped(escape: bytes, kept: bytes) -> bytes:
    byte = bytes.fromhex(escape[1:].decode())
    return escape if byte in kept else byte
