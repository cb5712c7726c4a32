"""Beam's options in a command line, before it is parsed."""

from collections.abc import Sequence


def asks_for_runner(words: Sequence[str]) -> bool:
    """Whether a command line names a runner, or has options of Beam.

    >>> asks_for_runner(["crawl", "./site", "--runner", "flink"]), asks_for_runner(["crawl", "./site", "--", "--x=1"])
    (True, True)
    >>> asks_for_runner(["crawl", "./site", "--workers", "2"])
    False
    """
    return any(word == "--" or word.startswith("--runner") for word in words)
