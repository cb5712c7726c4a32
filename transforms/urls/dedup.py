"""Rules from the canonical form to the dedup form: different URLs that are almost certainly one resource.

Each rule maps a canonical URL to a canonical URL. The dedup form is compared and never fetched, so a rule may go beyond
RFC 3986; it must be right with very few exceptions. Equivalences that syntax cannot show (index pages, letter case,
trailing slash, www) are learned from contents instead (transforms/aliases).
"""

import functools
import itertools
import re
from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

from .tracking_parameters import KEPT_ON_HOSTS, SESSIONS, TRACKING, TRACKING_ON_HOSTS, OnHosts

# Characters that servers treat alike whether escaped or not: the delimiters of RFC 3986 section 2.2, except those that
# separate parts of paths (/ ;) or queries (& = + ;). ada escapes ' in a query.
_PLAIN_IN_PATH = {f"%{ord(character):02X}": character for character in "!$'()*,:@"}
_PLAIN_IN_QUERY = {f"%{ord(character):02X}": character for character in "!$()*,:@/"} | {"%20": "+"}
_ESCAPE = re.compile("%[0-9A-F]{2}")
# Not where removal would leave a dot segment.
_PATH_PARAMETER = re.compile(r"(?<!/\.)(?<!/\.\.);([^/;=]+)=([^/;]*)")
_QUERY_PATH_PARAMETER = re.compile(r";([^;=]+)=([^;]*)")
# learn.microsoft.com, "ASP.NET Session State Overview": session, forms ticket, anonymous user, cookie support.
# Version 1 has the session alone.
_ASP_NET = re.compile(r"/\((?:X\(1\)|[AFS]\([0-9A-Za-z_-]{16,}\))+\)(?=/|$)|/\([0-9a-z]{24}\)(?=/.*\.as[hmp]x$)")
_NAMED_VALUES = re.compile(r"[^=&?/:]+=[^&?]*(?:&[^=&?/:]+=[^&?]*)*")


class _Names(NamedTuple):
    """Parameter names and prefixes of a list, compiled."""

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
    """With characters unescaped that mean the same escaped or not, and `%20` in parameters as a plus sign."""
    if "%" not in url:
        return url
    origin, path, query = split(url)
    pieces = (_unescape(piece, _PLAIN_IN_QUERY) if "=" in piece else piece for piece in query.split("&"))
    return _join(origin, _unescape(path, _PLAIN_IN_PATH), "&".join(pieces))


def drop_path_sessions(url: str) -> str:
    """Without session identifiers in the path: `/a;jsessionid=…`, `/(S(…))/a`."""
    if ";" not in url and "/(" not in url:
        return url
    origin, path, query = split(url)
    if _holds_a_url(path, query):
        return url
    path = _without_sessions(_PATH_PARAMETER, path, _kept(_host(origin)))
    return _join(origin, _ASP_NET.sub("", path) or "/", query)


def drop_tracking(url: str) -> str:
    """Without tracking parameters in the query."""
    origin, path, query = split(url)
    host = _host(origin)
    here, kept = _tracking(host), _kept(host)

    def is_noise(name: str) -> bool:
        return (_TRACKING.holds(name) or here.holds(name)) and not kept.holds(name)

    pieces = query.split("&")
    left = [piece for piece in pieces if "=" not in piece or not is_noise(_name(piece).lower())]
    return url if len(left) == len(pieces) or _holds_a_url(path, query) else _join(origin, path, "&".join(left))


def drop_sessions(url: str) -> str:
    """Without session identifiers in the query: `?sid=…`, `?a=1;jsessionid=…`."""
    origin, path, query = split(url)
    pieces = query.split("&")
    names = [_name(piece).lower() for piece in pieces]
    if not (";" in query or any(map(_SESSION_NAMES.holds, names))) or _holds_a_url(path, query):
        return url
    kept = _kept(_host(origin))
    # Servlets append `;jsessionid=…` to the URL, also if that has a query.
    pieces = [_without_sessions(_QUERY_PATH_PARAMETER, piece, kept) for piece in pieces]
    kept_pieces = [
        piece
        for piece, name in zip(pieces, names, strict=True)
        if kept.holds(name) or not _is_session(name, piece.partition("=")[2], names)
    ]
    return _join(origin, path, "&".join(kept_pieces))


def _without_sessions(parameters: re.Pattern[str], text: str, kept: _Names) -> str:
    """A text without the parameters of a pattern that hold a session identifier, but for those that are kept."""

    def left(parameter: re.Match[str]) -> str:
        name = parameter[1].lower()
        return "" if _is_session(name, parameter[2], ()) and not kept.holds(name) else parameter[0]

    return parameters.sub(left, text)


def drop_empty_parameters(url: str) -> str:
    """Without empty parameters (`a=1&&b=2`)."""
    start, _, query = url.partition("?")
    return _join(start, "", "&".join(filter(None, query.split("&")))) if "&" in query else url


def sort_parameters(url: str) -> str:
    """With the parameters sorted by name; those with the same name keep their order.

    Applies only if all parameters have a name and `=`, none can belong to a nested URL (`?u=http://a.org/?b=c&d=e`),
    and parameters with the same name are adjacent: `f=a&v=1&f=b&v=2` may be pairs.
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
"""The rules, in the order of application."""

may_change = re.compile(r"[?;(%]").search
"""Whether any rule can change a URL; a fast test that excludes most URLs."""


def split(url: str) -> tuple[str, str, str]:
    """(scheme and host, path, query) of a canonical URL."""
    start, _, query = url.partition("?")
    end = start.find("/", 8)
    return start[:end], start[end:], query


def _join(origin: str, path: str, query: str) -> str:
    return f"{origin}{path}?{query}" if query else origin + path


def _host(origin: str) -> str:
    """The host name without port; for an IPv6 address a part of it, which is in no list."""
    return origin.rpartition("/")[2].partition(":")[0]


def _name(piece: str) -> str:
    return piece.partition("=")[0]


def _runs(pieces: list[str]) -> int:
    """The number of adjacent pairs of parameters with different names."""
    return sum(a != b for a, b in itertools.pairwise(map(_name, pieces)))


def _unescape(text: str, plain: dict[str, str]) -> str:
    return _ESCAPE.sub(lambda match: plain.get(match[0], match[0]), text)


def _holds_a_url(path: str, query: str) -> bool:
    """Whether path or query contain another URL, whose characters must not change: proxies, archives."""
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
    """The entry of a table for a host or the nearest parent domain."""
    while host and host not in table:
        host = host.partition(".")[2]
    return table.get(host, _NONE)
