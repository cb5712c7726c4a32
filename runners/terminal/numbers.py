"""Numbers on the command line, as types for argparse, whose messages name the flag."""

import argparse

_MOST = 1e12


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


def whole(text: str) -> int:
    """A whole number; the command bounds it."""
    try:
        return int(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text}: must be a whole number") from error


def count(text: str) -> int:
    """A whole number of at least 0."""
    if not (text.isascii() and text.isdecimal()):
        raise argparse.ArgumentTypeError(f"{text}: must be a whole number of at least 0")
    return int(text)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no number") from error
