"""What is broken on the site: findings by rule, and the pages with most of them."""

from ...site_checks.check import Checked
from ..content import Column, Figure, Figures, Part, Section, Table

_WORST = 30  # pages that are named
_EXAMPLES = 3  # findings of a rule


def section(checked: Checked) -> Section:
    """The section of a check of the crawl."""
    counts = checked.counts()
    found = [count for count in counts if count.findings]
    figures = Figures([Figure("pages checked", checked.pages), Figure("findings", sum(c.findings for c in counts))])
    parts: list[Part] = [figures]
    if found:
        columns = [Column("rule"), Column("severity"), Column("finds"), Column("findings", "count")]
        rows = [(c.rule.name, c.rule.severity, c.rule.meaning, c.findings, c.pages) for c in found]
        parts.append(Table("Findings by rule", [*columns, Column("on pages", "count")], rows))
        worst = checked.worst_pages(_WORST)
        parts.append(
            Table("Pages with most findings", [Column("page"), Column("findings", "count"), Column("rules")], worst)
        )
        examples = [
            (each.rule, each.place, each.anchor, each.target, each.status, each.round)
            for count in found
            for each in checked.findings(count.rule, _EXAMPLES)
        ]
        names = ("rule", "page", "anchor", "target")
        columns = [*map(Column, names), Column("status", "right"), Column("since round", "right")]
        parts.append(Table("Examples", columns, examples, "All of them: beamtrawl check links DIR"))
    parts += [f"Not known: {note}." for note in checked.notes]
    return Section("check", "Broken links and pages", parts)
