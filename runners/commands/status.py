"""`beamtrawl status`: the state of a crawl, from its manifests."""

import argparse
import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from ...transforms.aliases.learned_rules import known_rules
from ...transforms.indexing.live_segments import live_index
from ...transforms.outcomes import Outcome
from ...transforms.parsing.registry import PARSE_ERRORS
from ...transforms.storage.crawl_dir import CrawlDir, Manifest, files_of, frontier_files, next_step
from ...transforms.storage.schemas import TABLES
from ...transforms.storage.table_files import read_table
from ...transforms.traps.judge import State


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dir", metavar="DIR")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> None:
    """Say how a crawl stands."""
    found = summarize(CrawlDir(arguments.dir), datetime.now(UTC))
    print(json.dumps(found, indent=2, ensure_ascii=False) if arguments.json else render(found))


def summarize(crawl: CrawlDir, now: datetime) -> dict[str, Any]:
    """Rounds, rows by table, outcomes, the frontier by reason, hosts and alarms; what `status --json` prints."""
    manifests = crawl.require_manifests()
    step = next_step(manifests)
    outcomes: dict[str, int] = {}
    frontier: dict[str, int] = {}
    rejections: dict[str, int] = {}
    alerts: dict[str, int] = {}
    failed = 0
    for manifest in manifests:
        if manifest.step == "fetch":
            for outcome in Outcome:
                if count := manifest.counters.get(outcome.value):
                    outcomes[outcome.value] = outcomes.get(outcome.value, 0) + count
        for file in manifest.files:
            if file.table == "rejections":
                _add(rejections, file.counts)
            if file.table == "alerts":
                _add(alerts, file.counts)
            failed += file.counts.get(PARSE_ERRORS, 0)
    for file in frontier_files(manifests):
        _add(frontier, file.counts)
    hosts, traps = _hosts(crawl, manifests), _traps(crawl, manifests)
    held: dict[str, int] = {}
    for row in hosts.values():
        if row["not_before"] and row["not_before"] > now:
            _add(held, {row["held_by"]: 1})
    return {
        "directory": crawl.root,
        "rounds": step.round - 1 if step.kind == "fetch" else step.round,
        "next_step": {"step": step.kind, "round": step.round},
        "tables": {name: sum(file.rows for file in files_of(manifests, name)) for name in TABLES},
        "index_segments": len(live_index(manifests).segments),
        "outcomes": outcomes,
        "frontier": frontier,
        "rejections": rejections,
        "alerts": alerts,
        "hosts": len(hosts),
        "held": held,
        "aliases": _aliases(crawl, manifests),
        "traps": traps,
        "alarms": [
            *_alarms(outcomes),
            *_failing(hosts.values()),
            *_unparsed(failed),
            *map(_trap_line, traps),
            *_too_long(crawl, manifests),
        ],
    }


def render(found: dict[str, Any]) -> str:
    """The same for people."""
    step = found["next_step"]
    lines = [
        f"{found['directory']}: {found['rounds']} rounds; next: {step['step']} of round {step['round']}",
        _line("tables", found["tables"]),
        _line("outcomes", found["outcomes"]),
        _line("frontier", found["frontier"]),
        _line("rejected links", found["rejections"]),
        *([_line("alerts of observers", found["alerts"])] if found["alerts"] else []),
        f"hosts: {found['hosts']}; index segments: {found['index_segments']}",
        *([_line("hosts not to be asked now, by reason", found["held"])] if found["held"] else []),
        *(
            f"alias rule: {row['origin']} {row['rule']} ({row['support']} pages agree"
            + (f", {row['contradictions']} differ)" if row["contradictions"] else ")")
            for row in found["aliases"][:_RULES_NAMED]
        ),
        *([f"{more} more alias rules in use"] if (more := len(found["aliases"]) - _RULES_NAMED) > 0 else []),
    ]
    return "\n".join(lines + [f"alarm: {alarm}" for alarm in found["alarms"]])


def _alarms(outcomes: dict[str, int]) -> list[str]:
    """What a person should look at."""
    visits = sum(outcomes.values())
    bad = {o: n for o, n in outcomes.items() if n > visits / 2 and o not in (Outcome.FETCHED, Outcome.NOT_MODIFIED)}
    return [f"{count} of {visits} visits ended as {outcome}" for outcome, count in bad.items()]


