"""PDF, office files and books: cases that people met, and their siblings.

Right is what pdftotext (poppler) joins, and what the formats' standards say: ECMA-376, EPUB 3.3.
"""

import pytest

from beamtrawl.transforms.kinds.pdf_process import joined
from beamtrawl.transforms.parsing.html_page import parse_page
from tests.support.files import pdf
from tests.support.office import DRAWING, archive, docx, epub, pptx, relationships, shape, xlsx
from tests.support.tables import each_row

HYPHENS = {
    "a word": ("a light\x02house", "a lighthouse"),
    "two words": ("obser\x02vatory and Po\x02litik", "observatory and Politik"),
    "capitals": ("LIGHT\x02HOUSE", "LIGHTHOUSE"),
    "another script": ("обсер\x02ватория", "обсерватория"),
    "a capital alone": ("X\x02ray", "X-ray"),
    "a number": ("UTF\x028", "UTF-8"),
    "names": ("Jean\x02Paul", "Jean-Paul"),
    "none": ("well-known", "well-known"),
}


@each_row(HYPHENS)
def test_hyphens_at_line_ends(text, whole):
    assert joined(text) == whole


def parse(body, content_type="application/octet-stream"):
    return parse_page(body, "http://a.test/file", content_type, [], "robot", ("html", "pdf", "office", "epub"))


def test_a_word_of_a_pdf_that_is_divided_at_a_line_end():
    page = parse(
        pdf(["The harbour has a light-) Tj 0 -14 Td (house and a bird obser-) Tj 0 -14 Td (vatory"]), "application/pdf"
    )
    assert page.text == "The harbour has a lighthouse and a bird observatory"


def turned(degrees):
    return pdf(["A turned page"]).replace(b"/Type /Page /Parent", f"/Type /Page /Rotate {degrees} /Parent".encode())


# a PDF: its text, as of pdftotext
PDFS = {
    "a page on its side": (turned(90), "A turned page"),
    "a page upside down": (turned(180), "A turned page"),
    "columns, as they are set": (
        pdf(["The quokka is) Tj 0 -14 Td (of the west.) Tj 200 14 Td (A gannet) Tj 0 -14 Td (is a bird."]),
        "The quokka is\nof the west.\nA gannet\nis a bird.",
    ),
    "a running header": (pdf(["Manual) Tj 0 -14 Td (One", "Manual) Tj 0 -14 Td (Two"]), "Manual\nOne\nManual\nTwo"),
}


# py-pdf/sample-files: ImageMagick ends titles with NUL, ReportLab has a title for those without; pdf.js ignores it
TITLES = {"of ImageMagick": (r"A seal\000", "A seal"), "of ReportLab": ("untitled", ""), "Untitled": ("Untitled", "")}


@each_row(TITLES)
def test_titles_of_pdf(stated, title):
    assert parse(pdf(["Text"], info=f"/Title ({stated})"), "application/pdf").title == title


# the manual of libtasn1, and the Shared MIME-info Database, of Debian 12: both were called "1. Introduction"
CALLED = {
    "by their first line": ("Tide tables", "Tide tables"),
    "not by running text": ("The tides of the harbour, the tables of the year, and the signals of", "1. Introduction"),
    "not by a sentence": ("The harbour has tides.", "1. Introduction"),
    "not by a number": ("2024-03", "1. Introduction"),
}


@each_row(CALLED)
def test_pdf_without_a_title_are_called(line, title):
    assert parse(pdf([line], bookmark="1. Introduction"), "application/pdf").title == title


@each_row(PDFS)
def test_pages_of_pdf(body, text):
    assert parse(body, "application/pdf").text == text


STRICT = {
    "http://schemas.openxmlformats.org/officeDocument/2006/relationships": "relationships",
    "http://schemas.openxmlformats.org/wordprocessingml/2006/main": "wordprocessingml/main",
    "http://schemas.openxmlformats.org/spreadsheetml/2006/main": "spreadsheetml/main",
    "http://schemas.openxmlformats.org/presentationml/2006/main": "presentationml/main",
    "http://schemas.openxmlformats.org/drawingml/2006/main": "drawingml/main",
}


def strict(parts):
    """The parts in the namespaces of ISO/IEC 29500-1 (strict)."""
    changed = dict(parts)
    for name in parts:
        for usual, own in STRICT.items():
            changed[name] = changed[name].replace(
                usual, f"http://purl.oclc.org/ooxml/{own}".replace("ooxml/rel", "ooxml/officeDocument/rel")
            )
    return changed


ROW = '<row><c t="inlineStr"><is><t>walrus</t></is></c></row>'
DATED = '<row><c s="1"><v>{}</v></c><c t="d"><v>2024-03-05</v></c></row>'
DATES = '<styleSheet><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs></styleSheet>'
BOOK = epub({"b.xhtml": "<p>Second walrus</p>", "a.xhtml": "<p>First walrus</p>"})


