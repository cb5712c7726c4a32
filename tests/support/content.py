"""What real sites themselves mark as a page's content, and how near a text comes to it."""

import copy
from collections import Counter
from typing import Any, NamedTuple

import lxml.html
from lxml import etree

from beamtrawl.transforms.indexing.analysis import tokens

_DOCBOOK = "/html/body/*[not(@class='navheader' or @class='navfooter')]"

CONTENT = {
    "python": "//*[@role='main']",
    "postgresql": _DOCBOOK,
    "httpd": "//*[@id='page-content']//*[@id='preamble' or @class='section' or @class='directive-section']",
    "rust": "//main",
    "debref": _DOCBOOK,
    "debdocs": f"//*[@role='main'] | {_DOCBOOK.replace('/html/', '/html[not(.//*[@role])]/')}",
    "linux": "//*[@role='main']",
    "installguide": _DOCBOOK,
    "gtk4": "//section[@id='main']",
    "qt": "//div[contains(concat(' ', @class, ' '), ' context ') or contains(concat(' ', @class, ' '), ' content ')]"
    "//div[@class='line'] | //div[contains(concat(' ', @class, ' '), ' context ')]",
    "pandas": "//main",
    "sqlite": "/html/body/node()[not(@class='nosearch')]",
    "gimp": _DOCBOOK,
}
"""Of each site of ../shared/realweb: an XPath of the elements that hold a page's content."""

_UNREAD = ("script", "style", "template", "noscript", "title")


class Score(NamedTuple):
    """How many of the text's words are in the content, and how many of the content's are in the text."""

    precision: float
    recall: float

    @property
    def f1(self) -> float:
        return 2 * self.precision * self.recall / (self.precision + self.recall) if sum(self) else 0.0


def content_words(site: str, html: bytes) -> list[str]:
    """The words of a page's content, each block's by themselves; none if the page does not mark it."""
    root = lxml.html.document_fromstring(html, parser=lxml.html.HTMLParser(encoding="utf-8", remove_comments=True))
    found: list[Any] = root.xpath(CONTENT[site])
    outermost = [node for node in found if isinstance(node, str) or not any(a in found for a in node.iterancestors())]
    return [word for node in outermost for word in tokens(str(node) if isinstance(node, str) else _text(node))]


def score(text: str, content: list[str]) -> Score:
    """Words count as often as they stand there; their order does not."""
    found, wanted = Counter(tokens(text)), Counter(content)
    common = (found & wanted).total()
    return Score(common / max(1, found.total()), common / max(1, wanted.total()))


def _text(element: Any) -> str:
    if element.tag in _UNREAD:
        return ""
    element = copy.deepcopy(element)
    element.tail = None
    etree.strip_elements(element, *_UNREAD, with_tail=False)
    for block in element.iter(
        "p", "div", "li", "dt", "dd", "td", "th", "pre", "br", "h1", "h2", "h3", "h4", "h5", "h6"
    ):
        block.text = "\n" + (block.text or "")
        block.tail = "\n" + (block.tail or "")
    return "".join(element.itertext())
