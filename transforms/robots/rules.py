"""Parses robots.txt: rules, Crawl-delay, sitemaps, and the time of expiry.

As RFC 9309 requires, the bytes are parsed into groups, and the group of one robot is selected; `matching` decides
which of its rules match a URL.
"""

import dataclasses
import functools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum

from ..http.reply import http_date
from ..rights import usage
from ..rights.signals import SignalLine
from ..urls.path_patterns import Patterns, TooExpensive
from ..urls.path_rules import FewRules, ManyRules, Rule, matcher, path_of, patterns_of, rule_of, target_of
from .signal_lines import Signal, SignalGroups, SignalLines

MAX_BYTES = 1 << 20
"""Bytes of a body that are parsed: twice the minimum of RFC 9309 section 2.5, as real files are longer."""

_MOST_LICENSES = 10  # lines that count: each may be a request
_MAX_LINE = 16 * 1024  # bytes; longer than any URL that is fetched, so that cut patterns have no effect

_FILES_IN_USE = 2000  # what matches URLs takes some 4 kB, and is made within a tenth of a millisecond

_LONGEST = timedelta(hours=24)  # RFC 9309 section 2.4
_SHORTEST = timedelta(hours=1)
_UNREACHABLE = timedelta(minutes=5)

_FIELDS = {
    **dict.fromkeys([b"user-agent", b"useragent", b"user agent"], "agent"),
    b"allow": "allow",
    **dict.fromkeys([b"disallow", b"dissallow", b"dissalow", b"disalow", b"diasllow", b"disallaw"], "disallow"),
    **dict.fromkeys([b"crawl-delay", b"crawl delay", b"crawldelay"], "delay"),
    b"content-usage": "usage",  # draft-ietf-aipref-attach
    **dict.fromkeys([b"content-signal", b"content-signals"], "signal"),  # contentsignals.org
    b"license": "license",  # RSL 1.0, 4.4
    **dict.fromkeys([b"sitemap", b"sitemaps", b"site-map"], "sitemap"),
}
_LINE = re.compile(rb"[^\r\n]{6,}")  # no shorter line is a directive
_PRODUCT_TOKEN = re.compile(rb"\*(?!\S)|[A-Za-z_-]*")
_DELAY = re.compile(r"(\d+(?:[.,]\d*)?(?:e\d{1,3})?|[.,]\d+)\s*([a-z]*)", re.ASCII)
_UNITS = {
    **dict.fromkeys(["", "s", "sec", "secs", "second", "seconds"], 1.0),
    **dict.fromkeys(["ms", "msec", "millisecond", "milliseconds"], 0.001),
    **dict.fromkeys(["m", "min", "mins", "minute", "minutes"], 60.0),
    **dict.fromkeys(["h", "hour", "hours"], 3600.0),
}
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_BYTE_ORDER_MARK = re.compile(rb"\xef?\xbb?\xbf?")  # or a part of one: some editors write truncated ones
_TAG = re.compile(rb"<[^<>]*>")
_DIRECTIVE = re.compile(r'([\w-]+)(?:=("[^"]*"|[^\s,]*))?')
_DIGITS = re.compile(r"\d{1,15}", re.ASCII)  # beyond that, a date overflows


class Verdict(StrEnum):
    """The result of a request for robots.txt."""

    RULES = "rules"
    """The rules in the body apply."""
    ALLOW_ALL = "allow_all"
    DENY_ALL = "deny_all"
    UNREACHABLE = "unreachable"
    """The rules are unknown: nothing is fetched from the host for now."""


def verdict_of(status: int | None) -> Verdict:
    """The verdict for the last status, `None` if there was no answer.

    Redirects are followed before, so a 3xx here exceeds the limit or has no usable target. Such a file counts
    as unavailable, and everything is allowed (RFC 9309 sections 2.3.1.2 and 2.3.1.3). 401 and 403 forbid
    everything, which is stricter than the RFC, and 429 counts as a server error: both match the intent of the
    site. A 304 is invalid, because requests for robots.txt are never conditional, and a 206 is not the whole file.
    """
    if status in (None, 206, 304, 429):
        return Verdict.UNREACHABLE
    if status in (401, 403):
        return Verdict.DENY_ALL
    if 200 <= status < 300:
        return Verdict.RULES
    return Verdict.ALLOW_ALL if 300 <= status < 500 else Verdict.UNREACHABLE


def expires_at(
    fetched_at: datetime, headers: Sequence[tuple[str, str]], status: int | None, delay: float = 0.0
) -> datetime:
    """The time when an answer expires; `fetched_at` is an aware datetime, `delay` the seconds between requests.

    The freshness lifetime of the headers (RFC 9111: no-store, no-cache, max-age, Expires, less Age), limited to
    between 1 and 24 hours: many servers mark every answer as stale, which would cause a request for robots.txt
    in each round. An hour without such headers, so that a webmaster's change soon counts; 5 minutes if robots.txt
    is unreachable, since the host's backoff applies then. Both are at least twice the delay, so that a page
    can be requested between two requests for robots.txt.
    """
    longest, between_pages = _LONGEST.total_seconds(), 2 * delay
    if verdict_of(status) is Verdict.UNREACHABLE:
        return fetched_at + timedelta(seconds=min(max(between_pages, _UNREACHABLE.total_seconds()), longest))
    seconds = fresh_seconds(headers, fetched_at)
    if seconds is None:
        seconds = between_pages
    return fetched_at + timedelta(seconds=min(max(seconds, _SHORTEST.total_seconds()), longest))


