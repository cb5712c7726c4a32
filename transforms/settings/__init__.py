"""The settings of a crawl, with validation and the `crawl.toml` format."""

from .page_rules import Extract, MainText
from .sections import (
    Alarms,
    Aliases,
    Documents,
    Fetch,
    Index,
    Limits,
    Politeness,
    Priority,
    Ranking,
    Recrawl,
    Robot,
    Scope,
    Settings,
    Sitemaps,
    Storage,
    Traps,
    Watch,
)
from .toml_file import all_values, changed_values, override, parse, render, settings_digest, without_secrets
from .validate import SettingsError
from .values import credentials, downloader, header, pin

__all__ = [
    "Alarms",
    "Aliases",
    "Documents",
    "Extract",
    "Fetch",
    "Index",
    "Limits",
    "MainText",
    "Politeness",
    "Priority",
    "Ranking",
    "Recrawl",
    "Robot",
    "Scope",
    "Settings",
    "SettingsError",
    "Sitemaps",
    "Storage",
    "Traps",
    "Watch",
    "all_values",
    "changed_values",
    "credentials",
    "downloader",
    "header",
    "override",
    "parse",
    "pin",
    "render",
    "settings_digest",
    "without_secrets",
]
