"""Renders a report as one HTML file, which requests nothing and in which nothing from the crawl has effects.

All values are escaped by the template engine, invisible characters are shown by number, and the Content-Security-Policy
permits only the style sheet and the script of the report, by their hashes.
"""

import base64
import functools
import hashlib
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from .charts import COLOURS, bar, dashes, svg, table as chart_table
from .content import Alert, Chart, Figures, Report, Table
from .text import show, sort_key, visible

_TEMPLATES = "beamtrawl.runners.report"
_FORMS = {Alert: "alert", Chart: "chart", Figures: "figures", Table: "table"}


def render_report(report: Report) -> str:
    """Return the report as HTML."""
    style, script = _resource("report.css"), _resource("live.js" if report.every_s else "report.js")
    policy = (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; base-uri 'none'; form-action 'none'"
        + ("; connect-src 'self'" if report.every_s else "")
    )
    values: dict[str, Any] = {"report": report, "policy": policy, "colours": COLOURS}
    return _template().render(values, style=Markup(style), script=Markup(script))


@functools.cache
def _template() -> Template:
    environment = Environment(
        loader=PackageLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"show": show, "visible": visible, "bar": bar, "svg": svg, "sort_key": sort_key}
    environment.filters |= {"dashes": dashes, "chart_table": chart_table}
    environment.tests["form"] = lambda part, name: _FORMS.get(type(part), "text") == name
    return environment.get_template("report.html")


@functools.cache
def _resource(name: str) -> str:
    return files(_TEMPLATES).joinpath("templates", name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """The text of an inline element as a source of a Content-Security-Policy (CSP 3, 2.3.1)."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
