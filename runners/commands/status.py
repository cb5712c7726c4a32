"""`beamtrawl status`: the state of a crawl, from its manifests."""

import argparse
import json
from datetime import UTC, datetime

from ...transforms.storage.crawl_dir import CrawlDir
from ..copies import copy_line, total
from ..crawl_status import Status, summarize

_RULES_NAMED = 10
_MANY = 10  # copies of a pair of hosts that are named


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dir", metavar="DIR")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> None:
    """Print the state of a crawl."""
    found = summarize(CrawlDir(arguments.dir), datetime.now(UTC))
    print(json.dumps(found.to_dict(), indent=2, ensure_ascii=False) if arguments.json else render(found))


def render(found: Status) -> str:
    """The state of a crawl in lines for people."""
    step, many = found.next_step, [row for row in found.copies if total(row) >= _MANY]
    lines = [
        f"{found.directory}: {found.rounds} rounds; next: {step.step} of round {step.round}",
        _line("tables", found.tables),
        _line("outcomes", found.outcomes),
        _line("frontier", found.frontier),
        _line("rejected links", found.rejections),
        *([_line("alerts of observers", found.alerts)] if found.alerts else []),
        f"hosts: {found.hosts}; index segments: {found.index_segments}",
        *([_line("hosts not to be asked now, by reason", found.held)] if found.held else []),
        *([_blocks(found)] if found.blocks else []),
        *(
            f"alias rule: {row['origin']} {row['rule']} ({row['support']} pages agree"
            + (f", {row['contradictions']} differ)" if row["contradictions"] else ")")
            for row in found.aliases[:_RULES_NAMED]
        ),
        *map(copy_line, many[:_RULES_NAMED]),
        *([f"{more} more pairs of hosts with copies"] if (more := len(many) - _RULES_NAMED) > 0 else []),
        *([f"{more} more alias rules in use"] if (more := len(found.aliases) - _RULES_NAMED) > 0 else []),
    ]
    return "\n".join(lines + [f"alarm: {alarm}" for alarm in found.alarms])


def _blocks(found: Status) -> str:
    names = ", ".join(block.pattern for block in found.blocks[:_RULES_NAMED])
    more = f" and {left} more" if (left := len(found.blocks) - _RULES_NAMED) > 0 else ""
    return f"blocked: {names}{more}; {found.blocked} URLs of the frontier wait for that"


def _line(name: str, counts: dict[str, int]) -> str:
    return f"{name}: " + (", ".join(f"{key} {count}" for key, count in counts.items() if count) or "none")
