"""Splits XPath 1.0 expressions into steps that take bounded time, and refuses those that do not.

An XPath engine cannot be interrupted, and its time is more than quadratic in the elements of a page for
`//div/following-sibling::div`: 36 seconds for 5,000 elements. So an expression is cut before each step that may reach
the same element from several others; `select` evaluates the steps one by one and merges the results. What cannot be
cut, in parentheses and predicates, may have one such step in a path.
"""

import dataclasses
import re
from collections.abc import Iterator
from typing import NamedTuple

_TOKEN = re.compile(
    r"""\s*(?:
      (?P<literal>"[^"]*"|'[^']*')
    | (?P<number>\d+(?:\.\d*)?|\.\d+)
    | (?P<sign>//|::|\.\.|!=|<=|>=|[][()/|+=<>*,@.$-])
    | (?P<name>[^\W\d][\w.-]*(?::(?!:)(?:\*|[\w.-]+))?)
    )""",
    re.VERBOSE,
)

FUNCTIONS = frozenset(
    """
    last position count name local-name string concat starts-with contains substring-before substring-after substring
    string-length normalize-space translate boolean not true false lang number floor ceiling round
    """.split()  # noqa: SIM905
)
"""The functions of XPath 1.0 (section 4) that an expression may call: all but `id`, `namespace-uri` and `sum`."""

_NODE_TESTS = frozenset({"text", "node", "comment", "processing-instruction"})
_OPERATOR_NAMES = frozenset({"and", "or", "div", "mod"})
_SIGNS = frozenset({"|", "+", "-", "=", "!=", "<", "<=", ">", ">=", ","})
_COMPARISONS = frozenset({"=", "!=", "<", "<=", ">", ">="})
_CHEAP_AXES = frozenset({"child", "attribute", "self"})
_AXES = _CHEAP_AXES | {
    *("ancestor", "ancestor-or-self", "descendant", "descendant-or-self"),
    *("following", "following-sibling", "parent", "preceding", "preceding-sibling"),
}
_WHOLE_PAGE = frozenset({"following", "preceding"})

MAX_LENGTH = 1_000
"""Maximum number of characters of an expression or a selector."""


class Step(NamedTuple):
    """A part of a path, evaluated at each of the nodes that the part before has found."""

    path: str  # XPath, relative except in the first step
    from_outermost: bool = False  # elements within another of these nodes find nothing more


class _Token(NamedTuple):
    kind: str  # literal, number, sign, name, operator
    text: str
    start: int
    depth: int  # of parentheses and brackets


def steps(expression: str) -> list[list[Step]]:
    """The steps of each of the paths that `|` joins. ValueError, with the reason, for what takes too long.

    >>> [[step.path for step in path] for path in steps("//div[@id='a']//p/b | //h1")]
    [["/descendant::div[@id='a']", 'descendant::p/b'], ['/descendant::h1']]
    """
    if len(expression) > MAX_LENGTH:
        raise ValueError(f"has more than {MAX_LENGTH} characters")
    tokens = list(_tokens(expression))
    is_path = tokens and all(
        token.depth or token.kind == "name" or token.text in ("/", "//", "|", "::", "@", "*", ".", "..", "[", "]")
        for token in tokens
        if not _is_node_test(tokens, token)
    )
    _check(tokens, 0 if is_path else 1)
    return [_cut(expression, path) for path in _alternatives(tokens)] if is_path else [[Step(expression.strip())]]


def _tokens(expression: str) -> Iterator[_Token]:
    place, depth, before = 0, 0, None
    while expression[place:].strip():
        found = _TOKEN.match(expression, place)
        if found is None:
            raise ValueError(f"has {expression[place:].lstrip()[:1]!r} where none can stand")
        kind, text = found.lastgroup or "", found[found.lastgroup or ""]
        depth -= text in (")", "]") and kind == "sign"
        ends_operand = before is not None and (before.kind in ("literal", "number", "name") or before.text in _ENDS)
        if ends_operand and (text in _OPERATOR_NAMES or text == "*"):
            kind = "operator"
        before = _Token(kind, text, found.start(found.lastgroup or ""), depth)
        yield before
        depth += text in ("(", "[") and kind == "sign"
        place = found.end()


_ENDS = frozenset({")", "]", ".", "..", "*"})


def _is_node_test(tokens: list[_Token], token: _Token) -> bool:
    """Whether a token is a parenthesis of `text()` or another node test without arguments."""
    place = tokens.index(token)
    opening = place if token.text == "(" else place - 1
    return (
        token.text in ("(", ")")
        and 0 < opening < len(tokens) - 1
        and tokens[opening].text == "("
        and tokens[opening + 1].text == ")"
        and tokens[opening - 1].text in _NODE_TESTS
    )


@dataclasses.dataclass
class _Open:
    """What is open at a token: the whole expression, a parenthesis or a predicate; and its current path."""

    predicates: int = 0  # open ones, this one included
    of_costly: bool = False  # it is in a predicate, of a step that a costly one in that predicate has reached
    costly: int = 0  # costly steps of the path, those in parentheses included
    own: int = 0  # costly steps of the path, those in parentheses left out
    is_compared: bool = False  # the path stands after a comparison


