"""What a DoFn yields, by tag."""

from collections.abc import Iterable
from typing import Any

import apache_beam as beam


def outputs(found: Iterable[Any]) -> dict[str, list[Any]]:
    """The outputs of a DoFn's `process` by their tag; those without one under an empty name."""
    by_tag: dict[str, list[Any]] = {}
    for one in found:
        tag, value = (one.tag, one.value) if isinstance(one, beam.pvalue.TaggedOutput) else ("", one)
        by_tag.setdefault(tag, []).append(value)
    return by_tag
