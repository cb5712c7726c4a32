"""The documentation site: `sphinx-build -W docs SITE`. It needs the extra docs, and no network."""

import posixpath
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

project = "Beamtrawl"
author = copyright = "The Beamtrawl authors"
extensions = ["myst_parser"]
myst_heading_anchors = 4  # with the names that GitHub gives them

html_theme = "furo"
html_title = "Beamtrawl"
html_show_sphinx = html_show_sourcelink = html_copy_source = False

OUTSIDE = {
    "CHANGELOG.md": "project/changelog",
    "CONTRIBUTING.md": "project/contributing",
    "SECURITY.md": "project/security",
    "benchmarks/README.md": "project/benchmarks",
}
"""Pages outside of docs/, and the pages of the site that show them."""

LISTS = ("decisions/README", "measurements/README")
"""Pages that lead to all others of their folder."""

TREE = "\n\n```{toctree}\n:hidden:\n:glob:\n\n*\n```\n"


def read(_app, page, source):
    """Fill the pages that show others, and let links lead to where their targets are in the site."""
    path = next((path for path, name in OUTSIDE.items() if name == page), None)
    if path:
        source[0] = (ROOT / path).read_text(encoding="utf-8")
    folder = posixpath.dirname(path or f"docs/{page}")

    here = posixpath.dirname(f"docs/{page}")

    def inside(link):
        target = posixpath.normpath(posixpath.join(folder, link[1]))
        target = f"docs/{OUTSIDE[target]}.md" if target in OUTSIDE else target
        return f"]({posixpath.relpath(target, here)}{link[2] or ''})"

    source[0] = re.sub(r"\]\(([^)#:\s]+)(#[^)]*)?\)", inside, source[0])
    if page in LISTS:
        source[0] += TREE


def setup(app):
    app.connect("source-read", read)
