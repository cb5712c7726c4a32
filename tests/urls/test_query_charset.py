"""Queries are encoded in the charset of the page, as the URL standard says ("percent-encode after encoding")."""

import codecs
import doctest

from beamtrawl.transforms.parsing.html_page import parse_page
from beamtrawl.transforms.urls import query_charset
from beamtrawl.transforms.urls.canonical import canonicalize
from tests.support import encoding_standard
from tests.support.tables import each_row

# charset, reference: URL on http://a.org/b
QUERIES = {
    "GBK": ("gbk", "3.asp?d=洪1700718", "3.asp?d=%BA%E91700718"),
    "the euro sign of GBK": ("gbk", "?p=€", "b?p=%80"),
    "and of gb18030": ("gb18030", "?p=€", "b?p=%A2%E3"),
    "four bytes are no GBK": ("gbk", "?q=𠮷", "b?q=%26%23134071%3B"),
    "but gb18030": ("gb18030", "?q=𠮷", "b?q=%954%B25"),
    "a trail byte in ASCII": ("shift_jis", "?q=表", "b?q=%95%5C"),
    "IBM's of two codes": ("shift_jis", "?q=髙纊", "b?q=%FB%FC%FA%5C"),
    "EUC-JP, half width": ("euc-jp", "?q=あｱ−", "b?q=%A4%A2%8E%B1%A1%DD"),
    "no JIS X 0212": ("euc-jp", "?q=丂", "b?q=%26%2319970%3B"),
    "ISO-2022-JP": ("iso-2022-jp", "?q=日本x", "b?q=%1B$BF%7CK%5C%1B(Bx"),
    "half width is full there": ("iso-2022-jp", "?q=ｱ", "b?q=%1B$B%25%22%1B(B"),
    "Big5": ("big5", "?q=中十", "b?q=%A4%A4%A4Q"),
    "Hangul of code page 949": ("euc-kr", "?q=한갂", "b?q=%C7%D1%81A"),
    "windows-1252": ("windows-1252", "?q=é€", "b?q=%E9%80"),
    "not in windows-1252": ("windows-1252", "?q=Ж&x", "b?q=%26%231046%3B&x"),
    "koi8-r": ("koi8-r", "?q=Ж", "b?q=%F6"),
    "the path is UTF-8": ("windows-1252", "/é?é", "%C3%A9?%E9"),
    "a fragment is not sent": ("windows-1252", "/x#?é", "x"),
    "escapes are kept": ("gbk", "?q=%e9%af%BA", "b?q=%E9%AF%BA"),
    "UTF-8": ("utf-8", "?q=é", "b?q=%C3%A9"),
    "UTF-16 sends UTF-8": ("utf-16le", "?q=é", "b?q=%C3%A9"),
    "replacement sends UTF-8": ("replacement", "?q=é", "b?q=%C3%A9"),
    "another host": ("gbk", "http://a.org/洪?洪", "%E6%B4%AA?%BA%E9"),
}


@each_row(QUERIES)
def test_queries(charset, reference, expected):
    assert canonicalize(reference, "http://a.org/b", charset) == f"http://a.org/{expected}"


def test_a_page_in_gbk_links_in_gbk():
    body = '<meta charset=gb2312><link rel=canonical href="?d=价"><a href="3.asp?d=洪1700718">页</a>'.encode("gbk")
    page = parse_page(body, "http://a.org/", "text/html", [], "x")
    assert {link.url for link in page.links if link.kind == "a"} == {"http://a.org/3.asp?d=%BA%E91700718"}
    assert page.canonical_url == "http://a.org/?d=%BC%DB"


def test_what_is_encoded_decodes_to_itself():
    for name in encoding_standard.DIGESTS:
        if name not in ("replacement", "iso-2022-jp"):
            for character, encoded in query_charset._sequences(name).items():
                assert codecs.decode(encoded, f"whatwg-{name}") == character


def test_examples_in_docstrings():
    assert doctest.testmod(query_charset) == (0, 1)
