"""`check robots`: how a robots.txt is understood, and what it says of URLs."""

import argparse
import json
from collections.abc import Mapping, Sequence
from typing import Any

from ....transforms.http.request_headers import Identity
from ....transforms.rights.rsl import Licence
from ....transforms.rights.signals import problems
from ....transforms.robots.rules import Rules, Verdict, line_of, parse
from ....transforms.robots.stored_signals import StoredSignals, lines_of_licence
from ....transforms.urls.canonical import canonicalize, origin as origin_of
from ...terminal.errors import Usage
from ..arguments import add_repeatable
from .single_fetch import Requester, add_options, fetch_licence, fetch_robots, pace_of, read_source, settings_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", metavar="URL|FILE", help="any URL of a site, whose /robots.txt is fetched, or a file")
    parser.add_argument("--agent", metavar="NAME", help="the robot's name (that of the settings, or Beamtrawl)")
    add_repeatable(parser, "--url", "URL", "may this URL or path be fetched?")
    add_options(parser)
    parser.set_defaults(check=run)


def run(arguments: argparse.Namespace) -> None:
    """Print the rules for a robot, and for each URL whether it may be fetched."""
    settings, body = settings_of(arguments), read_source(arguments.source)
    agent: str = arguments.agent or Identity.of(settings.robot).token
    origin, status, verdict = _ANY, None, Verdict.RULES
    licences: dict[str, Licence] = {}
    if body is None:
        url = canonicalize(arguments.source) or ""
        kinds, pace = tuple(settings.documents.kinds), pace_of(arguments, settings.politeness)
        requester = Requester(settings.robot, settings.fetch, kinds, pace)
        origin, file = origin_of(url), fetch_robots(url, requester, agent)
        body, status, verdict = file.body, file.status, file.effect.verdict
    rules = parse(body if verdict is Verdict.RULES else b"", agent, origin)
    named = {line.number: canonicalize(line.statement, f"{origin}/robots.txt") for line in rules.licenses}
    if status is not None and arguments.url:
        known = {origin: file.effect}
        licences = {url: fetch_licence(url, requester, agent, known) for url in named.values() if url}
    about = StoredSignals({origin: [line for url in licences for line in lines_of_licence(licences, url, origin)]})
    found: dict[str, Any] = {
        "source": arguments.source,
        "agent": agent,
        "status": status,
        "verdict": verdict.value,
        "crawl_delay": rules.crawl_delay,
        "sitemaps": rules.sitemaps,
        "signals": [
            {"line": line.number, "text": str(line), "ignored": problems(line.statement)} for line in rules.signal_lines
        ],
        "rules": [f"{'Allow' if rule.allow else 'Disallow'}: {rule.text}" for rule in rules.rules],
        "licenses": [
            {
                "line": line.number,
                "url": named[line.number] or line.statement,
                "error": _error(licences, named[line.number]),
            }
            for line in rules.licenses
        ],
        "urls": [_judged(url, origin, verdict, rules, body, about) for url in arguments.url],
    }
    print(json.dumps(found, indent=1, ensure_ascii=False) if arguments.json else "\n".join(_lines(found)))


_ANY = "http://localhost"
"""The origin of paths if the robots.txt is a file."""


def _error(licences: Mapping[str, Licence], url: str | None) -> str:
    """Why a licence cannot be read; "" if it can, or was not asked for."""
    return "its URL is invalid" if url is None else licences[url].error if url in licences else ""


def _judged(
    reference: str, origin: str, verdict: Verdict, rules: Rules, body: bytes, licences: StoredSignals
) -> dict[str, Any]:
    url = canonicalize(reference, origin + "/")
    if url is None:
        raise Usage(f"--url {reference}: not a URL or a path that can be fetched")
    if origin not in (_ANY, origin_of(url)):
        raise Usage(f"--url {reference}: the robots.txt of {origin} says nothing about another origin")
    allows, rule = rules.allows(url) if verdict is Verdict.RULES else (verdict is Verdict.ALLOW_ALL, "")
    signals = [
        {"signal": name, "value": said.value, "line": said.line.number}
        | ({"place": said.line.place, "text": str(said.line)} if said.line.source else {})
        for name, said in (*rules.signals(url).items(), *licences.about(url))
    ]
    line = line_of(rule, body.decode("utf-8", "replace"))
    return {"url": url, "allows": allows, "rule": rule, "line": line, "signals": signals}


def _lines(found: dict[str, Any]) -> Sequence[str]:
    answer = "" if found["status"] is None else f"status {found['status']}: "
    lines = [f"for {found['agent']}: {answer}{found['verdict']}", *(f"  {rule}" for rule in found["rules"])]
    for said in found["signals"]:
        ignored = f" (not understood: {', '.join(said['ignored'])})" if said["ignored"] else ""
        lines.append(f"  {said['text']}{ignored}")
    if found["crawl_delay"] is not None:
        lines.append(f"  Crawl-delay: {found['crawl_delay']:g}")
    lines += [f"sitemap: {sitemap}" for sitemap in found["sitemaps"]]
    for licence in found["licenses"]:
        problem = f" (not read: {licence['error']})" if licence["error"] else ""
        lines.append(f"license: {licence['url']}{problem}")
    for url in found["urls"]:
        line = f" by line {url['line']}: {url['rule']}" if url["rule"] else ""
        lines.append(f"{url['url']}: {'allowed' if url['allows'] else 'denied'}{line}")
        for said in url["signals"]:
            by = f"{said['place']}: {said['text']}" if "place" in said else f"line {said['line']}"
            lines.append(f"  {said['signal']}={said['value']} by {by}")
    return lines
