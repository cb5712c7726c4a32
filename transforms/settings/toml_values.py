"""Formats setting values for TOML and for messages."""

import dataclasses
import json
from typing import Any


def shown(field: dataclasses.Field, value: Any) -> str:
    """The value as TOML for a message; … for a secret, even if the value is invalid."""
    return "…" if field.metadata["secret"] else to_toml(value)


def to_toml(value: Any) -> str:
    """What a parser of TOML gives, as TOML."""
    if isinstance(value, list):
        return f"[{', '.join(map(to_toml, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{to_toml(key)} = {to_toml(item)}' for key, item in value.items())}}}"
    if isinstance(value, bool | str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")  # JSON's escapes are TOML's
    return str(value)
