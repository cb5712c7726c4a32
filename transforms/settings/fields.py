"""Declares a setting: its default, its comment and the values that it accepts stand together."""

import dataclasses
import types
import typing
from collections.abc import Callable
from typing import Any

Check = Callable[[Any], str | None]
"""The error in a string or list, as the end of a sentence ("must be …"); None for a valid value."""


def setting(
    default: Any,
    comment: str,
    *,
    secret: bool = False,
    positive: bool = False,
    within: tuple[float, float] | None = None,
    choices: tuple[str, ...] = (),
    check: Check | None = None,
) -> Any:
    """The dataclass field of a key of `crawl.toml`.

    Args:
        default: the value of a file without the key; None for no value.
        comment: what `crawl.toml` and docs/settings.md say about the key.
        secret: whether the value is left out of messages, tables and logs.
        positive: whether a number must be more than 0; without it, 0 is accepted.
        within: the least and the greatest value of a number.
        choices: all values of a string; () for any string.
        check: a further condition on a string or list.
    """
    factory = {"default_factory": lambda: default} if isinstance(default, list) else {"default": default}
    values = {"positive": positive, "within": within, "choices": choices, "check": check}
    return dataclasses.field(metadata={"comment": comment, "secret": secret, **values}, repr=not secret, **factory)


def default_of(field: dataclasses.Field) -> Any:
    """The default of a setting."""
    return field.default if field.default_factory is dataclasses.MISSING else field.default_factory()


def kind_of(field: dataclasses.Field) -> tuple[Any, bool]:
    """The type of a setting's values, and whether it may be unset: `int | None` is (int, True)."""
    kinds = typing.get_args(field.type) if isinstance(field.type, types.UnionType) else (field.type,)
    return next(kind for kind in kinds if kind is not types.NoneType), types.NoneType in kinds
