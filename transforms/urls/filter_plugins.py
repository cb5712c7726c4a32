"""URL filters: functions of installed packages that reject URLs for reasons that settings cannot express."""

from collections.abc import Callable, Sequence

from .. import plugins

Filter = Callable[[str], str | None]
"""The object of an entry point of `beamtrawl.url_filters`: why a canonical URL is not crawled; None if it may be.

It is a pure function of the URL: verdicts are cached, and several threads and workers call it.
"""

MAX_REASON = 60
"""Maximum length of a reason, which is one value of a column for many URLs."""


def load_filters(names: Sequence[str]) -> list[tuple[str, Filter]]:
    """The filters of these names, with their names; PluginError if one cannot be loaded."""
    return [(name, plugins.load(plugins.URL_FILTERS, name)) for name in names]


def reject_by_plugin(filters: Sequence[tuple[str, Filter]], url: str) -> str | None:
    """`NAME: REASON` of the first filter that rejects a URL, or None.

    A filter that fails rejects the URL, with the type of the error as the reason: what it would have excluded is
    unknown, and requests cannot be taken back.
    """
    for name, reject in filters:
        try:
            reason = reject(url)
            if reason is not None:
                return f"{name}: {_line(reason)}"
        except Exception as error:
            return f"{name}: error {type(error).__name__}"
    return None


def _line(reason: str) -> str:
    """A reason as one short line that can be stored."""
    return " ".join(reason.encode("utf-8", "replace").decode().split())[:MAX_REASON]