@dataclasses.dataclass(frozen=True)
class Rules:
    """The rules of a robots.txt for one robot; created by `parse`.

    What matches URLs takes fifty times the memory of its lines, so that of the files used last is kept.
    """

    written: bytes = dataclasses.field(repr=False)
    """The values of the Allow and Disallow lines, in order, each after a `+` or a `-`; a line each."""
    crawl_delay: float | None
    """Seconds between requests: finite and not negative, without upper limit. None: not given."""
    sitemaps: list[str]
    """Distinct values in order, as written: they may be relative or invalid URLs."""
    usages: tuple[tuple[bytes, str], ...] = ()
    """Path and statement of the Content-Usage lines; the path may be empty."""
    signal_lines: tuple[SignalLine, ...] = ()
    """The distinct Content-Signal lines."""
    licenses: tuple[SignalLine, ...] = ()
    """The distinct License lines; a statement is a reference as written, relative or invalid ones included."""

    def allows(self, url: str) -> tuple[bool, str]:
        """Whether a canonical URL may be fetched, and the deciding rule, as `Disallow: /private/`.

        The rule is empty if none matches, and if none is known because the URL would take too long
        (`patterns.MOST_STEPS`): it is forbidden then. /robots.txt is always allowed.
        """
        return _matcher(self.written).allows(url) if self.written else (True, "")

    def usage(self, url: str) -> str:
        """The usage preference of a canonical URL that may be fetched: that of the longest matching path.

        Of several statements for one path, and of all if the URL would take too long, the most restrictive applies
        (draft-ietf-aipref-attach).
        """
        if not self.usages:
            return ""
        try:
            found = self._usages.longest(path_of(target_of(url)))
        except TooExpensive:
            return usage.combine(*(text for _, text in self.usages))
        return usage.combine(*(found or [text for path, text in self.usages if not path]))

    def signals(self, url: str) -> Mapping[str, Signal]:
        """What is said about uses of a canonical URL, by the key of the signal (`SignalLines.about`)."""
        return self._signals.about(url) if self.signal_lines else {}

    @property
    def rules(self) -> list[Rule]:
        """The parsed lines."""
        return _rules(self.written)

    @functools.cached_property
    def _signals(self) -> SignalLines:
        return SignalLines(self.signal_lines)

    @functools.cached_property
    def _usages(self) -> Patterns[str]:
        rules = ((rule_of(False, path), text) for path, text in self.usages if path)
        return Patterns((pattern, text) for rule, text in rules for pattern in patterns_of(rule))


def _rules(written: bytes) -> list[Rule]:
    return [rule_of(line.startswith(b"+"), line[1:]) for line in written.splitlines()]


@functools.lru_cache(_FILES_IN_USE)
def _matcher(written: bytes) -> FewRules | ManyRules:
    return matcher(_rules(written))


def parse(body: bytes, robot: str, origin: str = "") -> Rules:
    """The rules of a robots.txt for a robot, whose product token is its name up to `/`.

    Rules that are absolute URLs of `origin` count as paths; a comma-separated list of agents counts for each agent.
    Accepts any bytes; bytes beyond 1 MiB and invalid lines are skipped (RFC 9309 section 2.2).
    """
    token = robot.partition("/")[0].strip().lower().encode("utf-8", "replace")
    groups: dict[bytes, _Group] = {}  # by agent: `token` and "*"
    current: dict[bytes, _Group] = {}  # those of the last user agents
    has_rules = False  # so that the next user agent begins another group
    sitemaps: dict[str, None] = {}
    signals, licenses = SignalGroups(), SignalGroups()
    own = origin.lower().encode()
    for field, value, line in _records(body):
        if field == "agent":
            if has_rules:
                current, has_rules = {}, False
            named = _agents(value) & {token, b"*"}
            current |= {agent: groups.setdefault(agent, _Group()) for agent in named}
            signals.agents(named)
            licenses.agents(named)
        elif field == "sitemap":
            sitemaps[value.decode("utf-8", "replace")] = None
        elif field == "delay":
            for group in current.values():  # only a rule ends a sequence of user agents (RFC 9309 section 2.1)
                group.delays.extend(_seconds(value))
        elif field == "signal":
            signals.add(*_usage(value, own), line)
        elif field == "license":
            licenses.add(b"", value.decode("utf-8", "replace"), line)
        else:
            has_rules = signals.is_over = licenses.is_over = True
            for group in current.values():
                group.add(field, value, own)
    chosen = token if token in groups else b"*"
    group = groups.get(chosen, _Group())
    return Rules(
        b"\n".join((b"+" if allow else b"-") + value for allow, value in group.rules if value),
        max(group.delays, default=None),
        list(sitemaps),
        tuple(group.usages),
        signals.of(chosen),
        licenses.own(chosen)[:_MOST_LICENSES],
    )


