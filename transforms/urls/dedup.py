"""The rules by which URLs that differ are most probably one resource: from the canonical form to the dedup form.

Each takes a canonical URL and gives one. The dedup form is compared and never fetched, so a rule may be bolder than
RFC 3986: it must be right nearly always. What no syntax can prove (index pages, letter case, a trailing slash, www)
is no rule here.
"""

import functools
import itertools
import re
from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

from .tracking_parameters import KEPT_ON_HOSTS, SESSIONS, TRACKING, TRACKING_ON_HOSTS, OnHosts

# What servers read alike, escaped or not: delimiters of RFC 3986 section 2.2, but for those that divide paths (/ ;) or
# queries (& = + ;). ada escapes ' in a query.
_PLAIN_IN_PATH = {f"%{ord(character):02X}": character for character in "!$'()*,:@"}
_PLAIN_IN_QUERY = {f"%{ord(character):02X}": character for character in "!$()*,:@/"} | {"%20": "+"}
_ESCAPE = re.compile("%[0-9A-F]{2}")
# Not where a dot segment would be left.
_PATH_PARAMETER = re.compile(r"(?<!/\.)(?<!/\.\.);([^/;=]+)=([^/;]*)")
# learn.microsoft.com, "ASP.NET Session State Overview": session, ticket, anonymous user, and whether cookies work.
# Version 1 had the session alone.
_ASP_NET = re.compile(r"/\((?:X\(1\)|[AFS]\([0-9A-Za-z_-]{16,}\))+\)(?=/)|/\([0-9a-z]{24}\)(?=/.*\.as[hmp]x$)")
_NAMED_VALUES = re.compile(r"[^=&?/:]+=[^&?]*(?:&[^=&?/:]+=[^&?]*)*")


class _Names(NamedTuple):
    """The names of a list's entries, compiled."""

    exact: frozenset[str]
    prefixes: tuple[str, ...]

    @classmethod
    def of(cls, entries: Iterable[str]) -> "_Names":
        names = [name for entry in entries for name in entry.split()]
        exact = frozenset(name for name in names if not name.endswith("*"))
        return cls(exact, tuple(name[:-1] for name in names if name.endswith("*")))

    def holds(self, name: str) -> bool:
        return name in self.exact or name.startswith(self.prefixes)


def _by_host(entries: Iterable[OnHosts]) -> dict[str, _Names]:
    return {host: _Names.of([entry.names]) for entry in entries for host in entry.hosts.split()}


_TRACKING = _Names.of(entry.names for entry in TRACKING)
_TRACKING_ON_HOSTS = _by_host(TRACKING_ON_HOSTS)
_KEPT_ON_HOSTS = _by_host(KEPT_ON_HOSTS)
_SESSIONS = [(_Names.of([entry.names]), re.compile(entry.value, re.IGNORECASE), entry.beside) for entry in SESSIONS]
_SESSION_NAMES = _Names.of(entry.names for entry in SESSIONS)


def unescape_plain(url: str) -> str:
    """Characters that mean the same escaped or not, unescaped; a blank in a parameter is a plus sign."""
    if "%" not in url:
        return url
    origin, path, query = _split(url)
    pieces = (_unescape(piece, _PLAIN_IN_QUERY) if "=" in piece else piece for piece in query.split("&"))
    return _join(origin, _unescape(path, _PLAIN_IN_PATH), "&".join(pieces))


def drop_path_sessions(url: str) -> str:
    """Without session identifiers in the path: `/a;jsessionid=…`, `/(S(…))/a`."""
    if ";" not in url and "/(" not in url:
        return url
    origin, path, query = _split(url)
    if _holds_a_url(path, query):
        return url
    is_kept = _kept(_host(origin)).holds

    def left(parameter: re.Match[str]) -> str:
        name = parameter[1].lower()
        return "" if _is_session(name, parameter[2], ()) and not is_kept(name) else parameter[0]

    return _join(origin, _ASP_NET.sub("", _PATH_PARAMETER.sub(left, path)), query)


