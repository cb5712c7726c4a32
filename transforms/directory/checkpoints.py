"""Folds the manifests of many steps into one file, so that opening a crawl of thousands of rounds reads few files.

A checkpoint, `manifests/checkpoint-NUMBER-ID.json`, holds so many manifests by their file names, among them all of the
checkpoint before. Those that it holds, and earlier checkpoints, may still lie beside it.
"""

import dataclasses
import json
import uuid
from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from .manifests import FORMAT, Manifest, fields_of, iso, manifest_of, readable

MOST_LOOSE = 64
"""The number of manifests beyond which they are folded."""

MOST_WASTED = 0.25
"""The share of the bytes of a crawl in files that nothing reads beyond which manifests are folded earlier."""

_PREFIX = "checkpoint-"
_FORMAT = f"{FORMAT}-checkpoint"


class Folded(NamedTuple):
    manifests: dict[str, Manifest]  # by file name
    dead: list[str]  # files that no manifest names any more, nor any reader reads


def new_name(manifests: int) -> str:
    """A unique file name of a checkpoint of so many manifests; those of more come later in alphabetical order."""
    return f"{_PREFIX}{manifests:09d}-{uuid.uuid4().hex[:8]}.json"


def is_checkpoint(file_name: str) -> bool:
    return file_name.startswith(_PREFIX)


def over_since(manifests: Mapping[str, Manifest], before: datetime) -> set[str]:
    """The files that were replaced or consumed before a time."""
    until = iso(before)
    return {path for m in manifests.values() if m.ended_at < until for path in (*m.replaced, *m.consumed)}


def wasted(manifests: Mapping[str, Manifest], before: datetime) -> float:
    """The share of the bytes of all tables that lies in files of `over_since`."""
    over = over_since(manifests, before)
    sizes = [(file.bytes, file.path in over) for m in manifests.values() for file in m.files]
    return sum(size for size, is_over in sizes if is_over) / max(1, sum(size for size, _ in sizes))


def fold(manifests: Mapping[str, Manifest], before: datetime) -> Folded:
    """The manifests without the files that were replaced or consumed before a time."""
    over = over_since(manifests, before)
    kept = {
        name: dataclasses.replace(
            manifest,
            files=tuple(file for file in manifest.files if file.path not in over),
            consumed=tuple(path for path in manifest.consumed if path not in over),
            replaced=tuple(path for path in manifest.replaced if path not in over),
        )
        for name, manifest in manifests.items()
    }
    return Folded(kept, sorted(over))


def render_checkpoint(manifests: Mapping[str, Manifest]) -> str:
    found = {name: fields_of(manifest) for name, manifest in sorted(manifests.items())}
    return json.dumps({"format": _FORMAT, "manifests": found}, ensure_ascii=False)


def parse_checkpoint(file_name: str, text: str) -> dict[str, Manifest]:
    """The manifests in a JSON text, by file name; CrawlDirError if it is corrupt, foreign or too new."""
    with readable(file_name, "restore it from a copy"):
        data = json.loads(text)
        if not isinstance(data, dict) or data["format"] != _FORMAT:
            raise ValueError("it is not a checkpoint of Beamtrawl")
        return {name: manifest_of(name, fields) for name, fields in data["manifests"].items()}
