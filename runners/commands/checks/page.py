"""`check page`: what a crawl would take from a page: directives, facts, text and links."""

import argparse
import dataclasses
import json
import mimetypes
from collections.abc import Iterator
from typing import Any

from ....transforms import urls
from ....transforms.http.reply import content_type, outcome
from ....transforms.http.request_headers import Identity
from ....transforms.outcomes import Outcome
from ....transforms.parsing.html_page import Page, followed, parse_page
from ...checks.single_fetch import Requester, fetch_robots, pace_of, read_source, requests_to, settings_of
from ...checks.single_fetch import add_arguments as add_options
from ...terminal.errors import Failure, Usage

_SHOWN = 20  # links
_DIRECTIVES = ("noindex", "nofollow", "noarchive", "max_snippet", "unavailable_after")
_FACTS = ("media_type", "charset", "language", "title", "description", "keywords", "published_at", "canonical_url")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", metavar="URL|FILE", help="a page, fetched if robots.txt allows it, or a file")
    parser.add_argument("--base", metavar="URL", help="the URL of a page in a file")
    parser.add_argument("--media-type", metavar="TYPE", help="of a page in a file; else by its name")
    add_options(parser)
    parser.set_defaults(check=run)


def run(arguments: argparse.Namespace) -> None:
    """Print a page as a crawl sees it."""
    settings, body = settings_of(arguments), read_source(arguments.source)
    token, kinds = Identity.of(settings.robot).token, tuple(settings.documents.kinds)
    if body is None:
        url = urls.canonicalize(arguments.source) or ""
        requester = Requester(settings.robot, settings.fetch, kinds, pace_of(arguments, settings.politeness))
        robots = fetch_robots(url, requester, token).effect
        allows, rule = robots.allows(url)
        if not allows:
            raise Failure(f"{url}: robots.txt denies it{f' by {rule}' if rule else f' ({robots.verdict.value})'}")
        with requests_to(url, requester) as get:
            reply = get(url, False)
        if (ended := outcome(url, reply, False)) is not Outcome.FETCHED:
            raise Failure(f"{url}: {ended.value}, {reply.error or f'status {reply.status}'}")
        declared, headers, body = content_type(reply.headers), reply.headers, reply.body
    else:
        url = urls.canonicalize(arguments.base or "http://localhost/") or ""
        if not url:
            raise Usage(f"--base {arguments.base}: not an absolute http or https URL")
        declared, headers = arguments.media_type or mimetypes.guess_type(arguments.source)[0], ()
    page = parse_page(body, url, declared, headers, token, kinds)
    if page is None:
        raise Failure(f"{arguments.source}: {declared or 'its content'} is of none of the kinds {', '.join(kinds)}")
    print(_json(url, page) if arguments.json else "\n".join(_lines(url, page)))


def _json(url: str, page: Page) -> str:
    found = dataclasses.asdict(page) | {"digest": page.digest.hex(), "url": url, "facts": dict(page.facts)}
    found["links"] = [link._asdict() | {"followed": followed(link, page.nofollow)} for link in page.links]
    return json.dumps(found, indent=1, ensure_ascii=False, default=str)


def _lines(url: str, page: Page) -> Iterator[str]:
    yield f"url: {url}"
    for name in _FACTS:
        if value := getattr(page, name):
            yield f"{name}: {value}"
    yield from (f"{name}: {value}" for name, value in page.facts.items())
    said: list[Any] = [f"{name}={value}" for name in _DIRECTIVES if (value := getattr(page, name)) not in (None, False)]
    yield f"directives: {', '.join(said) or 'none'}"
    yield f"text: {len(page.text)} characters{f', truncated by {page.truncated}' if page.truncated else ''}"
    yield from (f"  {line}" for line in page.text.splitlines())
    yield f"links: {len(page.links)}"
    for link in page.links[:_SHOWN]:
        note = "" if followed(link, page.nofollow) else ", not followed"
        yield f"  {link.url} ({link.kind}{note}) {link.anchor!r}"
    if len(page.links) > _SHOWN:
        yield f"  … {len(page.links) - _SHOWN} more: --json"
