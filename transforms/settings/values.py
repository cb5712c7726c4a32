"""Parses settings that hold several parts in one string."""

import ipaddress
import re


def is_port(text: str) -> bool:
    """Whether a text is the number of a TCP port, in five digits at most."""
    return text.isascii() and text.isdecimal() and len(text) < 6 and 0 < int(text) < 65_536


def pin(text: str) -> tuple[str, int, str]:
    """(name, port, address) of a "NAME:PORT:ADDRESS". Raises ValueError with the reason.

    >>> pin("staging.example.org:443:[::1]")
    ('staging.example.org', 443, '::1')
    """
    name, _, rest = text.partition(":")
    port, _, address = rest.partition(":")
    if not re.fullmatch(r"[\w.-]+", name) or not is_port(port):
        raise ValueError(f'"{text}" must be NAME:PORT:ADDRESS')
    return name.lower(), int(port), str(ipaddress.ip_address(address.removeprefix("[").removesuffix("]")))


def downloader(text: str) -> tuple[str, str]:
    """(name, host or scheme) of a "NAME HOST" or a "NAME SCHEME:". Raises ValueError with the reason."""
    name, _, what = text.partition(" ")
    if not name or not re.fullmatch(r"https?:|[^\s:/]+(:\d+)?|\[[\da-fA-F:]+\](:\d+)?", what := what.strip().lower()):
        raise ValueError(f'"{text}" must be "NAME HOST", "NAME HOST:PORT" or "NAME https:"')
    return name, what


_BOUND_HEADER = re.compile(r"((?:https?://)?(?:[\w.-]+|\[[\da-fA-F:]+\])(?::\d+)?)\s+(\S+:.*)", re.ASCII | re.DOTALL)


def header(text: str) -> tuple[str | None, str, str]:
    """(host, name, value) of a "Name: value" or "HOST Name: value" of `fetch.headers`; without a host it is for all.

    >>> header("X-A: one: two"), header("http://a.test:81 X-A: b")
    ((None, 'X-A', 'one: two'), ('http://a.test:81', 'X-A', 'b'))
    """
    host = None
    if match := _BOUND_HEADER.fullmatch(text):
        host, text = match[1].lower(), match[2]
    name, _, value = text.partition(":")
    return host, name, value.strip()


def credentials(text: str) -> tuple[str, str]:
    """(host, "USER:PASSWORD") of a line of `fetch.credentials`."""
    host, _, secret = text.partition(" ")
    return host.lower(), secret.strip()
