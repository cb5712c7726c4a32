"""Validates the values of settings."""

import ipaddress
import math
import re
import types
import typing
from typing import Any

from ..errors import BeamtrawlError
from .values import downloader, header, pin


class SettingsError(BeamtrawlError, ValueError):
    """An invalid setting; the message names the key, the value and, for a file, the line."""


_LONGEST, _MOST = 10**9, 10**12  # seconds that clocks and sockets accept; the maximum of any count

_CHOICES = {
    "scope.mode": ("host", "domain", "any"),
    "fetch.client": ("direct", "requests"),
    "politeness.scope": ("host", "domain", "address"),
}

_POSITIVE = {
    "fetch.connect_timeout",
    "fetch.read_timeout",
    "fetch.total_timeout",
    "fetch.max_body_bytes",
    "fetch.max_header_bytes",
    "fetch.connections",
    "fetch.lookups_per_second",
    "limits.max_pages_per_host",
    "limits.round_time",
    "limits.piece_time",
    "limits.max_tries",
    "limits.max_host_tries",
    "politeness.dead_after",
    "priority.foreign",
    "priority.high",
    "priority.low",
    "priority.normal",
    "priority.revisit",
    "recrawl.max_interval",
    "recrawl.min_interval",
    "scope.max_url_length",
    "scope.path_depth",
    "scope.parameters",
    "scope.same_parameter",
}


def problem(key: str, kind: Any, value: Any) -> str | None:
    """The error in a value, as the end of a sentence ("must be …"); None for a valid value."""
    kinds = typing.get_args(kind) if isinstance(kind, types.UnionType) else (kind,)
    if value is None and type(None) in kinds:
        return None
    if list[str] in kinds:
        if key == "documents.kinds" and not value:
            return 'must name a kind, such as "html"'
        if not (isinstance(value, list) and all(isinstance(item, str) for item in value)):
            return "must be a list of strings"
        return next((p for item in value if (p := _item_problem(key, item))), None)
    if float in kinds and isinstance(value, int | float) and not isinstance(value, bool):
        if value < 0 or (isinstance(value, float) and math.isnan(value)):
            return "must be a number of at least 0"
        if value > _LONGEST:
            return f"must be at most {_LONGEST}"
        if key == "documents.similarity" and not 0.5 <= value <= 1:
            return "must be from 0.5 to 1"
    elif int in kinds and isinstance(value, int) and not isinstance(value, bool):
        if value < 0:
            return "must be a whole number of at least 0"
        if value > _MOST:
            return f"must be at most {_MOST}"
    elif bool in kinds and isinstance(value, bool):
        return None
    elif str in kinds and isinstance(value, str):
        if key.startswith("robot.") and not (value.isascii() and value.isprintable()):
            return "must be printable ASCII, because it is sent in an HTTP header"
        if key == "robot.name" and value and not re.fullmatch(r"[A-Za-z_-]+(/[\w.+-]+)?", value):
            return "must consist of letters, - and _, as in robots.txt; it may end with /VERSION"
        if key == "robot.contact" and value and not re.fullmatch(r"[^@\s]+@[^@\s]+", value):
            return "must be an e-mail address"
        if key == "robot.info_url" and value and not re.fullmatch(r"https?://[^\s]+", value):
            return "must be an http or https URL"
        if key == "fetch.proxy" and value and (fault := _proxy_fault(value)):
            return fault
        if key in _CHOICES and value not in _CHOICES[key]:
            return "must be one of " + ", ".join(_CHOICES[key])
        return None
    else:
        names = {bool: "true or false", float: "a number", int: "a whole number", str: "a string"}
        wanted = next(name for known, name in names.items() if known in kinds)
        return f"must be {wanted}"
    if key in _POSITIVE and value == 0:
        return "must be more than 0"
    return None


def _item_problem(key: str, item: str) -> str | None:
    try:
        if key == "fetch.allow_addresses":
            ipaddress.ip_network(item)
        if key in ("scope.include", "scope.exclude"):
            re.compile(item)
        if key == "fetch.resolve":
            pin(item)
        if key == "fetch.downloaders":
            downloader(item)
    except (ValueError, re.error) as error:
        return f"{error}"
    if key == "traps.allow" and not _ALLOWED.fullmatch(item):
        return 'must be "HOST/PATTERN", without http://'
    if key == "fetch.headers":
        _, name, value = header(item)
        if not _HEADER.fullmatch(f"{name}: {value}"):
            return 'must be "Name: value" or "HOST Name: value", in printable ASCII'
        if name.lower() in _OWN_HEADERS:
            return f"{name} is set by the crawler; [robot] holds the robot's identity"
    if key == "fetch.credentials" and not _CREDENTIALS.fullmatch(item):
        return 'must be "HOST USER:PASSWORD"'
    return None


_PROXY = re.compile(r"http://([^\s:@/]+:[^\s@/]*@)?([^\s:@/\[\]]+|\[[0-9a-fA-F:]+\])(:(?P<port>\d+))?/?", re.ASCII)


def _proxy_fault(value: str) -> str | None:
    """What is wrong with the URL of a proxy; None: nothing."""
    found = _PROXY.fullmatch(value)
    if not found:
        return "must be http://HOST:PORT or http://USER:PASSWORD@HOST:PORT"
    if found["port"] and not (len(found["port"]) <= _PORT_DIGITS and 0 < int(found["port"]) <= _LAST_PORT):
        return f"must have a port from 1 to {_LAST_PORT}"
    return None


_LAST_PORT, _PORT_DIGITS = 65535, 5

_HEADER = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):\s*([ -~]+)", re.ASCII)

_ALLOWED = re.compile(r"(?!https?:)[^\s/]+/\S*")

_CREDENTIALS = re.compile(r"(\S+)\s+([^\s:]+:.*)")


_OWN_HEADERS = {
    *("host", "user-agent", "from", "referer", "connection", "content-length", "transfer-encoding", "range"),
    *("accept-encoding", "if-none-match", "if-modified-since", "proxy-authorization"),
}
