"""The settings of a crawl, with validation and the `crawl.toml` format."""

from .page_rules import Extract, MainText
from .sections import (
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
from .toml_file import (
    all_values,
    assignment,
    changed_values,
    override,
    parse,
    renamed,
    render,
    restored,
    settings_digest,
    without_secrets,
)
from .validate import SettingsError
from .values import credentials, downloader, header, pin
