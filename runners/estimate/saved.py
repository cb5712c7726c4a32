"""Estimates as JSON: what `estimate --json` prints, and what `estimate --save` keeps in a crawl directory."""

import dataclasses
import json

from ..terminal.errors import Usage
from .plan import Estimate

SAVED = "estimate.json"
"""The file below a crawl directory."""


_ADDED = {"memory"}  # fields that an estimate of an earlier version lacks


def render_estimate(found: Estimate) -> str:
    """The estimate as JSON."""
    return json.dumps(dataclasses.asdict(found), indent=1) + "\n"


def parse_estimate(text: str, name: str) -> Estimate:
    """The estimate in the output of `render_estimate` or `estimate --json`; Usage with the `name` if it is none."""
    way_out = "give what beamtrawl estimate --json has printed"
    try:
        data = json.loads(text)
    except ValueError as error:
        raise Usage(f"{name} is not JSON: {error}; {way_out}") from error
    fields = {field.name: field.type for field in dataclasses.fields(Estimate)}
    if not isinstance(data, dict) or (missing := fields.keys() - data.keys() - _ADDED):
        raise Usage(f"{name} is no estimate{f': it lacks {min(missing)}' if isinstance(data, dict) else ''}; {way_out}")
    found = {field: data[field] for field in fields if field in data}
    for field, value in found.items():
        wanted = {"source": str, "bound": str, "disk": dict, "bounds": dict, "memory": dict}.get(field, (int, float))
        if not isinstance(value, wanted) or isinstance(value, bool):
            raise Usage(f"{name} is no estimate: its {field} is {json.dumps(value)[:80]}; {way_out}")
    return Estimate(**found)
