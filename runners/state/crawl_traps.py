"""The traps of a crawl, each with what it holds, and how to release that."""

import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import TypedDict

import pyarrow as pa
import pyarrow.compute as pc

from ...pipeline.release_held import with_released
from ...transforms.directory.crawl_dir import CrawlDir, Manifest, last_updated, paths_of
from ...transforms.settings import Settings
from ...transforms.tables.key_scan import Wanted, matching_rows
from ...transforms.tables.layouts import newest_rows
from ...transforms.tables.schemas import TRAP_QUEUES, TRAPS
from ...transforms.tables.table_files import read_table
from ...transforms.traps.allow_list import compile_allow_list
from ...transforms.traps.names import group_templates, pattern_of
from ...transforms.traps.template_rows import SOURCE, State, results_of


class Trap(TypedDict):
    """A template of URLs that is throttled or stopped."""

    host: str
    template: str
    kind: str
    round: int
    state: str
    since: int  # round
    pages: int
    fresh: int  # pages with anything new
    failed: int  # requests that gave no page
    redirected: int
    samples: list[str]
    name: str  # of the trap, as URL patterns: its templates may differ in folders
    patterns: list[str]  # what releases it
    waiting: int  # URLs in the frontier
    held: int  # URLs in state trapped


def closed_traps(crawl: CrawlDir, manifests: Sequence[Manifest], allow: Sequence[str]) -> list[Trap]:
    """Return the traps, throttled or trapped, merged if they differ in folders alone; the costliest of a host first.

    Left out are those whose URLs the patterns `allow` exempt, and those throttled of which no URL waits any more.
    """
    columns = ["host", "template", "kind", "round", "state", "since"]
    columns += ["pages", "fresh", "failed", "redirected", "samples"]
    paths = paths_of(manifests, "traps")
    states = read_table(crawl.root, paths, TRAPS, ["host", "state"])
    limited = pc.unique(states["host"].filter(pc.not_equal(states["state"], State.OPEN.value))).sort().to_pylist()
    found = [read_table(crawl.root, (), TRAPS, columns)]
    for path in paths:
        found += matching_rows(crawl.root, path, TRAPS, Wanted("host", limited), columns)
    rows = newest_rows(pa.concat_tables(found), "host", "template", "kind")
    rows = rows.filter(pc.not_equal(rows["state"], State.OPEN.value))
    closed = {itemgetter("host", "template", "kind")(row): row for row in rows.to_pylist()}
    names = _names_by_host(closed.values())
    waiting, held = _count_queues(crawl, manifests, closed, names)
    of_trap: dict[_Key, list[Trap]] = {}
    for row in closed.values():
        if row["template"] in names[row["host"]]:
            of_trap.setdefault((row["host"], names[row["host"]][row["template"]]), []).append(row)
    traps = [_join(rows, key[1], waiting[key], held[key]) for key, rows in of_trap.items()]
    is_allowed = compile_allow_list(allow)
    traps = [trap for trap in traps if trap["state"] == State.TRAPPED or trap["waiting"] or trap["held"]]
    traps = [trap for trap in traps if not all(is_allowed(f"http://{pattern}") for pattern in trap["patterns"])]
    return sorted(traps, key=lambda row: (row["host"], -row["pages"], row["template"], row["kind"]))


_Key = tuple[str, tuple[str, ...]]
"""A host, and the names of one of its traps: templates that differ in folders alone are one trap."""


def _names_by_host(closed: Iterable[Trap]) -> dict[str, dict[str, tuple[str, ...]]]:
    """Return for each host the names of the traps to which its templates belong, by template."""
    templates: dict[str, set[str]] = {}
    for row in closed:
        templates.setdefault(row["host"], set()).add(row["template"])
    return {host: group_templates(of_host) for host, of_host in templates.items()}


def _count_queues(
    crawl: CrawlDir,
    manifests: Sequence[Manifest],
    closed: Mapping[tuple[str, str, str], Trap],
    names: Mapping[str, Mapping[str, tuple[str, ...]]],
) -> tuple[Counter[_Key], Counter[_Key]]:
    """Return the numbers of waiting and of held URLs of each trap, from table trap_queues."""
    last, waiting, held = last_updated(manifests), Counter[_Key](), Counter[_Key]()
    for queue in read_table(crawl.root, paths_of(manifests, "trap_queues"), TRAP_QUEUES).to_pylist():
        row = closed.get((queue["host"], queue["template"], queue["kind"]))
        if row is None:
            continue
        of_host = names[row["host"]]
        only = next(iter(of_host.values())) if len({*of_host.values()}) == 1 else ()
        key = row["host"], of_host.get(row["template"], only)  # the only trap of a host holds what shared rows hold
        held[key] += queue["held"] if queue["round"] >= row["since"] else 0
        if row["template"] in of_host and queue["round"] >= last:
            waiting[key] += queue["waiting"]
    return waiting, held


def _join(rows: list[Trap], names: Sequence[str], waiting: int, held: int) -> Trap:
    """Return one row for the templates of a trap: that of the costliest, with the pages of all."""
    row = max(rows, key=lambda row: (row["state"] == State.TRAPPED, row["pages"], row["template"], row["kind"])).copy()
    for column in ("pages", "fresh", "failed", "redirected"):  # a request counts for its template, and for places
        row[column] = sum(each[column] or 0 for each in [one for one in rows if SOURCE not in one["template"]] or rows)
    row["name"], row["waiting"], row["held"] = " and ".join(names), waiting, held
    row["patterns"] = [pattern_of(row["host"], name) for name in names]
    return row


def release_hint(crawl: CrawlDir) -> str:
    """Return the command that releases what the trap with the most URLs holds; empty if there is no trap."""
    traps = closed_traps(crawl, crawl.manifests(), with_released(crawl, Settings()).traps.allow)
    if not traps:
        return ""
    command = _release_command(max(traps, key=lambda trap: trap["held"]), crawl.root)
    return command + (f"; status --json names {len(traps) - 1} further traps" if len(traps) > 1 else "")


def _release_command(row: Trap, directory: str) -> str:
    return f"beamtrawl release {' '.join(map(shlex.quote, [directory, *row['patterns']]))}"


def trap_line(row: Trap, directory: str) -> str:
    sample = f", such as {row['samples'][0]}" if row["samples"] else ""
    return (
        f"{row['host']}{row['name']} is {row['state']} since round {row['since']}: {results_of(row)},"
        f" {row['waiting']} URLs wait and {row['held']} are held{sample}; to release them:"
        f" {_release_command(row, directory)}"
    )
