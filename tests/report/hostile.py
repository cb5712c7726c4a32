"""A crawl whose every text is hostile."""

from datetime import UTC, datetime
from pathlib import Path

from beamtrawl.transforms.directory.crawl_dir import CrawlDir
from beamtrawl.transforms.settings import render
from tests.support.committed import commit_rows
from tests.support.crawls import settings

BAD = "pwned=1;new Image().src='http://evil.test/i';alert(1)"
EVIL = (
    f'"\'><script>{BAD}</script></script></style></title><img src=http://evil.test/i onerror="{BAD}">'
    f'<svg onload="{BAD}"><iframe src="javascript:parent.{BAD}"></iframe><base href=http://evil.test/>'
    "<meta http-equiv=refresh content='0;url=http://evil.test/'>{{ 7 * 7 }}{% raw %}"
    "\u202e\u2066\u200f\0\x1b[31m\x9b\ufeff\u2028"
)
LONG = "<b>" + "A" * 10_000
AT = datetime(2026, 1, 1, tzinfo=UTC)


def hostile_crawl(path: Path) -> CrawlDir:
    """A crawl of two rounds in which all that may come from outside is markup, invisible or 10 kB long."""
    crawl = CrawlDir(str(path))
    crawl.write_text("crawl.toml", render(settings()))
    for round_, evil in enumerate((EVIL, LONG), start=1):
        url, host = f"http://{evil}/{round_}", f"{evil}{round_}"
        at = {"fetched_at": AT}
        visit = {"url": url, "host": host, "depth": 0} | at
        visits = [
            visit | {"outcome": "fetched", "status": 200, "body_bytes": 10, "error": evil},
            visit | {"outcome": "denied_robots", "robots_rule": evil, "status": 403},
        ]
        robots = [
            {"origin": evil, "host": host, "verdict": verdict, "crawl_delay": 9.0, "error": evil} | at
            for verdict in (evil, "unreachable")
        ]
        commit_rows(path, "fetch", round_, {"visits": visits, "robots": robots})
        texts = dict.fromkeys(("media_type", "language", "charset", "title", "truncated", "content_usage"), evil)
        document = {"url": url, "host": host, "facts": [("parse_error", evil)], "spam_score": 0.5} | texts | at
        known = {"url": url, "host": host, "state": evil, "depth": 1, "fetches": 1, "discovered_round": round_}
        sums = {"requests": 9, "failures": 9, "visits": 9, "bytes": 9, "failures_in_row": 9, "latency": [1, 2]}
        state = {"held_by": evil, "not_before": datetime(2999, 1, 1, tzinfo=UTC), "latency_p95_ms": 4.0}
        trap = {"template": f"/{evil}/*", "kind": "plain", "state": "trapped", "since": 1, "pages": 9, "fresh": 0}
        rule = {
            "origin": "http://a.test",
            "kind": "parameter",
            "detail": evil,
            "template": "/*",
            "support": 9,
            "contradictions": 0,
            "state": "used",
        }
        tables = {
            "documents": [document],
            "urls": [known],
            "hosts": [{"host": host} | sums | state],
            "traps": [{"host": host, "samples": [evil]} | trap],
            "aliases": [{"host": host, "since": 1} | rule],
            "rejections": [{"reason": "too_long", "host": host, "count": 3, "samples": [evil]}],
        }
        commit_rows(path, "update", round_, tables)
    return crawl
