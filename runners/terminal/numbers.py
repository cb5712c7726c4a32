"""Numbers on the command line, as types for argparse, whose messages name the flag."""

import argparse
from collections.abc import Callable

_MOST = 10**12

LAST_ROUND = 999_999
"""The greatest number of a round, which names of files have with six digits."""


def at_least_0(text: str) -> float:
    """A number of at least 0, and neither infinite nor nan."""
    if not 0 <= (value := _number(text)) <= _MOST:
        raise argparse.ArgumentTypeError(f"{text}: must be a number of at least 0, and at most {_MOST:g}")
    return value


def above_0(text: str) -> float:
    """A number above 0, and neither infinite nor nan."""
    if not 0 < (value := _number(text)) <= _MOST:
        raise argparse.ArgumentTypeError(f"{text}: must be a number of more than 0, and at most {_MOST:g}")
    return value


def whole(least: int = 0, most: int | None = None) -> Callable[[str], int]:
    """A type for whole numbers of at least `least`, and at most `most` if that is given.

    >>> whole(1)("3"), whole()("0")
    (3, 0)
    """

    def read(text: str) -> int:
        if text.isascii() and text.isdecimal() and least <= int(text[:30]) and (most is None or int(text[:30]) <= most):
            return int(text[:30])
        bounds = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise argparse.ArgumentTypeError(f"{text or repr(text)}: must be a whole number {bounds}")

    return read


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no number") from error
