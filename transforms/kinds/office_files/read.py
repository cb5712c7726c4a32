"""Program that reads office files and books, whatever they are declared as; `office.py` starts it."""

import time
from typing import Any

from ..guarded_process import serve
from . import epub, markup, opendocument, package, presentation, spreadsheet, wordprocessing
from .archive import Archive
from .content import Content, Enough, Unreadable

_READERS = {"document": wordprocessing.read, "presentation": presentation.read, "workbook": spreadsheet.read}
"""Readers of OOXML by the root element of the main part."""


def read_file(body: bytes, seconds: float, max_text: int) -> dict[str, Any]:
    """The content of a file, as far as it can be read within `seconds` of CPU time and `max_text` characters.

    Raises Unreadable and errors of the libraries for a file that cannot be read. Macros are never looked at.
    """
    content = Content(max_text, time.process_time() + seconds)
    try:
        _read(Archive(body), content)
    except Enough:
        return content.result(is_cut=True)
    return content.result(is_cut=False)


def _read(archive: Archive, content: Content) -> None:
    if archive.has("META-INF/container.xml"):
        epub.read(archive, content)
    elif archive.has("content.xml"):
        opendocument.read(archive, content)
    elif main := next(package.related(archive, "", "officeDocument"), None):
        package.read_properties(archive, content)
        _READERS[_root(archive, main)](archive, main, content)
    else:
        raise Unreadable("no office file and no book")


def _root(archive: Archive, main: str) -> str:
    with archive.open(main) as stream:
        for _, element in markup.elements(stream, tuple(_READERS)):
            return markup.local(element)
    raise Unreadable("an office file of an unknown kind")


if __name__ == "__main__":
    serve(read_file)
