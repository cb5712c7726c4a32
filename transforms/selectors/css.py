"""Translates CSS selectors into the steps of XPath that `select` evaluates."""

import cssselect
from cssselect.parser import CombinedSelector, FunctionalPseudoElement, Selector

from .xpath import MAX_LENGTH, Step, steps

_TRANSLATOR = cssselect.HTMLTranslator()


def css_steps(css: str, takes_parts: bool) -> list[list[Step]]:
    """The steps of each selector of a list (Selectors Level 3, parts of Level 4). ValueError with the reason.

    With `takes_parts`, a selector may end with `::attr(NAME)` or `::text`, as in parsel.

    >>> [step.path for step in css_steps("#a p > a::attr(href)", True)[0]]
    ["/descendant::*[@id = 'a']", 'descendant::p/a/@href']
    """
    if len(css) > MAX_LENGTH:
        raise ValueError(f"has more than {MAX_LENGTH} characters")
    try:
        return [_steps(selector, takes_parts) for selector in cssselect.parse(css)]
    except cssselect.SelectorError as error:
        raise ValueError(f"is no CSS selector that can be used: {error}") from error
    except RecursionError as error:
        raise ValueError("is nested too deeply") from error


def _steps(selector: Selector, takes_parts: bool) -> list[Step]:
    compounds = []
    tree = selector.parsed_tree
    while isinstance(tree, CombinedSelector):
        compounds.append((tree.combinator, _xpath(tree.subselector)))
        tree = tree.selector
    found = [Step(f"/descendant::{_xpath(tree)}")]  # faster than //, which also counts positions
    for combinator, path in reversed(compounds):
        if combinator == " ":
            found.append(Step(f"descendant::{path}", from_outermost=True))
        elif combinator == ">":
            found[-1] = found[-1]._replace(path=f"{found[-1].path}/{path}")
        elif combinator == "+":
            found.append(Step(f"following-sibling::*[1]/self::{path}"))
        else:
            found.append(Step(f"following-sibling::{path}", from_first=True))
    found[-1] = found[-1]._replace(path=found[-1].path + _part(selector, takes_parts))
    return found


def _xpath(compound: object) -> str:
    """The node test and predicates of a selector without combinators; ValueError if these cost too much."""
    path = str(_TRANSLATOR.xpath(compound))  # type: ignore[arg-type]
    steps(path)
    return path


def _part(selector: Selector, takes_parts: bool) -> str:
    part = selector.pseudo_element
    if part is None:
        return ""
    if takes_parts and part == "text":
        return "/text()"
    if takes_parts and isinstance(part, FunctionalPseudoElement) and part.name == "attr":
        (argument, *others) = part.arguments
        if argument.type == "IDENT" and not others:
            return f"/@{str(argument.value).lower()}"
    known = "; known are ::text and ::attr(NAME)" if takes_parts else ", which this key cannot have"
    raise ValueError(f"has a pseudo-element{known}")
