"""Outcomes of visits, and the base classes of the errors that a user of the program or of the library meets."""

import difflib
import errno
import os
from collections.abc import Iterable, Mapping
from enum import StrEnum

_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
MAKE_ROOM = "make room there"
"""The remedy in the line of a full disk."""

_NOT_ALLOWED = {errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOTDIR}


class BeamtrawlError(Exception):
    """Base of all errors that Beamtrawl raises on purpose; the message is one line that names the way out."""

    is_usage = False  # whether a command line or settings cannot be understood: exit code 2


def meant(word: str, names: Iterable[str], all_are: str = "") -> str:
    """The end of a line about a name that is none: the one that is most like it, or else, after `all_are`, all.

    >>> meant("domian", ["host", "domain"], "known:"), meant("x", ["host", "domain"], "known:"), meant("x", ["host"])
    ('; did you mean domain?', '; known: host, domain', '')
    """
    if near := difflib.get_close_matches(word, names := list(names), n=1, cutoff=0.7):
        return f"; did you mean {near[0]}?"
    return f"; {all_are} {', '.join(names)}" if all_are else ""


class CrawlDirError(BeamtrawlError):
    """A crawl directory that cannot be read or written; the message is one line that states the remedy."""


class MisnamedError(CrawlDirError):
    """A directory, a round of it, or a text in it, that is given and cannot be meant."""

    is_usage = True


class QueryTimeout(BeamtrawlError):
    """A query that took longer than its limit."""


class DiskError(CrawlDirError, OSError):
    """A file that cannot be written."""

    @classmethod
    def of(cls, path: str, error: OSError) -> "DiskError":
        """The error with the path of the file, the reason and the remedy; a path replaces that of another DiskError."""
        if isinstance(error, cls) and isinstance(error.__cause__, OSError):
            error = error.__cause__
        if room := room_for(error):
            remedy = f"{room} and run the command again; what is committed is safe"
        elif error.errno in _NOT_ALLOWED:
            remedy = "name a directory that you may write"
        else:
            remedy = "check the disk and run the command again; what is committed is safe"
        return cls(f"cannot write {path}: {reason(error)}; {remedy}")


class StoreError(DiskError):
    """An object store that cannot be read or written."""


def room_for(error: OSError) -> str:
    """What makes room for a write that failed; empty if it failed for another reason."""
    if error.errno == errno.EFBIG:
        return "raise the limit of file sizes (ulimit -f)"
    if error.errno in (errno.EMFILE, errno.ENFILE):
        return "raise the limit of open files (ulimit -n)"
    return MAKE_ROOM if error.errno in _NO_ROOM else ""


def is_full(error: BaseException | None) -> bool:
    """Whether a file could not be written since its disk is full, or the quota of its owner.

    >>> is_full(DiskError("x")), is_full(OSError(errno.ENOSPC, "full")), is_full(OSError(errno.EIO, "broken"))
    (False, True, False)
    """
    while error is not None:
        if isinstance(error, OSError) and error.errno in _NO_ROOM:
            return True
        error = error.__cause__
    return False


def reason(error: Exception) -> str:
    """The reason of a failed file operation, without the path, in one line."""
    if isinstance(error, OSError) and error.errno and not isinstance(error, DiskError):
        return os.strerror(error.errno)
    return (str(error) or type(error).__name__).splitlines()[0]


