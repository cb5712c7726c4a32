"""The settings of a crawl directory: those of its `crawl.toml`, or what its manifests know of them."""

from collections.abc import Sequence
from typing import Any

from ..settings import Settings, parse, restored
from .crawl_dir import CrawlDir, Manifest

SETTINGS_FILE = "crawl.toml"


def has_lost_settings(directory: CrawlDir) -> bool:
    """Return whether a crawl has steps and no `crawl.toml`."""
    return not directory.exists(SETTINGS_FILE) and bool(directory.manifests())


def stored_settings(directory: CrawlDir) -> Settings:
    """Return the settings in `crawl.toml`; without it those of the last round, as far as known, or the defaults.

    These are right to read a crawl by. What requests or adds something refuses a crawl with lost settings instead
    (`session.refuse_lost_settings`). Raises SettingsError.
    """
    if directory.exists(SETTINGS_FILE):
        return parse(directory.read_text(SETTINGS_FILE))
    return restored(last_settings(directory.manifests()) or {})


def last_settings(manifests: Sequence[Manifest]) -> dict[str, Any] | None:
    """Return the settings of the last round, as changes of the defaults; None if no manifest has them."""
    of_rounds = [m.settings for m in manifests if m.step == "fetch" and m.settings is not None]
    return of_rounds[-1] if of_rounds else None
