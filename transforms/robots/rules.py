"""robots.txt as data: what it allows, how often, where its sitemaps are, and how long that holds.

Protego decides whether a rule matches a URL. Around it, this module does what RFC 9309 asks and Protego
does not: it reads the bytes into groups, picks the group of one robot, and hands Protego that group's rules
alone, in plain ASCII.
"""

import dataclasses
import functools
import math
import re
import string
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple
from urllib.parse import quote

from protego import Protego

from ..http.dates import http_date

MAX_BYTES = 1 << 20
"""What is read of a body: twice what RFC 9309 section 2.5 asks for at least, as real files are longer."""

_MAX_LINE = 16 * 1024  # no URL that we fetch is as long, and half a pattern is a rule that nobody wrote
_MAX_NAMED = 1000  # rules; above that, finding which one decided costs more than the answer is worth

_LONGEST = timedelta(hours=24)  # RFC 9309 section 2.4
_SHORTEST = timedelta(hours=1)
_UNREACHABLE = timedelta(minutes=5)

_FIELDS = {
    **dict.fromkeys([b"user-agent", b"useragent", b"user agent"], "agent"),
    b"allow": "allow",
    **dict.fromkeys([b"disallow", b"dissallow", b"dissalow", b"disalow", b"diasllow", b"disallaw"], "disallow"),
    **dict.fromkeys([b"crawl-delay", b"crawl delay", b"crawldelay"], "delay"),
    **dict.fromkeys([b"sitemap", b"sitemaps", b"site-map"], "sitemap"),
}
_LINE = re.compile(rb"[^\r\n]{6,}")  # no shorter one can say anything
_PLAIN = re.compile(rb"[!-$&-~]*")
_PRODUCT_TOKEN = re.compile(rb"\*(?!\S)|[A-Za-z_-]*")
_DELAY = re.compile(r"(\d+(?:[.,]\d*)?(?:e\d{1,3})?|[.,]\d+)\s*([a-z]*)", re.ASCII)
_UNITS = {
    **dict.fromkeys(["", "s", "sec", "secs", "second", "seconds"], 1.0),
    **dict.fromkeys(["ms", "msec", "millisecond", "milliseconds"], 0.001),
    **dict.fromkeys(["m", "min", "mins", "minute", "minutes"], 60.0),
    **dict.fromkeys(["h", "hour", "hours"], 3600.0),
}
_ESCAPE = re.compile(rb"%[0-9A-Fa-f]{2}")
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_BYTE_ORDER_MARK = re.compile(rb"\xef?\xbb?\xbf?")  # cut short, too: editors have left every part of it
_TAG = re.compile(rb"<[^<>]*>")
_AUTHORITY = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^/?#]*")
_ESCAPED_SLASH = re.compile("%2f", re.IGNORECASE)
_DIRECTIVE = re.compile(r'([\w-]+)(?:=("[^"]*"|[^\s,]*))?')
_DIGITS = re.compile(r"\d{1,15}", re.ASCII)  # beyond that, a date overflows
_VISIBLE = string.ascii_letters + string.digits + string.punctuation


class Verdict(StrEnum):
    """What follows from the answer to a request for robots.txt."""

    RULES = "rules"
    """The body says what is allowed."""
    ALLOW_ALL = "allow_all"
    DENY_ALL = "deny_all"
    UNREACHABLE = "unreachable"
    """Nothing is known: the host waits, and nothing is asked of it."""


def judge(status: int | None) -> Verdict:
    """What the last status says, `None` when no answer came.

    Redirects are followed before this is asked, so a 3xx here is one too many or leads nowhere. Such a file
    counts as unavailable, and everything is allowed (RFC 9309 sections 2.3.1.2 and 2.3.1.3). 401 and 403
    forbid everything, which is stricter than the RFC, and 429 counts with the server errors: both are what
    a webmaster who answers so means. A 304 is no answer, because nobody asks for robots.txt conditionally, and a 206 is
    not the whole file.
    """
    if status in (None, 206, 304, 429):
        return Verdict.UNREACHABLE
    if status in (401, 403):
        return Verdict.DENY_ALL
    if 200 <= status < 300:
        return Verdict.RULES
    return Verdict.ALLOW_ALL if 300 <= status < 500 else Verdict.UNREACHABLE


