"""The estimate that was made before the crawl, beside what the crawl has been."""

from ...estimate.measured import bytes_by_table, compare
from ..content import Column, Kind, Section, Table
from ..known import Known
from ..text import show

_HINT = (
    "No estimate was saved before this crawl. To have one here, run “beamtrawl estimate … --save DIR” before a crawl in"
    " DIR, or give the report what “beamtrawl estimate … --json” has printed: “beamtrawl report DIR --estimate FILE”."
)
_COLUMNS = [Column("figure"), Column("estimated", "right"), Column("was", "right"), Column("difference", "change")]


def section(known: Known) -> Section:
    found = known.estimate
    if found is None:
        return Section("estimate", "Estimate and outcome", [_HINT])
    rows = [
        _row(name, guess, was, "seconds" if name.endswith(", s") else "bytes" if "bytes" in name else "count")
        for name, (guess, was) in compare(found, known.crawl).items()
    ]
    sizes = bytes_by_table(known.manifests)
    named = {name for name in found.disk if name != "others"}
    others = sum(size for name, size in sizes.items() if name not in named)
    tables = [
        _row(f"bytes of {name}", guess, others if name == "others" else sizes.get(name, 0), "bytes")
        for name, guess in sorted(found.disk.items(), key=lambda item: -item[1])
    ]
    text = f"Estimated from the rates of {found.source}: {found.pages:,} visits, bound by {found.bound}."
    return Section(
        "estimate", "Estimate and outcome", [text, Table("Estimate against outcome", _COLUMNS, rows + tables)]
    )


def _row(name: str, guess: float, was: float, kind: Kind) -> tuple[str, str, str, float | None]:
    return name.removesuffix(", s"), show(guess, kind), show(was, kind), guess / was - 1 if was else None
