"""The exception for failed requests, with the outcome of the visit."""

import errno
import http.client
import os
import ssl

from ..outcomes import BeamtrawlError, Outcome
from .address_guard import BlockedAddress, NameNotResolved

_OF_THIS_MACHINE = frozenset({errno.EMFILE, errno.ENFILE})

TOO_SLOW = "the whole request took too long"

# The first match counts: exceptions of TLS are OSErrors, too.
_OUTCOMES: tuple[tuple[type[BaseException], Outcome], ...] = (
    (BlockedAddress, Outcome.BLOCKED_ADDRESS),
    (NameNotResolved, Outcome.DNS_ERROR),
    (ssl.SSLError, Outcome.TLS_ERROR),
    (TimeoutError, Outcome.TIMEOUT),
    (http.client.HTTPException, Outcome.BAD_RESPONSE),
    (OSError, Outcome.CONNECT_ERROR),
)


class RequestError(Exception):
    """A request that failed completely or partly; the text is one line and contains no secrets.

    Neither an OSError nor an HTTPException, so that the HTTP libraries do not catch it.
    """

    def __init__(self, outcome: Outcome, text: str) -> None:
        super().__init__(text)
        self.outcome = outcome
        self.text = text


def request_error(error: Exception) -> RequestError:
    """The RequestError for an exception of a socket, of TLS or of http.client; a RequestError is returned as is.

    BeamtrawlError for what says nothing of the server: this machine has no file descriptors left.
    """
    if isinstance(error, RequestError):
        return error
    if isinstance(error, OSError) and error.errno in _OF_THIS_MACHINE:
        reason = os.strerror(error.errno)
        raise BeamtrawlError(
            f"no connection can be opened: {reason}; raise the limit (ulimit -n), or lower fetch.connections, and run"
            " the command again"
        ) from error
    if isinstance(error.__cause__, BlockedAddress):  # a blocked address, wrapped as a failure of the resolver
        error = error.__cause__
    outcome = next((end for kind, end in _OUTCOMES if isinstance(error, kind)), Outcome.BAD_RESPONSE)
    message = error.strerror if isinstance(error, OSError) else None  # without "[Errno 111]"
    return RequestError(outcome, (message or str(error) or type(error).__name__).splitlines()[0][:300])
