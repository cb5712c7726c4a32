"""The settings of a crawl: one file, `crawl.toml`, read and written here and nowhere else."""

import dataclasses
import ipaddress
import math
import re
import tomllib
import types
import typing
from collections.abc import Mapping
from typing import Any


class SettingsError(ValueError):
    """A setting that cannot be used; the message names the key, the value and, from a file, the line."""


def _setting(default: Any, comment: str) -> Any:
    factory = {"default_factory": lambda: default} if isinstance(default, list) else {"default": default}
    return dataclasses.field(metadata={"comment": comment}, **factory)


@dataclasses.dataclass(frozen=True)
class Robot:
    """Who we are, told to every server. All three are needed for anything but loopback."""

    name: str = _setting("", "the robot's name: sent as User-Agent, matched in robots.txt")
    contact: str = _setting("", "a mail address that is read: sent as From")
    info_url: str = _setting("", "a page about this robot for webmasters: sent in the User-Agent")


@dataclasses.dataclass(frozen=True)
class Scope:
    """Which URLs belong to the crawl."""

    mode: str = _setting("host", 'stay on the seeds\' "host"s or "domain"s, or go to "any"')
    depth: int | None = _setting(None, "links from a seed, at most; not set: any number")
    include: list[str] = _setting([], "regular expressions; if there are any, a URL must match one")
    exclude: list[str] = _setting([], "regular expressions for URLs to leave out")
    deny_hosts: list[str] = _setting([], "hosts (and all below them) never to ask")
    max_url_length: int = _setting(1024, "longer URLs are rejected, and counted for their site")


@dataclasses.dataclass(frozen=True)
class Limits:
    """How much."""

    max_pages: int = _setting(0, "visits in the whole crawl; 0: no limit")
    max_pages_per_host: int = _setting(10_000, "visits to one host in a round; the rest waits for the next")
    round_time: float = _setting(3600.0, "seconds a round may fetch; what is left waits for the next")
    max_tries: int = _setting(3, "attempts at a URL before it counts as failed")


@dataclasses.dataclass(frozen=True)
class Politeness:
    """How gently. A host is asked for one thing at a time, always."""

    delay: float = _setting(1.0, "seconds between an answer and the next request to its host")


@dataclasses.dataclass(frozen=True)
class Fetch:
    """Bounds of one request."""

    connect_timeout: float = _setting(10.0, "seconds to connect")
    read_timeout: float = _setting(20.0, "seconds without a byte")
    total_timeout: float = _setting(60.0, "seconds for a whole request")
    max_body_bytes: int = _setting(10_485_760, "a longer body is cut there, decompressed, and marked as truncated")
    allow_addresses: list[str] = _setting(
        [], "ranges of special addresses (loopback, private, link-local, …) that may be asked, as CIDR"
    )
    connections: int = _setting(64, "hosts that one worker asks at the same time")


@dataclasses.dataclass(frozen=True)
class Settings:
    """All settings; each part is a table of `crawl.toml`."""

    robot: Robot = Robot()
    scope: Scope = Scope()
    limits: Limits = Limits()
    politeness: Politeness = Politeness()
    fetch: Fetch = Fetch()

    def __post_init__(self) -> None:
        for part in dataclasses.fields(self):
            for field in dataclasses.fields(part.type):  # type: ignore[arg-type]
                value = getattr(getattr(self, part.name), field.name)
                if problem := _problem(f"{part.name}.{field.name}", field.type, value):
                    raise SettingsError(f"{part.name}.{field.name} = {_toml(value)}: {problem}")


_LONGEST, _MOST = 10**9, 10**12  # seconds that clocks and sockets can hold, and more than there is to count
_CHOICES = {"scope.mode": ("host", "domain", "any")}
_POSITIVE = {
    "fetch.connect_timeout",
    "fetch.read_timeout",
    "fetch.total_timeout",
    "fetch.max_body_bytes",
    "fetch.connections",
    "limits.max_pages_per_host",
    "limits.round_time",
    "limits.max_tries",
    "scope.max_url_length",
}


