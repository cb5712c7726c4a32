"""Pages: media types, languages, charsets, directives, quality, duplicates and near duplicates."""

from ....transforms.outcomes import INDEX_SCOPE
from ..content import Chart, Columns, Figure, Figures, Part, Section, Table, distribution, largest
from ..source import Source

_NAMED = 20


def section(source: Source) -> Section:
    total = source.row("SELECT count(*) FROM pages")[0]
    if not total:
        return Section("pages", "Pages", ["No page has been parsed yet."])
    parts: list[Part] = [
        _by(source, "media_type", "Media types", "media type"),
        _by(source, "coalesce(language, 'unknown')", "Languages", "language"),
        _by(source, "coalesce(charset, 'none')", "Character encodings", "encoding"),
        _directives(source),
        _spam(source),
    ]
    errors = source.rows(
        "SELECT left(parse_error, 400), media_type, count(*) FROM pages WHERE parse_error IS NOT NULL"
        " GROUP BY ALL ORDER BY 3 DESC, 1 LIMIT ?",
        _NAMED,
    )
    if errors:
        columns: Columns = {"error": "text", "media type": "text", "pages": "count"}
        parts.append(Table("Pages that could not be parsed", columns, errors))
    return Section("pages", "Pages", parts)


def duplicates(source: Source) -> Section:
    """The section about pages whose content another page has."""
    exact, near, copies, canonical, total = source.count(
        "pages", "is_duplicate", "is_near_duplicate", "is_copy", "has_canonical", "true"
    )
    figures = [
        Figure("duplicates", exact),
        Figure("near duplicates", near),
        Figure("also on another site", copies),
        Figure("with a canonical link", canonical),
        Figure("duplicates and near duplicates", (exact + near) / total if total else None, "share"),
    ]
    note = (
        "A duplicate is not indexed; a near duplicate only by its identifiers of programs. Pages that another site has"
        " too are indexed on both."
    )
    return Section("duplicates", "Duplicates", [Figures(figures), note])


def _by(source: Source, column: str, caption: str, name: str) -> Table:
    counts = source.rows(f"SELECT {column}, count(*) FROM pages GROUP BY 1 ORDER BY 2 DESC, 1")
    counts = [(value if value is not None else "unknown", count) for value, count in counts]
    return distribution(caption, name, "pages", largest(counts, _NAMED, "others"))


def _directives(source: Source) -> Table:
    names = {
        "noindex": "excluded from the index (noindex, unavailable_after)",
        "NOT search": "reserved from search by their authors (search=no)",
        "nofollow": "links not followed (nofollow)",
        "noarchive": "not shown from a copy (noarchive)",
        "truncated IS NOT NULL": "cut at a limit",
        "parse_error IS NOT NULL": "not parsed",
    }
    *counts, total = source.count("pages", *names, "true")
    rows = [(text, count, count / total) for text, count in zip(names.values(), counts, strict=True)]
    if kept_out := source.status.unindexed.get(INDEX_SCOPE):
        rows.append(("kept out of the index by the settings ([index])", kept_out, kept_out / total))
    return Table("Directives and limits", {"pages": "text", "number": "count", "share of all": "share"}, rows)


def _spam(source: Source) -> Chart:
    """Pages by spam score, in tenths."""
    counts = dict(
        source.rows(
            "SELECT least(9, floor(spam_score * 10))::INT, count(*) FROM pages WHERE spam_score IS NOT NULL GROUP BY 1"
        )
    )
    labels = [f"{tenth / 10:.1f}" for tenth in range(10)]
    series = {"pages": [float(counts.get(tenth, 0)) for tenth in range(10)]}
    return Chart("HTML pages by spam score", "score, from … on", "pages", labels, series)
