"""Parses a body into a page; never raises, whatever the bytes are."""

import dataclasses
from collections.abc import Sequence

from ..duplicates.digest import content_digest, of_html, settle
from ..http import media_types
from ..http.reply import type_by_name
from ..rights import page_rsl
from ..rights.licences import of_headers
from ..rights.usage import Usage
from ..sections.element_ids import Ids
from . import html_links, html_metadata, html_tree, main_text, page_rules, robots_meta, spam
from .language.detect import stated_language
from .page_rules import NO_RULES, PageRules
from .registry import kinds_of
from .robots_meta import Directives
from .source import MAX_BYTES, MAX_MARKUP, Page, Source, with_language

_UNTOLD = media_types.TEXT | media_types.GENERIC


def parse_page(
    body: bytes,
    url: str,
    content_type: str | None,
    headers: Sequence[tuple[str, str]],
    robot_name: str,
    kinds: tuple[str, ...] = ("html", "text"),
    rules: PageRules = NO_RULES,
    detects_language: bool = True,
) -> Page | None:
    """The page in a body fetched from a canonical URL; None if the body is of none of the kinds.

    The kind follows from the Content-Type or, without one or with one that says little, from the bytes. Text whose name
    ends in .md is Markdown, if that is among the kinds: few servers declare it. `rules` are those of a crawl. Without
    `detects_language`, an HTML page needs `with_language`. Never raises for anything that a server may send.
    """
    if rules is not NO_RULES:
        rules = rules.of(url)
    language = next((value for name, value in headers if name.lower() == "content-language"), "")
    wanted = kinds_of(kinds)
    media_type = media_types.media_type(content_type, body)
    if media_type in _UNTOLD and type_by_name(url, headers) in media_types.MARKDOWN & wanted.media_types:
        media_type = "text/markdown" if media_types.sniff(body).startswith("text/") else media_type
    source = Source(
        body=body[:MAX_BYTES],
        media_type=media_type,
        charset=media_types.parse(content_type)[1],
        url=url,
        robot_name=robot_name,
        directives=robots_meta.from_headers(headers, robot_name)
        | Directives(usage=Usage(rsl=page_rsl.of_headers(headers, url)), licence=of_headers(url, headers)),
        language=language,
        is_truncated=len(body) > MAX_BYTES,
        rules=rules,
        detects_language=detects_language,
    )
    page = wanted.parse(source)
    if page is not None and (found := page_rules.url_values(rules, url)):
        page = dataclasses.replace(page, facts={**page_rules.facts(found), **page.facts})
    return page


def html_page(source: Source) -> Page:
    """The page in an HTML body."""
    text, charset = source.decode(is_markup=True)
    root, truncated = html_tree.parse(text, source.media_type)
    elements = html_tree.elements(root)
    base = html_links.base_url(elements, source.url)
    meta = html_metadata.meta(elements)
    directives = source.directives | robots_meta.from_meta(meta.tags, source.robot_name)
    directives |= Directives(licence=html_metadata.licence(root, elements, meta, source.url, base))
    directives |= Directives(usage=Usage(rsl=page_rsl.of_page(elements.describing, base, source.url)))
    links = html_links.links(elements, source.url, base, charset)
    canonical_url = html_metadata.canonical_url(elements, base, charset)
    published_at = html_metadata.published_at(root, elements, meta)
    title = html_metadata.title(elements, meta)
    stated = (root.attr("lang") or "", root.attr("xml:lang") or "", meta.language, source.language)
    traits = spam.traits(root, text)
    found, error = page_rules.tree_values(source.rules, root)
    ids = Ids(root) if source.rules.main else None  # of the page, not only of what rules keep
    tree = page_rules.main_tree(root, source.rules)  # the last readers of the tree, because they change it
    main = main_text.main_text(tree.root, tree.is_main, ids)
    error = error or tree.error
    title = title or next(iter(main.headings), "")
    hidden = (main.text[start:end] for start, end in zip(main.nosnippet[::2], main.nosnippet[1::2], strict=True))
    display_rules = settle("\n".join([directives.display_rules(), *hidden]))
    if of_page := page_rules.facts(found, error):  # a page that changes one is stored again with the same text
        display_rules += "\0" + "\0".join(f"{name}={value}" for name, value in of_page.items())
    truncated = truncated or source.truncated(len(source.body) > MAX_MARKUP, main.truncated, links)
    page = Page(
        media_type=source.media_type,
        charset=charset,
        language=stated_language(stated),
        is_language_stated=True,
        title=title,
        description=html_metadata.description(meta),
        keywords=html_metadata.keywords(meta),
        headings=main.headings,
        text=main.text,
        published_at=published_at,
        truncated=truncated,
        digest=of_html(content_digest(title, main.text, source.body, truncated, display_rules)),
        canonical_url=canonical_url,
        nosnippet=main.nosnippet,
        sections=main.sections,
        links=links,
        facts=page_rules.facts([*found, *page_rules.url_values(source.rules, source.url)], error),
        traits=traits,
        **directives._asdict(),
    )
    return with_language(page) if source.detects_language else page
