"""Reads and writes `crawl.toml`, the settings as text with comments."""

import dataclasses
import functools
import hashlib
import re
import tomllib
from collections.abc import Mapping
from typing import Any

from ..outcomes import meant
from .fields import default_of, kind_of
from .page_rules import faults
from .sections import RULES, SECTIONS, Settings
from .toml_values import shown, to_toml
from .validate import SettingsError, problem

RENAMED = {"limits.max_pages_per_host": "limits.max_pages_per_host_per_round"}
"""The keys of earlier versions, which are read as before, each with its key of now."""

GONE = {
    *("alarms", "ranking.max_links"),
    *(f"priority.{name}" for name in ("high", "normal", "revisit", "low", "foreign", "low_depth", "random")),
}
"""The tables and keys of earlier versions whose values are fixed now."""

_NEAR = {"limits.max_pages_per_host": "; limits.max_pages_per_host_total bounds the whole crawl (--max-pages-per-host)"}


def renamed(text: str) -> list[str]:
    """A line for what the text of a `crawl.toml` has of an earlier version; none if it cannot be parsed."""
    try:
        tables = tomllib.loads(text)
    except (ValueError, RecursionError):
        return []
    parts = {key: key.partition(".")[::2] for key in RENAMED}
    old = [key for key, (table, name) in parts.items() if name in dict(tables.get(table) or {})]
    lines = [f"crawl.toml: {key} is called {RENAMED[key]} now, and read as such{_NEAR.get(key, '')}" for key in old]
    keys = {f"{table}.{key}" for table, values in tables.items() if isinstance(values, dict) for key in values}
    gone = ", ".join(sorted(GONE & (keys | tables.keys())))
    return [*lines, f"crawl.toml: without effect, since these values are fixed: {gone}"] if gone else lines


def parse(text: str, name: str = "crawl.toml") -> Settings:
    """Parse the text of a `crawl.toml`. Raises SettingsError, which names the key, the value and the line."""
    try:
        tables = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # TOMLDecodeError; numbers or nesting beyond Python's limits
        raise SettingsError(f"{name}: {_with_key(text, str(error))}") from error
    parts: dict[str, Any] = {}
    for table, values in tables.items():
        if table in GONE:
            continue
        if table in RULES and not isinstance(values, dict):
            for number, key, fault in faults(RULES[table], values):
                line = _line(text, table, key, number)
                raise SettingsError(f"{name}, line {line}: rule {number} of {table}: {fault}")
            parts[table] = [RULES[table](**rule) for rule in values]
            continue
        part = SECTIONS.get(table)
        if part is None or not isinstance(values, dict):
            names = [*(f"[{name}]" for name in SECTIONS), *(f"[[{name}]]" for name in RULES)]
            fault = f"unknown table or key {table}{meant(f'[{table}]', names, 'known:')}"
            raise SettingsError(f"{name}, line {_line(text, '', table)}: {fault}")
        fields = {f.name: f for f in dataclasses.fields(part.type)}  # type: ignore[arg-type]
        given = {RENAMED.get(f"{table}.{key}", f".{key}").partition(".")[2]: value for key, value in values.items()}
        given = {key: value for key, value in given.items() if f"{table}.{key}" not in GONE}
        for key, value in given.items():
            if key in fields and not (wrong := problem(fields[key], value)):
                continue
            where = f"{name}, line {_line(text, table, key)}: {table}.{key}"
            if key not in fields:
                raise SettingsError(f"{where}: unknown key{meant(key, fields, f'[{table}] has')}")
            raise SettingsError(f"{where} = {shown(fields[key], value)}: {wrong}")
        parts[table] = part.type(**given)  # type: ignore[operator]
    return Settings(**parts)


def _with_key(text: str, message: str) -> str:
    """The message of a parser that names the place of a key that is set twice, but not the key."""
    place = re.search(r"at line (\d+)", message)
    lines = text.split("\n")[: int(place[1]) if place else None]
    sets = re.compile(r"""\s*(?:\[[^,]+\]|(["']?)[\w.-]+\1(?=\s*=))""")
    keys = [key[0].strip() for line in lines if (key := sets.match(line))]
    return message.replace("overwrite a value", f"overwrite {keys[-1]}, which has a value") if keys else message


def override(settings: Settings, changes: Mapping[str, Any]) -> Settings:
    """A copy of the settings with some values replaced, by dotted key: `{"politeness.delay": 0.5}`.

    Rules are replaced as a whole: `{"extract": [{"field": "price", "css": ".price"}]}`.

    SettingsError if there is no such key, or it cannot have the value.
    """
    tables = {f.name: [field.name for field in dataclasses.fields(f.type)] for f in SECTIONS.values()}  # type: ignore[arg-type]
    for given, value in changes.items():
        key = RENAMED.get(given, given)
        if key in RULES:
            for fault in faults(RULES[key], value):
                raise SettingsError(f"rule {fault.number} of {key}: {fault.text}")
            rules: dict[str, Any] = {key: [RULES[key](**rule) for rule in value]}
            settings = dataclasses.replace(settings, **rules)
            continue
        part, _, name = key.partition(".")
        if part not in tables:
            whole = [f"{table}.{part}" for table, names in tables.items() if part in names]
            hint = f"; did you mean {whole[0]}?" if whole else meant(part, tables, "the tables are")
            raise SettingsError(f"{key}: unknown setting{hint}")
        if name not in tables[part]:
            raise SettingsError(f"{key}: unknown setting{meant(name, tables[part], f'[{part}] has')}")
        settings = dataclasses.replace(
            settings, **{part: dataclasses.replace(getattr(settings, part), **{name: value})}
        )
    return settings


