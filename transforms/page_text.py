"""The text of a parsed page: what its author wrote there, without what surrounds it on every page."""

from typing import Any, NamedTuple

from lxml import etree

MAX_HEADINGS = 500
MAX_HEADING = 500
"""Headings of a page, and characters of one, that are kept."""

_INVISIBLE = "head title script style template noscript"
_SURROUNDINGS = "nav footer aside"
_SURROUNDING_ROLES = frozenset({"navigation", "banner", "contentinfo", "complementary", "search"})
_HEADINGS = "h1 h2 h3 h4 h5 h6"
_BLOCKS = (
    "address article blockquote body br caption center dd details dialog dir div dl dt fieldset figcaption"
    " figure footer form header hr legend li main menu nav ol optgroup option p pre search section summary"
    " table tbody td tfoot th thead tr ul"
)

# In the stylesheets' output these two stand between blocks and before a heading. str.split takes both for
# white space, so that none of them stays in the text, be it ours or the page's.
_BLOCK = "\u2029"
_HEADING = "\u2028"

_XSLT = """
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">
  <xsl:output method="text"/>
  <xsl:template match="{blocks}">{block}<xsl:apply-templates/>{block}</xsl:template>
  <xsl:template match="{headings}">{block}{heading}<xsl:value-of select="."/>{block}</xsl:template>
  <xsl:template match="{dropped}" priority="1"/>
  {more}
</xsl:stylesheet>
"""
# A header is the place of the page's own title as well as of the site's banner.
_HEADER = '<xsl:template match="header" priority="1"><xsl:apply-templates select=".//h1"/></xsl:template>'


_ROLES_AND_HIDDEN = etree.XPath("//@role|//@hidden")


class Text(NamedTuple):
    """Blocks of a page as lines, white space collapsed, and the headings among them."""

    text: str
    headings: list[str]


def main_text(root: Any) -> Text:
    """The main text of a page; all of its text if that leaves nothing.

    To drop navigation, headers, footers and asides from the tree scores better on documentation than the
    extractors made for articles, and costs a fraction of theirs. Elements of such roles get renamed.
    """
    for attribute in _ROLES_AND_HIDDEN(root):
        if attribute.attrname == "hidden" or attribute.strip().lower() in _SURROUNDING_ROLES:
            # A pattern in the stylesheet would look for each role on each element: five times slower.
            attribute.getparent().tag = "nav"
    main = _read(_MAIN, root)
    return main if main.text else _read(_WHOLE, root)


def collapse(text: str) -> str:
    """The text in one line, white space collapsed."""
    return " ".join(text.split())


def _stylesheet(dropped: list[str], more: str) -> etree.XSLT:
    return etree.XSLT(
        etree.XML(
            _XSLT.format(
                blocks="|".join(_BLOCKS.split()),
                headings="|".join(_HEADINGS.split()),
                dropped="|".join(dropped),
                block=_BLOCK,
                heading=_HEADING,
                more=more,
            )
        )
    )


# A stylesheet reads the tree in C: four times faster than a walk in Python.
_WHOLE = _stylesheet(_INVISIBLE.split(), "")
_MAIN = _stylesheet([*_INVISIBLE.split(), *_SURROUNDINGS.split()], _HEADER)


def _read(stylesheet: etree.XSLT, root: Any) -> Text:
    lines: list[str] = []
    headings: list[str] = []
    for block in str(stylesheet(root)).split(_BLOCK):
        if line := " ".join(block.split()):
            lines.append(line)
            if block[0] == _HEADING and len(headings) < MAX_HEADINGS:
                headings.append(line[:MAX_HEADING].rstrip(" ¶"))  # Sphinx ends a heading with a link to it
    return Text("\n".join(lines), headings)
