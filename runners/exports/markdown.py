"""Pages as Markdown with front matter."""

import json
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from ...transforms.http import media_types
from ...transforms.indexing.write_segment import without_passages
from ...transforms.parsing import charsets, front_matter
from ...transforms.parsing.page_rules import PageRules
from ...transforms.rights.usage import Usage
from ..terminal.visible import visible
from .bodies import Stored
from .page_markdown.content import content, markdown, without_unseen
from .page_markdown.stored_text import from_text


def render(stored: Stored, rules: PageRules, link: Callable[[str], str] = str, nosnippet: bool = True) -> str:
    """The main content of a page. Pages that are not HTML, and those whose bodies were removed, have their texts.

    `link` is given absolute URLs of links. `rules` are those of the crawl. Without `nosnippet`, what is within
    `data-nosnippet` is left out.
    """
    document, body = stored.document, stored.body
    if body and document["media_type"] in media_types.HTML:
        page = content(body, stored.content_type, document["url"], document["text"], rules)
        if not nosnippet:
            page.root.remove("[data-nosnippet]")
        return markdown(page, link)
    if body and document["media_type"] in media_types.MARKDOWN:
        text, _ = charsets.decode(body, media_types.parse(stored.content_type)[1], False)
        return without_unseen(front_matter.split(text).text.replace("\r\n", "\n")).strip("\n")
    text = without_passages(document["text"] or "", () if nosnippet else document["nosnippet"] or ())
    return from_text(without_unseen(text), document["headings"] or ())


def front(document: Mapping[str, Any]) -> str:
    """The front matter of a page: YAML, whose strings are written as in JSON; what is not known is left out."""
    fields = {
        "url": document["url"],
        "title": document["title"],
        "description": document["description"],
        "language": document["language"],
        "published": _date(document["published_at"]),
        "fetched": _date(document["fetched_at"]),
        "license": document["license"],
        "license_source": document["license_source"],
        "usage": Usage.stored(document).text(),
    }
    lines = [f"{name}: {visible(json.dumps(value, ensure_ascii=False))}" for name, value in fields.items() if value]
    return "\n".join(["---", *lines, "---", ""])


def _date(time: datetime | None) -> str:
    return f"{time:%Y-%m-%dT%H:%M:%SZ}" if time else ""
