"""Who we say we are, on every request (SPEC C1)."""

import base64
import dataclasses
from importlib import metadata
from urllib.parse import urlsplit

from ..settings import Fetch, Robot, credentials, header
from ..urls.canonical import host


@dataclasses.dataclass(frozen=True)
class Identity:
    """The robot's name and how to reach its operator."""

    user_agent: str
    contact: str
    token: str  # what robots.txt calls us: the name without a version
    complete: bool  # whether anything but loopback may be asked (SPEC A3)
    accept: str  # the media types that are wanted

    @classmethod
    def of(cls, robot: Robot, accept: str = "*/*") -> "Identity":
        name = robot.name or "Beamtrawl"
        product = name if "/" in name else f"{name}/{metadata.version('beamtrawl')}"
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
        """The request's headers; Host is the transport's. Referer never goes from https to http (RFC 9110, 10.1.3)."""
        headers = {
            "User-Agent": self.user_agent,
            "Accept": self.accept,
            "Accept-Encoding": "gzip, deflate",
            "Accept-Language": "*",
        }
        if self.contact:
            headers["From"] = self.contact
        if referrer and (urlsplit(referrer).scheme, urlsplit(url).scheme) != ("https", "http"):
            headers["Referer"] = referrer
        if etag:
            headers["If-None-Match"] = etag
        if last_modified:
            headers["If-Modified-Since"] = last_modified
        return headers


def own_headers(fetch: Fetch, url: str) -> dict[str, str]:
    """The headers that the settings add to a request for a canonical URL, before all others of the same name.

    Credentials go to the host that they are for, and to no other port of it: `HOST` is the default port of either
    scheme, `HOST:443` that of https alone.
    """
    found = dict(header(text) for text in fetch.headers)
    if fetch.credentials:
        known = dict(credentials(text) for text in fetch.credentials)
        authority = host(url)
        port = {"http": ":80", "https": ":443"}[url.partition(":")[0]]
        if secret := known.get(authority) or known.get(authority + port):
            found["Authorization"] = basic(secret)
    return found


def basic(user_and_password: str) -> str:
    """The value of a header that says who we are (RFC 7617).

    >>> basic("Aladdin:open sesame")
    'Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=='
    """
    return "Basic " + base64.b64encode(user_and_password.encode()).decode()
