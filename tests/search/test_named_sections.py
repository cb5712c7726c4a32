"""A query that names a section of a page leads there."""

import pytest

from beamtrawl.search.results.form_matches import prepared
from beamtrawl.search.results.named_sections import named_section
from beamtrawl.transforms.sections.section import Section

TEXT = "Settings\nDATABASES\nhow to connect\narg(a, b)\narg(a)\nhandle()\nhandle()"
IDS = {"Settings": "", "DATABASES": "std-databases", "arg(a, b)": "arg-2", "arg(a)": "arg"}
LISTED = [Section(TEXT.index(heading), len(heading), 2, id_) for heading, id_ in IDS.items()]
LAST = TEXT.rindex("handle")
LISTED += [Section(TEXT.index("handle"), 8, 7, "Logger.handle"), Section(LAST, 8, 7, "NullHandler.handle")]

# The words of a query, those of the title, how many a section needs with the title's, and the id of the section.
QUERIES = {
    "by its heading": (["databases"], set(), 1, "std-databases"),
    "beside the title": (["settings", "databases"], {"settings"}, 2, "std-databases"),
    "by its id": (["nullhandler", "handle"], set(), 2, "NullHandler.handle"),
    "the shortest id of equals": (["arg"], set(), 1, "arg"),
    "not what the title says too": (["settings"], {"settings"}, 1, None),
    "not if the passage has more": (["databases", "connect"], set(), 2, None),
    "none": (["other"], set(), 1, None),
}


@pytest.mark.parametrize(("words", "title", "least", "expected"), QUERIES.values(), ids=QUERIES)
def test_named_sections(words, title, least, expected):
    found = named_section(LISTED, TEXT, prepared({word: word for word in words}), title, least)
    assert (found and found.id) == expected
