"""The settings of a crawl: each section is a table of `crawl.toml`, each field a key with its default and comment.

The docstrings and comments are written to `crawl.toml`: users read them there.
"""

import dataclasses
import typing

from .content import Documents, Index, Ranking, Storage, UsagePreferences, Watch
from .fetching import Fetch, Politeness, Robot
from .frontier import Aliases, Limits, Priority, Recrawl, Scope, Sitemaps, Traps
from .page_rules import Extract, MainText, faults
from .toml_values import shown
from .validate import SettingsError, problem


@dataclasses.dataclass(frozen=True)
class Settings:
    """All settings of a crawl; each field is a table of `crawl.toml`, or an array of tables."""

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
    storage: Storage = Storage()
    extract: list[Extract] = dataclasses.field(default_factory=list)
    main: list[MainText] = dataclasses.field(default_factory=list)

    def __post_init__(self) -> None:
        for section in SECTIONS.values():
            for field in dataclasses.fields(section.type):  # type: ignore[arg-type]
                value = getattr(getattr(self, section.name), field.name)
                if found := problem(field, value):
                    raise SettingsError(f"{section.name}.{field.name} = {shown(field, value)}: {found}")
        for name, kind in RULES.items():
            for fault in faults(kind, [dataclasses.asdict(rule) for rule in getattr(self, name)]):
                raise SettingsError(f"rule {fault.number} of {name}: {fault.text}")


SECTIONS = {field.name: field for field in dataclasses.fields(Settings) if dataclasses.is_dataclass(field.type)}
"""The fields of Settings that are tables of `crawl.toml`, by name."""

RULES: dict[str, type] = {
    field.name: typing.get_args(field.type)[0] for field in dataclasses.fields(Settings) if field.name not in SECTIONS
}
"""The classes of the rules that are arrays of tables, by name."""
