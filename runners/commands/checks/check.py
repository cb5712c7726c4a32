"""Commands that look into something: a URL, a robots.txt, a page, or the files of a crawl."""

import argparse
import dataclasses
import json
from pathlib import Path
from typing import Any

from ....transforms import urls
from ....transforms.aliases.learned_rules import known_rules
from ....transforms.directory.crawl_dir import CrawlDir, paths_of
from ....transforms.directory.crawl_settings import stored_settings
from ....transforms.directory.verify import file_faults, promised_files
from ....transforms.parsing.crawl_scope import CrawlScope
from ....transforms.plugins import PluginError
from ....transforms.settings import Scope, SettingsError, parse
from ....transforms.tables.table_files import mending
from ....transforms.urls.explain import explain
from ....transforms.urls.filters import UrlFilter
from ....transforms.urls.rejections import in_words
from ...state.copies import copy_of
from ...terminal.errors import Usage
from ...terminal.units import counted
from . import links as check_links
from . import page as check_page
from . import robots as check_robots


def add_arguments(parser: argparse.ArgumentParser) -> None:
    kinds = parser.add_subparsers(metavar="WHAT", required=True)
    url = kinds.add_parser("url", help="how a URL is understood, rule by rule", allow_abbrev=False)
    url.add_argument("url", metavar="URL", help="as it may stand in a page")
    url.add_argument("--base", metavar="URL", help="of the page that it stands in")
    scope = url.add_mutually_exclusive_group()
    scope.add_argument("--dir", metavar="DIR", help="a crawl: say too whether the URL is in its scope")
    scope.add_argument("--settings", metavar="FILE", help="the same for settings without a crawl, on any host")
    url.add_argument("--json", action="store_true", help="print JSON")
    url.set_defaults(check=check_url)
    check_robots.add_arguments(kinds.add_parser("robots", help="how a robots.txt is understood", allow_abbrev=False))
    check_links.add_arguments(
        kinds.add_parser("links", help="what is broken on a site: links, titles, sitemaps", allow_abbrev=False)
    )
    check_page.add_arguments(kinds.add_parser("page", help="what a crawl would take from a page", allow_abbrev=False))
    crawl = kinds.add_parser("crawl", help="whether a crawl holds all that its manifests promise", allow_abbrev=False)
    crawl.add_argument("dir", metavar="DIR")
    crawl.set_defaults(check=check_crawl)


def run(arguments: argparse.Namespace) -> int | None:
    """Say what would happen to something, or whether it holds together."""
    found: int | None = arguments.check(arguments)
    return found


def check_url(arguments: argparse.Namespace) -> None:
    """Say which rules changed a URL, what would be fetched, and what it would be known by."""
    reference, base = arguments.url, arguments.base
    if base is not None and urls.canonicalize(base) is None:
        raise Usage(f"--base {base}: not an absolute http or https URL")
    url = urls.canonicalize(reference, base)
    if url is None:
        way_out = "" if base else "; a relative one needs --base URL"
        raise Usage(
            f"{reference or repr('')}: not a URL that can be fetched, which starts with http:// or https://{way_out}"
        )
    found: dict[str, Any] = {
        "reference": reference,
        "base": base,
        "steps": [step._asdict() for step in explain(reference, base)],
        "url": url,
        "dedup_form": urls.dedup_form(url),
        "url_key": urls.url_key(url).hex(),
        "host": urls.host(url),
        "domain": urls.domain(urls.host(url)),
    }
    if url_filter := _url_filter(arguments):
        found["rejected"] = rule = url_filter.reject(url, depth=0, redirects=0)
        found["rejected_because"] = in_words(rule, url, url_filter.scope) if rule else None
    if arguments.dir is not None:
        crawl = CrawlDir(arguments.dir)
        found["aliases"] = _aliases(crawl, url)
        if next_visit := _next_visit(crawl, urls.url_key(url)):
            found["next_visit"] = next_visit
        found["copy_of"] = copy_of(crawl, crawl.require_manifests(), urls.url_key(url))
    print(json.dumps(found, indent=2, ensure_ascii=False) if arguments.json else _render(found))


