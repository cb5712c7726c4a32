"""What the largest robots.txt costs: 500 KiB and more, in several shapes, read, asked once, and asked for each URL.

    python benchmarks/robots_cost.py

Prints the least CPU time of five runs. Reading is `rules.parse`; the first question prepares the rules, once an origin
and round. The last column is the most expensive of URLs of up to 2,000 characters, then.
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
    "37,000 wildcards": GROUP + b"".join(b"Disallow: /*%d*/x*y$\n" % n for n in range(37_000)),
    "a literal each": GROUP + b"".join(b"Disallow: /*%d\n" % n for n in range(28_000)),
    "backtracking": GROUP + b"".join(b"Disallow: /*a*a*a*a*a%d$\n" % n for n in range(18_000)),
    "thousands of stars": GROUP + b"".join(b"Disallow: /%s%d$\n" % (b"*a" * 4000, n) for n in range(63)),
    "rising numbers of stars": GROUP + b"".join(b"Disallow: /%s*b\n" % (b"*a" * n) for n in range(1, 700)),
    "long literals": GROUP + b"".join(b"Disallow: /*%sb%s*%d\n" % (b"a" * 500, b"a" * 499, n) for n in range(500)),
    "parts of the URL": GROUP + b"".join(b"Disallow: /*/%d*x*%d*b$\n" % (n, n) for n in range(20_000)),
    "other robots": b"".join(b"User-agent: bot%d\nDisallow: /path/%d/\n" % (n, n) for n in range(11_000)),
    "line ends": b"\r" * rules.MAX_BYTES,
    "tags": b"<a" * (rules.MAX_BYTES // 2),
    "noise": random.Random(1).randbytes(rules.MAX_BYTES),
}


PATHS = ["some/path/3", "a" * 1000, "a" * 2000, "ab" * 500, "/".join(map(str, range(400)))]


def least(action: Callable[[], object]) -> float:
    """CPU milliseconds of the quickest of five runs."""
    times = []
    for _ in range(5):
        started = time.process_time()
        action()
        times.append(time.process_time() - started)
    return min(times) * 1000


def main() -> None:
    print(f"{'':26}{'KiB':>6}{'rules':>8}{'parse, ms':>11}{'first question, ms':>20}{'URL, ms':>10}")
    for name, body in SHAPES.items():
        parsed = rules.parse(body, "me")
        reading = least(lambda body=body: rules.parse(body, "me"))
        asking = least(lambda body=body: rules.parse(body, "me").allows("http://a.test/some/path/3")) - reading
        each = max(least(lambda path=path, parsed=parsed: parsed.allows(f"http://a.test/{path}")) for path in PATHS)
        print(f"{name:26}{len(body) / 1024:6.0f}{len(parsed.rules):8}{reading:11.1f}{asking:20.1f}{each:10.2f}")


if __name__ == "__main__":
    main()
