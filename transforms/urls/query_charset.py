"""Encodes the query of a reference in the charset of its page, as browsers do.

"Encoding-parse a URL" of the HTML standard, "percent-encode after encoding" of the URL standard: a server that answers
in GBK reads its queries in GBK. Paths are UTF-8 always.
"""

import codecs
import functools
import itertools
import re
import unicodedata

_FOREIGN = re.compile(r"[^\x00-\x7f]+")
_ALWAYS_UTF_8 = frozenset({"utf-8", "utf-16be", "utf-16le", "replacement"})  # "get an output encoding"
_PLAIN = frozenset(range(0x21, 0x7F)) - frozenset(b"\"#<>'")  # outside of the special-query percent-encode set
# Encoders take the first sequence that decodes to a character, but for NEC's doubles of IBM's characters and
# the private use in Shift_JIS, what HKSCS added to Big5 below 0xA1, and the doubles of Big5.
_DECODED_ONLY = {
    "shift_jis": (b"\xed\x40", b"\xf9\xfc"),
    "big5": (b"\x81\x40", b"\xa0\xfe"),
    "gb18030": (b"\x80", b"\x80"),
}
_LAST_OF_BIG5 = "═╞╡╪卅十"
_JAPANESE = frozenset({"euc-jp", "iso-2022-jp", "shift_jis"})
_HALF_WIDTH = re.compile("[｡-ﾟ]+")


def with_query_in(reference: str, charset: str) -> str:
    """The reference with the characters of its query that are not ASCII percent-encoded in a charset.

    `charset` is a name of the Encoding standard. A character that it lacks becomes `&#…;`, as in a form.

    >>> with_query_in("s?q=洪&x=é#洪", "gbk"), with_query_in("s?q=é", "utf-8")
    ('s?q=%BA%E9&x=%A8%A6#洪', 's?q=é')
    """
    if reference.isascii() or charset in _ALWAYS_UTF_8:
        return reference
    rest, mark, fragment = reference.partition("#")
    path, question, query = rest.partition("?")
    return path + question + _FOREIGN.sub(lambda run: _encoded(run[0], charset), query) + mark + fragment


def _encoded(run: str, charset: str) -> str:
    sequences = _sequences("euc-jp" if charset == "iso-2022-jp" else charset)
    code = b""
    if charset in _JAPANESE:
        run = run.replace("\N{MINUS SIGN}", "\N{FULLWIDTH HYPHEN-MINUS}")
    if charset == "iso-2022-jp":
        run = _HALF_WIDTH.sub(lambda kana: "".join(unicodedata.normalize("NFKC", each) for each in kana[0]), run)
    for character in run:
        encoded = sequences.get(character)
        if charset == "iso-2022-jp" and encoded:
            code += b"\x1b$B" + bytes(byte & 0x7F for byte in encoded) + b"\x1b(B"
        elif encoded or charset == "gb18030":
            code += encoded or character.encode("gb18030", "replace")  # four bytes
        else:
            code += b"%%26%%23%d%%3B" % ord(character)
    code = code.replace(b"\x1b(B\x1b$B", b"")
    return "".join(chr(byte) if byte in _PLAIN else f"%{byte:02X}" for byte in code)


@functools.cache  # of 36 charsets; one of several bytes takes 3 MB
def _sequences(charset: str) -> dict[str, bytes]:
    """The bytes of each character outside of ASCII."""
    import turbohtml.detect  # noqa: F401, PLC0415  # registers the codecs `whatwg-*`; slow, and needed for few pages

    leads, trails = range(0x80, 0xFF), range(0x40, 0xFF)
    pairs = [bytes((byte,)) for byte in range(0x80, 0x100)] + [bytes(pair) for pair in itertools.product(leads, trails)]
    first, last = _DECODED_ONLY.get(charset, (b"", b""))
    sequences: dict[str, bytes] = {}
    for pair, text in zip(pairs, codecs.decode(b"\n".join(pairs), f"whatwg-{charset}").split("\n"), strict=True):
        if len(text) == 1 and not text.isascii() and text != "\ufffd" and not first <= pair <= last:
            if charset == "big5" and text in _LAST_OF_BIG5:
                sequences[text] = pair
            sequences.setdefault(text, pair)
    return sequences
