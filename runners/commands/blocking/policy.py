"""`beamtrawl policy`: write the robot's information page for webmasters, and its key directory."""

import argparse
import ipaddress
from collections.abc import Mapping, Sequence
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from ....transforms.directory.crawl_dir import CrawlDir
from ....transforms.directory.crawl_settings import stored_settings
from ....transforms.http.request_headers import Identity
from ....transforms.settings import Robot, Settings
from ....transforms.signatures.keys import key_directory, read_key
from ...exports.output import STDOUT, require_file, write_text
from ...terminal.errors import Usage
from ..arguments import add_repeatable


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dir", metavar="DIR")
    parser.add_argument("-o", "--output", metavar="FILE", default=STDOUT, help="the HTML file (standard output)")
    about = "also write the public key, for /.well-known/ of the host of info_url"
    parser.add_argument("--key-directory", metavar="FILE", help=about)
    add_repeatable(parser, "--address", "CIDR", "where requests come from")


def run(arguments: argparse.Namespace) -> None:
    """Write the page, and the key directory; Usage if the settings name no contact, or no key for it."""
    crawl = CrawlDir(arguments.dir)
    if not crawl.exists("crawl.toml"):
        crawl.require_manifests()
    require_file(arguments.output)
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
    if arguments.key_directory is not None:
        require_file(arguments.key_directory)
        write_text(arguments.key_directory, _key_directory(settings.robot, crawl.path("crawl.toml")))
    write_text(arguments.output, render_policy(facts(settings, arguments.address)))


def _key_directory(robot: Robot, path: str) -> str:
    if not robot.key:
        raise Usage(f"--key-directory publishes the key that signs requests: set robot.key in {path}")
    return key_directory(read_key(robot.key))


def facts(settings: Settings, addresses: Sequence[str]) -> dict[str, Any]:
    """What the page says, as values. `addresses` are those that the robot's requests come from, or none."""
    robot, politeness, identity = settings.robot, settings.politeness, Identity.of(settings.robot)
    return {
        "name": identity.token,
        "user_agent": identity.user_agent,
        "contact": robot.contact,
        "info_url": robot.info_url,
        "delay": f"{politeness.delay:g}",
        "waits_as_long": politeness.response_factor > 0,
        "addresses": list(addresses),
        "revisits": settings.recrawl.is_on,
        "kinds": list(settings.documents.kinds),
        "max_megabytes": f"{settings.fetch.max_body_bytes / 1e6:.0f}",
    }


def render_policy(facts: Mapping[str, Any]) -> str:
    """The page as HTML, from its `facts`."""
    loader = PackageLoader("beamtrawl.runners.commands.blocking")
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.get_template("policy.html").render(facts)
