"""What people look for, from the gateway's query log."""

from ..content import Column, Figure, Figures, Part, Section, Table
from ..query_counts import QueryCounts, ranked

_NAMED = 25
_COLUMNS = [Column("query"), Column("times", "count")]


def section(queries: QueryCounts) -> Section:
    if not queries.asked:
        return Section("queries", "Queries", ["The query log has no queries."])
    failed, total = queries.without_pages(), queries.asked.total()
    figures = [
        Figure("queries", total),
        Figure("different ones", len(queries.asked)),
        Figure("found nothing", sum(count for _, count in failed) / total, "share"),
        Figure("first (UTC)", queries.first, "time"),
        Figure("last (UTC)", queries.last, "time"),
    ]
    if queries.unreadable:
        figures.append(Figure("unreadable lines", queries.unreadable))
    frequent = [(query, count, queries.pages[query]) for query, count in ranked(queries.asked)[:_NAMED]]
    parts: list[Part] = [
        Figures(figures),
        Table("The most frequent queries", [*_COLUMNS, Column("pages found", "count")], frequent),
    ]
    if failed:
        parts.append(Table("The most frequent queries that find nothing", _COLUMNS, failed[:_NAMED]))
    return Section("queries", "Queries", parts)
