"""Program that reads PDFs with PDFium; `pdf.py` starts it."""

import contextlib
import ctypes
import logging
import re
import time
from collections.abc import Iterator
from typing import Any

import pypdfium2
from pypdfium2 import raw

from .guarded_process import serve

_MAX_PAGES = 2_000
_MAX_BOOKMARKS = 500
_MAX_LINKS = 10_000
_MAX_URI = 4_096
_HYPHEN = re.compile(r"(?<=(\w))\x02(?=(\w))|\x02")


def read_pdf(body: bytes, seconds: float, max_text: int) -> dict[str, Any]:
    """The content of a PDF, as far as it can be read within `seconds` of CPU time and `max_text` characters.

    `is_cut` says that pages were left out for one of the bounds.
    """
    ends_at = time.process_time() + seconds
    with contextlib.closing(pypdfium2.PdfDocument(body)) as document:
        texts: list[str] = []
        numbers: list[int] = []  # of the pages of these
        uris: dict[str, None] = {}
        left, is_cut = max_text, len(document) > _MAX_PAGES
        for number in range(min(len(document), _MAX_PAGES)):
            if left <= 0 or time.process_time() >= ends_at:
                is_cut = True
                break
            with contextlib.suppress(pypdfium2.PdfiumError), contextlib.closing(document[number]) as page:
                uris.update(dict.fromkeys(_uris(document, page)) if len(uris) < _MAX_LINKS else {})
                with contextlib.closing(page.get_textpage()) as text:
                    texts.append(joined(text.get_text_bounded()[:left].replace("\f", "\n")))
                    numbers.append(number + 1)
                    left -= len(texts[-1])
        return {
            "text": "\f".join(texts),
            "numbers": numbers,
            "pages": len(document),
            "pages_read": len(texts),
            "is_cut": is_cut,
            "metadata": document.get_metadata_dict(skip_empty=True),
            "headings": [mark.get_title() for mark, _ in zip(document.get_toc(), range(_MAX_BOOKMARKS), strict=False)],
            "uris": list(uris)[:_MAX_LINKS],
        }


def joined(text: str) -> str:
    """The text with words that a hyphen divides at a line end in one piece: PDFium marks these hyphens by U+0002.

    A hyphen between a capital and a small letter, or beside a digit, is part of the word.

    >>> joined("a light\x02house in X\x02ray")
    'a lighthouse in X-ray'
    """
    return _HYPHEN.sub(_hyphen, text) if "\x02" in text else text


def _hyphen(mark: re.Match[str]) -> str:
    before, after = mark.groups("")
    return "" if before.isalpha() and after.isalpha() and before.isupper() == after.isupper() else "-"


def _uris(document: Any, page: Any) -> Iterator[str]:
    """The URIs of the links of a page."""
    position, link, buffer = ctypes.c_int(0), raw.FPDF_LINK(), ctypes.create_string_buffer(_MAX_URI)
    while raw.FPDFLink_Enumerate(page, position, link):
        action = raw.FPDFLink_GetAction(link)
        if action and 0 < raw.FPDFAction_GetURIPath(document, action, buffer, _MAX_URI) <= _MAX_URI:
            yield buffer.value.decode("utf-8", "replace")


if __name__ == "__main__":
    logging.disable()  # pypdfium2 logs cyclic bookmarks to the terminal
    serve(read_pdf)
