"""Chooses the method by which the status of an external target is requested: HEAD, or GET where HEAD proves nothing."""

from ..frontier.selection import Due
from ..http.transport import Method

_UNKNOWN_METHOD = (405, 501)  # RFC 9110, 15.5.6 and 15.6.2
_TOO_MUCH = (429, 503)  # asks for fewer requests, not for another one


def method_of(due: Due, refuses_head: bool, by_get: frozenset[bytes]) -> Method:
    """Return the method for a target of a host that answers HEAD, or not; `by_get` are keys of `needs_get`.

    After a failure of any kind it is GET: some servers do not answer HEAD at all.
    """
    return "GET" if refuses_head or due.failures or due.url_key in by_get else "HEAD"


def needs_get(status: int | None) -> bool:
    """Return whether the status of an answer to HEAD is to be confirmed by GET.

    Servers that do not implement HEAD answer with 405 and 501, and also with 400, 403, 404 and 500.

    >>> [status for status in (200, 301, 403, 404, 405, 429, 500, 501, 503, None) if needs_get(status)]
    [403, 404, 405, 500, 501]
    """
    return status is not None and status >= 400 and status not in _TOO_MUCH


def refuses_head(status: int | None) -> bool:
    """Return whether the status of an answer to HEAD says that the host does not know the method."""
    return status in _UNKNOWN_METHOD
