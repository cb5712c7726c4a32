"""The ids of headings and terms of a parsed page: those by which a browser finds the place."""

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Set
from typing import Any

from lxml import etree

from .section import usable_id

SECTIONED = frozenset({"h1", "h2", "h3", "h4", "h5", "h6", "dt"})
"""The elements that begin a section; a `dt` does if it has an id."""

_MOST_INNER = 4  # elements in a heading that are looked at
_MOST_OUTER = 6  # elements around a heading, or before it, that are looked at


class Ids:
    """The ids of a page. `is_kept`: they are those of now, even if the tree loses elements afterwards."""

    def __init__(self, root: Any, is_kept: bool = False) -> None:
        found = _IDS(root)
        self.all: Set[str] = set(found)
        self._root = root
        several = Counter(found) if len(self.all) < len(found) else {}
        self._repeated = {id_ for id_, count in several.items() if count > 1}
        self._firsts = self._find_firsts() if is_kept else None

    def lead_to(self, element: Any, id_: str) -> bool:
        """Whether an id of an element leads to it."""
        if id_ not in self._repeated:
            return True
        if self._firsts is None:  # on most pages, no id that matters is repeated
            self._firsts = self._find_firsts()
        return self._firsts[id_] is element

    def _find_firsts(self) -> dict[str, Any]:
        """Of each id that several elements have, the first of them."""
        elements = reversed(_WITH_ID(self._root)) if self._repeated else ()
        return {id_: element for element in elements if (id_ := element.get("id")) in self._repeated}


_IDS = etree.XPath("descendant-or-self::*/@id", smart_strings=False)
_WITH_ID = etree.XPath("descendant-or-self::*[@id]")


def settle_ids(elements: Iterable[Any], ids: Ids) -> None:
    """Give each of SECTIONED the id that leads to it, and take ids away from those that no id leads to.

    Ids may be on the element, in it, on an element that begins with it, or on an empty element before it, also as the
    name of an anchor. A browser goes to the first element with an id, or else to the first anchor with that name
    (https://html.spec.whatwg.org/multipage/browsing-the-web.html#find-a-potential-indicated-element).
    """
    names = set[str]()
    for element in elements:
        own = element.get("id")
        if own and ids.lead_to(element, own) and usable_id(own):
            continue
        found = ""
        for holder in (*_inside(element), *(() if element.tag == "dt" else _outside(element))):
            if (id_ := holder.get("id")) and ids.lead_to(holder, id_) and (found := usable_id(id_)):
                break
            name = holder.get("name") if holder.tag == "a" else None
            if name and name not in ids.all and name not in names and (found := usable_id(name)):
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
