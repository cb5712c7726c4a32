"""The common parts of Office Open XML files: relationships between parts, and core properties (ECMA-376 part 2)."""

import posixpath
from collections.abc import Iterator
from typing import NamedTuple

from . import markup
from .archive import Archive, resolved
from .content import Content

_CORE = {
    "title": "title",
    "description": "description",
    "subject": "subject",
    "keywords": "keywords",
    "creator": "author",
    "language": "language",
    "created": "created",
}


class Relationship(NamedTuple):
    """A relation of a part to another part or to a URL."""

    id: str
    type: str  # the last segment of the URI that names it
    target: str  # the name of a part, or a reference if it is external
    is_external: bool


def relationships(archive: Archive, part: str) -> list[Relationship]:
    """The relationships of a part; of the package for ""."""
    folder, name = posixpath.split(part)
    path = posixpath.join(folder, "_rels", f"{name}.rels")
    if not archive.has(path):
        return []
    return [
        Relationship(
            element.get("Id", ""),
            element.get("Type", "").rpartition("/")[2],
            target if is_external else resolved(part, target),
            is_external,
        )
        for element in markup.children(markup.tree(archive.read(path)), "Relationship")
        for target, is_external in [(element.get("Target", ""), element.get("TargetMode") == "External")]
    ]


def related(archive: Archive, part: str, kind: str) -> Iterator[str]:
    """The names of parts that a part is related to by a type of relationship, as far as they exist."""
    found = relationships(archive, part)
    return (found.target for found in found if found.type == kind and archive.has(found.target))


def links(archive: Archive, part: str) -> dict[str, str]:
    """The references to URLs by the identifiers of their relationships."""
    found = relationships(archive, part)
    return {found.id: found.target for found in found if found.is_external and found.type == "hyperlink"}


def read_properties(archive: Archive, content: Content) -> None:
    """Add the core properties, and the program that wrote the file."""
    for kind, names in (("core-properties", _CORE), ("extended-properties", {"Application": "producer"})):
        for part in related(archive, "", kind):
            for element in markup.tree(archive.read(part)):
                if name := names.get(markup.local(element)):
                    content.fact(name, element.text)
