"""What needs attention; at the end of the report, the thresholds beyond which something does."""

import dataclasses

from ..content import Alert, Column, Part, Section, Table
from ..known import Known

_NAMED = 50  # alarms that are shown


def section(known: Known) -> Section:
    alarms = known.status.alarms
    lines: list[Part] = [Alert("alarm", line) for line in alarms[:_NAMED]]
    if len(alarms) > _NAMED:
        lines.append(f"{len(alarms) - _NAMED:,} more alarms; status prints them all.")
    return Section("alarms", "Alarms", lines or ["No alarms."])


def thresholds(known: Known) -> Section:
    """The section about what becomes an alarm."""
    limits = known.alarms
    rows = [
        (field.name, f"{getattr(limits, field.name):g}", field.metadata["comment"])
        for field in dataclasses.fields(limits)
    ]
    columns = [Column("setting"), Column("value"), Column("meaning")]
    return Section("thresholds", "Thresholds of alarms", [Table("[alarms] in crawl.toml", columns, rows)])
