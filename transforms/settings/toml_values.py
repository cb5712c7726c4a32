"""Formats setting values for TOML and for messages."""

import dataclasses
from typing import Any


def shown(field: dataclasses.Field, value: Any) -> str:
    """The value as TOML for a message; … for a secret, even if the value is invalid."""
    return "…" if field.metadata["secret"] else to_toml(value)


def to_toml(value: Any) -> str:
    """A bool, number, string or list of these as a TOML value."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return "[" + ", ".join(map(to_toml, value)) + "]"
    if isinstance(value, str):
        escaped = "".join(
            "\\" + c if c in '"\\' else f"\\u{ord(c):04x}" if ord(c) < 32 or ord(c) == 127 else c for c in value
        )
        return f'"{escaped}"'
    return str(value)
