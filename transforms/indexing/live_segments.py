"""Selects the segments that make up the index, now or as of a round, from the manifests alone."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ..directory.crawl_dir import Manifest, MisnamedError
from ..tables.table_files import TableFile


class LiveSegment(NamedTuple):
    """A segment that is searched."""

    folder: str
    round: int  # of the step that committed it: tombstones of later rounds mask its documents
    links: str | None  # the newest folder with its link data


class LiveIndex(NamedTuple):
    """The segments that are searched, in commit order, and the files of tombstones that may mask their documents."""

    segments: list[LiveSegment]
    tombstones: list[tuple[int, TableFile]]  # each with its round

    def masking(self, segment: LiveSegment) -> list[TableFile]:
        """The files of tombstones of later rounds than a segment's."""
        return [file for round_, file in self.tombstones if round_ > segment.round]


def live_index(manifests: Sequence[Manifest], as_of: int | None = None) -> LiveIndex:
    """The index as of a round, or as of now; CrawlDirError if parts of it were dropped.

    Segments that were merged belong to the rounds before the merge only.
    """
    segments = segments_as_of(manifests, as_of)
    dropped = {folder for m in manifests for folder in m.index_dropped}
    if as_of is not None and _is_any_in(segments, dropped):
        later = (m.round for m in manifests if m.round > as_of)
        kept = next(round_ for round_ in later if not _is_any_in(segments_as_of(manifests, round_), dropped))
        raise MisnamedError(f"the index as of round {as_of} was dropped; ask as of round {kept} or later")
    oldest = min((segment.round for segment in segments), default=0)
    tombstones = [
        (m.round, file)
        for m in manifests
        if oldest < m.round and (as_of is None or m.round <= as_of)
        for file in m.files
        if file.table == "tombstones"
    ]
    return LiveIndex(segments, tombstones)


def segments_as_of(manifests: Sequence[Manifest], as_of: int | None) -> list[LiveSegment]:
    """The segments of the index as of a round, or of now, whether they were dropped or not."""
    wanted = [m for m in manifests if as_of is None or m.round <= as_of]
    replaced = {folder for m in wanted for folder in m.index_replaced}
    links = {segment: folder for m in wanted for segment, folder in m.index_links.items()}
    return [LiveSegment(f, m.round, links.get(f)) for m in wanted for f in m.index if f not in replaced]


def files_of_segments(manifests: Iterable[Manifest], segments: Iterable[LiveSegment]) -> dict[str, list[TableFile]]:
    """The files of each segment, by its folder, with those of its link data; none for a version without their list."""
    files: dict[str, list[TableFile]] = {}
    for file in (file for m in manifests for file in m.index_files):
        files.setdefault(file.path.rpartition("/")[0], []).append(file)
    return {s.folder: [*files.get(s.folder, ()), *files.get(s.links or "", ())] for s in segments}


def _is_any_in(segments: Iterable[LiveSegment], folders: set[str]) -> bool:
    return any(segment.folder in folders or segment.links in folders for segment in segments)
