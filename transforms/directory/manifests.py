"""Manifests: one JSON file for each committed step, with the files that it read and wrote.

A program reads crawls of its own schema version and of all earlier ones, without rewriting a file, and writes its own
version; it refuses later ones. A version grows with each field of a manifest, and with each change that an earlier
program would misread. Fields that an earlier version lacks have their defaults; columns that were added to a table are
null in older files (`table_files.conform`), which needs no new version.
"""

import contextlib
import dataclasses
import functools
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime
from importlib import metadata
from typing import Any

from ..outcomes import CrawlDirError
from ..tables.table_files import TableFile

FORMAT = "beamtrawl-crawl"
SCHEMA_VERSION = 4
_SUFFIX = re.compile(r"(-\w+)?\.json")


class NewerVersion(ValueError):
    """A manifest that a newer program has written: nothing is wrong with it."""


@dataclasses.dataclass(frozen=True)
class Manifest:
    """A committed step: the files that it read and wrote."""

    step: str  # seeds, revisits, fetch, update, rank, compact
    round: int
    settings_digest: str  # if empty, `CrawlDir.commit` takes that of the step before
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
    settings: dict[str, Any] | None = None  # those that differ from the defaults, without secrets; see `Attempt.commit`
    memory: dict[str, int] | None = None  # bytes: `projected` and `peak`, of all processes of the step on one machine
    cpu: dict[str, int] | None = None  # milliseconds of the same: `expected` by what it read, and `taken`

    @property
    def name(self) -> str:
        return f"{self.round:06d}-{self.step}"

    @property
    def seconds(self) -> float:
        """The duration of the step; 0 if its times are not known."""
        if not (self.started_at and self.ended_at):
            return 0.0
        return (moment(self.ended_at) - moment(self.started_at)).total_seconds()


_FIELDS = frozenset(field.name for field in dataclasses.fields(Manifest))
_LISTS = ("consumed", "index", "index_replaced", "index_dropped", "replaced")  # of paths
_ADDED_IN_2: Mapping[str, Any] = {"index_files": [], "index_replaced": [], "index_dropped": [], "replaced": []}


@functools.cache
def program() -> str:
    return f"beamtrawl {metadata.version('beamtrawl')}"


RESTORE = "restore it from a copy, or start a crawl in another directory"
REDO = "restore it from a copy, or delete it: beamtrawl crawl then does this step again"
"""What to do about a manifest that cannot be used: in general, and if `is_last_step`."""

_BEFORE = {"fetch.json": ("seeds", "revisits"), "update.json": ("seeds", "revisits", "fetch")}
"""The steps of a round that its fetch or update step may rest on; those that merge or rank come after both."""


def is_last_step(file_name: str, file_names: Iterable[str]) -> bool:
    """Whether a file is the manifest of the last fetch or update step, on which no other step rests.

    >>> names = ["000001-fetch.json", "000001-update.json"]
    >>> is_last_step(names[1], names), is_last_step(names[1], [*names, "000001-compact-0a1b2c3d.json"])
    (True, False)
    """
    round_, _, rest = file_name.partition("-")
    if rest not in _BEFORE:
        return False
    earlier = (other.partition("-") for other in file_names if other != file_name)
    return all(number < round_ or (number == round_ and name.startswith(_BEFORE[rest])) for number, _, name in earlier)


def missing_steps(file_names: Collection[str]) -> list[str]:
    """The files of manifests that must have been written before others of a crawl; `file_names` are all there are.

    >>> missing_steps(["000001-fetch.json", "000002-fetch.json"])
    ['000000-seeds.json', '000001-update.json']
    """
    steps = [name for name in file_names if name.endswith(("-fetch.json", "-update.json"))]
    last = max(steps, default="000001")
    rounds = range(1, int(last[:6]) + 1)
    expected = [f"{round_:06d}-{step}.json" for round_ in rounds for step in ("fetch", "update")]
    earlier = ["000000-seeds.json", *(name for name in expected if name < last)]
    return [name for name in earlier if name not in file_names] if file_names else []


def parse_manifest(file_name: str, text: str, way_out: str = RESTORE) -> Manifest:
    """The manifest in a JSON text; CrawlDirError, which ends with `way_out`, if it is corrupt or foreign."""
    with readable(file_name, way_out):
        return manifest_of(file_name, json.loads(text))


@contextlib.contextmanager
def readable(file_name: str, way_out: str) -> Iterator[None]:
    """Raise CrawlDirError if a file of manifests cannot be used; for one of a newer program there is one way out."""
    try:
        yield
    except NewerVersion as error:
        raise CrawlDirError(f"manifests/{file_name} cannot be used: {error}; update Beamtrawl") from error
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        reason = f"it lacks {error}" if isinstance(error, KeyError) else str(error)
        raise CrawlDirError(f"manifests/{file_name} cannot be used: {reason}; {way_out}") from error


def manifest_of(file_name: str, data: Any) -> Manifest:
    """The manifest with the fields in `data`; ValueError, TypeError or KeyError if they are not those of a manifest."""
    if not isinstance(data, dict) or data.pop("format", None) != FORMAT:
        raise ValueError("it is not a manifest of Beamtrawl")
    version = data["schema_version"]
    if not isinstance(version, int) or version < 1:
        raise ValueError(f"it has schema version {version!r}")
    if version > SCHEMA_VERSION:
        raise NewerVersion(f"it has schema version {version}, this program reads up to {SCHEMA_VERSION}")
    if version == 1:
        data = {**_ADDED_IN_2, "index_links": {}, **data}
    for name in ("files", "index_files"):
        data[name] = tuple(TableFile(**file) for file in data[name])
    for field, kind in (*((name, list) for name in _LISTS), ("counters", dict), ("index_links", dict)):
        if not isinstance(data[field], kind):
            raise ValueError(f"its {field} is no {kind.__name__}")
    if unknown := data.keys() - _FIELDS:
        raise NewerVersion(f"it has the fields {', '.join(sorted(unknown))}, which this program does not know")
    data |= {name: tuple(data[name]) for name in _LISTS} | {"schema_version": SCHEMA_VERSION}
    manifest = Manifest(**data)
    for path in _paths_in(manifest):
        if not isinstance(path, str) or not _BELOW.fullmatch(path):
            raise ValueError(f"it names {path!r}, which is no path below the crawl directory")
    # One pattern for all manifests: to compile one for each would take longer than all else here.
    if not file_name.startswith(manifest.name) or not _SUFFIX.fullmatch(file_name, len(manifest.name)):
        raise ValueError(f"it says it is {manifest.name}")
    return manifest


_BELOW = re.compile(r"(?:(?!\.{1,2}(?:/|$))[^/\\:\0]+(?:/|$))+")


def _paths_in(manifest: Manifest) -> Iterator[Any]:
    """What a manifest names: whoever gives somebody a crawl directory must not have files outside read or removed."""
    yield from (file.path for file in (*manifest.files, *manifest.index_files))
    for name in _LISTS:
        yield from getattr(manifest, name)
    for folders in manifest.index_links.items():
        yield from folders


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
