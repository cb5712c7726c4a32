"""Validates the values of settings, by the conditions that `setting` declares."""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

from ..outcomes import BeamtrawlError, meant
from .fields import kind_of


class SettingsError(BeamtrawlError, ValueError):
    """An invalid setting; the message names the key, the value and, for a file, the line."""

    is_usage = True


_LONGEST, _MOST = 10**9, 10**12  # seconds that clocks and sockets accept; the maximum of any count

_NAMES = {
    bool: "true or false",
    float: "a number",
    int: "a whole number",
    str: "a string",
    list[str]: "a list of strings",
}


def problem(field: dataclasses.Field, value: Any) -> str | None:
    """The error in a value, as the end of a sentence ("must be …"); None for a valid value."""
    kind, may_be_unset = kind_of(field)
    if value is None and may_be_unset:
        return None
    if not _is_of(value, kind):
        return f"must be {_NAMES[kind]}"
    if kind in (int, float):
        return _out_of_range(value, kind, field.metadata)
    if (choices := field.metadata["choices"]) and value not in choices:
        return f"must be one of {', '.join(choices)}{meant(value, choices)}"
    check = field.metadata["check"]
    return check(value) if check else None


def _is_of(value: Any, kind: Any) -> bool:
    """Whether a value of TOML has the type of a setting; whole numbers are numbers, truth values are not."""
    if kind == list[str]:
        return isinstance(value, list) and all(isinstance(item, str) for item in value)
    if isinstance(value, bool) or kind is bool:
        return isinstance(value, bool) and kind is bool
    return isinstance(value, int | float if kind is float else kind)


def _out_of_range(value: float, kind: Any, field: Mapping[str, Any]) -> str | None:
    limit = _LONGEST if kind is float else _MOST
    if value < 0 or (isinstance(value, float) and math.isnan(value)):
        return f"must be {_NAMES[kind]} of at least 0"
    if value > limit:
        return f"must be at most {limit}"
    if (within := field["within"]) and not within[0] <= value <= within[1]:
        return "must be from {} to {}".format(*within)
    return "must be more than 0" if field["positive"] and value == 0 else None
