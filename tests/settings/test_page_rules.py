"""`[[extract]]` and `[[main]]` in crawl.toml: reading, writing, and the line of what is wrong."""

import pytest

from beamtrawl.search.query.lexemes import FIELDS, FILTERS
from beamtrawl.transforms.indexing.write_segment import ERRORS
from beamtrawl.transforms.settings import (
    Extract,
    MainText,
    Settings,
    SettingsError,
    changed_values,
    override,
    parse,
    render,
    settings_digest,
)
from beamtrawl.transforms.settings.page_rules import RESERVED
from beamtrawl.transforms.tables.schemas import DOCUMENTS
from tests.support.tables import each_row

TEXT = """
[[extract]]
match = "/library/"
field = "added"
css = ".versionadded"

[[extract]]
field = "section"
regex = '''^https?://[^/]+/([^/]+)/'''

[[main]]
keep = ["#content", "h1"]
"""
RULES = {
    "extract": [
        Extract(match="/library/", field="added", css=".versionadded"),
        Extract(field="section", regex="^https?://[^/]+/([^/]+)/"),
    ],
    "main": [MainText(keep=["#content", "h1"])],
}


def test_rules_are_read_and_written():
    settings = parse(TEXT)
    assert settings == Settings(**RULES)
    assert parse(render(settings)) == settings
    assert settings_digest(settings) != settings_digest(Settings())
    assert override(Settings(), changed_values(settings)) == settings
    assert changed_values(Settings()) == {}


def test_a_program_sets_rules_as_a_whole():
    changed = override(parse(TEXT), {"extract": [{"field": "price", "css": ".price"}], "main": []})
    assert changed == Settings(extract=[Extract(field="price", css=".price")])
    with pytest.raises(SettingsError, match=r"^rule 1 of main: colour: unknown key; known: match, keep, drop$"):
        override(Settings(), {"main": [{"colour": "red"}]})
    with pytest.raises(SettingsError, match=r"^rule 1 of extract: field = \"url\": is the name of a column"):
        Settings(extract=[Extract(field="url", css="a")])


GOOD = '[[extract]]\nfield = "a"\ncss = "a"\n'
NAME = "must have 1 to 64 small letters, digits and _, first a letter"
ONE = "a rule has exactly one of css, xpath and regex"

# Text, line, the rest of the message
BAD = {
    "unknown key": (
        GOOD + "colour = 1",
        4,
        "rule 1 of extract: colour: unknown key; known: match, field, css, xpath, regex",
    ),
    "wrong type": (GOOD + "match = 1", 4, "rule 1 of extract: match = 1: must be a string"),
    "second rule": (
        f'{GOOD}[[extract]]\nfield = "b"\ncss = "b["',
        6,
        'rule 2 of extract: css = "b[": is no CSS selector that can be used: expected an identifier at position 2',
    ),
    "bad XPath": (
        '[[extract]]\nfield = "b"\nxpath = "//b["',
        3,
        'rule 1 of extract: xpath = "//b[": is no XPath expression: expected a node test at the end of the expression',
    ),
    "bad pattern": (
        '[[extract]]\nregex = "("\nfield = "b"',
        2,
        'rule 1 of extract: regex = "(": missing ), unterminated subpattern at position 0',
    ),
    "bad match": (
        '[[main]]\nmatch = "["\nkeep = ["b"]',
        2,
        'rule 1 of main: match = "[": unterminated character set at position 0',
    ),
    "two ways": (GOOD + 'xpath = "//b"', 4, f'rule 1 of extract: xpath = "//b": {ONE}'),
    "no way": ('[[extract]]\nfield = "b"', 2, f'rule 1 of extract: field = "b": {ONE}'),
    "no field": ('[[extract]]\ncss = "b"', 1, f'rule 1 of extract: field = "": {NAME}'),
    "a field with a capital": (GOOD.replace('"a"', '"A"', 1), 2, f'rule 1 of extract: field = "A": {NAME}'),
    "a reserved field": (
        GOOD.replace('"a"', '"site"', 1),
        2,
        'rule 1 of extract: field = "site": is the name of a column or of a filter of searches; choose another',
    ),
    "a field twice": (
        GOOD + GOOD,
        5,
        'rule 2 of extract: field = "a": is the field of an earlier rule with the same match',
    ),
    "nothing to keep or drop": (
        '[[main]]\nmatch = "a"',
        2,
        'rule 1 of main: match = "a": a rule has keep, drop or both',
    ),
    "an empty selector": ('[[main]]\nkeep = [""]', 2, 'rule 1 of main: keep = [""]: "" is empty'),
    "a part of an element": (
        '[[main]]\nkeep = ["a"]\ndrop = ["a::text"]',
        3,
        'rule 1 of main: drop = ["a::text"]: "a::text" has a pseudo-element, which this key cannot have',
    ),
    "a match twice": (
        '[[main]]\nkeep = ["a"]\n[[main]]\nkeep = ["b"]',
        3,
        'rule 2 of main: match = "": is the match of an earlier rule, which alone counts',
    ),
    "one table": ('[extract]\nfield = "a"', 1, None),
    "no tables": ("extract = 1", 1, "rule 1 of extract: must be a list of tables"),
    "no table": ("\nextract = [1]", 2, "rule 1 of extract: 1: must be a table"),
    "in one line": ('\nextract = [{field = "A", css = "a"}]', 2, f'rule 1 of extract: field = "A": {NAME}'),
}


@each_row(BAD)
def test_a_bad_rule_is_named_with_its_number_and_line(text, line, rest):
    with pytest.raises(SettingsError) as caught:
        parse(text)
    assert str(caught.value).startswith(f"crawl.toml, line {line}: ")
    assert rest is None or str(caught.value) == f"crawl.toml, line {line}: {rest}"


def test_reserved_are_columns_filters_and_errors():
    assert {*DOCUMENTS.names, *FIELDS, *FILTERS, *ERRORS} == RESERVED
