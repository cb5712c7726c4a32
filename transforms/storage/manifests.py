"""Manifests: one JSON file for each committed step, with the files that it read and wrote."""

import dataclasses
import json
import re
from datetime import datetime
from importlib import metadata
from typing import Any

from ..errors import CrawlDirError
from .migrations import SCHEMA_VERSION, upgraded
from .table_files import TableFile

FORMAT = "beamtrawl-crawl"
_SUFFIX = re.compile(r"(-\w+)?\.json")


@dataclasses.dataclass(frozen=True)
class Manifest:
    """A committed step: the files that it read and wrote."""

    step: str  # seeds, revisits, fetch, update, rank, compact
    round: int
    settings_digest: str
    files: tuple[TableFile, ...]
    counters: dict[str, int]
    consumed: tuple[str, ...]  # frontier files that later rounds need not read again
    started_at: str  # ISO 8601, UTC
    ended_at: str
    index: tuple[str, ...] = ()  # folders of index segments
    index_links: dict[str, str] = dataclasses.field(default_factory=dict)  # folders with the links to their documents
    index_replaced: tuple[str, ...] = ()  # segments replaced by those of `index`, from this round on
    index_dropped: tuple[str, ...] = ()  # folders that may be deleted
    program: str = ""
    schema_version: int = SCHEMA_VERSION
    index_files: tuple[TableFile, ...] = ()  # the files in the folders of `index` and `index_links`
    replaced: tuple[str, ...] = ()  # files of tables whose rows are in `files`

    @property
    def name(self) -> str:
        return f"{self.round:06d}-{self.step}"

    @property
    def seconds(self) -> float:
        """The duration of the step; 0 if its times are not known."""
        if not (self.started_at and self.ended_at):
            return 0.0
        return (moment(self.ended_at) - moment(self.started_at)).total_seconds()


def program() -> str:
    return f"beamtrawl {metadata.version('beamtrawl')}"


def parse_manifest(file_name: str, text: str) -> Manifest:
    """The manifest in a JSON text; CrawlDirError if it is corrupt, foreign or too new."""
    try:
        return manifest_of(file_name, json.loads(text))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        reason = f"it lacks {error}" if isinstance(error, KeyError) else str(error)
        raise CrawlDirError(
            f"manifests/{file_name} cannot be used: {reason}; restore it from a copy, or start a crawl in another"
            " directory"
        ) from error


def manifest_of(file_name: str, data: Any) -> Manifest:
    """The manifest with the fields in `data`; ValueError, TypeError or KeyError if they are not those of a manifest."""
    if not isinstance(data, dict) or data.pop("format", None) != FORMAT:
        raise ValueError("it is not a manifest of Beamtrawl")
    data = upgraded(data)
    for name in ("files", "index_files"):
        data[name] = tuple(TableFile(**file) for file in data[name])
    lists = ("consumed", "index", "index_replaced", "index_dropped", "replaced")
    for field, kind in (*((name, list) for name in lists), ("counters", dict), ("index_links", dict)):
        if not isinstance(data[field], kind):
            raise ValueError(f"its {field} is no {kind.__name__}")
    data |= {name: tuple(data[name]) for name in lists}
    manifest = Manifest(**data)
    # One pattern for all manifests: to compile one for each would take longer than all else here.
    if not file_name.startswith(manifest.name) or not _SUFFIX.fullmatch(file_name, len(manifest.name)):
        raise ValueError(f"it says it is {manifest.name}")
    return manifest


def fields_of(manifest: Manifest) -> dict[str, Any]:
    """The fields of a manifest, for JSON."""
    files = {name: [file._asdict() for file in getattr(manifest, name)] for name in ("files", "index_files")}
    names = (field.name for field in dataclasses.fields(manifest) if field.name not in files)
    return {"format": FORMAT} | {name: getattr(manifest, name) for name in names} | files


def render_manifest(manifest: Manifest) -> str:
    return json.dumps(fields_of(manifest), indent=1, ensure_ascii=False) + "\n"


def iso(time: datetime) -> str:
    return time.isoformat(timespec="milliseconds")


def moment(text: str) -> datetime:
    """The time in the output of `iso`."""
    return datetime.fromisoformat(text)
