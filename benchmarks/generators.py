"""How much of what a browser shows of a generated site is in the text of its pages, word by word.

    PYTHONPATH=. python benchmarks/generators.py DIR SELECTOR [PAGE ...] [--words]

Serves DIR, a built site, and opens its pages in headless Chromium, with scripts. What is shown of the first element
that SELECTOR matches (`innerText`, once as the page is and once with `details` open and panels of tabs shown) is
compared with `Page.text` of the same bytes, as bags of words. `missing` are words of the page as it is which the text
lacks, `surplus` those of the text that the page with everything open lacks; what the text has from beside the element
counts. Not compared: navigation, buttons, footers, and the second form of a formula. Words that `innerText` joins,
because a style alone sets them apart, are found where the text has their parts in a row.
Without PAGE: all pages of DIR.
"""

import argparse
import functools
import http.server
import re
import threading
import unicodedata
from collections import Counter
from pathlib import Path

from beamtrawl.transforms.parsing.html_page import parse_page
from tests.support.browser import Window

_LEFT_OUT = """document.querySelectorAll('nav, button:not([role=tab]), footer, .katex-mathml, mjx-assistive-mml')
    .forEach(e => e.remove());"""
_SHOWN = "(document.querySelector({!r}) || document.body)"
_OPEN = """document.querySelectorAll('details').forEach(d => d.open = true);
document.querySelectorAll('[hidden]').forEach(e => e.removeAttribute('hidden'));
document.querySelectorAll('[role=tabpanel], .tab-content, .sd-tab-content, .tabbed-block, .language-sh, .md-annotation')
    .forEach(e => e.style.setProperty('display', 'block', 'important'));"""
_HEADINGS = "[...{}.querySelectorAll('h1,h2,h3,h4,h5,h6')].filter(e => e.offsetHeight).map(e => e.innerText)"
_JOINED = 4  # letters of a word that may be one of joined ones, at least


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


def words_in_order(text: str) -> list[str]:
    """The words of a text; in lower case, which styles change."""
    return re.findall(r"\w+", unicodedata.normalize("NFKC", text).casefold())


def words(text: str) -> Counter[str]:
    """The words of a text, with their numbers."""
    return Counter(words_in_order(text))


def _heading(text: str) -> str:
    """A heading without what is no letter, and without blanks: a browser breaks lines at blocks."""
    return "".join(words(text))


def compare(window: Window, folder: Path, page: str, selector: str, tells: bool) -> tuple[int, int, int]:
    """Numbers of words that are shown, missing and too many; prints a line of one page."""
    window.open("/" + page.removesuffix("index.html"))
    window.evaluate(_LEFT_OUT)
    main = _SHOWN.format(selector)
    shown, headings = window.evaluate(f"{main}.innerText"), window.evaluate(_HEADINGS.format(main))
    window.evaluate(_OPEN)
    opened = window.evaluate(f"{main}.innerText")
    found = parse_page((folder / page).read_bytes(), f"http://a.test/{page}", "text/html", [], "robot")
    ours = words(found.text if found else "")
    missing, surplus = words(shown) - ours, ours - (words(opened) | words(shown))
    in_a_row = "".join(words_in_order(found.text if found else ""))
    missing = Counter({word: count for word, count in missing.items() if len(word) < _JOINED or word not in in_a_row})
    lost = Counter(map(_heading, headings)) - Counter(map(_heading, found.headings))
    print(
        f"{page}: {words(shown).total()} shown, {missing.total()} missing, {surplus.total()} surplus, headings: {lost}"
    )
    if tells:
        print("   missing:", " ".join(missing.elements()))
        print("   surplus:", " ".join(surplus.elements()))
    return words(shown).total(), missing.total(), surplus.total()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("selector")
    parser.add_argument("pages", nargs="*")
    parser.add_argument("--words", action="store_true", help="name the words")
    arguments = parser.parse_args()
    folder = arguments.folder
    handler = functools.partial(_Quiet, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        pages = arguments.pages or sorted(str(path.relative_to(folder)) for path in folder.rglob("*.html"))
        with Window(f"127.0.0.1:{server.server_address[1]}") as window:
            rows = [compare(window, folder, page, arguments.selector, arguments.words) for page in pages]
        server.shutdown()
    shown, missing, surplus = map(sum, zip(*rows, strict=True))
    print(f"{len(rows)} pages: {shown} words, {100 * (1 - missing / shown):.1f} % found, {surplus} surplus")


if __name__ == "__main__":
    main()
