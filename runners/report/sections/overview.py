"""The crawl in a dozen numbers, and what needs attention."""

from ....transforms.directory.manifests import moment
from ...estimate.measured import bytes_by_table
from ..content import Alert, Figure, Figures, Part, Section
from ..source import Source

_NAMED = 50  # alarms that are shown


def section(source: Source) -> Section:
    status, manifests = source.status, source.manifests
    received = source.row("SELECT coalesce(sum(bytes), 0)::BIGINT FROM visit_counts")[0]
    pages = source.row("SELECT count(*) FROM pages")[0]
    urls = source.row("SELECT coalesce(sum(urls), 0)::BIGINT FROM url_counts")[0]
    steps = [m for m in manifests if m.started_at and m.ended_at]
    figures = [
        Figure("rounds", status.rounds),
        Figure("hosts", status.hosts),
        Figure("URLs found", urls),
        Figure("URLs waiting", sum(status.frontier.values())),
        Figure("visits", sum(status.outcomes.values())),
        Figure("pages", pages),
        Figure("received", received, "bytes"),
        Figure("on disk", sum(bytes_by_table(manifests).values()), "bytes"),
        Figure("time of all steps", sum(m.seconds for m in steps), "seconds"),
        Figure("alarms", len(status.alarms)),
    ]
    if steps:
        figures.append(Figure("first step (UTC)", min(moment(m.started_at) for m in steps), "time"))
        figures.append(Figure("last commit (UTC)", max(moment(m.ended_at) for m in steps), "time"))
    text = f"{status.next_line} The report shows the steps committed when it was made."
    return Section("overview", "Overview", [Figures(figures), text])


def alarms(source: Source) -> Section:
    """The section about what needs attention."""
    lines = source.status.alarms
    parts: list[Part] = [Alert(line) for line in lines[:_NAMED]]
    if len(lines) > _NAMED:
        parts.append(f"{len(lines) - _NAMED:,} more alarms; status prints them all.")
    return Section("alarms", "Alarms", parts or ["No alarms."])
