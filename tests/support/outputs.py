"""What a DoFn yields, by tag."""

from collections.abc import Iterable
from typing import Any

import apache_beam as beam


def outputs(found: Iterable[beam.pvalue.TaggedOutput]) -> dict[str, list[Any]]:
    """The outputs of a DoFn's `process` by their tag."""
    by_tag: dict[str, list[Any]] = {}
    for one in found:
        by_tag.setdefault(one.tag, []).append(one.value)
    return by_tag