def _problem(key: str, kind: Any, value: Any) -> str | None:
    """What is wrong with a value, as the end of a sentence; None if nothing is."""
    kinds = typing.get_args(kind) if isinstance(kind, types.UnionType) else (kind,)
    if value is None and type(None) in kinds:
        return None
    if list[str] in kinds:
        if not (isinstance(value, list) and all(isinstance(item, str) for item in value)):
            return "must be a list of strings"
        return next((p for item in value if (p := _item_problem(key, item))), None)
    if float in kinds and isinstance(value, int | float) and not isinstance(value, bool):
        if value < 0 or (isinstance(value, float) and math.isnan(value)):
            return "must be a number of at least 0"
        if value > _LONGEST:
            return f"must be at most {_LONGEST}"
    elif int in kinds and isinstance(value, int) and not isinstance(value, bool):
        if value < 0:
            return "must be a whole number of at least 0"
        if value > _MOST:
            return f"must be at most {_MOST}"
    elif str in kinds and isinstance(value, str):
        if key.startswith("robot.") and not (value.isascii() and value.isprintable()):
            return "must be printable ASCII, as it goes into a header of HTTP"
        if key == "robot.name" and value and not re.fullmatch(r"[A-Za-z_-]+(/[\w.+-]+)?", value):
            return "must be letters, - and _, as robots.txt can name it, with /version at most"
        if key == "robot.contact" and value and not re.fullmatch(r"[^@\s]+@[^@\s]+", value):
            return "must be a mail address"
        if key == "robot.info_url" and value and not re.fullmatch(r"https?://[^\s]+", value):
            return "must be an http or https URL"
        if key in _CHOICES and value not in _CHOICES[key]:
            return "must be one of " + ", ".join(_CHOICES[key])
        return None
    else:
        wanted = "a number" if float in kinds else "a whole number" if int in kinds else "a string"
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
    except (ValueError, re.error) as error:
        return f"{error}"
    return None


def parse(text: str, name: str = "crawl.toml") -> Settings:
    """The settings in the text of a `crawl.toml`; SettingsError names the key, the value and the line."""
    try:
        tables = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # TOMLDecodeError, and numbers or nesting beyond all reason
        raise SettingsError(f"{name}: {error}") from error
    parts = {}
    for table, values in tables.items():
        part = next((f for f in dataclasses.fields(Settings) if f.name == table), None)
        if part is None or not isinstance(values, dict):
            known = ", ".join(f"[{f.name}]" for f in dataclasses.fields(Settings))
            raise SettingsError(f"{name}, line {_line(text, '', table)}: unknown table or key {table}; known: {known}")
        fields = {f.name: f for f in dataclasses.fields(part.type)}  # type: ignore[arg-type]
        for key, value in values.items():
            where = f"{name}, line {_line(text, table, key)}: {table}.{key} = {_toml(value)}"
            if key not in fields:
                raise SettingsError(f"{where}: unknown key; [{table}] has {', '.join(fields)}")
            if problem := _problem(f"{table}.{key}", fields[key].type, value):
                raise SettingsError(f"{where}: {problem}")
        parts[table] = part.type(**values)  # type: ignore[operator]
    return Settings(**parts)


def override(settings: Settings, changes: Mapping[str, Any]) -> Settings:
    """The settings with some values replaced, by dotted key: `{"politeness.delay": 0.5}`."""
    for key, value in changes.items():
        part, _, name = key.partition(".")
        settings = dataclasses.replace(
            settings, **{part: dataclasses.replace(getattr(settings, part), **{name: value})}
        )
    return settings


def render(settings: Settings) -> str:
    """The text of a `crawl.toml`, with a comment for each key; `parse` gives the same settings again."""
    lines = ["# The settings of this crawl. Flags of `beamtrawl crawl` go before them, for one run."]
    for part in dataclasses.fields(settings):
        lines += ["", f"[{part.name}]"]
        for field in dataclasses.fields(part.type):  # type: ignore[arg-type]
            value = getattr(getattr(settings, part.name), field.name)
            lines.append(f"# {field.metadata['comment']}")
            lines.append(f"# {field.name} = …" if value is None else f"{field.name} = {_toml(value)}")
    return "\n".join(lines) + "\n"


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, str):
        escaped = "".join(
            "\\" + c if c in '"\\' else f"\\u{ord(c):04x}" if ord(c) < 32 or ord(c) == 127 else c for c in value
        )
        return f'"{escaped}"'
    return str(value)


def _line(text: str, table: str, key: str) -> int:
    """The line that sets a key; the table's own when the key is written in a way we do not look for."""
    current, found = "", 1
    for number, line in enumerate(text.split("\n"), 1):  # splitlines cuts where TOML does not
        if header := re.match(r"\s*\[+\s*([^\]]+?)\s*\]", line):
            current = header[1]
            if current == (table or key):
                found = number
        elif current == table and re.match(rf"\s*[\"']?{re.escape(key)}[\"']?\s*=", line):
            return number
    return found
