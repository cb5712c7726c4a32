"""The crawl in a dozen numbers."""

from ....transforms.directory.manifests import moment
from ...estimate.measured import bytes_by_table
from ..content import Figure, Figures, Section
from ..known import Known


def section(known: Known) -> Section:
    status, manifests = known.status, known.manifests
    received = known.row("SELECT coalesce(sum(bytes), 0)::BIGINT FROM visit_counts")[0]
    pages = known.row("SELECT count(*) FROM pages")[0]
    urls = known.row("SELECT coalesce(sum(urls), 0)::BIGINT FROM url_counts")[0]
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
    step = status.next_step
    text = f"The next step is {step.step} of round {step.round}. The report shows the steps committed when it was made."
    return Section("overview", "Overview", [Figures(figures), text])
