"""`beamtrawl estimate`: what a crawl would cost, or what one has cost beside its estimate."""

import argparse
import dataclasses
import json
from collections.abc import Mapping

from ...transforms.directory.crawl_dir import CrawlDir
from ...transforms.directory.crawl_settings import stored_settings
from ...transforms.settings import Settings
from ..estimate.begun import Begun, estimate_begun, known_of
from ..estimate.measured import compare, hosts_of, measure, plan_of
from ..estimate.plan import DEFAULTS, Estimate, Plan, Prices, Rates, estimate, with_page_bytes
from ..terminal.errors import Usage
from ..terminal.numbers import above_0, at_least_0, whole
from ..terminal.units import size, span


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--hosts", type=whole(1), metavar="N", help="hosts to be crawled")
    add("--pages", type=whole(1), metavar="N", help="visits to each host, or their mean; with --like alone, at most")
    add("--largest-host", type=whole(1), metavar="N", help="visits to the largest host; else hosts are equal")
    add("--delay", type=at_least_0, metavar="SECONDS", help="between requests to a host (1, or that of --like)")
    add("--workers", type=whole(1), default=1, metavar="N", help="parallel workers, each with a core (1)")
    add("--connections", type=whole(1), default=256, metavar="N", help="answers that a worker awaits at once (256)")
    add("--bandwidth", type=above_0, metavar="MBIT", help="of all workers, in Mbit a second; else no bound")
    add("--response", type=at_least_0, metavar="SECONDS", help="mean duration of an answer")
    add("--page-bytes", type=above_0, metavar="N", help="mean size of a body; sizes on disk grow with it")
    add("--rounds", type=whole(1), metavar="N", help="rounds of the crawl")
    add("--like", metavar="DIR", help="take rates and sizes from a crawl; without --hosts, its URLs too")
    add("--against", metavar="DIR", help="estimate what this crawl has done, and show what it was")
    add("--price-gb-in", type=at_least_0, default=0.0, metavar="PRICE", help="of a GB received")
    add("--price-gb-month", type=at_least_0, default=0.0, metavar="PRICE", help="of a GB stored for a month")
    add("--price-worker-hour", type=at_least_0, default=0.0, metavar="PRICE", help="of an hour of a worker")
    add("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> None:
    """Print the estimate of a plan; Usage if the plan is incomplete."""
    rates = DEFAULTS
    if arguments.like:
        crawl = CrawlDir(arguments.like)
        rates = measure(crawl, _settings(crawl).politeness, DEFAULTS, arguments.workers)
    if arguments.response is not None:
        rates = dataclasses.replace(rates, response=arguments.response)
    if arguments.page_bytes is not None:
        rates = with_page_bytes(rates, arguments.page_bytes)
    prices = Prices(arguments.price_gb_in, arguments.price_gb_month, arguments.price_worker_hour)
    begun = _begun(arguments, rates, prices)
    estimated = begun.estimate if begun else estimate(_plan(arguments), rates, prices)
    actual = compare(estimated, CrawlDir(arguments.against)) if arguments.against else {}
    if arguments.json:
        more = ({"basis": begun.basis} if begun else {}) | ({"actual": actual} if actual else {})
        print(json.dumps(dataclasses.asdict(estimated) | more, indent=1))
    else:
        lines = _lines(estimated, rates, begun is not None and begun.basis == "floor")
        print("\n".join([*lines, *([begun.note] if begun else ()), *_compared(actual)]))


def _begun(arguments: argparse.Namespace, rates: Rates, prices: Prices) -> Begun | None:
    """Return the estimate of the whole of the crawl --like; None if there is another plan."""
    if not arguments.like or arguments.hosts is not None or arguments.against:
        return None
    crawl = CrawlDir(arguments.like)
    _check(arguments)
    at_most = arguments.pages and arguments.pages * hosts_of(crawl)
    return estimate_begun(arguments.like, known_of(crawl), _plan_like(arguments), rates, prices, at_most)


def _settings(crawl: CrawlDir) -> Settings:
    crawl.require_manifests()
    return stored_settings(crawl)


def _plan(arguments: argparse.Namespace) -> Plan:
    if arguments.against:
        for name in ("hosts", "pages", "largest_host", "delay", "bandwidth", "rounds"):
            if getattr(arguments, name) is not None:
                flag = f"--{name.replace('_', '-')}"
                raise Usage(
                    f"{flag} does not go with --against: the plan is what {arguments.against} has done; leave it out"
                )
        crawl = CrawlDir(arguments.against)
        settings = _settings(crawl)
        return plan_of(crawl, settings.politeness, settings.fetch, arguments.workers)
    for name in ("hosts", "pages"):
        if getattr(arguments, name) is None:
            raise Usage(f"--{name} is missing: give --hosts and --pages, --like DIR, or --against DIR")
    _check(arguments)
    bandwidth = arguments.bandwidth * 1e6 if arguments.bandwidth else None
    return Plan(
        arguments.hosts,
        arguments.pages,
        _delay(arguments),
        arguments.workers,
        arguments.connections,
        bandwidth,
        arguments.rounds,
        arguments.largest_host,
    )


def _delay(arguments: argparse.Namespace) -> float:
    """The delay that is given, or else that of the crawl --like, or 1 s."""
    if arguments.delay is not None:
        return float(arguments.delay)
    return _settings(CrawlDir(arguments.like)).politeness.delay if arguments.like else 1.0


def _plan_like(arguments: argparse.Namespace) -> Plan:
    """Return the plan of going on with a crawl; its pages are not known yet."""
    crawl = CrawlDir(arguments.like)
    settings = _settings(crawl)
    plan = plan_of(crawl, settings.politeness, settings.fetch, arguments.workers)
    bandwidth = arguments.bandwidth * 1e6 if arguments.bandwidth else None
    plan = plan._replace(bandwidth=bandwidth)
    return plan if arguments.delay is None else plan._replace(delay=arguments.delay)


def _check(arguments: argparse.Namespace) -> None:
    if arguments.largest_host is not None and arguments.largest_host < (arguments.pages or 0):
        raise Usage(f"--largest-host {arguments.largest_host}: must be at least --pages, the mean")


def _lines(estimated: Estimate, rates: Rates, is_floor: bool) -> list[str]:
    floor = "at least " if is_floor else ""
    lines = [
        f"rates: those of {rates.source}",
        f"pages: {floor}{estimated.pages:,}; requests with robots.txt: {floor}{estimated.requests:,}",
        f"bytes in (decoded bodies): {size(estimated.bytes_in)}",
        f"bytes on disk: {size(estimated.disk_total)} ({_tables(estimated.disk)})",
        f"time: {span(estimated.time)} (fetching {span(estimated.fetch)}, updates {span(estimated.update)}),"
        f" {estimated.pages_per_second:.1f} pages a second",
        "fetching would take, bounded by one thing alone: "
        + ", ".join(f"{name} {span(seconds)}" for name, seconds in estimated.bounds.items()),
        f"bound by: {estimated.bound}",
        "memory on one machine, at most: "
        + ", ".join(f"{step} {size(count)}" for step, count in estimated.memory.items()),
    ]
    return lines + ([f"money: {estimated.money:,.2f}"] if estimated.money else [])


def _tables(disk: Mapping[str, float]) -> str:
    """Tables with their sizes, largest first; those below a hundredth are summed up, last."""
    large = {name: count for name, count in disk.items() if count * 100 >= sum(disk.values()) and name != "others"}
    rest = sum(disk.values()) - sum(large.values())
    parts = [f"{name} {size(count)}" for name, count in sorted(large.items(), key=lambda item: -item[1])]
    return ", ".join([*parts, *([f"others {size(rest)}"] if rest else [])])


def _compared(actual: Mapping[str, tuple[float, float]]) -> list[str]:
    return [
        f"{name}: estimated {guess:,.0f}, was {was:,.0f}" + (f" ({guess / was - 1:+.1%})" if was else "")
        for name, (guess, was) in actual.items()
    ]