def dated(is_1904, number):
    made = xlsx({'name="S"': DATED.format(number)}, more={"xl/styles.xml": DATES})
    links = made["xl/_rels/workbook.xml.rels"].replace(
        "</Rel", '<Relationship Id="y" Type="x/styles" Target="styles.xml"/></Rel', 1
    )
    book = made["xl/workbook.xml"].replace("<sheets>", f'<workbookPr date1904="{is_1904}"/><sheets>')
    return made | {"xl/_rels/workbook.xml.rels": links, "xl/workbook.xml": book}


BOX = f'<d xmlns:a="{DRAWING}"><a:p><a:r><a:t>{{}}</a:t></a:r></a:p></d>'
DIAGRAM = {"d": ("diagramData", "../diagrams/data1.xml")}


def with_diagram():
    """A text with a diagram, which is a part of its own."""
    made = docx("<p><r><t>A walrus</t></r></p>", {"word/diagrams/data1.xml": BOX.format("A seal")})
    return made | {"word/_rels/document.xml.rels": relationships({"d": ("diagramData", "diagrams/data1.xml")})}


def with_drawing():
    """A sheet with a text box and a diagram."""
    return xlsx({'name="S"': ROW}) | {
        "xl/worksheets/_rels/sheet0.xml.rels": relationships({"d": ("drawing", "../drawings/drawing1.xml")}),
        "xl/drawings/drawing1.xml": BOX.format("A seal"),
        "xl/drawings/_rels/drawing1.xml.rels": relationships(DIAGRAM),
        "xl/diagrams/data1.xml": BOX.format("An otter"),
    }


DROP = '<p><pPr><framePr dropCap="{}"/></pPr><r><t>{}</t></r></p>'

TEXTS = {
    # jgm/pandoc, test/docx/drop_cap.docx
    "an initial": (
        docx(
            f"{DROP.format('drop', 'W')}<p><r><t>alrus</t></r></p>{DROP.format('margin', 'S')}<p><r><t>eal</t></r></p>"
        ),
        "Walrus\nSeal",
    ),
    "a frame that is no initial": (docx(f"{DROP.format('none', 'W')}<p><r><t>alrus</t></r></p>"), "W\nalrus"),
    # apache/tika: testWORD_diagramData.docx, testEXCEL_textbox.xlsx, testEXCEL_diagramData.xlsx
    "a diagram in a text": (with_diagram(), "A walrus\nA seal"),
    "a text box and a diagram in a sheet": (with_drawing(), "S\nwalrus\nA seal\nAn otter"),
    "an initial and nothing": (docx(f"{DROP.format('drop', 'W')}<p/><p><r><t>alrus</t></r></p>"), "W\nalrus"),
    "strict docx": (strict(docx("<p><r><t>A walrus</t></r></p>")), "A walrus"),
    "strict xlsx": (strict(xlsx({'name="S"': ROW})), "S\nwalrus"),
    "strict pptx": (strict(pptx([shape("A walrus")])), "A walrus"),
    "dates since 1904": (dated("1", 41747), "S\n2018-04-19 2024-03-05"),
    "dates since 1900": (dated("0", 43209), "S\n2018-04-19 2024-03-05"),
    "tracked changes": (
        docx("<p><ins><r><t>A walrus</t></r></ins><del><r><delText> seal</delText></r></del></p>"),
        "A walrus",
    ),
    "runs from right to left": (docx("<p><r><rPr><rtl/></rPr><t>שלום</t></r><r><t> walrus</t></r></p>"), "שלום walrus"),
    "a very hidden sheet": (xlsx({'name="S"': ROW, 'name="H" state="veryHidden"': ROW}), "S\nwalrus"),
    "a hidden slide": (pptx([shape("A walrus"), 'show="0"|' + shape("hidden")]), "A walrus"),
    "a book without a spine": (
        BOOK | {"OPS/b.opf": BOOK["OPS/b.opf"].partition("<spine>")[0] + "</package>"},
        "First walrus\nSecond walrus",
    ),
    # EPUB 3.3, 5.1; w3c/epub-tests, cnt-svg-support
    "a book with pages of SVG": (
        BOOK
        | {
            "OPS/b.opf": BOOK["OPS/b.opf"].replace("application/xhtml+xml", "image/svg+xml", 1),
            "OPS/a.xhtml": "<svg xmlns='http://www.w3.org/2000/svg'><style>p {}</style><text>First seal</text></svg>",
        },
        "Second walrus\nFirst seal",
    ),
    "a book with a spine": (BOOK, "Second walrus\nFirst walrus"),
    "a book with a spine of nothing": (
        BOOK | {"OPS/b.opf": BOOK["OPS/b.opf"].replace('idref="', 'idref="no-')},
        "First walrus\nSecond walrus",
    ),
}


@pytest.mark.parametrize("name", TEXTS)
def test_texts(name):
    parts, text = TEXTS[name]
    assert parse(archive(parts)).text == text
