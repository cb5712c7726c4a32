"""What went wrong with a request: an exception that knows the outcome it leads to."""

import http.client
import ssl
from types import UnionType

import requests
import urllib3

from ..outcomes import Outcome
from .address_guard import BlockedAddress, NameNotResolved

TOO_SLOW = "the whole request took too long"

# The first that fits counts: requests' exceptions, and certificates' ones, are OSErrors, too.
_OUTCOMES: tuple[tuple[type[BaseException] | UnionType, Outcome], ...] = (
    (BlockedAddress, Outcome.BLOCKED_ADDRESS),
    (NameNotResolved, Outcome.DNS_ERROR),
    (ssl.SSLError, Outcome.TLS_ERROR),
    (TimeoutError, Outcome.TIMEOUT),
    (http.client.HTTPException | urllib3.exceptions.HTTPError | requests.RequestException, Outcome.BAD_RESPONSE),
    (OSError, Outcome.CONNECT_ERROR),
)


class RequestError(Exception):
    """A request that came to nothing, or to less than it should; the text is one line, and holds no secret.

    Neither an OSError nor an HTTPException, so that no library between us and the socket takes it for its own.
    """

    def __init__(self, outcome: Outcome, text: str) -> None:
        super().__init__(text)
        self.outcome = outcome
        self.text = text


def request_error(error: Exception) -> RequestError:
    """The trouble that an exception of a socket, of TLS or of an HTTP library means; a RequestError is one already."""
    if isinstance(error, RequestError):
        return error
    if isinstance(error.__cause__, BlockedAddress):  # a resolver that refuses looks like one that fails
        error = error.__cause__
    outcome = next((end for kind, end in _OUTCOMES if isinstance(error, kind)), Outcome.BAD_RESPONSE)
    return RequestError(outcome, (str(error) or type(error).__name__).splitlines()[0][:300])
