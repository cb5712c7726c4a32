"""What the largest robots.txt costs: 500 KiB, in several shapes, read and asked once.

    python benchmarks/robots_cost.py

Prints the least CPU time of five runs. Reading is `robots.parse`; the first question builds what Protego needs, once an
origin and round.
"""

import random
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from beamtrawl.transforms.robots import rules

GROUP = b"User-agent: *\n"
SHAPES = {
    "paths": GROUP + b"".join(b"Disallow: /some/path/%d/\n" % n for n in range(18_500)),
    "the shortest rules": GROUP + b"".join(b"allow:%x\n" % n for n in range(45_000)),
    "rules that are no ASCII": GROUP + b"".join(b"allow:\xff%x\n" % n for n in range(40_000)),
    "wildcards": GROUP + b"".join(b"Disallow: /%d*/x$\n" % n for n in range(24_000)),
    "other robots": b"".join(b"User-agent: bot%d\nDisallow: /path/%d/\n" % (n, n) for n in range(11_000)),
    "line ends": b"\r" * rules.MAX_BYTES,
    "tags": b"<a" * (rules.MAX_BYTES // 2),
    "noise": random.Random(1).randbytes(rules.MAX_BYTES),
}


def least(action: Callable[[], object]) -> float:
    """CPU milliseconds of the quickest of five runs."""
    times = []
    for _ in range(5):
        started = time.process_time()
        action()
        times.append(time.process_time() - started)
    return min(times) * 1000


def main() -> None:
    print(f"{'':26}{'KiB':>6}{'rules':>8}{'parse, ms':>11}{'first question, ms':>20}")
    for name, body in SHAPES.items():
        parsed = rules.parse(body, "me")
        reading = least(lambda body=body: rules.parse(body, "me"))
        asking = least(lambda body=body: rules.parse(body, "me").allows("http://a.test/some/path/3")) - reading
        print(f"{name:26}{len(body) / 1024:6.0f}{len(parsed.rules):8}{reading:11.1f}{asking:20.1f}")


if __name__ == "__main__":
    main()
