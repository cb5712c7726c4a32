"""`check page`: what a crawl would take from a page: directives, facts, text and links."""

import argparse
import dataclasses
import json
import mimetypes
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from ....transforms.http.reply import content_type, outcome
from ....transforms.http.request_headers import Identity
from ....transforms.outcomes import Outcome
from ....transforms.parsing.html_links import followed
from ....transforms.parsing.html_page import parse_page
from ....transforms.parsing.page_rules import EXTRACT_ERROR, NO_RULES, VALUES_END, PageRules, page_rules
from ....transforms.parsing.source import Page
from ....transforms.urls.canonical import canonicalize
from ...terminal.errors import Failure, Usage
from ...terminal.units import counted
from .single_fetch import Requester, add_options, fetch_robots, pace_of, read_source, requests_to, settings_of

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
        url = canonicalize(arguments.source) or ""
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
        url = canonicalize(arguments.base or "http://localhost/") or ""
        if not url:
            raise Usage(f"--base {arguments.base}: not an absolute http or https URL")
        declared, headers = arguments.media_type or mimetypes.guess_type(arguments.source)[0], ()
    rules = page_rules(settings.extract, settings.main)

    def parse(rules: PageRules) -> Page | None:
        return parse_page(body, url, declared, headers, token, kinds, rules)

    page = parse(rules)
    if page is None:
        raise Failure(f"{arguments.source}: {declared or 'its content'} is of none of the kinds {', '.join(kinds)}")
    effects = _effects(rules, url, parse)
    print(_json(url, page, effects) if arguments.json else "\n".join(_lines(url, page, effects)))


class _Effect(NamedTuple):
    """What a rule does on a page."""

    rule: str  # "extract 1"
    matches: bool  # whether its pattern matches the URL
    field: str | None = None
    values: Sequence[str] = ()
    effect: str = "does not match the URL"


def _effects(rules: PageRules, url: str, parse: Callable[[PageRules], Page | None]) -> list[_Effect]:
    """What each rule does alone."""
    found, of_url = [], rules.of(url)
    for rule in rules.fields:
        effect = _Effect(f"extract {rule.number}", rule in of_url.fields, rule.field)
        if effect.matches and (page := parse(PageRules((rule,)))):
            values = page.facts.get(rule.field, "").split(VALUES_END) if rule.field in page.facts else []
            said = page.facts.get(EXTRACT_ERROR) or (counted(len(values), "value") if values else "finds nothing")
            effect = effect._replace(values=values, effect=said)
        found.append(effect)
    for main in rules.main:
        effect = _Effect(f"main {main.number}", main.match.search(url) is not None)
        if effect.matches and main not in of_url.main:
            effect = effect._replace(effect="an earlier rule matches")
        elif effect.matches and (page := parse(PageRules((), (main,)))) and (before := parse(NO_RULES)):
            is_same = page.text == before.text
            said = "changes nothing" if is_same else f"{len(page.text)} characters instead of {len(before.text)}"
            said = page.facts.get(EXTRACT_ERROR) or said
            effect = effect._replace(effect=said)
        found.append(effect)
    return found


def _json(url: str, page: Page, effects: Sequence[_Effect]) -> str:
    found = dataclasses.asdict(page) | {"digest": page.digest.hex(), "url": url, "facts": dict(page.facts)}
    found["links"] = [link._asdict() | {"followed": followed(link, page.nofollow)} for link in page.links]
    if effects:
        found["rules"] = [effect._asdict() for effect in effects]
    return json.dumps(found, indent=1, ensure_ascii=False, default=str)


def _lines(url: str, page: Page, effects: Sequence[_Effect]) -> Iterator[str]:
    yield f"url: {url}"
    for name in _FACTS:
        if value := getattr(page, name):
            yield f"{name}: {value}"
    for name, value in page.facts.items():
        yield f"{name}: {' | '.join(value.split(VALUES_END))}"
    for effect in effects:
        yield f"rule {effect.rule}{f', {effect.field}' if effect.field else ''}: {effect.effect}"
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
