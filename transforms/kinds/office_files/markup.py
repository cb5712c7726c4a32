"""Reads XML that may be hostile: nothing is expanded, loaded or kept."""

from collections.abc import Collection, Iterator
from io import BufferedIOBase
from typing import Any

from lxml import etree

from .content import Unreadable

_SAFE = {"resolve_entities": False, "no_network": True, "load_dtd": False, "huge_tree": False}


def tree(data: bytes) -> Any:
    """The root element of a whole document; Unreadable if it defines entities."""
    return _checked(etree.fromstring(data, etree.XMLParser(**_SAFE)))


def elements(stream: BufferedIOBase, names: Collection[str]) -> Iterator[tuple[str, Any]]:
    """("start" or "end", element) for each element of these local names; Unreadable if the document defines entities.

    The children of an element are there at its end. `forget` it then, or memory grows with the document.
    """
    tags = [f"{{*}}{name}" for name in names]
    events = etree.iterparse(stream, events=("start", "end"), tag=tags, remove_comments=True, remove_pis=True, **_SAFE)
    is_checked = False
    for event, element in events:
        if not is_checked:
            _checked(element)
            is_checked = True
        yield event, element


def forget(element: Any) -> None:
    """Remove the content of an element, and the siblings before it."""
    element.clear()
    parent = element.getparent()
    while parent is not None and element.getprevious() is not None:
        del parent[0]


def local(element: Any) -> str:
    """The name of an element without its namespace; "" for what is no element."""
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def attribute(element: Any, name: str) -> str:
    """The value of an attribute by its local name: strict and transitional OOXML differ in namespaces."""
    return next((value for key, value in element.attrib.items() if key.rpartition("}")[2] == name), "")


def children(element: Any, name: str) -> Iterator[Any]:
    return (child for child in element if local(child) == name)


def descendants(element: Any, skipped: Collection[str] = ()) -> Iterator[Any]:
    """The elements below an element in document order, without those below elements of the skipped local names."""
    for child in element:
        if (name := local(child)) and name not in skipped:
            yield child
            yield from descendants(child, skipped)


def _checked(element: Any) -> Any:
    """The element, if its document defines no entities: no office file or book does."""
    dtd = element.getroottree().docinfo.internalDTD
    if dtd is not None and next(iter(dtd.iterentities()), None) is not None:
        raise Unreadable("the document defines entities")
    return element
