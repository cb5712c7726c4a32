"""Upgrades manifests of earlier schema versions to the current one, while they are read.

The policy: a program reads crawls of its own schema version and of all earlier ones, without rewriting a file, and
writes its own version; it refuses later ones. A version grows with each field of a manifest, and with each change that
an earlier program would misread. Columns that were added to a table are null in older files (`table_files.conform`),
which needs no new version.
"""

from collections.abc import Callable, Mapping
from typing import Any

SCHEMA_VERSION = 4


class NewerVersion(ValueError):
    """A manifest that a newer program has written: nothing is wrong with it."""


def _to_version_2(data: dict[str, Any]) -> dict[str, Any]:
    """Version 2 added checksums, the files of the index, replaced files, and (during version 1) merged segments."""
    lists: dict[str, Any] = {name: [] for name in ("index_files", "index_replaced", "index_dropped", "replaced")}
    return lists | {"index_links": {}} | data


def _to_version_3(data: dict[str, Any]) -> dict[str, Any]:
    """Version 3 added the settings and the memory of a step, which programs have written during version 2."""
    return data


def _to_version_4(data: dict[str, Any]) -> dict[str, Any]:
    """Version 4 added the computing time of a step."""
    return data


_UPGRADES: Mapping[int, Callable[[dict[str, Any]], dict[str, Any]]] = {
    1: _to_version_2,
    2: _to_version_3,
    3: _to_version_4,
}


def upgraded(data: dict[str, Any]) -> dict[str, Any]:
    """The fields of a manifest in the current version; NewerVersion, or ValueError if it has no version."""
    version = data["schema_version"]
    if not isinstance(version, int) or version < 1:
        raise ValueError(f"it has schema version {version!r}")
    if version > SCHEMA_VERSION:
        raise NewerVersion(f"it has schema version {version}, this program reads up to {SCHEMA_VERSION}")
    for number in range(version, SCHEMA_VERSION):
        data = _UPGRADES[number](data)
    return data | {"schema_version": SCHEMA_VERSION}
