"""The ids of headings and terms of a parsed page: those by which a browser finds the place."""

import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from .section import usable_id

SECTIONED = frozenset({"h1", "h2", "h3", "h4", "h5", "h6", "dt"})
"""The elements that begin a section; a `dt` does if it has an id."""

_MOST_INNER = 4  # elements in a heading that are looked at
_MOST_OUTER = 6  # elements around a heading, or before it, that are looked at


def settle_ids(elements: Iterable[Any], firsts: Mapping[str, Any]) -> None:
    """Give each of SECTIONED the id that leads to it, and take ids away from those that no id leads to.

    Ids may be on the element, in it, on an element that begins with it, or on an empty element before it, also as the
    name of an anchor. `firsts` has the first id attribute of the page with each value: a browser goes to the first
    element with an id, or else to the first anchor with that name
    (https://html.spec.whatwg.org/multipage/browsing-the-web.html#find-a-potential-indicated-element).
    """
    names = set[str]()
    for element in elements:
        own = element.get("id")
        if own and firsts[own].getparent() is element and usable_id(own):
            continue
        found = ""
        for holder in (*_inside(element), *(() if element.tag == "dt" else _outside(element))):
            if (id_ := holder.get("id")) and firsts[id_].getparent() is holder and (found := usable_id(id_)):
                break
            name = holder.get("name") if holder.tag == "a" else None
            if name and name not in firsts and name not in names and (found := usable_id(name)):
                names.add(name)
                break
        if found:
            element.set("id", found)
        elif own is not None:
            del element.attrib["id"]


def _inside(element: Any) -> Iterator[Any]:
    """The first elements in an element."""
    return itertools.islice(element.iter(), 1, 1 + _MOST_INNER)


def _outside(element: Any) -> Iterator[Any]:
    """The empty elements before an element, and those that begin with it, from the inside out."""
    for _ in range(_MOST_OUTER):
        before = element.getprevious()
        if before is None:
            element = element.getparent()
            if element is None or _has_text(element.text):
                return
        elif len(before) or _has_text(before.text) or _has_text(before.tail):
            return
        else:
            element = before
        yield element


def _has_text(text: str | None) -> bool:
    return text is not None and text != "" and not text.isspace()
