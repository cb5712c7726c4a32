"""What is read of office files and books."""

import doctest
from datetime import UTC, datetime

import pytest

from beamtrawl.transforms.kinds.office_files import archive as archives, numbers
from beamtrawl.transforms.parsing.html_page import parse_page
from tests.support.office import archive, docx, epub, odf, pptx, relationships, shape, xlsx

URL = "http://a.test/dir/file"
WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"


def parse(parts, content_type="application/octet-stream", headers=()):
    return parse_page(archive(parts), URL, content_type, headers, "robot", ("html", "office", "epub"))


def styled(style, text):
    return f'<p><pPr><pStyle val="{style}"/></pPr><r><t>{text}</t></r></p>'.replace(" val", " w:val")


WORDS = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
STYLES = f"""<w:styles xmlns:w="{WORDS}"><w:docDefaults><w:rPrDefault><w:rPr><w:lang w:val="de-DE"/></w:rPr>
</w:rPrDefault></w:docDefaults><w:style w:styleId="H1"><w:name w:val="heading 1"/></w:style>
<w:style w:styleId="Mine"><w:name w:val="Mine"/><w:basedOn w:val="Other"/></w:style>
<w:style w:styleId="Other"><w:name w:val="Other"/><w:basedOn w:val="H1"/></w:style>
<w:style w:styleId="Loop"><w:name w:val="Loop"/><w:basedOn w:val="Loop"/></w:style></w:styles>"""
NOTES = f'<footnotes xmlns="{WORDS}"><footnote><p><r><t>A note.</t></r></p></footnote></footnotes>'
PROPERTIES = (
    "<dc:title>The catch</dc:title><dc:creator>A. Skipper</dc:creator><dc:subject>Fish</dc:subject>"
    "<cp:keywords xmlns:cp='x'>cod, herring</cp:keywords><dcterms:created>2026-03-05T10:30:00Z</dcterms:created>"
)


def test_a_docx_file():
    body = f"""{styled("H1", "Spring")}<p><r><t>Herring</t></r><r><tab/><t>in </t></r>
    <del><r><delText>May</delText></r></del>
    <ins><r><t>March</t></r></ins><moveFrom><r><t>moved</t></r></moveFrom><r><rPr><vanish/></rPr><t>hidden</t></r></p>
    <tbl><tr><tc><p><r><t>one</t></r></p></tc>
    <tc><p><hyperlink r:id="l"><r><t>a</t></r><r><t> link</t></r></hyperlink></p>
    </tc></tr></tbl>{styled("Mine", "Summer")}{styled("Loop", "no heading")}
    <p><r><instrText>HYPERLINK "../field"</instrText></r><r><t>field</t></r><r><br/><t>end</t></r></p>"""
    body = body.replace("w:val", f'xmlns:w="{WORDS}" w:val')
    targets = {
        "l": ("hyperlink", "http://b.test/x"),
        "s": ("styles", "styles.xml"),
        "f": ("footnotes", "/word/footnotes.xml"),
    }
    parts = {
        "word/_rels/document.xml.rels": relationships(targets),
        "word/styles.xml": STYLES,
        "word/footnotes.xml": NOTES,
        "word/vbaProject.bin": b"\xd0\xcf\x11\xe0 macros",
    }
    page = parse(docx(body, parts, PROPERTIES), headers=[("X-Robots-Tag", "noindex")])
    assert page.text.splitlines() == [
        *("Spring", "Herring in March", "one", "a link", "Summer", "no heading", "field end", "A note."),
    ]
    assert (page.title, page.description, page.keywords) == ("The catch", "Fish", "cod, herring")
    assert page.headings == ["Spring", "Summer"]
    assert page.published_at == datetime(2026, 3, 5, 10, 30, tzinfo=UTC)
    assert [(link.url, link.anchor) for link in page.links] == [
        ("http://b.test/x", "a link"),
        ("http://a.test/field", ""),
    ]
    assert (page.media_type, page.charset, page.language, page.noindex) == (WORD, "", "de", True)
    assert page.facts == {"author": "A. Skipper"}


def test_a_text_box_is_read_once():
    box = "<r><mc:{0} xmlns:mc='m'><txbxContent><p><r><t>box</t></r></p></txbxContent></mc:{0}></r>"
    assert (
        parse(docx(f"<p>{box.format('Choice')}{box.format('Fallback')}<r><t>around</t></r></p>")).text == "box\naround"
    )


def test_a_pptx_file():
    link = (
        '<p:sp><p:txBody><a:p><a:r><a:rPr><a:hlinkClick r:id="l"/></a:rPr><a:t>fish</a:t></a:r></a:p></p:txBody></p:sp>'
    )
    slides = [
        shape("Second", "title") + shape("7", "sldNum") + shape("body text") + link,
        shape("First", "ctrTitle"),
        'show="0"|' + shape("never shown"),
    ]
    targets = {"l": ("hyperlink", "http://b.test/fish"), "n": ("notesSlide", "../notesSlides/n.xml")}
    notes = pptx([shape("What to say", "body") + shape("7", "sldNum")])["ppt/slides/slide0.xml"]
    more = {"ppt/slides/_rels/slide0.xml.rels": relationships(targets), "ppt/notesSlides/n.xml": notes}
    page = parse(pptx(slides, more))
    assert page.text.splitlines() == ["First", "Second", "body text", "fish", "What to say"]
    assert (page.title, page.headings) == ("First", ["First", "Second"])
    assert [(link.url, link.anchor) for link in page.links] == [("http://b.test/fish", "fish")]


