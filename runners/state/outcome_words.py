"""The outcomes of visits in a few words."""

from collections.abc import Mapping

from ...transforms.outcomes import Outcome

MEANINGS: Mapping[str, str] = {
    Outcome.FETCHED: "a page",
    Outcome.NOT_MODIFIED: "304: the stored page is current",
    Outcome.REDIRECTED: "leads to another URL",
    Outcome.REDIRECT_LOOP: "a redirect that leads back",
    Outcome.BAD_REDIRECT: "a redirect without a usable target",
    Outcome.GONE: "404 or 410",
    Outcome.GONE_BY_CONTENT: "a page that its host gives to any path",
    Outcome.PAYMENT_REQUIRED: "402: the site sells access to robots; agree on terms with it, or exclude it",
    Outcome.FORBIDDEN: "403: the server turns the robot away; ask its webmaster, or exclude it",
    Outcome.TOO_MANY_REQUESTS: "429: the robot is too fast for the server; a longer politeness.delay avoids it",
    Outcome.CLIENT_ERROR: "another 4xx",
    Outcome.SERVER_ERROR: "5xx",
    Outcome.DENIED_ROBOTS: "forbidden by robots.txt; not requested",
    Outcome.UNREACHABLE_ROBOTS: "robots.txt cannot be fetched; the host waits",
    Outcome.DEFERRED: "the round ended, or a block began, before the request",
    Outcome.TIMEOUT: "no answer in time",
    Outcome.DNS_ERROR: "the name has no address",
    Outcome.CONNECT_ERROR: "no connection",
    Outcome.TLS_ERROR: "the certificate or TLS failed",
    Outcome.BLOCKED_ADDRESS: "a special address that is not allowed; no connection was made",
    Outcome.UNWANTED_TYPE: "a media type that is not parsed",
    Outcome.TOO_LONG: "beyond the limits of size",
    Outcome.BAD_RESPONSE: "not HTTP, or contradictory",
}

_STATUSES = {402: "payment required", 403: "forbidden", 429: "too many requests", 503: "unavailable"}


def status_words(status: int) -> str:
    """Return an HTTP status, with its meaning for those by which a host turns the robot away.

    >>> status_words(429), status_words(404)
    ('429 (too many requests)', '404')
    """
    return f"{status} ({_STATUSES[status]})" if status in _STATUSES else str(status)