@dataclasses.dataclass
class _Group:
    """The lines of all groups of an agent."""

    rules: dict[tuple[bool, bytes], None] = dataclasses.field(default_factory=dict)  # distinct, in order
    usages: list[tuple[bytes, str]] = dataclasses.field(default_factory=list)
    delays: list[float] = dataclasses.field(default_factory=list)

    def add(self, field: str, value: bytes, origin: bytes) -> None:
        if field == "usage":
            self.usages.append(_usage(value, origin))
        else:
            self.rules[field == "allow", _path(value, origin)] = None


def _agents(value: bytes) -> set[bytes]:
    """The product tokens in the value of a line of user agents."""
    found = (_PRODUCT_TOKEN.match(part.strip()) for part in value.split(b","))
    return {match[0].lower() for match in found if match and match[0]}


def line_of(rule: str, text: str) -> int | None:
    """The number of the first line of a robots.txt that is a rule, as `Rules.allows` names it; None without a rule."""
    wanted = "".join(rule.split()).lower()
    lines = ("".join(line.partition("#")[0].split()).lower() for line in text.splitlines())
    return next((number for number, line in enumerate(lines, 1) if wanted and line == wanted), None)


def _records(body: bytes) -> Iterator[tuple[str, bytes, int]]:
    """The known directives, as field and value; those of a Content-Signal or License with the number of their line."""
    if len(body) > MAX_BYTES:
        body = body[:MAX_BYTES]
        body = body[: max(body.rfind(b"\n"), body.rfind(b"\r")) + 1]
    if body.startswith(_UTF_16):
        body = body.decode("utf-16", "replace").encode("utf-8", "replace")
    body = _BYTE_ORDER_MARK.sub(b"", body, count=1)
    if body.lstrip().startswith(b"<"):  # wrapped in HTML by an editor or a CMS
        body = _TAG.sub(b"\n", body)
    line_at, counted = 1, 0
    for match in _LINE.finditer(body):
        content = match[0][:_MAX_LINE].partition(b"#")[0]
        name, _, value = content.partition(b":")
        field = _FIELDS.get(name.strip().lower())
        if field is None and len(words := content.split()) == 2:  # the colon is missing
            field, value = _FIELDS.get(words[0].lower()), words[1]
        if field in ("signal", "license"):
            line_at, counted = line_at + _breaks(body[counted : match.start()]), match.start()
            yield field, value.strip(), line_at
        elif field is not None:
            yield field, value.strip(), 0


def _breaks(text: bytes) -> int:
    return text.count(b"\n") + text.count(b"\r") - text.count(b"\r\n")


def _seconds(value: bytes) -> Iterator[float]:
    """The seconds of a Crawl-delay, if it is a finite time: `2`, `2,5`, `2s`, `500 ms`, `1 min`."""
    if match := _DELAY.match(value.decode("ascii", "replace").lower()):
        seconds = float(match[1].replace(",", ".")) * _UNITS.get(match[2], 1.0)
        if math.isfinite(seconds):
            yield seconds


def _path(value: bytes, origin: bytes) -> bytes:
    """A rule without its origin, if that is the origin of the file."""
    if not origin or value[: len(origin)].lower() != origin or value[len(origin) :][:1] not in (b"", b"/"):
        return value
    return value[len(origin) :] or b"/"


def _usage(value: bytes, origin: bytes) -> tuple[bytes, str]:
    """Path and statement of a Content-Usage or Content-Signal line; a path starts with a slash, ends before a space."""
    value = _path(value, origin)
    path, *statement = value.split(None, 1) if value.startswith(b"/") else (b"", value)
    return path, b"".join(statement).decode("ascii", "replace")


def fresh_seconds(headers: Sequence[tuple[str, str]], received: datetime) -> float | None:
    """The freshness lifetime of an answer in a private cache, less its age (RFC 9111, 4.2); None if not given."""
    values: dict[str, list[str]] = {}
    for name, value in headers:
        values.setdefault(name.lower(), []).append(value)
    directives: dict[str, str] = {}  # the first of each name counts (section 4.2.1)
    for match in _DIRECTIVE.finditer(", ".join(values.get("cache-control", ()))):
        directives.setdefault(match[1].lower(), (match[2] or "").strip('"'))
    if "no-store" in directives or "no-cache" in directives:
        return 0
    sent = http_date(values.get("date", [""])[0]) or received
    age = max((received - sent).total_seconds(), _whole_number(values.get("age", [""])[0]))
    if "max-age" in directives:
        return _whole_number(directives["max-age"]) - age
    if "expires" in values:
        expires = http_date(values["expires"][0])
        # "0" is common; an invalid date means the past (section 5.3).
        return (expires - sent).total_seconds() - age if expires else 0
    return None


def _whole_number(text: str) -> int:
    digits = _DIGITS.match(text)
    return int(digits[0]) if digits else 0
