"""Bytes: received, and on disk by table and round; the index."""

from ....transforms.directory.crawl_dir import files_of
from ....transforms.indexing.live_segments import live_index
from ....transforms.outcomes import INDEX_SCOPE
from ...estimate.measured import bytes_by_table
from ..charts import bins
from ..content import Chart, Column, Figure, Figures, Section, Table
from ..source import Source

_LARGE = 5  # tables that the chart names


def section(source: Source) -> Section:
    sizes = sorted(bytes_by_table(source.manifests).items(), key=lambda item: (-item[1], item[0]))
    total = sum(size for _, size in sizes) or 1
    rows = [(name, _rows(source, name), _files(source, name), size, size / total) for name, size in sizes if size]
    columns = [Column("table"), Column("rows", "count"), Column("files", "count"), Column("size", "bytes")]
    table = Table(
        "On disk, by table", [*columns, Column("share", "share")], rows, "Files that merging has replaced are left out."
    )
    return Section(
        "storage", "Bytes", [_written(source, [name for name, _ in sizes[:_LARGE]]), _received(source), table]
    )


def index(source: Source) -> Section:
    """The section about the full-text index."""
    live = live_index(source.manifests)
    replaced = {folder for m in source.manifests for folder in m.index_replaced}
    figures = [
        Figure("segments", len(live.segments)),
        Figure("segments merged away", len(replaced)),
        Figure("files of tombstones", len(live.tombstones)),
        Figure("size", bytes_by_table(source.manifests).get("index", 0), "bytes"),
    ]
    indexed = source.row(
        "SELECT count(*) FROM pages WHERE NOT coalesce(noindex, false) AND NOT is_duplicate AND NOT is_near_duplicate"
        " AND parse_error IS NULL AND coalesce(search, true)"
    )[0]
    figures.insert(0, Figure("pages that may be found", indexed))
    if kept_out := source.status.unindexed.get(INDEX_SCOPE):
        figures.insert(1, Figure("of all pages, kept out by the settings ([index])", kept_out))
    note = "Pages that are gone since, blocked or excluded by spam score are among them."
    return Section("index", "Index", [Figures(figures), note])


def _rows(source: Source, name: str) -> int | None:
    return None if name == "index" else source.status.tables.get(name)


def _files(source: Source, name: str) -> int:
    if name != "index":
        return len(files_of(source.manifests, name))
    replaced = {folder for m in source.manifests for folder in m.index_replaced}
    return sum(f.path.rpartition("/")[0] not in replaced for m in source.manifests for f in m.index_files)


def _written(source: Source, large: list[str]) -> Chart:
    """Bytes that each round has written, in MB: the largest tables, and the others."""
    written: dict[int, dict[str, int]] = {}
    for m in source.manifests:
        if m.step not in ("fetch", "update"):
            continue
        of_round = written.setdefault(m.round, {})
        for file in (*m.files, *m.index_files):
            name = file.table if file.table in large else "index" if file in m.index_files else "others"
            of_round[name] = of_round.get(name, 0) + file.bytes
    return _by_round("Bytes written by round", written, [*large, "others"])


def _received(source: Source) -> Chart:
    received = source.rows("SELECT round, coalesce(sum(bytes), 0)::BIGINT FROM visit_counts GROUP BY 1 ORDER BY 1")
    return _by_round("Bytes received by round", {number: {"bodies": size} for number, size in received}, ["bodies"])


def _by_round(title: str, sizes: dict[int, dict[str, int]], names: list[str]) -> Chart:
    numbers = sorted(sizes)
    parts = [numbers[part.start : part.stop] for part in bins(len(numbers))]
    labels = [f"{part[0]}" if len(part) == 1 else f"{part[0]}–{part[-1]}" for part in parts]
    series = {name: [sum(sizes[n].get(name, 0) for n in part) / 1e6 for part in parts] for name in names}
    return Chart(title, "round", "MB", labels, {name: values for name, values in series.items() if any(values)})
