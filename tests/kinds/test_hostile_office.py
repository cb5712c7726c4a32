"""Hostile office files and books: each is an outcome or a text within bounds, and the next file is read."""

import functools
import random
import struct
import zipfile
import zlib

import pytest

from beamtrawl.transforms.kinds.office import Office
from beamtrawl.transforms.kinds.office_files.archive import Archive
from beamtrawl.transforms.kinds.office_files.content import Enough
from beamtrawl.transforms.parsing.robots_meta import Directives
from beamtrawl.transforms.parsing.source import Source
from tests.support.office import Entry, archive, docx, epub, odf, pptx, shape, stored, told, xlsx

WORDS = docx("<p><r><t>Herring</t></r></p>")
DOCUMENT = WORDS["word/document.xml"]
BOOK = epub({"a.xhtml": "<p>Herring</p>"})
NESTED = "".join(f"<!ENTITY b{n} '{f'&b{n - 1};' * 10}'>" for n in range(1, 10))
BOMB = f"<!DOCTYPE x [<!ENTITY b0 'bbbbbbbbbb'>{NESTED}]>"
OLD = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
ENCRYPTED = "the file is encrypted"


def with_document(text):
    return archive({**WORDS, "word/document.xml": text})


def with_entry(entry):
    return told(WORDS, **{"document.xml": entry})


def deflated(unit, times):
    """A compressed entry of bytes that repeat."""
    packer, crc, data = zlib.compressobj(9, zlib.DEFLATED, -15), 0, b""
    for _ in range(times):
        crc = zlib.crc32(unit, crc)
        data += packer.compress(unit)
    data += packer.flush()
    return Entry(data, crc, len(data), len(unit) * times, zipfile.ZIP_DEFLATED)


def empty_entries(count):
    """An archive with a central directory of so many entries."""
    entry = b"PK\x01\x02\x14\0\x14\0" + bytes(20) + struct.pack("<HHHHHII", 1, 0, 0, 0, 0, 0, 0) + b"a"
    end = struct.pack("<HHHHIIH", 0, 0, 65_535, 65_535, len(entry) * count, 31, 0)
    return b"PK\x03\x04\x14\0" + bytes(20) + b"\1\0\0\0a" + entry * count + b"PK\x05\x06" + end


TRUE = stored(DOCUMENT)


@functools.cache
def zeros():
    return deflated(bytes(1 << 20), 64)