def _check(tokens: list[_Token], depth: int) -> None:
    """Refuse what is unknown, and what takes more than quadratic time where no path can be cut.

    `depth` is 1 if no path can be cut, not even outside parentheses.
    """
    open_ = [_Open()]
    for place, token in enumerate(tokens):
        after, inner = _text_after(tokens, place), open_[-1]
        sign = token.text if token.kind in ("sign", "operator") else ""
        _check_name(token, after)
        if inner.predicates and (problem := _problem_in_predicate(tokens, place, inner)):
            raise ValueError(f"{problem}, where it costs too much")
        if sign in _SIGNS or token.kind == "operator":
            inner.costly, inner.own, inner.is_compared = 0, 0, sign in _COMPARISONS
        elif sign == "(":
            open_.append(_Open(inner.predicates, inner.of_costly))
        elif sign == "[":
            open_.append(_Open(inner.predicates + 1, inner.of_costly or (inner.predicates > 0 and inner.costly > 0)))
        elif sign in (")", "]"):
            open_.pop()
            if not open_:
                raise ValueError(f"has a {sign} that closes nothing")
            open_[-1].costly += inner.costly if sign == ")" else 0
        elif is_costly(token, after):
            inner.costly += 1
            inner.own += 1
        if open_[-1].costly > 1 and (depth or len(open_) > 1):
            raise ValueError("has several of // and axes in a path within [ ] or ( ), where they cost too much")


def _text_after(tokens: list[_Token], place: int) -> str:
    return tokens[place + 1].text if place + 1 < len(tokens) else ""


def _problem_in_predicate(tokens: list[_Token], place: int, inner: _Open) -> str:
    """What costs too much about a token in a predicate; empty if nothing does."""
    token, after = tokens[place], _text_after(tokens, place)
    costs = is_costly(token, after)
    if inner.of_costly and _reads_text(tokens, place):
        return "has a predicate of a predicate that reads more than attributes"
    if (inner.own and token.kind == "sign" and token.text in _COMPARISONS) or (inner.is_compared and costs):
        return "compares what // or an axis finds in a predicate"
    if costs and inner.predicates > 1:
        return f"has {token.text if token.kind == 'sign' else f'{token.text}::'} in a predicate of a predicate"
    if token.kind == "sign" and token.text in ("/", "//") and not _may_go_on(tokens[place - 1]):
        return "has a path from the root of the page in a predicate"
    return f"has {token.text}:: in a predicate" if token.text in _WHOLE_PAGE and after == "::" else ""


def _reads_text(tokens: list[_Token], place: int) -> bool:
    """Whether a token reads an element or its text, not only attributes and positions."""
    token, before = tokens[place], tokens[place - 1].text
    after = [each.text for each in tokens[place + 1 : place + 3]]
    if token.kind == "sign":
        return token.text in (".", "*") and before != "@"
    if token.kind != "name" or before == "@":
        return False
    return after[:1] != ["("] or (after == ["(", ")"] and token.text not in ("position", "last", "true", "false"))


def _check_name(token: _Token, after: str) -> None:
    if token.text == "$":
        raise ValueError("has a variable; there are none")
    if token.kind != "name":
        return
    if after == "(" and token.text not in FUNCTIONS | _NODE_TESTS:
        raise ValueError(f"calls {token.text}(), which is none of the functions of XPath 1.0 that can be used")
    if after == "::" and token.text not in _AXES:
        raise ValueError(f"has the axis {token.text}, which is none of {', '.join(sorted(_AXES))}")
    if ":" in token.text:
        raise ValueError(f"has the prefix of a namespace in {token.text}; elements of pages have none")


def is_costly(token: _Token, after: str) -> bool:
    """Whether a step begins with a token that may reach the same node from several others."""
    if token.kind == "sign":
        return token.text in ("//", "..")
    return token.kind == "name" and after == "::" and token.text not in _CHEAP_AXES


def _may_go_on(token: _Token) -> bool:
    """Whether a path may go on after a token."""
    return token.kind == "name" or token.text in _ENDS


def _alternatives(tokens: list[_Token]) -> Iterator[list[_Token]]:
    path: list[_Token] = []
    for token in tokens:
        if token.text == "|" and not token.depth:
            yield path
            path = []
        else:
            path.append(token)
    yield path


def _cut(expression: str, path: list[_Token]) -> list[Step]:
    """The steps of a path without parentheses: each but the first begins with a costly one."""
    if not path:
        raise ValueError("has a | without a path on both sides")
    end = path[-1].start + len(path[-1].text)
    cuts = [path[0].start]
    for before, token, after in zip(path, path[1:], [*path[2:], None], strict=False):
        is_axis = before.text == "/" and before is not path[0] and is_costly(token, after.text if after else "")
        is_start = token.text == "//" or is_axis
        if not token.depth and token.kind in ("sign", "name") and is_start:
            cuts.append(token.start)
    parts = [expression[a:b].strip() for a, b in zip(cuts, [*cuts[1:], end], strict=True)]
    # A cut before an axis leaves its slash at the end of the step before.
    parts = [part.removesuffix("/") if part not in ("/", "//") else part for part in parts]
    first, *others = parts
    return [
        Step(f"/descendant::{rest}" if (rest := _of_descendants(first)) else first),
        *(Step(_relative(part), from_outermost=part.startswith("//")) for part in others),
    ]


def _relative(part: str) -> str:
    if rest := _of_descendants(part):
        return f"descendant::{rest}"
    return f".{part}" if part.startswith("//") else part


def _of_descendants(part: str) -> str:
    """What comes after the // of a part if it means descendants; "" if not, or if predicates may be about places.

    With //, a place is one among the children of a parent.
    """
    slashes, *tokens = _tokens(part)
    if slashes.text != "//" or not tokens or (tokens[0].kind != "name" and tokens[0].text != "*"):
        return ""
    is_plain = len(tokens) == 1 or tokens[1].text not in ("::", "(")
    of_place = any(each.kind in ("number", "operator") or each.text in _NUMBERS for each in tokens)
    return part[2:].lstrip() if is_plain and not of_place else ""


_NUMBERS = frozenset({"position", "last", "count", "string-length", "number", "floor", "ceiling", "round", "+", "-"})
