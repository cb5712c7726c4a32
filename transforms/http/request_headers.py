"""The headers of requests: the robot's identity, and headers from the settings (docs/politeness.md)."""

import base64
import dataclasses
import functools
import re
from collections.abc import Collection
from importlib import metadata
from urllib.parse import urlsplit

from ..settings import Fetch, Robot, credentials, header
from ..urls.canonical import host
from .address_guard import literal_loopback


@functools.cache
def _version() -> str:
    return metadata.version("beamtrawl")


@dataclasses.dataclass(frozen=True)
class Identity:
    """The robot's name and its operator's contact."""

    user_agent: str
    contact: str
    token: str  # the product token in robots.txt: the name without a version
    complete: bool  # whether requests beyond loopback are allowed
    accept: str  # the media types that are wanted

    @classmethod
    def of(cls, robot: Robot, accept: str = "*/*") -> "Identity":
        name = robot.name or "Beamtrawl"
        product = name if "/" in name else f"{name}/{_version()}"
        return cls(
            user_agent=f"{product} (+{robot.info_url})" if robot.info_url else product,
            contact=robot.contact,
            token=name.partition("/")[0],
            complete=bool(robot.name and robot.contact and robot.info_url),
            accept=accept,
        )

    def headers(
        self, url: str, referrer: str | None = None, etag: str | None = None, last_modified: str | None = None
    ) -> dict[str, str]:
        """The request's headers except Host. No Referer from https to http (RFC 9110, 10.1.3)."""
        headers = {
            "User-Agent": self.user_agent,
            "Accept": self.accept,
            "Accept-Encoding": "gzip, deflate, br, zstd",
            "Accept-Language": "*",
        }
        if self.contact:
            headers["From"] = self.contact
        if referrer and (urlsplit(referrer).scheme, urlsplit(url).scheme) != ("https", "http"):
            headers["Referer"] = referrer
        if etag:
            # httpd appends the coding to a tag, and compares it without (Apache bug 45023): else it never answers 304.
            headers["If-None-Match"] = ", ".join(dict.fromkeys((etag, _CODING.sub("", etag))))
        if last_modified:
            headers["If-Modified-Since"] = last_modified
        return headers


def own_headers(fetch: Fetch, url: str) -> dict[str, str]:
    """The headers that the settings add to a request for a canonical URL; they replace others of the same name.

    Credentials, and headers that are bound to a host, are sent to that host and port only: `HOST` is the default port
    of https, as `HOST:443`. They are sent over plain http only if bound to `http://HOST`, or to loopback; the same
    applies to Authorization and Cookie without a host.
    """
    found = {
        name: value
        for target, name, value in map(header, fetch.headers)
        if (is_for(target, url) if target else name.lower() not in _SECRET_NAMES or _is_safe(url))
    }
    for target, secret in map(credentials, fetch.credentials):
        if is_for(target, url):
            found["Authorization"] = basic(secret)
    return found


def never_sent(fetch: Fetch, urls: Collection[str]) -> list[str]:
    """The hosts to which credentials or headers of the settings are bound, and to which none of the URLs belongs."""
    targets = [target for target, *_ in [*map(credentials, fetch.credentials), *map(header, fetch.headers)] if target]
    return [target for target in dict.fromkeys(targets) if not any(is_for(target, url) for url in urls)]


_CODING = re.compile('-(?:gzip|br|deflate|zstd)(?="?$)')
_SECRET_NAMES = frozenset({"authorization", "cookie", "proxy-authorization"})
_DEFAULT_PORTS = {"http": ":80", "https": ":443"}


def is_for(target: str, url: str) -> bool:
    """Whether a header bound to `HOST` or `HOST:PORT`, with or without a scheme, may be sent to a canonical URL.

    >>> is_for("a.test", "https://a.test/"), is_for("a.test", "http://a.test/"), is_for("http://a.test", "http://a.test/")
    (True, False, True)
    """
    scheme, has_scheme, authority = target.rpartition("://")
    own_scheme, own = url.partition(":")[0], host(url)
    if has_scheme and scheme != own_scheme:
        return False
    if authority not in (own, own + _DEFAULT_PORTS[own_scheme]):
        return False
    return bool(has_scheme) or _is_safe(url)


def _is_safe(url: str) -> bool:
    """Whether requests for a URL are confidential: https, or loopback."""
    name = host(url)
    return url.startswith("https:") or literal_loopback(name if name.endswith("]") else name.partition(":")[0])


def basic(user_and_password: str) -> str:
    """The value of an Authorization header for Basic authentication (RFC 7617).

    >>> basic("Aladdin:open sesame")
    'Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=='
    """
    return "Basic " + base64.b64encode(user_and_password.encode()).decode()
