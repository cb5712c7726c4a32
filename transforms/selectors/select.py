"""Compiles selectors once, and evaluates them on a page within bounds."""

import functools
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from lxml import etree

from .xpath import Step, steps

MAX_ELEMENTS = 20_000
"""Maximum number of elements of a page that selectors are evaluated on: predicates may take quadratic time."""

MAX_CHARACTERS = 1_000_000
"""Maximum length of the text of such a page: predicates may read it once for each level of nesting."""

MAX_NODES = 100_000
"""Maximum number of nodes that a step of a selector may find."""

MAX_SECONDS = 2.0
"""CPU time for all selectors of a page. It is read between steps at single nodes, which take seconds at most."""


class Bounded(Exception):
    """A page exceeds a bound; the message names it."""


class Compiled(NamedTuple):
    """A step, ready to be evaluated."""

    find: Any
    step: Step


Paths = tuple[tuple[Compiled, ...], ...]


class Budget:
    """The time that remains for a page."""

    def __init__(self, clock: Callable[[], float] = time.thread_time) -> None:
        self._clock, self._end = clock, clock() + MAX_SECONDS

    def spend(self) -> None:
        """Raise Bounded if no time remains."""
        if self._clock() > self._end:
            raise Bounded(f"selectors took more than {MAX_SECONDS:g} seconds")


def require_size(root: Any) -> None:
    """Raise Bounded if a page has more than MAX_ELEMENTS elements or MAX_CHARACTERS characters."""
    if _COUNT(root) > MAX_ELEMENTS:
        raise Bounded(f"the page has more than {MAX_ELEMENTS} elements")
    if _LENGTH(root) > MAX_CHARACTERS:
        raise Bounded(f"the page has more than {MAX_CHARACTERS} characters of text")


_COUNT, _LENGTH = etree.XPath("count(//*)", regexp=False), etree.XPath("string-length(/)", regexp=False)


@functools.cache
def compile_xpath(expression: str) -> Paths:
    """The paths of an XPath 1.0 expression, without extension functions. ValueError with the reason if it has none."""
    return _compiled(steps(expression))


@functools.cache
def compile_css(selector: str, takes_parts: bool = False) -> Paths:
    """The paths of a CSS selector. ValueError with the reason if it has none."""
    from .css import css_steps  # noqa: PLC0415 - cssselect is imported only where a rule needs it

    return _compiled(css_steps(selector, takes_parts))


def _compiled(paths: list[list[Step]]) -> Paths:
    try:
        return tuple(tuple(Compiled(etree.XPath(step.path, regexp=False), step) for step in path) for path in paths)
    except etree.XPathError as error:
        raise ValueError(f"is no XPath expression: {error}") from error


def select(root: Any, paths: Paths, budget: Budget) -> list[Any]:
    """The elements, in the order of the page, or the strings that paths find; a number or truth value as a string.

    Raises Bounded if this takes too long.
    """
    found = [_follow(root, path, budget) for path in paths]
    if len(found) == 1:
        return found[0]
    together = list(dict.fromkeys(node for nodes in found for node in nodes))
    if all(isinstance(node, str) for node in together):
        return together
    places = {element: place for place, element in enumerate(root.getroottree().iter())}
    return sorted(together, key=lambda node: places.get(node, len(places)))


def _follow(root: Any, path: Sequence[Compiled], budget: Budget) -> list[Any]:
    nodes: list[Any] = [root]
    for find, step in path:
        elements = [node for node in nodes if not isinstance(node, str)]
        if step.from_outermost:
            elements = _outermost(elements)
        elif step.from_first:
            elements = list({id(element.getparent()): element for element in reversed(elements)}.values())[::-1]
        found: dict[Any, None] = {}
        for element in elements:
            budget.spend()
            found.update(dict.fromkeys(_listed(find, element)))
            if len(found) > MAX_NODES:
                raise Bounded(f"a selector finds more than {MAX_NODES} nodes")
        nodes = list(found)
    budget.spend()
    return nodes


def _listed(find: Any, element: Any) -> list[Any]:
    try:
        result = find(element)
    except etree.XPathError as error:
        raise Bounded(f"an expression failed: {error}") from error
    if isinstance(result, list):
        return result
    if isinstance(result, float):
        return [f"{result:.15g}"]
    return [str(result).lower() if isinstance(result, bool) else result]


def _outermost(elements: Sequence[Any]) -> list[Any]:
    """The elements that are in no other of them, from elements in the order of the page."""
    chosen, inside, outside = set[Any](), set[Any](), set[Any]()
    result = []
    for element in elements:
        walked = []
        ancestor = element
        while ancestor is not None and ancestor not in chosen and ancestor not in inside and ancestor not in outside:
            walked.append(ancestor)
            ancestor = ancestor.getparent()
        if ancestor is not None and ancestor not in outside:
            inside.update(walked)
        else:
            chosen.add(element)
            outside.update(walked[1:])
            result.append(element)
    return result
