"""Formats setting values for TOML and for messages."""

import dataclasses
import json
from typing import Any


def shown(field: dataclasses.Field, value: Any) -> str:
    """The value as TOML for a message; … for a secret, even if the value is invalid."""
    return "…" if field.metadata["secret"] else to_toml(value)


def to_toml(value: Any) -> str:
    """A bool, number, string or list of these as a TOML value."""
    if not isinstance(value, bool | str | list):
        return str(value)
    return json.dumps(value, ensure_ascii=False, default=str).replace("\x7f", "\\u007f")  # JSON's escapes are TOML's
