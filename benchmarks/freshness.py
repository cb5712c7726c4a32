"""How many pages of a changing web are up to date: our revisits against the optimum, uniform ones, and Nutch's.

    python benchmarks/freshness.py --per-day 480 --days 300 --seeds 5

Simulates pages whose change rates are spread over three orders of magnitude (log-uniform, the fastest five changes per
day). All schedules make the same number of visits and start with no knowledge. The optimum is that of Cho and
Garcia-Molina (TODS 2003) for one who knows all rates. Nutch is AdaptiveFetchSchedule of Apache Nutch 1.x with the
values of its nutch-default.xml; it gets the true time of the last change (Last-Modified), which ours does not use.
Shown are the median of some random webs, the least and the greatest.
"""

import argparse
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.support.freshness import NutchAdaptive, Ours, Simulation, Uniform, log_uniform, optimum, simulate

SCHEDULES = (Ours, Uniform, NutchAdaptive)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=5000)
    parser.add_argument("--fastest", type=float, default=5.0, help="changes per day")
    parser.add_argument("--orders", type=float, default=3.0, help="orders of magnitude of the rates")
    parser.add_argument("--per-day", type=int, default=1000, help="visits per day")
    parser.add_argument("--days", type=int, default=200)
    parser.add_argument("--weights", action="store_true", help="weights from 1/8 to 1 instead of equal ones")
    parser.add_argument("--seeds", type=int, default=1, metavar="N", help="simulated webs")
    arguments = parser.parse_args()
    shares: dict[str, list[tuple[float, float]]] = {schedule.__name__: [] for schedule in SCHEDULES}
    for seed in range(1, arguments.seeds + 1):
        random = np.random.default_rng(seed)
        rates = log_uniform(arguments.pages, arguments.fastest, arguments.orders, random)
        weights = 2.0 ** -(3 * random.random(arguments.pages)) if arguments.weights else np.ones(arguments.pages)
        web = Simulation(rates, weights, arguments.per_day, arguments.days)
        best = optimum(web)
        print(f"seed {seed}: at the optimum, {best:.4f} of the pages are up to date", flush=True)
        for schedule in SCHEDULES:
            days = simulate(web, schedule(web), np.random.default_rng(seed))
            shares[schedule.__name__].append((np.mean(days) / best, np.mean(days[len(days) // 2 :]) / best))
    for name, found in shares.items():
        columns = [f"{np.median(c):.1%} ({min(c):.1%} to {max(c):.1%})" for c in zip(*found, strict=True)]
        print(f"{name:14} {columns[0]}, second half {columns[1]}")


if __name__ == "__main__":
    main()
