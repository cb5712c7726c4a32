"""What can come of a visit to a URL."""

from enum import StrEnum


class Outcome(StrEnum):
    """The one word for how a visit ended: a column value and a counter name at once."""

    FETCHED = "fetched"
    """A 2xx answer with a body we keep."""
    NOT_MODIFIED = "not_modified"
    """A 304 to a conditional request."""
    REDIRECTED = "redirected"
    """A 3xx answer with a usable target; the target is a link of kind redirect."""
    GONE = "gone"
    """404 or 410."""
    CLIENT_ERROR = "client_error"
    """Any other 4xx, except 429."""
    SERVER_ERROR = "server_error"
    """5xx, and 429: the server asks us to come back later."""
    DENIED_ROBOTS = "denied_robots"
    """robots.txt forbids the URL; nothing was asked of the server."""
    DENIED_META = "denied_meta"
    """The page's own directives keep it out of the index (counted by the update step)."""
    UNREACHABLE_ROBOTS = "unreachable_robots"
    """robots.txt could not be had (429, 5xx, network): the host waits."""
    DEFERRED = "deferred"
    """The turn ended (deadline, stop) before this URL's time came."""
    TIMEOUT = "timeout"
    DNS_ERROR = "dns_error"
    CONNECT_ERROR = "connect_error"
    TLS_ERROR = "tls_error"
    BLOCKED_ADDRESS = "blocked_address"
    """The name leads to a private or special address that the settings do not allow."""
    UNWANTED_TYPE = "unwanted_type"
    """A media type that is not asked for; the body was not read."""
    TOO_LONG = "too_long"
    """The answer's head, or its decompressed body, is beyond all bounds."""
    BAD_RESPONSE = "bad_response"
    """Not HTTP, or HTTP that contradicts itself."""


RETRIED = frozenset(
    {
        Outcome.SERVER_ERROR,
        Outcome.UNREACHABLE_ROBOTS,
        Outcome.TIMEOUT,
        Outcome.DNS_ERROR,
        Outcome.CONNECT_ERROR,
        Outcome.BAD_RESPONSE,
    }
)
"""Trouble that may pass: the URL is tried again in a later round, a bounded number of times."""

TAKEN_BACK = frozenset(
    {
        Outcome.REDIRECTED,
        Outcome.GONE,
        Outcome.CLIENT_ERROR,
        Outcome.DENIED_ROBOTS,
        Outcome.BLOCKED_ADDRESS,
        Outcome.UNWANTED_TYPE,
        Outcome.TOO_LONG,
    }
)
"""After these an indexed page is no longer found: it is not there any more, or may not be asked for."""

REQUESTED = frozenset(Outcome) - {
    Outcome.DENIED_ROBOTS,
    Outcome.UNREACHABLE_ROBOTS,
    Outcome.DEFERRED,
    Outcome.BLOCKED_ADDRESS,
    Outcome.DNS_ERROR,
}
"""Outcomes for which a request for the URL itself went out, or was tried."""
