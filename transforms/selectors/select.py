"""Compiles selectors once, and evaluates them on a page within bounds."""

import functools
import time
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from turbohtml import Element, Node, Text, XPath, XPathString

from .css import CssPath, css_paths
from .xpath import Step, steps

MAX_ELEMENTS = 20_000
"""Maximum number of elements of a page that selectors are evaluated on: predicates may take quadratic time."""

MAX_CHARACTERS = 1_000_000
"""Maximum length of the text of such a page: predicates may read it once for each level of nesting."""

MAX_NODES = 100_000
"""Maximum number of nodes that a step of a selector may find."""

MAX_SECONDS = 2.0
"""CPU time for all selectors of a page. It is read between steps at single nodes, which take seconds at most."""

Found = Node | str
"""What a selector finds: an element, a string of one (an XPathString), or a computed one."""


class Bounded(Exception):
    """A page exceeds a bound; the message names it."""


class Compiled(NamedTuple):
    """A step of an XPath expression, ready to be evaluated."""

    find: XPath
    step: Step


Path = CssPath | tuple[Compiled, ...]
Paths = tuple[Path, ...]


class Budget:
    """The time that remains for a page."""

    def __init__(self, clock: Callable[[], float] = time.thread_time) -> None:
        self._clock, self._end = clock, clock() + MAX_SECONDS

    def spend(self) -> None:
        """Raise Bounded if no time remains."""
        if self._clock() > self._end:
            raise Bounded(f"selectors took more than {MAX_SECONDS:g} seconds")


def require_size(root: Element) -> None:
    """Raise Bounded if a page has more than MAX_ELEMENTS elements or MAX_CHARACTERS characters."""
    if sum(1 for _ in root.iter_elements()) >= MAX_ELEMENTS:
        raise Bounded(f"the page has more than {MAX_ELEMENTS} elements")
    if len(root.text) > MAX_CHARACTERS:
        raise Bounded(f"the page has more than {MAX_CHARACTERS} characters of text")


@functools.cache
def compile_xpath(expression: str) -> Paths:
    """The paths of an XPath 1.0 expression, without extension functions. ValueError with the reason if it has none."""
    paths = steps(expression)
    try:
        return tuple(tuple(Compiled(XPath(step.path, smart_strings=True), step) for step in path) for path in paths)
    except ValueError as error:
        raise ValueError(f"is no XPath expression: {error}") from error


@functools.cache
def compile_css(selector: str, takes_parts: bool = False) -> Paths:
    """The paths of a CSS selector. ValueError with the reason if it has none."""
    return tuple(css_paths(selector, takes_parts))


def select(root: Element, paths: Paths, budget: Budget) -> list[Found]:
    """The elements, in the order of the page, or the strings that paths find; a number or truth value as a string.

    Raises Bounded if this takes too long.
    """
    found = [_css(root, path, budget) if isinstance(path, CssPath) else _follow(root, path, budget) for path in paths]
    if len(found) == 1:
        return found[0]
    together = list(dict.fromkeys(node for nodes in found for node in nodes))
    if all(isinstance(node, str) for node in together):
        return together
    places: dict[Found, int] = {element: place for place, element in enumerate(root.iter_elements())}
    return sorted(together, key=lambda node: places.get(node, len(places)))


def _css(root: Element, path: CssPath, budget: Budget) -> list[Found]:
    elements = (root.parent or root).select(path.selector)  # of the document: a selector may name the root
    budget.spend()
    if len(elements) > MAX_NODES:
        raise Bounded(f"a selector finds more than {MAX_NODES} nodes")
    if not path.part:
        return list[Found](elements)
    if path.part == "text()":
        return [_string(child.data, one) for one in elements for child in one if isinstance(child, Text)]
    return [_string(value, one) for one in elements if (value := one.attr(path.part)) is not None]


def _string(value: str, element: Element) -> XPathString:
    return XPathString(value, element, is_attribute=False, attrname=None)


def _follow(root: Element, path: Sequence[Compiled], budget: Budget) -> list[Found]:
    nodes: list[Found] = [root]
    for find, step in path:
        elements = [node for node in nodes if isinstance(node, Node)]
        if step.from_outermost:
            elements = _outermost(elements)
        found: dict[Found, None] = {}
        for element in elements:
            budget.spend()
            found.update(dict.fromkeys(_listed(find, element)))
            if len(found) > MAX_NODES:
                raise Bounded(f"a selector finds more than {MAX_NODES} nodes")
        nodes = list(found)
    budget.spend()
    return nodes


def _listed(find: XPath, element: Node) -> Iterable[Found]:
    try:
        result = find(element)
    except ValueError as error:
        raise Bounded(f"an expression failed: {error}") from error
    if isinstance(result, list):
        return result
    if isinstance(result, float):
        return [f"{result:.15g}"]
    return [str(result).lower() if isinstance(result, bool) else result]


def _outermost(elements: Sequence[Node]) -> list[Node]:
    """The elements that are in no other of them, from elements in the order of the page."""
    chosen, inside, outside = set[Node](), set[Node](), set[Node]()
    result = []
    for element in elements:
        walked = list[Node]()
        ancestor: Node | None = element
        while ancestor is not None and ancestor not in chosen and ancestor not in inside and ancestor not in outside:
            walked.append(ancestor)
            ancestor = ancestor.parent
        if ancestor is not None and ancestor not in outside:
            inside.update(walked)
        else:
            chosen.add(element)
            outside.update(walked[1:])
            result.append(element)
    return result
