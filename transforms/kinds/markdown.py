"""Parses Markdown: its HTML is read like a page."""

import dataclasses
import html
from collections.abc import Iterator

from ..http import media_types
from ..parsing import front_matter
from ..parsing.html_page import html_page
from ..parsing.main_text import MAX_TEXT
from ..parsing.source import Page, Source
from . import guarded

_META = {  # a name of a meta tag, and the fields of front matter that it stands for, the most reliable first
    "description": ("description", "summary", "excerpt", "subtitle"),
    "keywords": ("keywords", "tags"),
    "date": ("date", "published", "publishdate", "pubdate"),
    "robots": ("robots",),
}
_LANGUAGES = ("lang", "language")


class Markdown:
    """Parses CommonMark with tables and strikethrough (RFC 7763).

    It is translated to HTML in a guarded process, because a hostile text takes a time that is quadratic in its length.
    Front matter describes the page as meta tags would.
    """

    media_types = media_types.MARKDOWN
    extensions = frozenset({"markdown", "md"})

    def __init__(self, seconds: float = guarded.SECONDS) -> None:
        self._guarded = guarded.GuardedParser(f"{__package__}.markdown_process", "Markdown", seconds, 0.0)

    def parse(self, source: Source) -> Page | None:
        text, charset = source.decode()
        fields, text = front_matter.split(text)
        body = self._guarded.read(text[:MAX_TEXT].encode(), MAX_TEXT)["html"]
        language = html.escape(next(_values(fields, _LANGUAGES), ""))
        markup = f'<html lang="{language}"><head>{_head(fields)}</head><body>{body}'
        page = html_page(source._replace(body=markup.encode(), charset="utf-8"))
        truncated = page.truncated or ("text" if len(text) > MAX_TEXT else "")
        return dataclasses.replace(page, charset=charset, truncated=truncated)


def _head(fields: dict[str, str]) -> str:
    title = f"<title>{html.escape(fields.get('title', ''))}</title>"
    tags = ((name, next(_values(fields, names), "")) for name, names in _META.items())
    return title + "".join(f'<meta name="{name}" content="{html.escape(value)}">' for name, value in tags if value)


def _values(fields: dict[str, str], names: tuple[str, ...]) -> Iterator[str]:
    return (fields[name] for name in names if fields.get(name))
