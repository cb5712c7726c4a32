"""`beamtrawl policy`: write the robot's information page for webmasters."""

import argparse
import ipaddress
import sys
from pathlib import Path

from ....transforms.directory.crawl_dir import CrawlDir
from ....transforms.directory.crawl_settings import stored_settings
from ...exports.output import require_folder
from ...policy.page import facts, render_policy
from ...terminal.errors import Failure, Usage


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dir", metavar="DIR")
    parser.add_argument("-o", "--output", metavar="FILE", help="the HTML file to write (standard output)")
    parser.add_argument(
        "--address", action="append", default=[], metavar="CIDR", help="where requests come from (may be repeated)"
    )


def run(arguments: argparse.Namespace) -> None:
    """Write the page; Usage if the settings name no contact."""
    crawl = CrawlDir(arguments.dir)
    if not crawl.exists("crawl.toml"):
        crawl.require_manifests()
    if arguments.output is not None:
        require_folder(arguments.output)
    settings = stored_settings(crawl)
    missing = [name for name in ("name", "contact", "info_url") if not getattr(settings.robot, name)]
    if missing:
        way_out = f"set {', '.join(missing)} under [robot] in {crawl.path('crawl.toml')}"
        raise Usage(f"the page says who operates the robot: {way_out}")
    for address in arguments.address:
        try:
            ipaddress.ip_network(address)
        except ValueError as error:
            raise Usage(f"--address {address}: {error}; give an address or a network such as 192.0.2.0/24") from error
    page = render_policy(
        facts(
            settings.robot,
            settings.politeness,
            settings.fetch,
            settings.documents,
            settings.recrawl,
            arguments.address,
        )
    )
    if arguments.output is None:
        sys.stdout.write(page)
        return
    try:
        Path(arguments.output).write_text(page, encoding="utf-8")
    except OSError as error:
        raise Failure(f"cannot write {arguments.output}: {error.strerror}") from error
