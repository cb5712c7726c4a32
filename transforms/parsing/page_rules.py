"""Applies the rules of `[[extract]]` and `[[main]]` to a page."""

import functools
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from turbohtml import Element, XPathString

from ..selectors import select as selectors
from ..selectors.select import Bounded, Budget, Paths, compile_css, compile_xpath, require_size, select
from ..settings import Extract, MainText
from .html_metadata import MAX_FACT
from .text_layout import beginning, collapse

EXTRACT_ERROR = "extract_error"
"""Name of the fact that says why rules were not applied to a page, or not all."""

MAX_VALUES = 100
"""Maximum number of values of a fact of a page."""

VALUES_END = "\n"
"""Separates the values of a fact, of which none has a line break."""

_MAX_READ = 20 * MAX_FACT  # characters of an element, white space included


class FieldRule(NamedTuple):
    """A compiled rule of `[[extract]]`; `paths` or `url` is set."""

    number: int  # in the settings, from 1
    match: re.Pattern[str]
    field: str
    paths: Paths | None
    url: re.Pattern[str] | None


class MainRule(NamedTuple):
    """A compiled rule of `[[main]]`."""

    number: int  # in the settings, from 1
    match: re.Pattern[str]
    keep: tuple[Paths, ...]
    drop: tuple[Paths, ...]


class PageRules(NamedTuple):
    """The rules of a crawl, or those for a URL."""

    fields: tuple[FieldRule, ...] = ()
    main: tuple[MainRule, ...] = ()

    def of(self, url: str) -> "PageRules":
        """The rules whose pattern a URL matches; of those for the main text, only the first."""
        main = next((rule for rule in self.main if rule.match.search(url)), None)
        return PageRules(tuple(rule for rule in self.fields if rule.match.search(url)), (main,) if main else ())


NO_RULES = PageRules()


class Found(NamedTuple):
    """The values that a rule has found."""

    rule: FieldRule
    values: list[str]


def page_rules(extract: Sequence[Extract], main: Sequence[MainText]) -> PageRules:
    """The compiled rules of settings, which are valid; compiled once per process."""
    if not (extract or main):
        return NO_RULES
    return _compiled(tuple(extract), tuple((rule.match, tuple(rule.keep), tuple(rule.drop)) for rule in main))


@functools.lru_cache(16)
def _compiled(
    extract: tuple[Extract, ...], main: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...]
) -> PageRules:
    fields = []
    for number, rule in enumerate(extract, 1):
        paths = compile_css(rule.css, True) if rule.css else compile_xpath(rule.xpath) if rule.xpath else None
        url = re.compile(rule.regex) if rule.regex else None
        fields.append(FieldRule(number, re.compile(rule.match), rule.field, paths, url))
    return PageRules(
        tuple(fields),
        tuple(
            MainRule(number, re.compile(match), tuple(map(compile_css, keep)), tuple(map(compile_css, drop)))
            for number, (match, keep, drop) in enumerate(main, 1)
        ),
    )


def url_values(rules: PageRules, url: str) -> list[Found]:
    """What the rules for a URL find in the URL itself."""
    found = []
    for rule in rules.fields:
        if rule.url and (match := rule.url.search(url)):
            value = match[1] if rule.url.groups else match[0]
            found.append(Found(rule, _values([value or ""])))
    return [each for each in found if each.values]


def tree_values(rules: PageRules, root: Element) -> tuple[list[Found], str]:
    """What rules find in the tree of a page, and the bound that ended this; "" if none did."""
    if not any(rule.paths for rule in rules.fields):
        return [], ""
    found = []
    try:
        require_size(root)
        budget, has_hidden = Budget(), root.select_one("[data-nosnippet]") is not None
        for rule in rules.fields:
            nodes = select(root, rule.paths, budget) if rule.paths else []
            values = _values(_text(node) for node in nodes if not (has_hidden and _is_hidden(node)))
            found += [Found(rule, values)] if values else []
    except Bounded as error:
        return found, str(error)
    return found, ""


def facts(found: Iterable[Found], error: str = "") -> dict[str, str]:
    """The facts of a page: of each field the values of the first rule that found any, in the order of rules."""
    result: dict[str, str] = {}
    for each in sorted(found, key=lambda each: each.rule.number):
        result.setdefault(each.rule.field, VALUES_END.join(each.values))
    return result | ({EXTRACT_ERROR: error} if error else {})


class MainTree(NamedTuple):
    """The tree that the main text is read of."""

    root: Element
    is_main: bool  # all of it is main text
    error: str = ""  # the bound that was exceeded; "" if none


def main_tree(root: Element, rules: PageRules) -> MainTree:
    """The tree with the main text by the first rule; changes the tree.

    It is the tree as it is if there is no rule, or it takes too long. If nothing is kept, only `drop` applies.
    """
    for rule in rules.main:
        try:
            require_size(root)
            budget = Budget()
            kept = _together(root, rule.keep, budget)
            dropped = _together(root, rule.drop, budget)
        except Bounded as error:
            return MainTree(root, False, str(error))
        for element in dropped:
            element.extract()
        if kept:
            return MainTree(_moved(kept), True)
    return MainTree(root, False)


def _together(root: Element, selectors: Iterable[Paths], budget: Budget) -> list[Element]:
    """The elements that selectors find, in the order of the page."""
    paths = tuple(path for selector in selectors for path in selector)
    return [node for node in select(root, paths, budget) if isinstance(node, Element)] if paths else []


def _moved(kept: Sequence[Element]) -> Element:
    """A page of elements that are kept, each once, in the order of the page."""
    root, body = Element("html"), Element("body")
    root.append(body)
    inside = set[Element]()
    for element in kept:
        if element not in inside:
            inside.update(element.iter_elements(include_self=True))
            body.append(element)
    return root


def _values(texts: Iterable[str]) -> list[str]:
    """At most MAX_VALUES different values; each in one line, of at most MAX_FACT characters."""
    values: dict[str, None] = {}
    for text in texts:
        if value := collapse(text)[:MAX_FACT].rstrip():
            values[value] = None
        if len(values) == MAX_VALUES:
            break
    return list(values)


def _is_hidden(node: selectors.Found) -> bool:
    """Whether a node is, or may be, within `data-nosnippet`, of which results show nothing.

    A computed string is of no element.
    """
    element = node.getparent() if isinstance(node, XPathString) else node
    return not isinstance(element, Element) or element.closest("[data-nosnippet]") is not None


def _text(node: selectors.Found) -> str:
    """A string as it is, or the text of an element."""
    return node if isinstance(node, str) else beginning(node.strings, _MAX_READ)
