"""Reads and writes `crawl.toml`, the settings as text with comments."""

import dataclasses
import difflib
import hashlib
import re
import tomllib
from collections.abc import Iterable, Mapping
from typing import Any

from .fields import default_of
from .sections import Settings
from .toml_values import shown, to_toml
from .validate import SettingsError, problem


def parse(text: str, name: str = "crawl.toml") -> Settings:
    """Parse the text of a `crawl.toml`. Raises SettingsError, which names the key, the value and the line."""
    try:
        tables = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # TOMLDecodeError; numbers or nesting beyond Python's limits
        raise SettingsError(f"{name}: {error}") from error
    parts = {}
    for table, values in tables.items():
        part = next((f for f in dataclasses.fields(Settings) if f.name == table), None)
        if part is None or not isinstance(values, dict):
            known = ", ".join(f"[{f.name}]" for f in dataclasses.fields(Settings))
            raise SettingsError(f"{name}, line {_line(text, '', table)}: unknown table or key {table}; known: {known}")
        fields = {f.name: f for f in dataclasses.fields(part.type)}  # type: ignore[arg-type]
        for key, value in values.items():
            where = f"{name}, line {_line(text, table, key)}: {table}.{key}"
            if key not in fields:
                raise SettingsError(f"{where}: unknown key; {_hint(table, key, fields)}")
            where += f" = {shown(fields[key], value)}"
            if found := problem(fields[key], value):
                raise SettingsError(f"{where}: {found}")
        parts[table] = part.type(**values)  # type: ignore[operator]
    return Settings(**parts)


def override(settings: Settings, changes: Mapping[str, Any]) -> Settings:
    """A copy of the settings with some values replaced, by dotted key: `{"politeness.delay": 0.5}`.

    SettingsError if there is no such key, or it cannot have the value.
    """
    for key, value in changes.items():
        part, _, name = key.partition(".")
        tables = {f.name: [field.name for field in dataclasses.fields(f.type)] for f in dataclasses.fields(settings)}  # type: ignore[arg-type]
        if part not in tables:
            near = [f"{table}.{part}" for table, names in tables.items() if part in names]
            hint = f"did you mean {near[0]}?" if near else f"the tables are {', '.join(tables)}"
            raise SettingsError(f"{key}: unknown setting; {hint}")
        if name not in tables[part]:
            raise SettingsError(f"{key}: unknown setting; {_hint(part, name, tables[part])}")
        settings = dataclasses.replace(
            settings, **{part: dataclasses.replace(getattr(settings, part), **{name: value})}
        )
    return settings


def render(settings: Settings) -> str:
    """The text of a `crawl.toml`, with a comment for each table and key; `parse` returns the same settings."""
    lines = ["# Settings of this crawl. A flag of `beamtrawl crawl` overrides the setting for one run."]
    for part in dataclasses.fields(settings):
        lines += ["", f"# {part.type.__doc__}", f"[{part.name}]"]
        for field in dataclasses.fields(part.type):  # type: ignore[arg-type]
            value = getattr(getattr(settings, part.name), field.name)
            lines += ["", f"# {field.metadata['comment']}{_default(field)}"]
            lines.append(f"# {field.name} = …" if value is None else f"{field.name} = {to_toml(value)}")
    return "\n".join(lines) + "\n"


def _hint(table: str, key: str, known: Iterable[str]) -> str:
    """What a user may have meant by an unknown key of a table."""
    near = difflib.get_close_matches(key, known, 1)
    return f"did you mean {near[0]}?" if near else f"[{table}] has {', '.join(known)}"


def _default(field: dataclasses.Field) -> str:
    """The default as the end of a comment; "" where the value is unset or empty."""
    default = default_of(field)
    return "" if default in (None, "", []) else f" Default: {to_toml(default)}"


def settings_digest(settings: Settings) -> str:
    """A hash of the settings without secrets, for manifests."""
    return hashlib.blake2b(render(without_secrets(settings)).encode(), digest_size=16).hexdigest()


def changed_values(settings: Settings) -> dict[str, Any]:
    """The values that differ from the defaults, by dotted key, without secrets; `override` sets them again.

    >>> changed_values(override(Settings(), {"politeness.delay": 5.0}))
    {'politeness.delay': 5.0}
    """
    parts, defaults = dataclasses.asdict(without_secrets(settings)), dataclasses.asdict(Settings())
    return {
        f"{part}.{name}": value
        for part, values in parts.items()
        for name, value in values.items()
        if value != defaults[part][name]
    }


def without_secrets(settings: Settings) -> Settings:
    """The settings with empty values for all secrets, as they may be displayed and hashed."""
    return dataclasses.replace(
        settings, **{part.name: _public(getattr(settings, part.name)) for part in dataclasses.fields(settings)}
    )


def _public(section: Any) -> Any:
    secrets = [field.name for field in dataclasses.fields(section) if field.metadata["secret"]]
    return dataclasses.replace(section, **{name: type(getattr(section, name))() for name in secrets})


def _line(text: str, table: str, key: str) -> int:
    """The number of the line that sets a key; of the table's header if the key is written with escapes or dots."""
    current, found = "", 1
    for number, line in enumerate(text.split("\n"), 1):  # splitlines cuts where TOML does not
        if header := re.match(r"\s*\[+\s*([^\]]+?)\s*\]", line):
            current = header[1]
            if current == (table or key):
                found = number
        elif current == table and re.match(rf"\s*[\"']?{re.escape(key)}[\"']?\s*=", line):
            return number
    return found