def expires_at(fetched_at: datetime, headers: Sequence[tuple[str, str]], status: int | None) -> datetime:
    """When an answer has to be asked for again; `fetched_at` is aware of its time zone.

    The server's word counts (RFC 9111: no-store, no-cache, max-age, Expires, less Age) between one hour and
    24. Many servers mark every answer as stale at once: taken literally, each round would ask each of them
    for robots.txt anew. Without a word it is 24 hours, and 5 minutes when robots.txt could not be had: the
    host's backoff decides then.
    """
    if judge(status) is Verdict.UNREACHABLE:
        return fetched_at + _UNREACHABLE
    seconds = fresh_seconds(headers, fetched_at)
    if seconds is None:
        return fetched_at + _LONGEST
    return fetched_at + timedelta(seconds=min(max(seconds, _SHORTEST.total_seconds()), _LONGEST.total_seconds()))


class Rule(NamedTuple):
    """A line that allows or forbids."""

    allow: bool
    pattern: str  # printable ASCII without spaces, all else percent-encoded
    text: str  # as the webmaster wrote it, without comment


@dataclasses.dataclass(frozen=True)
class Rules:
    """What a robots.txt says to one robot; made by `parse`."""

    written: tuple[tuple[bool, bytes], ...] = dataclasses.field(repr=False)
    """Whether a line allows, and its value, in order."""
    crawl_delay: float | None
    """Seconds between requests: finite and not negative, of any length. None: it says nothing."""
    sitemaps: list[str]
    """In order, each once, as they were written: any of them may be relative or no URL at all."""

    def allows(self, url: str) -> tuple[bool, str]:
        """Whether a canonical URL may be fetched, and the rule that decides, as `Disallow: /private/`.

        The rule is empty when none matches, and beyond a thousand rules. /robots.txt is always allowed.
        """
        if not self.written:
            return True, ""
        target = _target(url)
        allowed = bool(self._all.can_fetch(target, "*"))
        return allowed, self._deciding(target, allowed)

    def _deciding(self, target: str, allowed: bool) -> str:
        # Among the rules that agree with the verdict, the longest that matches is the one that won.
        for rule, alone in self._each if len(self.rules) <= _MAX_NAMED else ():
            if rule.allow is allowed and not alone.can_fetch(target, "*"):
                return f"{'Allow' if rule.allow else 'Disallow'}: {rule.text}"
        return ""

    @functools.cached_property
    def rules(self) -> tuple[Rule, ...]:
        """The lines, ready to be compared; most files are read for other robots' sake, or for their Crawl-delay."""
        return tuple(_rule(allow, value) for allow, value in self.written)

    @functools.cached_property
    def _all(self) -> Protego:
        return _protego(self.rules)

    @functools.cached_property
    def _each(self) -> list[tuple[Rule, Protego]]:
        longest_first = sorted(self.rules, key=lambda rule: len(rule.pattern), reverse=True)
        return [(rule, _protego([rule._replace(allow=False)])) for rule in longest_first]


def parse(body: bytes, robot: str, origin: str = "") -> Rules:
    """The rules of a robots.txt for a robot, whose product token is its name up to `/`.

    Rules that are written as absolute URLs of `origin` count as paths; lists of agents between commas count for each.
    Any bytes have a meaning; what is beyond 1 MiB or not understood is skipped (RFC 9309 section 2.2).
    """
    token = robot.partition("/")[0].strip().lower().encode("utf-8", "replace")
    rules: dict[bytes, dict[tuple[bool, bytes], None]] = {}  # of our token and of "*", in order, each once
    delays: dict[bytes, list[float]] = {}
    sitemaps: dict[str, None] = {}
    agents: set[bytes] = set()  # those of the group being read that concern us
    has_rules = False
    own = origin.lower().encode()
    for field, value in _records(body):
        if field == "agent":
            if has_rules:
                agents, has_rules = set(), False
            for part in value.split(b","):
                agent = _PRODUCT_TOKEN.match(part.strip())[0].lower()  # type: ignore[index]  # it matches anything
                if agent and agent in (token, b"*"):
                    agents.add(agent)
                    rules.setdefault(agent, {})
        elif field == "sitemap":
            sitemaps[value.decode("utf-8", "replace")] = None
        elif field == "delay":
            # It does not end a run of user agents: only a rule does (RFC 9309 section 2.1).
            for agent in agents:
                delays.setdefault(agent, []).extend(_seconds(value))
        else:
            has_rules = True
            for agent in agents:
                rules[agent][field == "allow", _path(value, own)] = None
    chosen = token if token in rules else b"*"
    return Rules(
        tuple((allow, value) for allow, value in rules.get(chosen, ()) if value),
        max(delays.get(chosen, ()), default=None),
        list(sitemaps),
    )