def _unparsed(documents: int) -> list[str]:
    why = "select url, facts['parse_error'] from documents where facts['parse_error'] is not null"
    return [f'{documents} documents could not be parsed; sql DIR "{why}" says why'] if documents else []


def _hosts(crawl: CrawlDir, manifests: Sequence[Manifest]) -> dict[str, dict[str, Any]]:
    """How we stand with each host: its newest row, as far as it is told here."""
    columns = ["host", "round", "failures_in_row", "not_before", "held_by"]
    newest: dict[str, dict[str, Any]] = {}
    for file in files_of(manifests, "hosts"):
        for row in read_table(crawl.root, [file.path], TABLES["hosts"], columns).to_pylist():
            if row["host"] not in newest or row["round"] >= newest[row["host"]]["round"]:
                newest[row["host"]] = row
    return newest


def _aliases(crawl: CrawlDir, manifests: Sequence[Manifest]) -> list[dict[str, Any]]:
    """The rules in use by which URLs are one, those first that most speaks for."""
    known = known_rules(crawl, manifests)
    used = [(rule, row) for rule, row in known.rows.items() if row["state"] == "used"]
    shown = ("origin", "host", "support", "contradictions", "since")
    return [
        {name: row[name] for name in shown} | {"rule": rule.name}
        for rule, row in sorted(used, key=lambda item: (-item[1]["support"], item[0]))
    ]


def _failing(hosts: Iterable[dict[str, Any]]) -> list[str]:
    """The hosts that have failed most often in a row, the worst first."""
    failing = [row for row in hosts if (row["failures_in_row"] or 0) >= _FAILURES]
    worst = sorted(failing, key=lambda row: (-row["failures_in_row"], row["host"]))
    found = [
        f"{row['host']} has failed {row['failures_in_row']} times in a row,"
        f" and is not asked before {row['not_before']:%Y-%m-%d %H:%M:%S} UTC ({row['held_by']})"
        for row in worst[:_NAMED]
    ]
    return found + ([f"{len(failing) - _NAMED} more hosts have failed as often"] if len(failing) > _NAMED else [])


_FAILURES, _NAMED, _RULES_NAMED = 3, 5, 10


def _traps(crawl: CrawlDir, manifests: Sequence[Manifest]) -> list[dict[str, Any]]:
    """The templates that are held back, of each host those that were visited most before those that cost less."""
    columns = ["host", "template", "kind", "round", "state", "since", "pages", "fresh", "samples"]
    paths = [file.path for file in files_of(manifests, "traps")]
    newest: dict[tuple[str, str, str], dict[str, Any]] = {}
    for row in read_table(crawl.root, paths, TABLES["traps"], columns).to_pylist():
        newest[row["host"], row["template"], row["kind"]] = row
    held = [row for row in newest.values() if row["state"] != State.OPEN]
    return sorted(held, key=lambda row: (row["host"], -row["pages"], row["template"], row["kind"]))


def _trap_line(row: dict[str, Any]) -> str:
    sample = f", such as {row['samples'][0]}" if row["samples"] else ""
    return (
        f"{row['host']}{row['template']} is {row['state']} since round {row['since']}: {row['fresh']} of"
        f" {row['pages']} {row['kind']} pages had anything new{sample}"
    )


def _too_long(crawl: CrawlDir, manifests: Sequence[Manifest]) -> list[str]:
    """The hosts that have links to over-long URLs, those with the most first."""
    paths = [file.path for file in files_of(manifests, "rejections") if file.counts.get("too_long")]
    counts: dict[str, int] = {}
    samples: dict[str, str] = {}
    for row in read_table(crawl.root, paths, TABLES["rejections"]).to_pylist():
        if row["reason"] == "too_long":
            _add(counts, {row["host"]: row["count"]})
            samples[row["host"]] = row["samples"][0]
    worst = sorted(counts, key=lambda host: (-counts[host], host))
    found = [
        f"{host}: {counts[host]} links to over-long URLs, such as {samples[host][:80]}…" for host in worst[:_NAMED]
    ]
    return found + ([f"{len(worst) - _NAMED} more hosts have over-long URLs"] if len(worst) > _NAMED else [])


def _line(name: str, counts: dict[str, int]) -> str:
    return f"{name}: " + (", ".join(f"{key} {count}" for key, count in counts.items() if count) or "none")


def _add(total: dict[str, int], counts: dict[str, int]) -> None:
    for name, count in counts.items():
        total[name] = total.get(name, 0) + count
