"""Crawls all trap sites and honest look-alikes of the tests without HTTP: what each costs, round by round.

    python benchmarks/trap_costs.py
    python benchmarks/trap_costs.py --sites maze.test forum --share 3

Exit code 1 if a site loses a useful page, or a trap takes more than 300 useless requests in
seven rounds.
"""

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.support import honest_variants
from tests.support.honest_more import MORE
from tests.support.honest_sites import HONEST, reach
from tests.support.stale_sites import STALE
from tests.support.trap_answers import ANSWERS
from tests.support.trap_growth import GROWTH
from tests.support.trap_pairs import PAIRS
from tests.support.trap_rounds import crawl_rounds
from tests.support.trap_sites import TRAPS
from tests.support.trap_variants import VARIANTS

ROUNDS, MOST, LAST = 7, 300, 16
SITES = {**TRAPS, **VARIANTS, **GROWTH, **ANSWERS}
SITES |= {name.partition(" / ")[0]: pair[0] for name, pair in PAIRS.items()}
HONEST_SITES = {name: made[:2] for name, made in {**HONEST, **honest_variants.VARIANTS, **MORE}.items()}
HONEST_SITES |= {name.partition(" / ")[2]: (pair[1], pair[2]) for name, pair in PAIRS.items()}


def line(name: str, share: int) -> tuple[bool, str]:
    """Whether all is well, and the row of the table."""
    started = time.process_time()
    if name in HONEST_SITES:
        make, count = HONEST_SITES[name]
        site = make(count if count <= 500 else max(50, count // share))
        walked = reach(site)
        crawled, of = crawl_rounds(site, 40), lambda path: path if path in walked else None
        wanted, later = len(walked), len_later(crawled.visited, walked)
    elif name in STALE:
        stale = STALE[name]()
        crawled, of = (
            crawl_rounds(stale.site, 30, listed=stale.listed),
            lambda path: path if path in stale.useful else None,
        )
        wanted, later = len(stale.useful), ""
    else:
        trap = SITES[name]()
        crawled, of, wanted, later = crawl_rounds(trap, LAST), trap.useful, trap.count, ""
    seen, useless = set(), []
    for paths in crawled.visited:
        new = set(filter(None, map(of, paths))) - seen
        useless.append(len(paths) - len(new))
        seen |= new
    first = sum(useless[:ROUNDS])
    good = len(seen) == wanted and first <= MOST and not crawled.waiting and (not later or later <= 3)
    mark = "" if good else "!"
    counts = ", ".join(map(str, useless))
    took = time.process_time() - started
    return good, (
        f"| {name} | {len(seen)} of {wanted} | {first}{mark} | {counts} | {later} | {len(crawled.held)} held,"
        f" {len(crawled.waiting)} wait | {took:.1f} s |"
    )


def len_later(visited, walked):
    first = {path: number for number, paths in reversed([*enumerate(visited, 1)]) for path in paths}
    return max(first.get(path, 999) - number for path, number in walked.items())


def main() -> None:
    every = [*SITES, *STALE, *HONEST_SITES]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sites", nargs="+", choices=every, default=every, metavar="NAME")
    parser.add_argument("--share", type=int, default=3, help="divides the size of honest sites (default: %(default)s)")
    parser.add_argument("--half", type=int)
    arguments = parser.parse_args()
    if arguments.half is not None:
        arguments.sites = every[arguments.half :: 2]
    print(
        "| site | useful | useless in 7 rounds | useless by round | rounds after a walk | end | time |\n|-|-|-|-|-|-|-|"
    )
    results = []
    for name in arguments.sites:
        good, row = line(name, arguments.share)
        results.append(good)
        print(row, flush=True)
    sys.exit(not all(results))


if __name__ == "__main__":
    main()
