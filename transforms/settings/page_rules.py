"""Rules about single pages: arrays of tables of `crawl.toml`, such as `[[extract]]`.

The docstrings and comments are written to `crawl.toml`: users read them there.
"""

import dataclasses
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ..outcomes import meant
from .checks import regular_expression
from .fields import setting
from .toml_values import to_toml
from .validate import problem

_MATCH = "Regular expression of the URLs that the rule is for. Empty: all."


@dataclasses.dataclass(frozen=True)
class Extract:
    """A fact that is taken from pages: an entry of `facts` of table documents, and a filter of searches."""

    match: str = setting("", _MATCH, check=regular_expression)
    field: str = setting("", "Name of the fact: small letters, digits and _.")
    css: str = setting("", "CSS selector of the elements that hold the values. It may end with ::attr(NAME) or ::text.")
    xpath: str = setting("", "XPath 1.0 expression of the values. A rule has one of css, xpath and regex.")
    regex: str = setting(
        "", "Regular expression of the URL: the value is the first group, or all.", check=regular_expression
    )


@dataclasses.dataclass(frozen=True)
class MainText:
    """What the main text of pages is, where it is not recognized. The first rule that matches a URL counts."""

    match: str = setting("", _MATCH, check=regular_expression)
    keep: list[str] = setting([], "CSS selectors of the elements that are the text. Empty: as without a rule.")
    drop: list[str] = setting([], "CSS selectors of elements that are left out.")


RESERVED = frozenset(
    """
    after ai_input ai_training before canonical_ignored canonical_url charset content_signals content_usage depth
    description digest domain duplicate_of extract_error facts fetched_at headings host keywords lang language
    license license_source
    max_snippet media_type near_duplicate_of near_key noai noarchive nofollow noimageai noindex nosnippet outlinks
    parse_error published_at quality_reasons round rsl same_content_as search sections site spam_score tdm_policy
    tdm_reservation text title truncated type unavailable_after url url_key
    """.split()  # noqa: SIM905
)
"""Names that mean something else: columns of table documents, filters and fields of searches, errors."""


class Fault(NamedTuple):
    """What is wrong with a rule."""

    number: int  # of the rule, from 1
    key: str  # "" for the rule as a whole
    text: str


def faults(kind: type, tables: Any) -> Iterator[Fault]:
    """The faults of rules of a kind, from their tables as TOML has them."""
    if not isinstance(tables, list):
        yield Fault(1, "", "must be a list of tables")
        return
    wrong = [Fault(number, *fault) for number, table in enumerate(tables, 1) for fault in _of_values(kind, table)]
    if wrong:
        yield from wrong
        return
    for fault in _FAULTS[kind]([kind(**table) for table in tables]):
        value = tables[fault.number - 1].get(fault.key, "")
        yield fault._replace(text=f"{fault.key} = {to_toml(value)}: {fault.text}")


def _of_values(kind: type, table: Any) -> Iterator[tuple[str, str]]:
    fields = {field.name: field for field in dataclasses.fields(kind)}
    if not isinstance(table, Mapping):
        yield "", f"{to_toml(table)}: must be a table"
        return
    for key, value in table.items():
        if key not in fields:
            yield key, f"{key}: unknown key{meant(key, fields, 'known:')}"
        elif fault := problem(fields[key], value):
            yield key, f"{key} = {to_toml(value)}: {fault}"


def _extract_faults(rules: Sequence[Extract]) -> Iterator[Fault]:
    seen = Counter[tuple[str, str]]()
    for number, rule in enumerate(rules, 1):
        ways = [key for key in ("css", "xpath", "regex") if getattr(rule, key)]
        if not _NAME.fullmatch(rule.field):
            yield Fault(number, "field", "must have 1 to 64 small letters, digits and _, first a letter")
        elif rule.field in RESERVED:
            yield Fault(number, "field", "is the name of a column or of a filter of searches; choose another")
        elif seen[rule.match, rule.field]:
            yield Fault(number, "field", "is the field of an earlier rule with the same match")
        seen[rule.match, rule.field] += 1
        if len(ways) != 1:
            yield Fault(number, ways[1] if ways else "field", "a rule has exactly one of css, xpath and regex")
        for key, fault in (("css", _css_fault(rule.css, True)), ("xpath", _xpath_fault(rule.xpath))):
            if fault:
                yield Fault(number, key, fault)


def _main_faults(rules: Sequence[MainText]) -> Iterator[Fault]:
    seen = Counter[str]()
    for number, rule in enumerate(rules, 1):
        if seen[rule.match]:
            yield Fault(number, "match", "is the match of an earlier rule, which alone counts")
        seen[rule.match] += 1
        if not (rule.keep or rule.drop):
            yield Fault(number, "match", "a rule has keep, drop or both")
        for key in ("keep", "drop"):
            for css in getattr(rule, key):
                if fault := _css_fault(css, False) if css else "is empty":
                    yield Fault(number, key, f"{to_toml(css)} {fault}")


_NAME = re.compile("[a-z][a-z0-9_]{0,63}", re.ASCII)

_FAULTS: dict[type, Callable[[Sequence[Any]], Iterator[Fault]]] = {Extract: _extract_faults, MainText: _main_faults}


def _css_fault(css: str, takes_parts: bool) -> str | None:
    if not css:
        return None
    from ..selectors.select import compile_css  # noqa: PLC0415 - turbohtml is imported only where there are rules

    return _fault_of(lambda: compile_css(css, takes_parts))


def _xpath_fault(xpath: str) -> str | None:
    if not xpath:
        return None
    from ..selectors.select import compile_xpath  # noqa: PLC0415 - as above

    return _fault_of(lambda: compile_xpath(xpath))


def _fault_of(compile_: Callable[[], object]) -> str | None:
    try:
        compile_()
    except ValueError as error:
        return str(error)
    return None
