"""What needs attention, and the thresholds beyond which something does."""

import dataclasses

from ..content import Alert, Column, Part, Section, Table
from ..known import Known

_NAMED = 50  # alarms that are shown


def section(known: Known) -> Section:
    alarms = known.status.alarms
    lines: list[Part] = [Alert("alarm", line) for line in alarms[:_NAMED]]
    if len(alarms) > _NAMED:
        lines.append(f"{len(alarms) - _NAMED:,} more alarms; status prints them all.")
    limits = known.alarms
    rows = [
        (field.name, f"{getattr(limits, field.name):g}", field.metadata["comment"])
        for field in dataclasses.fields(limits)
    ]
    table = Table("Thresholds: [alarms] in crawl.toml", [Column("setting"), Column("value"), Column("meaning")], rows)
    return Section("alarms", "Alarms", [*(lines or ["No alarms."]), table])
