"""Crawls generated sites that look like traps, at full size: pages lost, pages held, rounds more than a walk needs.

    python benchmarks/documents_by_round.py
    python benchmarks/documents_by_round.py --sites forum wiki --share 10

The sites are those of tests/traps/test_documents_by_round.py, which runs at a thirtieth of their size. README.md has
the results. Exit code 1 if a site loses or holds a page, or needs more than three rounds more than the walk.
"""

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.support.documents_by_round import LATER, Result, measure
from tests.support.honest_sites import HONEST


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sites", nargs="+", choices=HONEST, default=list(HONEST), metavar="NAME")
    parser.add_argument("--share", type=int, default=1, help="divides the size of each site (default: %(default)s)")
    arguments = parser.parse_args()
    sites = {f"{name}.test": HONEST[name][0](HONEST[name][1] // arguments.share) for name in arguments.sites}
    with tempfile.TemporaryDirectory() as folder:
        reason, results = measure(sites, Path(folder))
    print(f"ended: {reason}")
    print("| site | " + " | ".join(Result._fields) + " |")
    for name, result in results.items():
        print(f"| {name} | " + " | ".join(map(str, result)) + " |", flush=True)
    if reason != "frontier_empty" or any(r.lost or r.held or r.later > LATER for r in results.values()):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
