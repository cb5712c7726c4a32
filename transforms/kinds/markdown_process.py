"""Program that translates Markdown to HTML; `markdown.py` starts it."""

import re
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore

from .guarded_process import serve

# What CommonMark leaves in the text: footnotes, boxes of task lists, attributes of headings.
_FOOTNOTE = re.compile(r"\[\^[\w-]+\]:?")
_BOX = re.compile(r"\A\[[ xX]\]\s")
_ATTRIBUTES = re.compile(r"\s*\{:?\s*[#.][^{}]*\}\s*\Z")


def read_markdown(body: bytes, seconds: float, max_text: int) -> dict[str, Any]:
    """The HTML of a Markdown text in UTF-8, raw HTML included."""
    return {"html": _parser().render(body.decode())}


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    parser.core.ruler.push("extensions", _without_extensions)
    return parser


def _without_extensions(state: StateCore) -> None:
    for before, token in zip([None, *state.tokens], state.tokens, strict=False):
        texts = [child for child in token.children or () if child.type == "text"]
        for text in texts:
            text.content = _FOOTNOTE.sub("", text.content)
        if texts and before and before.type == "paragraph_open":
            texts[0].content = _BOX.sub("", texts[0].content)
        if texts and before and before.type == "heading_open":
            texts[-1].content = _ATTRIBUTES.sub("", texts[-1].content)


if __name__ == "__main__":
    serve(read_markdown)
