"""Commands that look into something: a URL, a robots.txt, a page, or the files of a crawl."""

import argparse
import dataclasses
import json
from pathlib import Path
from typing import Any

from ....transforms.directory.crawl_dir import CrawlDir
from ....transforms.directory.verify import file_faults, promised_files
from ....transforms.parsing.crawl_scope import CrawlScope
from ....transforms.settings import parse
from ....transforms.tables.table_files import mending
from ....transforms.urls.canonical import canonicalize, dedup_form, domain, host, url_key
from ....transforms.urls.explain import explain
from ....transforms.urls.filters import UrlFilter
from ....transforms.urls.rejections import in_words
from ...terminal.errors import Usage
from ...terminal.units import counted
from . import links as check_links, page as check_page, robots as check_robots


def add_arguments(parser: argparse.ArgumentParser) -> None:
    kinds = parser.add_subparsers(metavar="WHAT", required=True)
    url = kinds.add_parser("url", help="how a URL is understood, rule by rule", allow_abbrev=False)
    url.add_argument("url", metavar="URL", help="as it may stand in a page")
    url.add_argument("--base", metavar="URL", help="of the page that it stands in")
    url.add_argument("--settings", metavar="FILE", help="say too whether this crawl.toml accepts it, on any host")
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
    if base is not None and canonicalize(base) is None:
        raise Usage(f"--base {base}: not an absolute http or https URL")
    url = canonicalize(reference, base)
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
        "dedup_form": dedup_form(url),
        "url_key": url_key(url).hex(),
        "host": host(url),
        "domain": domain(host(url)),
    }
    if arguments.settings is not None:
        url_filter = _url_filter(arguments.settings)
        found["rejected"] = rule = url_filter.reject(url, depth=0, redirects=0)
        found["rejected_because"] = in_words(rule, url, url_filter.scope) if rule else None
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


def _url_filter(path: str) -> UrlFilter:
    """The filter of the settings in a file; without seeds there is no host to stay on."""
    try:
        settings = parse(Path(path).read_text(encoding="utf-8"), path)
        scope = dataclasses.replace(settings.scope, mode="any")
        return CrawlScope.of("", scope, settings.documents, ()).url_filter()
    except (OSError, UnicodeDecodeError) as error:
        raise Usage(f"cannot read the settings in {path}: {error}") from error


def _render(found: dict[str, Any]) -> str:
    lines = [f"{step['rule']}: {step['before']!r} -> {step['after']!r}" for step in found["steps"]]
    names = {"url": "fetched", "dedup_form": "known by", "url_key": "key", "host": "host", "domain": "domain"}
    lines += [f"{title}: {found[name]}" for name, title in names.items()]
    if "rejected" in found:
        why = found["rejected"] and f"rejected by {found['rejected']}: {found['rejected_because']}"
        lines.append(f"scope: {why or 'not rejected'}")
    return "\n".join(lines)
