"""Checks options of Beam."""

import argparse
from collections.abc import Sequence

from apache_beam.options.pipeline_options import PipelineOptions

from ..terminal.errors import StartError


class OptionsError(StartError):
    """Beam options that cannot be used."""


def check_options(flags: Sequence[str], more: Sequence[str] = ()) -> None:
    """Raise OptionsError for a flag that is neither Beam's nor in `more`, names of options with a value."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    for name in more:
        parser.add_argument(f"--{name}")
    seen: set[type] = set()
    todo = PipelineOptions.__subclasses__()
    while todo:
        kind = todo.pop()
        if kind not in seen:
            seen.add(kind)
            todo += kind.__subclasses__()
            kind._add_argparse_args(parser)
    try:
        _, unknown = parser.parse_known_args(list(flags))
    except argparse.ArgumentError as error:
        raise OptionsError(f"Beam options after --: {error}") from error
    if unknown:
        raise OptionsError(f"Beam does not know the option {unknown[0]}; what comes after -- goes to Beam")