def _records(body: bytes) -> Iterator[tuple[str, bytes]]:
    """The lines that say something, as field and value."""
    if len(body) > MAX_BYTES:
        body = body[:MAX_BYTES]
        body = body[: max(body.rfind(b"\n"), body.rfind(b"\r")) + 1]
    if body.startswith(_UTF_16):
        body = body.decode("utf-16", "replace").encode("utf-8", "replace")
    body = _BYTE_ORDER_MARK.sub(b"", body, count=1)
    if body.lstrip().startswith(b"<"):  # an editor or a CMS has made a page of it
        body = _TAG.sub(b"\n", body)
    for match in _LINE.finditer(body):
        line = match[0][:_MAX_LINE]
        content = line.partition(b"#")[0]
        name, _, value = content.partition(b":")
        field = _FIELDS.get(name.strip().lower())
        if field is None and len(words := content.split()) == 2:  # the colon was forgotten
            field, value = _FIELDS.get(words[0].lower()), words[1]
        if field is not None:
            yield field, value.strip()


def _seconds(value: bytes) -> Iterator[float]:
    """The seconds of a Crawl-delay, if it is a time that can be waited for: `2`, `2,5`, `2s`, `500 ms`, `1 min`."""
    if match := _DELAY.match(value.decode("ascii", "replace").lower()):
        seconds = float(match[1].replace(",", ".")) * _UNITS.get(match[2], 1.0)
        if math.isfinite(seconds):
            yield seconds


def _path(value: bytes, origin: bytes) -> bytes:
    """A rule without its origin, if that is the file's own."""
    if not origin or value[: len(origin)].lower() != origin or value[len(origin) :][:1] not in (b"", b"/"):
        return value
    return value[len(origin) :] or b"/"


def _rule(allow: bool, value: bytes) -> Rule:
    text = value.decode("utf-8", "replace")
    value = _ESCAPE.sub(lambda match: match[0].upper(), value)
    if _PLAIN.fullmatch(value):
        return Rule(allow, value.decode("ascii"), text)
    path, mark, query = quote(value, safe=_VISIBLE).partition("?")
    return Rule(allow, path + mark + _ESCAPED_SLASH.sub("/", query), text)


def _target(url: str) -> str:
    """A URL as Protego compares it best.

    An escaped slash is another thing than a slash in a path, but the same in a query (the last row of the
    table in RFC 9309 section 2.2.2), and Protego keeps them apart in both.
    """
    scheme = _AUTHORITY.match(url)
    raw = url[scheme.end() if scheme else 0 :].partition("#")[0].encode("utf-8", "replace")
    rest = _ESCAPE.sub(lambda match: match[0].upper(), raw).decode()
    path, mark, query = rest.partition("?")
    slash = "" if path.startswith("/") else "/"
    return f"http://host{slash}{path}{mark}{_ESCAPED_SLASH.sub('/', query)}"


def _protego(rules: Sequence[Rule]) -> Protego:
    lines = (f"{'Allow' if rule.allow else 'Disallow'}: {rule.pattern}" for rule in rules)
    return Protego.parse("\n".join(["User-agent: *", *lines]))


def fresh_seconds(headers: Sequence[tuple[str, str]], received: datetime) -> float | None:
    """For how long a private cache may use an answer, by RFC 9111 section 4.2; None if it does not say."""
    values: dict[str, list[str]] = {}
    for name, value in headers:
        values.setdefault(name.lower(), []).append(value)
    directives: dict[str, str] = {}  # of several the first counts (section 4.2.1)
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
        # "0" is common, and what is no date means the past (section 5.3).
        return (expires - sent).total_seconds() - age if expires else 0
    return None


def _whole_number(text: str) -> int:
    digits = _DIGITS.match(text)
    return int(digits[0]) if digits else 0
