"""Single requests of the `check` commands: identified, guarded, and subject to robots.txt like those of a crawl.

They keep the delays of a crawl, too: between each other, and after the last request of the crawl whose settings are
used.
"""

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from ....transforms.directory.crawl_dir import CrawlDir
from ....transforms.directory.crawl_settings import stored_settings
from ....transforms.http.address_guard import literal_loopback
from ....transforms.http.client import opener
from ....transforms.http.reply import Reply, redirect_target
from ....transforms.http.request_headers import Identity, own_headers
from ....transforms.outcomes import Outcome
from ....transforms.parsing.registry import kinds_of
from ....transforms.rights import rsl
from ....transforms.robots.lookup import Robots, next_hop, robots_row, start_search
from ....transforms.settings import Fetch, Politeness, Robot, Settings, override, parse
from ....transforms.signatures.signer import signer_of
from ....transforms.urls.canonical import canonicalize, host as host_of, origin as origin_of
from ...terminal.errors import Failure, Usage
from .pace import Pace, seconds_left

Get = Callable[[str, bool], Reply]
"""Requests a URL; the flag is for bodies of any media type."""


class Requester(NamedTuple):
    """Who sends the requests of a command, within which bounds and at which pace."""

    robot: Robot
    fetch: Fetch
    kinds: tuple[str, ...]  # documents.kinds
    pace: Pace


class RobotsFile(NamedTuple):
    """A robots.txt: what was read, and its effect."""

    body: bytes
    status: int | None
    effect: Robots


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of a command that may send requests."""
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--settings", metavar="FILE", help="a crawl.toml, with the robot's identity")
    source.add_argument("--dir", metavar="DIR", help="a crawl, for its settings")
    parser.add_argument(
        "--allow-address", action="append", metavar="CIDR", help="allow special addresses, such as 127.0.0.0/8"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def settings_of(arguments: argparse.Namespace) -> Settings:
    """The settings for the options; Usage if they cannot be read."""
    try:
        changes = {"fetch.allow_addresses": arguments.allow_address} if arguments.allow_address else {}
        if arguments.dir:
            return override(stored_settings(CrawlDir(arguments.dir)), changes)
        text = Path(arguments.settings).read_text(encoding="utf-8") if arguments.settings else ""
        return override(parse(text, arguments.settings or "crawl.toml"), changes)
    except (OSError, UnicodeDecodeError) as error:
        raise Usage(f"cannot read the settings in {arguments.settings}: {error}") from error


def pace_of(arguments: argparse.Namespace, politeness: Politeness) -> Pace:
    """The delays for the options: those of the settings, and of the crawl if they are its crawl.toml."""
    if not (arguments.settings or arguments.dir):
        return Pace(politeness)
    crawl = CrawlDir(arguments.dir or str(Path(arguments.settings).parent))
    return Pace(politeness, lambda host: seconds_left(crawl, host, datetime.now(UTC)))


def read_source(source: str) -> bytes | None:
    """The bytes of a file; None if `source` is a URL. Usage for neither."""
    if source.startswith(("http://", "https://")):
        if canonicalize(source) is None:
            raise Usage(f"{source}: not a URL that can be fetched")
        return None
    try:
        return Path(source).read_bytes()
    except OSError as error:
        reason = f"{error.strerror}; give a file, or a URL, which starts with http:// or https://"
        raise Usage(f"cannot read {source}: {reason}") from error


@contextmanager
def requests_to(url: str, requester: Requester) -> Iterator[Get]:
    """A function that sends requests to the host of a URL, each in its time.

    Usage for a public host without an identity.
    """
    kinds, fetch, pace = kinds_of(requester.kinds), requester.fetch, requester.pace
    identity = Identity.of(requester.robot, kinds.accept)
    if not identity.complete and not literal_loopback(urlsplit(url).hostname or ""):
        way_out = "name a crawl.toml with [robot]: --settings FILE"
        raise Usage(f"{url} is not on this machine, and requests to it must identify the robot: {way_out}")
    client = opener(fetch, identity.complete, kinds.media_types, signer=signer_of(requester.robot))()

    def get(target: str, any_type: bool) -> Reply:
        pace.wait(host_of(target))
        reply = client.get(target, identity.headers(target) | own_headers(fetch, target), any_type)
        pace.answered(host_of(target), reply.elapsed_s)
        return reply

    try:
        yield get
    finally:
        client.close()


def fetch_robots(url: str, requester: Requester, agent: str) -> RobotsFile:
    """The robots.txt of a URL's origin, through redirects. Failure if there is no answer."""
    search = start_search(origin_of(url), 0)
    while True:
        with requests_to(search.url, requester) as get:
            reply = get(search.url, True)
        if (further := next_hop(search, reply)) is None:
            break
        search = further
    if reply.failure:
        way_out = "; to allow it: --allow-address CIDR" if reply.failure is Outcome.BLOCKED_ADDRESS else ""
        raise Failure(f"{search.url}: {reply.failure.value}: {reply.error}{way_out}")
    _, effect = robots_row(search, host_of(url), reply, 0, datetime.now(UTC), agent)
    requester.pace.set_crawl_delay(host_of(url), effect.crawl_delay)
    return RobotsFile(reply.body, reply.status, effect)


_HOPS = 5  # redirects of a licence that are followed


def fetch_licence(url: str, requester: Requester, agent: str, known: dict[str, Robots]) -> rsl.Licence:
    """A licence document (RSL), through redirects, if robots.txt allows it; adds that of further origins to `known`."""
    for _ in range(_HOPS + 1):
        try:
            if (origin := origin_of(url)) not in known:
                known[origin] = fetch_robots(url, requester, agent).effect
            if not known[origin].allows(url)[0]:
                return rsl.Licence(error="denied by robots.txt")
        except Failure as error:
            return rsl.Licence(error=str(error))
        with requests_to(url, requester) as get:
            reply = get(url, True)
        if (target := redirect_target(url, reply)) is None:
            is_read = reply.status is not None and 200 <= reply.status < 300 and not reply.failure
            return rsl.parse(reply.body) if is_read else rsl.Licence(error=reply.error or f"status {reply.status}")
        url = target
    return rsl.Licence(error="too many redirects")
