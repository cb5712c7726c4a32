"""No page can hurt the crawl: what could be read of it is a document, for a bounded price."""

import sys

import pytest

from tests.support.poison import POISONS, Cost, measure

# Stated here and not imported: a changed limit fails a test.
MAX_LINKS = 20_000
MAX_HEADINGS = 500
MAX_TEXT = 2_000_000

if not sys.platform.startswith("linux"):
    pytest.skip("the peak of a process's memory is read as Linux tells it", allow_module_level=True)

MOST_MEGABYTES = 350
"""Resident memory for one page, above the rest: twice what the worst of the pages was seen to take."""

MOST_SECONDS = 20
"""CPU time for one page: ten times the worst, and a fraction of what any of them takes without its bound."""

TRUNCATED = {
    "nested 100,000 deep": "",
    "nested without end": "nodes",
    "closed a million times": "nodes",
    "attributes without end": "nodes",
    "a million closed links": "nodes",
    "a million headings": "nodes",
    "a million times": "nodes",
    "a billion laughs": "",
    "UTF-16 that lost a byte": "",
    "all encodings": "text",
    "nothing but <": "nodes",
    "comments": "nodes",
    "links within links": "",
    "titles within pictures": "",
    "commas": "",
    "digits": "",
    "terms": "nodes",
    "lists of terms": "nodes",
    "emphasis that is repeated": "nodes",
    "emphasis with long attributes": "nodes",
    "emphasis that seems closed": "nodes",
    "emphasis in cells": "nodes",
    "emphasis without attributes": "nodes",
    "links in tables": "nodes",
    "tables in tables": "nodes",
    "templates in templates": "",
    "shadow trees": "",
    "pages for browsers without scripts": "",
    "headers of headers": "",
    "asides of asides": "",
    "formulas": "nodes",
    "code in code": "nodes",
    "headings in headings": "nodes",
    "blocks by style": "",
    "SVG in SVG": "",
    "what is hidden": "",
    "lists in lists": "nodes",
    "a script without end": "nodes",
    "sections of a select": "nodes",
}
"""What kept the rest from being read; of the others, their size in bytes."""


pytestmark = pytest.mark.slow("large inputs")


@pytest.fixture(scope="module")
def costs() -> dict[str, Cost]:
    return measure()


@pytest.mark.parametrize("name", POISONS)
def test_a_poisonous_page_gives_a_document_for_a_bounded_price(costs: dict[str, Cost], name: str) -> None:
    page, megabytes, seconds = costs[name]
    assert "All that could be read of it." in page["text"]
    assert page["truncated"] == TRUNCATED.get(name, "bytes")
    assert page["characters"] <= MAX_TEXT
    assert page["links"] <= MAX_LINKS
    assert page["headings"] <= MAX_HEADINGS
    assert megabytes < MOST_MEGABYTES
    assert seconds < MOST_SECONDS


def test_as_many_links_are_kept_as_may_be(costs: dict[str, Cost]) -> None:
    assert costs["a million closed links"].page["links"] == MAX_LINKS
