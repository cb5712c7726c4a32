"""Bytes to text: cases that people met, and their siblings. Right is what the Encoding standard says."""

import codecs

from beamtrawl.transforms.parsing import charsets
from tests.support.tables import each_row

_JAPANESE = "これは日本語で書かれた文章です。株式会社の部品。"
_RUSSIAN = "Съешь ещё этих мягких французских булок, да выпей чаю. " * 4

# body, HTTP charset, is HTML: what the text has, charset
CASES = {
    # A label of GB 2312 or GBK is decoded as gb18030 (four bytes, the euro sign at 0x80).
    "gb2312: euro, a character beyond the BMP": (
        "票价 € 12，作者𠮷田与㐂寿，拼音 ".encode("gb18030") + b"\xa8\xbc\xa1\xa3",
        "gb2312",
        False,
        "票价 € 12，作者𠮷田与㐂寿，拼音 ḿ。",
        "gbk",
    ),
    "gbk: 0x80": (b"<meta charset=gbk>price \x80 100", None, True, "price € 100", "gbk"),
    "x-gbk": (b"\xa2\xe3\x80", "x-gbk", False, "€€", "gbk"),
    "gb18030 of 2005": (b"\xa8\xbc\x81\x35\xf4\x37", "gb18030", False, "ḿḿ", "gb18030"),
    # index jis0208 has row 13 of NEC and the rows of IBM
    "euc-jp: row 13": (b"58\xad\xd1 \xad\xa1\xad\xa2 \xad\xea", "euc-jp", False, "58㎝ ①② ㈱", "euc-jp"),
    "euc-jp: IBM": (b"\xf9\xa1", "euc-jp", False, "纊", "euc-jp"),
    "euc-jp: jis0212": (b"\x8f\xb0\xa1", "x-euc-jp", False, "丂", "euc-jp"),
    "iso-2022-jp: row 13": (
        b'\x1b$B-!-"-#\x1b(B end \x1b$B-j9bEg\x1b(B',
        "iso-2022-jp",
        False,
        "①②③ end ㈱高島",
        "iso-2022-jp",
    ),
    "iso-2022-jp: half-width kana": (b"\x1b(I1\x1b(B", "csiso2022jp", False, "ｱ", "iso-2022-jp"),
    "shift_jis: row 13": (b"\x87\x40\x87\x8a", "shift_jis", False, "①㈱", "shift_jis"),
    "windows-31j: private use": (b"\xf0\x40", "windows-31j", False, "\ue000", "shift_jis"),
    "big5: HKSCS": (b"\x88\x62\x87\x40", "big5", False, "Ê̄䏰", "big5"),
    "euc-kr: code page 949": (b"\x81\x41\xc6\x52", "ks_c_5601-1987", False, "갂힣", "euc-kr"),
    "windows-874: the euro sign": (b"\x80\xa1", "tis-620", False, "€ก", "windows-874"),
    "iso-8859-11 is windows-874": (b"\x93", "iso-8859-11", False, "“", "windows-874"),
    "iso-8859-9 is windows-1254": (b"\x80\xfd", "latin5", False, "€ı", "windows-1254"),
    "koi8-u has the letters of Belarusian": (b"\xae\xbe", "koi8-u", False, "ўЎ", "koi8-u"),
    "iso-8859-8-i": (b"\xf9\xec", "logical", False, "של", "iso-8859-8-i"),
    "x-user-defined": (b"a\x80\xff", "x-user-defined", False, "a\uf780\uf7ff", "x-user-defined"),
    "x-user-defined in a page": (b"<meta charset=x-user-defined>\x80", None, True, "€", "windows-1252"),
    "replacement": (b"abc", "hz-gb-2312", False, "\ufffd", "replacement"),
    "iso-2022-kr is replacement": (b"\x1b$)C", "iso-2022-kr", False, "\ufffd", "replacement"),
    "unicode in a page is UTF-8": (b"<meta charset=unicode>\xc3\xa9", None, True, "é", "utf-8"),
    # Browsers and chardetng know ISO-2022-JP by its escapes: without a label, its bytes are ASCII.
    "undeclared iso-2022-jp": (_JAPANESE.encode("iso2022_jp"), None, False, _JAPANESE, "iso-2022-jp"),
    "undeclared iso-2022-jp in HTML": (b"<p>" + _JAPANESE.encode("iso2022_jp"), None, True, _JAPANESE, "iso-2022-jp"),
    "colours of a terminal": (b"\x1b[31mred\x1b[0m", None, False, "red", "utf-8"),
    "undeclared UTF-16": (_JAPANESE.replace("。", "。\r\n 1").encode("utf-16le"), None, False, "日本語", "utf-16le"),
    "undeclared ASCII in UTF-16": ("plain text\r\n".encode("utf-16be"), None, False, "plain text\r\n", "utf-16be"),
    "a NUL in ASCII": (b"a b c\0 d", None, False, "a b c d", "utf-8"),
    # Detection, as chardetng does it
    "undeclared iso-8859-5": (_RUSSIAN.encode("iso-8859-5"), None, False, _RUSSIAN, "iso-8859-5"),
    "undeclared ibm866": (_RUSSIAN.encode("cp866"), None, False, _RUSSIAN, "ibm866"),
    "undeclared iso-8859-2": (
        "Zażółć gęślą jaźń. Święta, ściana. ".encode("iso-8859-2") * 5,
        None,
        False,
        "gęślą",
        "iso-8859-2",
    ),
    "a foreign letter after 20 kB": (b"x" * 20_000 + _JAPANESE.encode("euc-jp") * 9, None, True, _JAPANESE, "euc-jp"),
    "text about a declaration": (b"write <meta charset=utf-8> in a caf\xe9 here", None, False, "café", "windows-1252"),
    # Marks
    "a mark before a label": (codecs.BOM_UTF8 + "é".encode(), "gbk", False, "é", "utf-8"),
    "a mark of UTF-16 before a label": (b"\xfe\xff\x00\xe9", "utf-8", False, "é", "utf-16be"),
    "half a pair in UTF-16": (b"a\0\0\xd8b\0", "utf-16", False, "a\ufffdb", "utf-16le"),
    "half a character of UTF-8": (b"a\xe4\xb8b", "utf8", False, "a\ufffdb", "utf-8"),
    "surrogates in UTF-8": (b"\xed\xa0\x80", "utf-8", False, "\ufffd\ufffd\ufffd", "utf-8"),
}


@each_row(CASES)
def test_text_of_bytes(body, http_charset, is_html, has, charset):
    text, name = charsets.decode(body, http_charset, is_html)
    assert name == charset
    assert has in text
    assert is_html or len(has) == len(text) or len(text) > 20 or "\x1b" in text
