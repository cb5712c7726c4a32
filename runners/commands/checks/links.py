"""`check links`: what is broken on the site of a crawl: links, fragments, titles, sitemaps and more."""

import argparse
import contextlib
import csv
import json
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, TextIO

from ....transforms.directory.crawl_dir import CrawlDir, files_of
from ....transforms.directory.crawl_settings import stored_settings
from ....transforms.outcomes import meant
from ...engines.direct_worker import worker_map
from ...engines.expected import reporting
from ...site_checks.rules import BY_NAME, RULES, SLOW_S, Finding, Severity
from ...terminal.errors import Usage
from ...terminal.numbers import above_0, whole
from ...terminal.units import counted

if TYPE_CHECKING:
    from ...site_checks.check import Checked

FOUND = 3
"""The exit code if a rule of --fail-on has findings."""

_SHOWN = 10  # findings of a rule
_SECONDS = 0.008  # of computing per page, roughly


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dir", metavar="DIR")
    add, about = parser.add_argument, "check by these rules only, and show all findings"
    add("--rule", action="append", type=_rules, metavar="RULES", help=about)
    add("--since", type=whole(1), metavar="ROUND", help="only what has come about after that round")
    about = f"exit with {FOUND} if one of these has findings"
    add("--fail-on", type=_rules, default=[], metavar="RULES", help=about)
    about = f"from which on an answer is slow ({SLOW_S:g})"
    add("--slow", type=above_0, default=SLOW_S, metavar="SECONDS", help=about)
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print JSON")
    form.add_argument("--csv", action="store_true", help="print CSV")
    parser.epilog = (
        f"RULES: names separated by commas, a severity ({', '.join(Severity)}) or all. Rules:"
        f" {', '.join(rule.name for rule in RULES)}."
    )
    parser.set_defaults(check=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the findings; 3 if a rule of --fail-on has some, or no page was checked, else 0."""
    from ...crawling.console import telling, text_output  # noqa: PLC0415 - other checks do without
    from ...site_checks import gather  # noqa: PLC0415 - as the next one
    from ...site_checks.check import check_site  # noqa: PLC0415 - it imports DuckDB, which other checks do without

    crawl = CrawlDir(arguments.dir)
    manifests = crawl.require_manifests()
    last = max(manifest.round for manifest in manifests)
    if arguments.since is not None and arguments.since > last:
        raise Usage(f"--since {arguments.since}: the rounds of the crawl are 1 to {last}; name one of them")
    chosen = {name for names in arguments.rule or [list(BY_NAME)] for name in names}
    if unchecked := sorted(set(arguments.fail_on) - chosen) if arguments.rule else []:
        raise Usage(f"--fail-on {','.join(unchecked)}: --rule leaves it out")
    rules = [rule for rule in RULES if rule.name in chosen]
    seconds = _SECONDS * sum(file.rows for file in files_of(manifests, "documents"))
    with reporting(), contextlib.ExitStack() as stack:
        map_ = stack.enter_context(worker_map(seconds, gather.__name__))  # first: then this process has one thread
        with telling("checking pages and links", text_output(sys.stderr)):
            checked = stack.enter_context(
                check_site(crawl, manifests, stored_settings(crawl), rules, arguments.since, arguments.slow, map_)
            )
        write = write_json if arguments.json else write_csv if arguments.csv else write_text
        write(checked, None if arguments.rule else _SHOWN, sys.stdout)
        failed = any(count.findings for count in checked.counts() if count.rule.name in arguments.fail_on)
        is_empty = not checked.pages
    if is_empty:
        print("beamtrawl: no page was checked: the crawl has none; beamtrawl status says why", file=sys.stderr)
    return FOUND if failed or is_empty else 0


def _rules(text: str) -> list[str]:
    found = list[str]()
    words = list(filter(None, map(str.strip, text.split(","))))
    for word in words or [""]:
        names = [rule.name for rule in RULES if word in ("all", rule.severity, rule.name)]
        if not names:
            raise argparse.ArgumentTypeError(f"{word or repr(text)}: no rule{meant(word, BY_NAME, 'rules are')}")
        found += names
    return found


def write_json(checked: "Checked", most: int | None, output: TextIO) -> None:
    """One object: counts, notes, and all findings, a line each."""
    counts = {count.rule.name: count.findings for count in checked.counts()}
    head = {"pages": checked.pages, "counts": counts, "notes": checked.notes}
    output.write(f'{json.dumps(head, ensure_ascii=False)[:-1]}, "findings": [')
    for number, finding in enumerate(_all(checked)):
        row = finding.to_dict() | {"severity": BY_NAME[finding.rule].severity}
        output.write(f"{',' if number else ''}\n{json.dumps(row, ensure_ascii=False)}")
    output.write("\n]}\n")


def write_csv(checked: "Checked", most: int | None, output: TextIO) -> None:
    """All findings, with a line of names."""
    writer = csv.writer(output, lineterminator="\n")
    writer.writerow(Finding._fields)
    for finding in _all(checked):
        writer.writerow("" if value is None else value for value in finding.to_dict().values())


def write_text(checked: "Checked", most: int | None, output: TextIO) -> None:
    """The findings by rule, the first `most` of each, then notes."""
    counts = [count for count in checked.counts() if count.findings]
    for count in counts:
        of = ""
        if count.targets and (count.targets, count.pages) != (count.findings, count.findings):
            of = f" on {counted(count.pages, 'page')}, {counted(count.targets, 'target')}"
        print(f"{count.rule.name} ({count.findings:,}{of}): {count.rule.meaning}", file=output)
        for finding in checked.findings(count.rule, most):
            print(f"  {_line(finding)}", file=output)
        if most is not None and count.findings > most:
            print(f"  … {count.findings - most:,} more: --rule {count.rule.name}", file=output)
    for note in checked.notes:
        print(f"note: {note}", file=output)
    total = counted(sum(count.findings for count in counts), "finding")
    print(f"{counted(checked.pages, 'page')} checked, {total}", file=output)


def _all(checked: "Checked") -> Iterator[Finding]:
    for count in checked.counts():
        if count.findings:
            yield from checked.findings(count.rule)


def _line(finding: Finding) -> str:
    parts: Iterable[str | None] = (
        finding.place,
        finding.anchor and f"“{finding.anchor}”",
        finding.target and f"-> {finding.target}",
        (finding.final and finding.final != finding.target and f"-> {finding.final}") or None,
        f"({_reason(finding)})" if _reason(finding) else None,
    )
    return " ".join(filter(None, (part and " ".join(part.split()) for part in parts)))


def _reason(finding: Finding) -> str:
    since = finding.round and f"since round {finding.round}"
    return ", ".join(str(part) for part in (finding.status, finding.detail, since) if part)