class Outcome(StrEnum):
    """How a visit ended: a value of column `outcome`, and the name of a counter."""

    FETCHED = "fetched"
    """A 2xx response whose body is kept."""
    NOT_MODIFIED = "not_modified"
    """A 304 to a conditional request."""
    REDIRECTED = "redirected"
    """A 3xx response with a usable target, which becomes a link of kind redirect."""
    REDIRECT_LOOP = "redirect_loop"
    """A 3xx response that leads back to the URL, or to the URL that redirected to it."""
    BAD_REDIRECT = "bad_redirect"
    """A 3xx response without a usable target."""
    GONE = "gone"
    """404 or 410."""
    GONE_BY_CONTENT = "gone_by_content"
    """A page that its host gives to any path (counted by the update step): as if it were 404."""
    PAYMENT_REQUIRED = "payment_required"
    """402: the site sells access to robots."""
    FORBIDDEN = "forbidden"
    """403."""
    TOO_MANY_REQUESTS = "too_many_requests"
    """429: the server asks for fewer requests, or for a later retry."""
    CLIENT_ERROR = "client_error"
    """Any other 4xx; of earlier versions, also 402 and 403."""
    SERVER_ERROR = "server_error"
    """5xx: the server may answer a later retry; of earlier versions, also 429."""
    DENIED_ROBOTS = "denied_robots"
    """robots.txt forbids the URL; no request was sent."""
    DENIED_META = "denied_meta"
    """The page's own directives exclude it from the index (counted by the update step)."""
    UNREACHABLE_ROBOTS = "unreachable_robots"
    """robots.txt could not be fetched (429, 5xx, network error): the host waits, or the origin if others answer."""
    DEFERRED = "deferred"
    """The host's turn ended (deadline, shutdown) before the URL was requested."""
    TIMEOUT = "timeout"
    DNS_ERROR = "dns_error"
    CONNECT_ERROR = "connect_error"
    TLS_ERROR = "tls_error"
    BLOCKED_ADDRESS = "blocked_address"
    """The host resolves to a private or special-purpose address that the settings do not permit."""
    UNWANTED_TYPE = "unwanted_type"
    """A media type that no kind of document has; the body was not read."""
    TOO_LONG = "too_long"
    """The response header, or the decompressed body, exceeds its bound."""
    BAD_RESPONSE = "bad_response"
    """Not HTTP, or contradictory HTTP."""


DENIED_SEARCH = "denied_search"
"""Why a fetched page is not indexed: its author reserves it from search (`search=no`)."""

INDEX_SCOPE = "index_scope"
"""Why a document is not indexed: the settings keep its URL out of the index (`[index]`)."""

RETRIED = frozenset(
    {
        Outcome.TOO_MANY_REQUESTS,
        Outcome.SERVER_ERROR,
        Outcome.UNREACHABLE_ROBOTS,
        Outcome.TIMEOUT,
        Outcome.DNS_ERROR,
        Outcome.CONNECT_ERROR,
        Outcome.BLOCKED_ADDRESS,
        Outcome.BAD_RESPONSE,
    }
)
"""Temporary failures: the URL is retried in later rounds, a bounded number of times."""

NO_ADDRESS = frozenset({Outcome.DNS_ERROR, Outcome.BLOCKED_ADDRESS})
"""The host's name has no address that may be requested: an answer of DNS, which may be wrong for a while."""

REMOVES_PAGE = frozenset(
    {
        Outcome.REDIRECTED,
        Outcome.REDIRECT_LOOP,
        Outcome.BAD_REDIRECT,
        Outcome.GONE,
        Outcome.PAYMENT_REQUIRED,
        Outcome.FORBIDDEN,
        Outcome.CLIENT_ERROR,
        Outcome.DENIED_ROBOTS,
        Outcome.UNWANTED_TYPE,
        Outcome.TOO_LONG,
    }
)
"""Outcomes that remove a page from the index: it is gone, or must not be requested any more."""

COUNTED_LATER = frozenset({Outcome.DENIED_META, Outcome.GONE_BY_CONTENT})
"""Outcomes that an update step counts for pages that a fetch step has counted as fetched."""

IMPORTED = "imported"
"""Counter of a fetch step whose visits an archive gave, without a request: how many these are."""

EXTERNAL_VISITS = "external_visits"
"""Counter of a fetch step: visits to external targets, which count for no outcome unless they are deferred."""

LINKS_ONLY = "links_only"
"""Counter of a fetch step whose pages are not followed: what they link is in table links only."""

PARSE_ERRORS = "parse_errors"
"""Counter of an update step: documents on which their parser failed."""

EXTRACT_ERRORS = "extract_errors"
"""Counter of an update step: documents to which rules were not applied, or not all."""

REQUESTED = frozenset(Outcome) - NO_ADDRESS - {Outcome.DENIED_ROBOTS, Outcome.UNREACHABLE_ROBOTS, Outcome.DEFERRED}
"""Outcomes for which a request for the URL itself was sent, or attempted."""


def count_requests(outcomes: Mapping[str, int]) -> int:
    """Return how many of the visits of some outcomes sent, or attempted, a request."""
    return sum(outcomes.get(outcome, 0) for outcome in REQUESTED - COUNTED_LATER)
