"""Decides which requests are signed: those to hosts that ask for it, or all."""

import functools
import secrets
import time
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

import http_sf

from ..settings import Robot
from .keys import SigningKey, read_key
from .message import TAG, signed_headers


class Signer:
    """Signs requests, and remembers the hosts that ask for signatures, for as long as this process runs."""

    def __init__(self, key: SigningKey, agent: str, always: bool) -> None:
        self._key, self._agent, self._always = key, agent, always
        self._asking: set[str] = set()

    def headers(self, authority: str) -> dict[str, str]:
        """The headers that sign a request to an authority; none if it did not ask."""
        if not self._always and authority not in self._asking:
            return {}
        return signed_headers(self._key, authority, self._agent, int(time.time()), secrets.token_bytes(32))

    def learn(self, authority: str, headers: Sequence[tuple[str, str]]) -> bool:
        """Whether an answer of an authority asks for signatures that its request did not have."""
        if self._always or authority in self._asking or not asks(headers):
            return False
        self._asking.add(authority)
        return True


def asks(headers: Sequence[tuple[str, str]]) -> bool:
    """Whether Accept-Signature asks for a signature that is of Web Bot Auth or of no named use (RFC 9421, 5.1)."""
    value = ", ".join(value for name, value in headers if name.lower() == "accept-signature")
    if not value:
        return False
    try:
        members: Any = http_sf.parse(value.encode("ascii"), tltype="dictionary")
    except (http_sf.StructuredFieldError, UnicodeEncodeError):
        return False
    return any(isinstance(covered, list) and tags.get("tag", TAG) == TAG for covered, tags in members.values())


@functools.cache
def signer_of(robot: Robot) -> Signer | None:
    """The process's signer for the settings; None without a key. PluginError for a key that cannot be used.

    The agent that receivers look up is the origin of `robot.info_url`, if that is https.
    """
    if not robot.key:
        return None
    page = urlsplit(robot.info_url)
    agent = f"https://{page.netloc}" if page.scheme == "https" else ""
    return Signer(read_key(robot.key), agent, robot.sign == "always")
