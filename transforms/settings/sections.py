"""The settings of a crawl: each section is a table of `crawl.toml`, each field a key with its default and comment.

The docstrings and comments are written to `crawl.toml`: users read them there.
"""

import dataclasses

from .content import Alarms, Documents, Index, Ranking, Storage, UsagePreferences, Watch
from .fetching import Fetch, Politeness, Robot
from .frontier import Aliases, Limits, Priority, Recrawl, Scope, Sitemaps, Traps
from .toml_values import shown
from .validate import SettingsError, problem


@dataclasses.dataclass(frozen=True)
class Settings:
    """All settings of a crawl; each field is a table of `crawl.toml`."""

    robot: Robot = Robot()
    scope: Scope = Scope()
    limits: Limits = Limits()
    priority: Priority = Priority()
    politeness: Politeness = Politeness()
    fetch: Fetch = Fetch()
    documents: Documents = Documents()
    index: Index = Index()
    watch: Watch = Watch()
    recrawl: Recrawl = Recrawl()
    sitemaps: Sitemaps = Sitemaps()
    usage: UsagePreferences = UsagePreferences()
    aliases: Aliases = Aliases()
    traps: Traps = Traps()
    ranking: Ranking = Ranking()
    alarms: Alarms = Alarms()
    storage: Storage = Storage()

    def __post_init__(self) -> None:
        for part in dataclasses.fields(self):
            for field in dataclasses.fields(part.type):  # type: ignore[arg-type]
                value = getattr(getattr(self, part.name), field.name)
                if found := problem(field, value):
                    raise SettingsError(f"{part.name}.{field.name} = {shown(field, value)}: {found}")