def drop_tracking(url: str) -> str:
    """Without the parameters of the query that only count visitors."""
    origin, path, query = _split(url)
    host = _host(origin)
    here, kept = _tracking(host), _kept(host)

    def is_noise(name: str) -> bool:
        return (_TRACKING.holds(name) or here.holds(name)) and not kept.holds(name)

    pieces = query.split("&")
    left = [piece for piece in pieces if "=" not in piece or not is_noise(_name(piece).lower())]
    return url if len(left) == len(pieces) or _holds_a_url(path, query) else _join(origin, path, "&".join(left))


def drop_sessions(url: str) -> str:
    """Without session identifiers in the query."""
    origin, path, query = _split(url)
    pieces = query.split("&")
    names = [_name(piece).lower() for piece in pieces]
    if not any(map(_SESSION_NAMES.holds, names)) or _holds_a_url(path, query):
        return url
    kept = _kept(_host(origin))
    left = [
        piece
        for piece, name in zip(pieces, names, strict=True)
        if kept.holds(name) or not _is_session(name, piece.partition("=")[2], names)
    ]
    return _join(origin, path, "&".join(left))


def drop_empty_parameters(url: str) -> str:
    """Without the nothing between two `&`."""
    start, _, query = url.partition("?")
    return _join(start, "", "&".join(filter(None, query.split("&")))) if "&" in query else url


def sort_parameters(url: str) -> str:
    """With the parameters by name; those of one name keep their order.

    Only where all have a name and `=`, none may belong to a URL inside (`?u=http://a.org/?b=c&d=e`), and the parameters
    of one name stand together: `f=a&v=1&f=b&v=2` may be read as pairs.
    """
    start, _, query = url.partition("?")
    if "&" not in query or not _NAMED_VALUES.fullmatch(query):
        return url
    pieces = query.split("&")
    in_order = sorted(pieces, key=_name)
    return _join(start, "", "&".join(in_order)) if _runs(pieces) == _runs(in_order) else url


RULES: tuple[Callable[[str], str], ...] = (
    unescape_plain,
    drop_path_sessions,
    drop_tracking,
    drop_sessions,
    drop_empty_parameters,
    sort_parameters,
)
"""In their order: each finds what the ones before it leave."""

concerned = re.compile(r"[?;(%]").search
"""Whether any rule may change a URL; most have nothing of the kind."""


def _split(url: str) -> tuple[str, str, str]:
    """(scheme and host, path, query) of a canonical URL."""
    start, _, query = url.partition("?")
    end = start.find("/", 8)
    return start[:end], start[end:], query


def _join(origin: str, path: str, query: str) -> str:
    return f"{origin}{path}?{query}" if query else origin + path


def _host(origin: str) -> str:
    """The host's name, without its port; of an IPv6 address only a part, which is on no list."""
    return origin.rpartition("/")[2].partition(":")[0]


def _name(piece: str) -> str:
    return piece.partition("=")[0]


def _runs(pieces: list[str]) -> int:
    """How often a parameter has another name than the one before it."""
    return sum(a != b for a, b in itertools.pairwise(map(_name, pieces)))


def _unescape(text: str, plain: dict[str, str]) -> str:
    return _ESCAPE.sub(lambda match: plain.get(match[0], match[0]), text)


def _holds_a_url(path: str, query: str) -> bool:
    """Whether it names something by another URL, every character of which may count: proxies, archives."""
    return ":/" in path or "://" in query.partition("=")[0]


def _is_session(name: str, value: str, beside: Collection[str]) -> bool:
    return any(
        names.holds(name) and pattern.fullmatch(value) and (not needed or needed in beside)
        for names, pattern, needed in _SESSIONS
    )


_NONE = _Names.of(())


@functools.lru_cache(maxsize=2**12)
def _tracking(host: str) -> _Names:
    return _of_host(host, _TRACKING_ON_HOSTS)


@functools.lru_cache(maxsize=2**12)
def _kept(host: str) -> _Names:
    return _of_host(host, _KEPT_ON_HOSTS)


def _of_host(host: str, table: dict[str, _Names]) -> _Names:
    """What a table says of a host, or of a name above it."""
    while host and host not in table:
        host = host.partition(".")[2]
    return table.get(host, _NONE)
