"""`beamtrawl explain`: why a URL is, or is not, in the index; or what is known about a host."""

import argparse
import json
from datetime import UTC, datetime

from ...transforms import urls
from ...transforms.plugins import PluginError
from ...transforms.settings import parse
from ...transforms.storage.crawl_dir import CrawlDir
from ..errors import Failure, Usage
from ..explain.host_record import host_lines, host_record
from ..explain.narrative import conclusion, evidence
from ..explain.url_record import open_sources, url_record


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dir", metavar="DIR")
    parser.add_argument("subject", metavar="URL|HOST", help="a URL as it may stand in a page, or host[:port]")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> None:
    """Print what a crawl knows about a URL or a host, the conclusion first."""
    crawl = CrawlDir(arguments.dir)
    crawl.require_manifests()
    subject, now = str(arguments.subject), datetime.now(UTC)
    try:
        sources = open_sources(crawl, parse(crawl.read_text("crawl.toml")))
        with sources.tables:
            if "/" not in subject:
                host = host_record(sources, subject.lower())
                if host is None:
                    raise Failure(f"{subject}: no URL of this host is known; give a URL, which starts with http(s)://")
                print(_json(host) if arguments.json else "\n".join(host_lines(host, now)))
                return
            if urls.canonicalize(subject) is None:
                raise Usage(f"{subject}: not a URL that can be fetched, which starts with http:// or https://")
            record = url_record(sources, subject)
    except PluginError as error:
        raise Failure(str(error)) from error
    said = conclusion(record, now)
    if arguments.json:
        print(_json({"conclusion": said} | record.to_dict()))
    else:
        print("\n".join([said, "", *evidence(record, now)]))


def _json(value: object) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False, default=str)
