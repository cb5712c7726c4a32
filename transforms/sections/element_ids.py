"""The ids of headings and terms of a parsed page: those by which a browser finds the place."""

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Set

from turbohtml import Element, Node, Text

from .section import usable_id

SECTIONED = ("dt", "h1", "h2", "h3", "h4", "h5", "h6")
"""The elements that begin a section; a `dt` does if it has an id."""

_MOST_INNER = 4  # elements in a heading that are looked at
_MOST_OUTER = 6  # elements around a heading, or before it, that are looked at


class Ids:
    """The ids of a page, as they are when this is made: the tree may lose elements afterwards."""

    def __init__(self, root: Element) -> None:
        found = [(id_, element) for element in (root, *root.select("[id]")) if (id_ := element.attr("id"))]
        self.all: Set[str] = {id_ for id_, _ in found}
        self._firsts: dict[str, Element] = {}  # of each id that several elements have, the first of them
        if len(self.all) < len(found):
            several = {id_ for id_, count in Counter(id_ for id_, _ in found).items() if count > 1}
            self._firsts = {id_: element for id_, element in reversed(found) if id_ in several}

    def lead_to(self, element: Element, id_: str) -> bool:
        """Whether an id of an element leads to it."""
        return self._firsts.get(id_, element) is element


def settled_ids(elements: Iterable[Element], ids: Ids) -> dict[Element, str]:
    """The id that leads to each of SECTIONED, without those that none leads to.

    Ids may be on the element, in it, on an element that begins with it, or on an empty element before it, also as the
    name of an anchor. A browser goes to the first element with an id, or else to the first anchor with that name
    (https://html.spec.whatwg.org/multipage/browsing-the-web.html#find-a-potential-indicated-element).
    """
    settled, names = dict[Element, str](), set[str]()
    for element in elements:
        own = element.attr("id")
        if own and ids.lead_to(element, own) and (id_ := usable_id(own)):
            settled[element] = id_
            continue
        inside = itertools.islice(element.iter_elements(), _MOST_INNER)
        for holder in itertools.chain(inside, () if element.tag == "dt" else _outside(element)):
            if (own := holder.attr("id")) and ids.lead_to(holder, own) and (id_ := usable_id(own)):
                settled[element] = id_
                break
            name = holder.attr("name") if holder.tag == "a" else None
            if name and name not in ids.all and name not in names and (id_ := usable_id(name)):
                names.add(name)
                settled[element] = id_
                break
    return settled


def _outside(element: Element) -> Iterator[Element]:
    """The empty elements before an element, and those that begin with it, from the inside out."""
    for _ in range(_MOST_OUTER):
        before: Node | None = element.previous_sibling
        while before is not None and not isinstance(before, Element):
            if isinstance(before, Text) and not before.data.isspace():
                return
            before = before.previous_sibling
        if before is None:
            parent = element.parent
            if parent is None or not isinstance(parent, Element):
                return
            element = parent
        elif any(isinstance(child, Element) or child.text.strip() for child in before):
            return
        else:
            element = before
        yield element
