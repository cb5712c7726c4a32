"""Parses office files and books in a guarded process."""

from ..http.media_types import ZIP_EXTENSIONS
from ..parsing.dates import parse_date
from ..parsing.source import MAX_BYTES, Page, Source
from . import guarded

_EPUB = "epub"
_MACROS = {  # the same files with macros, which are not read
    "docm": "application/vnd.ms-word.document.macroenabled.12",
    "pptm": "application/vnd.ms-powerpoint.presentation.macroenabled.12",
    "xlsm": "application/vnd.ms-excel.sheet.macroenabled.12",
}
_FACTS = ("author", "producer")


class _Zipped:
    """Parses a ZIP archive of XML."""

    def __init__(
        self, seconds: float = guarded.SECONDS, patience: float = guarded.PATIENCE, wait: float = guarded.WAIT
    ) -> None:
        self._guarded = guarded.GuardedParser(f"{__package__}.office_files.read", "office", seconds, patience, wait)

    def parse(self, source: Source) -> Page | None:
        found = self._guarded.read(source.body, MAX_BYTES)
        metadata = found["metadata"]
        return source.page(
            found["text"],
            title=metadata.get("title") or next(iter(found["headings"]), ""),
            description=metadata.get("description") or metadata.get("subject", ""),
            keywords=metadata.get("keywords", ""),
            headings=found["headings"],
            language=metadata.get("language", ""),
            published_at=parse_date(metadata.get("created", "")),
            links=found["links"],
            facts={name: metadata.get(name, "") for name in _FACTS},
            is_cut=found["is_cut"],
        )


class Office(_Zipped):
    """Parses Office Open XML (docx, pptx, xlsx) and OpenDocument (odt, odp, ods)."""

    accepted = frozenset(essence for name, essence in ZIP_EXTENSIONS.items() if name != _EPUB)
    media_types = accepted | frozenset(_MACROS.values())
    extensions = frozenset(ZIP_EXTENSIONS) - {_EPUB} | frozenset(_MACROS)


class Epub(_Zipped):
    """Parses EPUB 2 and 3."""

    media_types = frozenset({ZIP_EXTENSIONS[_EPUB]})
    extensions = frozenset({_EPUB})
