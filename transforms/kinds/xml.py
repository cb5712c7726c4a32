"""Parses XML of any vocabulary: its text nodes become text."""

from lxml import etree

from ..parsing import xml_tree
from ..parsing.source import Page, Source


class Xml:
    """Each text node becomes a line. Attributes are ignored, and there are no links."""

    media_types = frozenset({"application/xml", "text/xml"})
    extensions = frozenset({"xml"})

    def parse(self, source: Source) -> Page | None:
        text, charset = source.decode(is_markup=True)
        root = xml_tree.tree(text)
        if root is None:
            raise ValueError("no XML element")
        titles = (element.text or "" for element in root.iter() if xml_tree.local_name(element) == "title")
        return source.page(
            "\n".join(root.itertext(etree.Element)),
            charset=charset,
            title=next(titles, ""),
            facts={"root": xml_tree.local_name(root)},
        )