# what is made, and what is said of it: the reason in the fact parse_error
REFUSED = {
    "a chapter that inflates to 64 MB of zeros": (lambda: told(BOOK, xhtml=zeros()), "more than 250 times its size"),
    "a chapter that claims 4 GB": (lambda: told(BOOK, xhtml=zeros()._replace(size=2**32 - 2)), "more than 250 times"),
    "a chapter that inflates further than it claims": (
        lambda: told(BOOK, xhtml=zeros()._replace(size=9)),
        "Bad CRC-32",
    ),
    "200,000 entries": (lambda: empty_entries(200_000), "more than 20000 entries"),
    "entities within entities": (lambda: with_document(BOMB + DOCUMENT.replace("Herring", "&b9;")), "defines entities"),
    "entities in an attribute": (
        lambda: with_document(BOMB + DOCUMENT.replace("<body", "<body a='&b9;'")),
        "defines entities",
    ),
    "entities in the first attribute": (
        lambda: with_document(BOMB + DOCUMENT.replace("<document", "<document a='&b9;'")),
        "XMLSyntaxError: ",
    ),
    "an entity that is a file": (
        lambda: with_document(
            "<!DOCTYPE x [<!ENTITY f SYSTEM 'file:///etc/passwd'>]>" + DOCUMENT.replace("Herring", "&f;")
        ),
        "defines entities",
    ),
    "a parameter entity": (
        lambda: with_document("<!DOCTYPE x [<!ENTITY % f SYSTEM 'file:///etc/passwd'> %f;]>" + DOCUMENT),
        "defines entities",
    ),
    "entities in relationships": (
        lambda: archive({**WORDS, "_rels/.rels": BOMB + WORDS["_rels/.rels"].replace("<Rel", "<x>&b9;</x><Rel", 1)}),
        "Maximum entity amplification",
    ),
    "elements in 100,000 elements": (lambda: with_document(DOCUMENT.replace("<p>", "<q>" * 100_000)), "depth"),
    "cut at its end": (lambda: archive(WORDS)[:-30], "not a zip file"),
    "cut in its middle": (lambda: archive(WORDS)[:400], "not a zip file"),
    "noise": (lambda: b"PK\x03\x04" + random.Random(1).randbytes(5_000), "not a zip file"),
    "a wrong checksum": (lambda: with_entry(TRUE._replace(crc=1)), "Bad CRC-32"),
    "sizes beyond the file": (
        lambda: with_entry(TRUE._replace(compressed=2**32 - 2, size=2**32 - 2)),
        "the archive ends within a part",
    ),
    "sizes of zip64 without its fields": (
        lambda: with_entry(TRUE._replace(compressed=2**32 - 1, size=2**32 - 1)),
        "the archive ends within a part",
    ),
    "compressed by LZMA": (lambda: archive(WORDS, zipfile.ZIP_LZMA), "compressed by method 14"),
    "a package outside the archive": (
        lambda: archive({**BOOK, "META-INF/container.xml": "<c><rootfile full-path='../../etc/passwd'/></c>"}),
        "the archive has no ../../etc/passwd",
    ),
    "an archive within an archive": (lambda: archive({"inner.docx": archive(WORDS)}), "no office file and no book"),
    "an archive without files": (lambda: archive({}), "no office file and no book"),
    "an encrypted part": (lambda: with_entry(TRUE._replace(flags=1)), ENCRYPTED),
    "encrypted OOXML": (lambda: OLD + bytes(500) + "EncryptedPackage".encode("utf-16-le"), ENCRYPTED),
    "an old Word file": (lambda: OLD + bytes(500), "a file of Office 97 to 2003"),
    "encrypted OpenDocument": (
        lambda: archive(
            odf(
                "text",
                "",
                manifest="<manifest:file-entry manifest:full-path='content.xml'><manifest:encryption-data/>"
                "</manifest:file-entry>",
            )
        ),
        ENCRYPTED,
    ),
    "a book with encrypted chapters": (
        lambda: archive({**BOOK, "META-INF/encryption.xml": "<e><CipherReference URI='OPS/a.xhtml'/></e>"}),
        ENCRYPTED,
    ),
}
# what is made, and its text
READ = {
    "a definition that is elsewhere": (
        lambda: with_document("<!DOCTYPE x SYSTEM 'file:///etc/passwd'>" + DOCUMENT),
        "Herring",
    ),
    "names that lead out of the archive": (lambda: archive({**BOOK, "../../x": "x", "/etc/passwd": "x"}), "Herring"),
    "a style based on itself": (
        lambda: archive({**WORDS, "word/styles.xml": "<styles><style styleId='a'><basedOn val='a'/></style></styles>"}),
        "Herring",
    ),
    "a string that there is not": (
        lambda: archive(xlsx({'name="A"': '<row><c t="s"><v>-1</v></c><c t="s"><v>99</v></c><c><v>x</v></c></row>'})),
        "A\nx",
    ),
    "numbers beyond all dates": (
        lambda: archive(xlsx({'name="A"': '<row><c s="99999999999"><v>1e999</v></c><c><v>nan</v></c></row>'})),
        "A\ninf nan",
    ),
    "a slide that is shown a thousand times": (
        lambda: archive(
            {
                **pptx([shape("Herring")]),
                "ppt/presentation.xml": pptx([shape("Herring")])["ppt/presentation.xml"].replace(
                    "<p:sldIdLst>", "<p:sldIdLst>" + '<p:sldId r:id="s0"/>' * 1_000
                ),
            }
        ),
        "Herring",
    ),
}


@pytest.fixture(scope="module")
def parser():
    return Office()


def parse(parser, body):
    return parser.parse(Source(body, "application/zip", None, "http://a.test/x", "robot", Directives(), ""))


@pytest.mark.parametrize(("make", "reason"), REFUSED.values(), ids=REFUSED)
def test_a_file_that_cannot_be_read_says_why_and_the_next_is_read(parser, make, reason):
    with pytest.raises(ValueError, match=reason):
        parse(parser, make())
    assert parse(parser, archive(WORDS)).text == "Herring"


@pytest.mark.parametrize(("make", "text"), READ.values(), ids=READ)
def test_what_there_is_of_a_strange_file_is_read(parser, make, text):
    assert parse(parser, make()).text == text


def test_a_file_that_there_is_no_time_for_is_cut():
    page = parse(Office(seconds=0.0, patience=60.0), archive(WORDS))
    assert (page.text, page.truncated) == ("", "text")


def test_all_parts_together_are_bounded():
    opened = Archive(archive({"a": bytes(600), "b": bytes(600)}), max_inflated=1_000)
    assert len(opened.read("a")) == 600
    with pytest.raises(Enough):
        opened.read("b")


@pytest.mark.slow("large inputs")
def test_a_process_whose_memory_was_used_up_is_replaced():
    """Its headers hide that the file inflates to 800 times its size."""
    head = DOCUMENT.split("<p>")[0].encode()
    parser, junk = Office(), deflated(head + b"<q a=''/>" * 6_000_000, 1)
    with pytest.raises(ValueError, match=r"XMLSyntaxError|the archive ends"):
        parse(parser, with_entry(junk._replace(compressed=junk.compressed * 9)))
    assert parser._guarded.process is None
    assert parse(parser, archive(WORDS)).text == "Herring"
