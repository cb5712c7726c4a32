"""What needs attention."""

from ..content import Alert, Part, Section
from ..known import Known

_NAMED = 50  # alarms that are shown


def section(known: Known) -> Section:
    alarms = known.status.alarms
    lines: list[Part] = [Alert("alarm", line) for line in alarms[:_NAMED]]
    if len(alarms) > _NAMED:
        lines.append(f"{len(alarms) - _NAMED:,} more alarms; status prints them all.")
    return Section("alarms", "Alarms", lines or ["No alarms."])