def test_an_xlsx_file():
    strings = "<si><t>herring</t></si><si><r><t>co</t></r><r><t>d</t></r><rPh><t>phonetic</t></rPh></si>"
    rows = (
        '<row><c t="s"><v>1</v></c><c t="s"><v>0</v></c><c t="s"><v>9</v></c>'
        '<c t="inlineStr"><is><t>own</t></is></c></row>'
        '<row><c><v>102.99999999999999</v></c><c s="1"><v>43209.5</v></c><c s="2"><v>12</v></c><c t="b"><v>1</v></c>'
        '<c t="e"><v>#REF!</v></c><c t="str"><f>A1</f><v>result</v></c></row>'
    )
    styles = (
        '<styleSheet><numFmts><numFmt numFmtId="164" formatCode="[Red]0 &quot;days&quot;"/></numFmts>'
        '<cellXfs><xf numFmtId="0"/><xf numFmtId="22"/><xf numFmtId="164"/></cellXfs></styleSheet>'
    )
    made = xlsx({'name="Catch"': rows, 'name="Old" state="hidden"': '<row><c t="s"><v>0</v></c></row>'}, strings)
    links = made["xl/_rels/workbook.xml.rels"].replace(
        "</Relationships>", relationships({"y": ("styles", "styles.xml")}).partition(">")[2]
    )
    page = parse(made | {"xl/_rels/workbook.xml.rels": links, "xl/styles.xml": styles})
    assert page.text.splitlines() == ["Catch", "cod herring own", "103 2018-04-19 12:00:00 12 TRUE result"]
    assert (page.title, page.headings, page.media_type[-5:]) == ("Catch", ["Catch"], "sheet")


def test_an_odt_file():
    content = """<text:tracked-changes><text:p>deleted</text:p></text:tracked-changes><text:h>Spring</text:h>
    <text:p>Herring<text:s text:c="99"/>in<text:line-break/><text:span>Ma</text:span>rch
    <office:annotation><text:p>comment</text:p></office:annotation>
    <text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>A note.
    </text:p></text:note-body></text:note></text:p>
    <text:list><text:list-item>
    <text:p><text:a xlink:href="http://b.test/x">a link</text:a>,
    <text:a xlink:href="../up">up</text:a>, <text:a xlink:href="#in">within</text:a></text:p>
    </text:list-item></text:list>"""
    meta = (
        "<dc:title>The catch</dc:title><dc:description>On fish</dc:description><dc:language>ko-KR</dc:language>"
        "<meta:initial-creator>A. Skipper</meta:initial-creator><meta:generator>Writer</meta:generator>"
        "<meta:keyword>cod</meta:keyword><meta:keyword>herring</meta:keyword>"
        "<meta:creation-date>2026-03-05T10:30:00</meta:creation-date>"
    )
    page = parse(odf("text", content, meta))
    assert page.text.splitlines() == ["Spring", "A note.", "Herring in March", "a link, up, within"]
    assert (page.title, page.description, page.keywords, page.headings) == (
        *("The catch", "On fish", "cod, herring", ["Spring"]),
    )
    assert [(link.url, link.anchor) for link in page.links] == [
        ("http://b.test/x", "a link"),
        ("http://a.test/dir/up", "up"),
    ]
    assert page.published_at == datetime(2026, 3, 5, 10, 30, tzinfo=UTC)
    assert (page.language, page.facts) == ("ko", {"author": "A. Skipper", "producer": "Writer"})


def test_an_odp_file():
    frame = '<draw:frame presentation:class="{}"><draw:text-box><text:p>{}</text:p></draw:text-box></draw:frame>'
    page = parse(
        odf("presentation", f"<draw:page>{frame.format('title', 'Fish')}{frame.format('outline', 'Cod')}</draw:page>")
    )
    assert (page.text, page.title, page.headings) == ("Fish\nCod", "Fish", ["Fish"])


def test_an_ods_file():
    cell = "<table:table-cell table:number-columns-repeated='1000000'>{}</table:table-cell>"
    cells = cell.format(
        "<text:p>cod</text:p><office:annotation><text:p>comment</text:p></office:annotation>"
    ) + cell.format("")
    cells += cell.format("<text:p>7</text:p>")
    rows = f"<table:table-row table:number-rows-repeated='1000000'>{cells}</table:table-row>"
    page = parse(odf("spreadsheet", f'<table:table table:name="Catch">{rows}</table:table>'))
    assert (page.text, page.headings) == ("Catch\ncod 7", ["Catch"])


def test_an_epub_file():
    chapters = {
        "a.xhtml": "<h1>Spring</h1><p>Herring <a href='http://b.test/x'>here</a>, <a href='b.xhtml'>cod</a> there.</p>",
        "b.xhtml": "<h2>Summer</h2><p>Cod&nbsp;and &eacute;t&eacute;.</p><script>x</script>",
    }
    metadata = (
        "<dc:title>The catch</dc:title><dc:creator>A. Skipper</dc:creator><dc:language>fr</dc:language>"
        "<dc:date>2026-03-05</dc:date><dc:subject>cod</dc:subject><dc:subject>herring</dc:subject>"
        "<dc:description>On fish</dc:description>"
    )
    fonts = {"META-INF/encryption.xml": "<e><CipherReference URI='OPS/font.otf'/></e>"}
    page = parse(epub(chapters, metadata, fonts))
    assert page.text.splitlines() == ["Spring", "Herring here, cod there.", "Summer", "Cod and été."]
    assert (page.title, page.description, page.keywords) == ("The catch", "On fish", "cod, herring")
    assert (page.headings, page.language, page.facts) == (["Spring", "Summer"], "fr", {"author": "A. Skipper"})
    assert [(link.url, link.anchor) for link in page.links] == [("http://b.test/x", "here")]
    assert page.published_at == datetime(2026, 3, 5, tzinfo=UTC)


@pytest.mark.parametrize("module", [archives, numbers])
def test_examples_in_docstrings(module):
    assert doctest.testmod(module).failed == 0
