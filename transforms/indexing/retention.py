"""Decides which folders of the index are removed: those that were replaced and that nothing can read any more."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from ..directory.crawl_dir import Manifest, iso
from .live_segments import live_index, segments_as_of


def unread_folders(manifests: Sequence[Manifest], rounds: int, before: datetime) -> list[str]:
    """The folders that no search reads: not now, not as of one of the last `rounds` rounds, and none since `before`.

    A search that has opened the index reads the same folders until it opens it again, so those that were live at
    `before`, or were written later, are kept. Folders that were dropped earlier are left out.
    """
    first = max((m.round for m in manifests), default=0) - rounds
    earlier = [m for m in manifests if m.ended_at < iso(before)]
    kept = _folders(live_index(manifests).segments)
    kept |= _folders(segments_as_of(manifests, first)) | _folders(segments_as_of(earlier, None))
    old = {id(m) for m in earlier if m.round <= first}
    kept |= {folder for m in manifests if id(m) not in old for folder in _written(m)}
    kept |= {folder for m in manifests for folder in m.index_dropped}
    return sorted({folder for m in manifests for folder in _written(m)} - kept)


def _folders(segments: Iterable[tuple[str, int, str | None]]) -> set[str]:
    return {path for folder, _, links in segments for path in (folder, links) if path}


def _written(manifest: Manifest) -> tuple[str, ...]:
    return *manifest.index, *manifest.index_links.values()
