"""How many pages of a changing web are up to date: our revisits against the optimum, uniform ones, and Nutch's.

    python benchmarks/freshness.py --pages 5000 --per-day 1000

Simulates pages whose change rates are spread over three orders of magnitude (log-uniform, the fastest five changes per
day). All schedules make the same number of visits and start with no knowledge. The optimum is that of Cho and
Garcia-Molina (TODS 2003) for one who knows all rates. Nutch is AdaptiveFetchSchedule of Apache Nutch 1.x with the
values of its nutch-default.xml; it gets the true time of the last change (Last-Modified), which ours does not use.
"""

import argparse
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.support.freshness import NutchAdaptive, Ours, Simulation, Uniform, log_uniform, optimum, simulate


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=5000)
    parser.add_argument("--fastest", type=float, default=5.0, help="changes per day")
    parser.add_argument("--orders", type=float, default=3.0, help="orders of magnitude of the rates")
    parser.add_argument("--per-day", type=int, default=1000, help="visits per day")
    parser.add_argument("--days", type=int, default=200)
    parser.add_argument("--weights", action="store_true", help="weights from 1/8 to 1 instead of equal ones")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    random = np.random.default_rng(arguments.seed)
    rates = log_uniform(arguments.pages, arguments.fastest, arguments.orders, random)
    weights = 2.0 ** -(3 * random.random(arguments.pages)) if arguments.weights else np.ones(arguments.pages)
    web = Simulation(rates, weights, arguments.per_day, arguments.days)
    best = optimum(web)
    print(f"optimum: {best:.4f} of the pages are up to date")
    for schedule in (Ours(web), Uniform(web), NutchAdaptive(web)):
        days = simulate(web, schedule, np.random.default_rng(arguments.seed))
        all_, later = np.mean(days), np.mean(days[len(days) // 2 :])
        print(
            f"{type(schedule).__name__:14} {all_:.4f} ({all_ / best:.1%}), second half {later:.4f} ({later / best:.1%})"
        )


if __name__ == "__main__":
    main()