def restored(values: Mapping[str, Any]) -> Settings:
    """The settings whose `changed_values` these are, perhaps of an earlier version."""
    gone = [key for key in values if key in GONE or key.partition(".")[0] in GONE]
    return override(Settings(), {key: value for key, value in values.items() if key not in gone})


def assignment(text: str) -> tuple[str, Any]:
    """The dotted key and the value in `KEY=VALUE`: a value of TOML, a string without quotes, or words of a list.

    >>> assignment("politeness.delay=0.5"), assignment("scope.mode=any"), assignment("scope.deny_hosts=a.test,b.test")
    (('politeness.delay', 0.5), ('scope.mode', 'any'), ('scope.deny_hosts', ['a.test', 'b.test']))
    """
    key, equals, value = (part.strip() for part in text.partition("="))
    if not (equals and key):
        raise SettingsError(f"{text}: give KEY=VALUE, such as politeness.backoff=5")
    field = next((f for f in _fields_of(key.partition(".")[0]) if f.name == key.partition(".")[2]), None)
    kind = kind_of(field)[0] if field else None
    try:
        return key, tomllib.loads(f"x = {value}")["x"]
    except ValueError:
        return key, [word.strip() for word in value.split(",")] if kind == list[str] else value


def _fields_of(table: str) -> tuple[dataclasses.Field, ...]:
    part = SECTIONS.get(table)
    return dataclasses.fields(part.type) if part else ()  # type: ignore[arg-type]


def render(settings: Settings) -> str:
    """The text of a `crawl.toml`, with a comment for each table and key; `parse` returns the same settings."""
    lines = ["# Settings of this crawl. A flag of `beamtrawl crawl` overrides the setting for one run."]
    for part in SECTIONS.values():
        lines += ["", f"# {part.type.__doc__}", f"[{part.name}]"]
        for field in dataclasses.fields(part.type):  # type: ignore[arg-type]
            value = getattr(getattr(settings, part.name), field.name)
            lines += ["", _comments(part.type)[field.name]]  # type: ignore[arg-type]
            lines.append(f"# {field.name} = …" if value is None else f"{field.name} = {to_toml(value)}")
    for name, kind in RULES.items():
        keys = [f"# {field.name}: {field.metadata['comment']}" for field in dataclasses.fields(kind)]
        lines += ["", f"# {kind.__doc__} Each under [[{name}]].", *keys]
        for rule in getattr(settings, name):
            values = {key: value for key, value in dataclasses.asdict(rule).items() if value}
            lines += ["", f"[[{name}]]", *(f"{key} = {to_toml(value)}" for key, value in values.items())]
    return "\n".join(lines) + "\n"


@functools.cache
def _comments(table: type) -> dict[str, str]:
    """The comment of each key of a table, with its default."""
    return {field.name: f"# {field.metadata['comment']}{_default(field)}" for field in dataclasses.fields(table)}


def _default(field: dataclasses.Field) -> str:
    """The default as the end of a comment; "" where the value is unset or empty."""
    default = default_of(field)
    return "" if default in (None, "", []) else f" Default: {to_toml(default)}"


def settings_digest(settings: Settings) -> str:
    """A hash of the settings without secrets, for manifests."""
    return hashlib.blake2b(render(without_secrets(settings)).encode(), digest_size=16).hexdigest()


def changed_values(settings: Settings) -> dict[str, Any]:
    """The values that differ from the defaults, by dotted key, without secrets; `restored` sets them again.

    >>> changed_values(override(Settings(), {"politeness.delay": 5.0}))
    {'politeness.delay': 5.0}
    """
    defaults = _defaults()
    return {key: value for key, value in all_values(without_secrets(settings)).items() if value != defaults[key]}


@functools.cache
def _defaults() -> dict[str, Any]:
    return all_values(Settings())


def all_values(settings: Settings) -> dict[str, Any]:
    """All values by dotted key, rules by the name of their tables; `override` sets them again."""
    parts = dataclasses.asdict(settings)
    values = {f"{part}.{name}": value for part in SECTIONS for name, value in parts[part].items()}
    return values | {name: parts[name] for name in RULES}


def without_secrets(settings: Settings) -> Settings:
    """The settings with empty values for all secrets, as they may be displayed and hashed."""
    sections = {name: _public(getattr(settings, name)) for name in SECTIONS}
    changed = {name: section for name, section in sections.items() if section is not getattr(settings, name)}
    return dataclasses.replace(settings, **changed) if changed else settings  # to make them validates all values again


def _public(section: Any) -> Any:
    """The section with empty values for its secrets; the same section if none has a value."""
    secrets = [field.name for field in dataclasses.fields(section) if field.metadata["secret"]]
    empty = {name: type(value)() for name in secrets if (value := getattr(section, name))}
    return dataclasses.replace(section, **empty) if empty else section


def _line(text: str, table: str, key: str, number: int = 1) -> int:
    """The number of the line that sets a key; of the table's header if the key is written with escapes or dots.

    `number` is that of the table in an array of tables.
    """
    current, line_of_table, seen = "", 1, 0
    for place, line in enumerate(text.split("\n"), 1):  # splitlines cuts where TOML does not
        if header := re.match(r"\s*\[+\s*([^\]]+?)\s*\]", line):
            current = header[1]
            if current == (table or key):
                seen += 1
                line_of_table = place if seen == number else line_of_table
        elif current == table and seen in (0, number) and _sets(line, key):
            return place
        elif not current and _sets(line, table):
            line_of_table = place
    return line_of_table


def _sets(line: str, key: str) -> bool:
    return key != "" and re.match(rf"\s*[\"']?{re.escape(key)}[\"']?\s*=", line) is not None