def check_crawl(arguments: argparse.Namespace) -> int:
    """Tell the first file that is not as its manifest promises, and the number of others; 1 if there are any."""
    crawl = CrawlDir(arguments.dir)
    manifests = crawl.require_manifests()
    files = promised_files(manifests)
    faults = [*crawl.missing_manifests(), *map(str, file_faults(crawl, files))]
    if faults:
        path = faults[0].partition(": ")[0].partition(" ")[0]
        print(f"{faults[0].partition('; ')[0]}; {mending(crawl.root, path)}")
        if len(faults) > 1:
            print(f"{len(faults) - 1} more faults")
        return 1
    size = sum(file.bytes for file in files) / 1e6
    print(f"{counted(len(manifests), 'step')}, {counted(len(files), 'file')}, {size:.1f} MB: no fault")
    return 0


def _url_filter(arguments: argparse.Namespace) -> UrlFilter | None:
    if arguments.settings is not None:
        try:
            settings = parse(Path(arguments.settings).read_text(encoding="utf-8"), arguments.settings)
        except (OSError, UnicodeDecodeError) as error:
            raise Usage(f"cannot read the settings in {arguments.settings}: {error}") from error
        except SettingsError as error:
            raise Usage(str(error)) from error
        return _open(CrawlScope.of("", _on_any_host(settings.scope), settings.documents, ()))
    if arguments.dir is None:
        return None
    crawl = CrawlDir(arguments.dir)
    seeds, settings = paths_of(crawl.require_manifests(), "seeds"), stored_settings(crawl)
    return _open(CrawlScope.of(crawl.root, settings.scope, settings.documents, seeds))


def _open(scope: CrawlScope) -> UrlFilter:
    try:
        return scope.url_filter()
    except PluginError as error:
        raise Usage(str(error)) from error


def _aliases(crawl: CrawlDir, url: str) -> list[dict[str, str]]:
    """The rules learned by a crawl that would change a URL, and what each makes of it."""
    if not stored_settings(crawl).aliases.learn:
        return []
    rules = known_rules(crawl, crawl.require_manifests()).used
    return [{"rule": rule.name, "url": form} for rule, form in rules.steps(url)]


def _on_any_host(scope: Scope) -> Scope:
    """Without seeds there is no host to stay on."""
    return dataclasses.replace(scope, mode="any")


def _next_visit(crawl: CrawlDir, key: bytes) -> dict[str, str] | None:
    """When a crawl visits a URL next, and why; None if it does not, or does not know the URL."""
    from ....transforms.sql.views import connect  # both import DuckDB
    from ...explain.narrative import plan_reason

    tables = connect(crawl, crawl.require_manifests(), ("urls", "host_changes"))
    state = _row(tables, "SELECT * FROM urls WHERE url_key = ?", key)
    if state is None or state["next_fetch_at"] is None:
        return None
    host = _row(tables, "SELECT * FROM host_changes WHERE host = ?", state["host"])
    return {"at": f"{state['next_fetch_at']:%Y-%m-%d %H:%M:%S} UTC", "reason": plan_reason(state, host)}


def _row(tables: Any, query: str, value: Any) -> dict[str, Any] | None:
    found = tables.execute(query, [value])
    names = [column[0] for column in found.description]
    row = found.fetchone()
    return None if row is None else dict(zip(names, row, strict=True))


def _render(found: dict[str, Any]) -> str:
    lines = [f"{step['rule']}: {step['before']!r} -> {step['after']!r}" for step in found["steps"]]
    names = {"url": "fetched", "dedup_form": "known by", "url_key": "key", "host": "host", "domain": "domain"}
    lines += [f"{title}: {found[name]}" for name, title in names.items()]
    if "rejected" in found:
        why = found["rejected"] and f"rejected by {found['rejected']}: {found['rejected_because']}"
        lines.append(f"scope: {why or 'not rejected'}")
    lines += [f"alias by {step['rule']}: {step['url']}" for step in found.get("aliases", ())]
    if visit := found.get("next_visit"):
        lines.append(f"next visit: {', '.join(filter(None, visit.values()))}")
    if copy := found.get("copy_of"):
        lines.append(f"copy of: {copy['url']} ({copy['reason']})")
    return "\n".join(lines)
