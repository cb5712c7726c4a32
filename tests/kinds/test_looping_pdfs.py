"""PDFs that lead round and round: what can be read of them is read, and nothing else comes of it."""

import pytest

from beamtrawl.transforms.kinds.pdf import Pdf
from beamtrawl.transforms.parsing.robots_meta import Directives
from beamtrawl.transforms.parsing.source import Source
from tests.support.files import pdf_of

_RESOURCES = "/Resources << /Font << /F 3 0 R >> /XObject << /X 12 0 R >> >>"
_PAGE = f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 999 999] /Contents 11 0 R {_RESOURCES} >>"
_FORM = f"/Type /XObject /Subtype /Form /BBox [0 0 999 999] {_RESOURCES}"


def stream(content, more=""):
    return f"<< /Length {len(content)} {more} >>\nstream\n{content}\nendstream"


OBJECTS = {
    1: "<< /Type /Catalog /Pages 2 0 R /Outlines 5 0 R >>",
    2: "<< /Type /Pages /Count 1 /Kids [10 0 R] >>",
    3: "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    5: "<< /First 6 0 R /Last 6 0 R /Count 1 >>",
    6: "<< /Title (Mark) /Parent 5 0 R /Dest [10 0 R /Fit] >>",
    10: _PAGE,
    11: stream("BT /F 9 Tf 9 99 Td (Page) Tj ET /X Do"),
    12: stream("BT /F 9 Tf 9 50 Td (form) Tj ET", _FORM),
}
LOOPS = {  # objects that are different, text, headings
    "none": ({}, "Page\nform", ["Mark"]),
    "pages among themselves": ({2: "<< /Type /Pages /Count 9 /Kids [2 0 R 10 0 R 2 0 R] >>"}, "Page\nform", ["Mark"]),
    "a page that is itself": ({10: "10 0 R"}, "", ["Mark"]),
    "a text that is its own part": ({11: "[11 0 R 11 0 R]"}, "", ["Mark"]),
    "a length that is told by what it measures": (
        {11: OBJECTS[11].replace("/Length ", "/Length 11 0 R /Other ")},
        *("Page\nform", ["Mark"]),
    ),
    "a bookmark after itself": ({6: "<< /Title (Mark) /Next 6 0 R /First 6 0 R >>"}, "Page\nform", ["Mark"]),
    "bookmarks after each other": (
        {6: "<< /Title (Mark) /Next 7 0 R >>", 7: "<< /Title (Other) /Next 6 0 R /First 5 0 R >>"},
        *("Page\nform", ["Mark", "Other"]),
    ),
}


def parse(parser, objects):
    body = pdf_of({**OBJECTS, **objects})
    return parser.parse(Source(body, "application/pdf", None, "http://a.test/x.pdf", "robot", Directives(), ""))


@pytest.fixture(scope="module")
def parser():
    return Pdf()


@pytest.mark.parametrize("loop", LOOPS)
def test_what_there_is_of_a_pdf_that_loops_is_read_once(parser, loop, capfd):
    objects, text, headings = LOOPS[loop]
    page = parse(parser, objects)
    assert (page.text, page.headings) == (text, headings)
    assert capfd.readouterr().err == ""


def test_a_form_that_draws_itself_twice_is_a_failed_document_and_the_next_is_read():
    parser = Pdf(seconds=0.5, patience=0.5)
    with pytest.raises(ValueError, match="the PDF process "):
        parse(parser, {12: stream("/X Do /X Do", _FORM)})
    assert parse(parser, {}).text == "Page\nform"
