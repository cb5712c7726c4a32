"""Program that reads PDFs: bounds and a PDF on stdin, length and JSON on stdout, repeatedly.

`pdf.py` starts it, so that a hostile file can harm only this process.
"""

import contextlib
import ctypes
import json
import logging
import math
import resource
import struct
import sys
import time
from collections.abc import Iterator
from typing import Any, BinaryIO

import pypdfium2
from pypdfium2 import raw

_BOUNDS = struct.Struct(">QddQ")  # bytes of the PDF, CPU seconds for its pages and in all, characters of its text
_LENGTH = struct.Struct(">Q")
_MAX_MEMORY = 1 << 30  # bytes
_MAX_PAGES = 2_000
_MAX_BOOKMARKS = 500
_MAX_LINKS = 10_000
_MAX_URI = 4_096


def read_pdf(body: bytes, seconds: float, max_text: int) -> dict[str, Any]:
    """The content of a PDF, as far as it can be read within `seconds` of CPU time and `max_text` characters.

    `is_cut` says that pages were left out for one of the bounds.
    """
    ends_at = time.process_time() + seconds
    with contextlib.closing(pypdfium2.PdfDocument(body)) as document:
        texts: list[str] = []
        uris: dict[str, None] = {}
        left, is_cut = max_text, len(document) > _MAX_PAGES
        for number in range(min(len(document), _MAX_PAGES)):
            if left <= 0 or time.process_time() >= ends_at:
                is_cut = True
                break
            with contextlib.suppress(pypdfium2.PdfiumError), contextlib.closing(document[number]) as page:
                uris.update(dict.fromkeys(_uris(document, page)) if len(uris) < _MAX_LINKS else {})
                with contextlib.closing(page.get_textpage()) as text:
                    texts.append(text.get_text_bounded()[:left])
                    left -= len(texts[-1])
        return {
            "text": "\n".join(texts),
            "pages": len(document),
            "pages_read": len(texts),
            "is_cut": is_cut,
            "metadata": document.get_metadata_dict(skip_empty=True),
            "headings": [mark.get_title() for mark, _ in zip(document.get_toc(), range(_MAX_BOOKMARKS), strict=False)],
            "uris": list(uris)[:_MAX_LINKS],
        }


def _uris(document: Any, page: Any) -> Iterator[str]:
    """The URIs of the links of a page."""
    position, link = ctypes.c_int(0), raw.FPDF_LINK()
    while raw.FPDFLink_Enumerate(page, position, link):
        action = raw.FPDFLink_GetAction(link)
        if action and 0 < (length := raw.FPDFAction_GetURIPath(document, action, None, 0)) <= _MAX_URI:
            buffer = ctypes.create_string_buffer(length)
            raw.FPDFAction_GetURIPath(document, action, buffer, length)
            yield buffer.value.decode("utf-8", "replace")


def main(source: BinaryIO, sink: BinaryIO) -> None:
    """Process PDFs until stdin ends; the result for an unreadable one is an `error`."""
    while head := source.read(_BOUNDS.size):
        length, seconds, patience, max_text = _BOUNDS.unpack(head)
        body = source.read(length)
        _end_after(patience)
        try:
            found = read_pdf(body, seconds, max_text)
        except Exception as error:
            found = {"error": f"{type(error).__name__}: {error}"}
        answer = json.dumps(found).encode()
        sink.write(_LENGTH.pack(len(answer)) + answer)
        sink.flush()


def _end_after(seconds: float) -> None:
    """Let the system end this process after so many seconds of CPU time from now; they are rounded up."""
    with contextlib.suppress(ValueError, OSError):  # systems without this limit
        _, hard = resource.getrlimit(resource.RLIMIT_CPU)
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(time.process_time() + seconds), hard))


if __name__ == "__main__":
    with contextlib.suppress(ValueError, OSError):  # systems without this limit
        resource.setrlimit(resource.RLIMIT_AS, (_MAX_MEMORY, _MAX_MEMORY))
    logging.disable()  # pypdfium2 logs cyclic bookmarks to the terminal
    main(sys.stdin.buffer, sys.stdout.buffer)
