"""Bytes: received, and on disk by table; the index."""

from ....transforms.directory.crawl_dir import files_of
from ....transforms.indexing.live_segments import live_index
from ....transforms.outcomes import INDEX_SCOPE
from ...estimate.measured import bytes_by_table
from ..charts import bins
from ..content import Chart, Columns, Figure, Figures, Section, Table
from ..source import Source


def section(source: Source) -> Section:
    sizes = sorted(bytes_by_table(source.manifests).items(), key=lambda item: (-item[1], item[0]))
    total = sum(size for _, size in sizes) or 1
    replaced = _replaced(source)
    files = {name: len(files_of(source.manifests, name)) for name, _ in sizes}
    files["index"] = sum(f.path.rpartition("/")[0] not in replaced for m in source.manifests for f in m.index_files)
    rows = [(name, source.status.tables.get(name), files[name], size, size / total) for name, size in sizes if size]
    columns: Columns = {"table": "text", "rows": "count", "files": "count", "size": "bytes", "share": "share"}
    table = Table("On disk, by table", columns, rows, "Files that merging has replaced are left out.")
    return Section("storage", "Bytes", [_received(source), table])


def index(source: Source) -> Section:
    """The section about the full-text index."""
    live = live_index(source.manifests)
    figures = [
        Figure("segments", len(live.segments)),
        Figure("segments merged away", len(_replaced(source))),
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


def _replaced(source: Source) -> set[str]:
    """The folders of segments that others have replaced."""
    return {folder for m in source.manifests for folder in m.index_replaced}


def _received(source: Source) -> Chart:
    """Bytes of bodies that each round received, in MB."""
    received = source.rows("SELECT round, coalesce(sum(bytes), 0)::BIGINT FROM visit_counts GROUP BY 1 ORDER BY 1")
    parts = [received[part.start : part.stop] for part in bins(len(received))]
    labels = [f"{part[0][0]}" if len(part) == 1 else f"{part[0][0]}–{part[-1][0]}" for part in parts]
    sizes = [sum(size for _, size in part) / 1e6 for part in parts]
    return Chart("Bytes received by round", "round", "MB", labels, {"bodies": sizes})
