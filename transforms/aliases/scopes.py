"""Where an alias rule holds: templates of URLs, each within the pages of one owner."""

import dataclasses
import functools
from collections.abc import Iterable

from ..urls.canonical import origin, user_folder
from ..urls.templates import template


def scope_of(url: str) -> str:
    """The template of a canonical URL; the folder of a user is kept as it is, because its pages have an owner.

    >>> scope_of("http://a.org/docs/7/x.html?id=1"), scope_of("http://a.org/~eve7/item?id=1")
    ('/docs/#/*.html?id', '/~eve7/*?id')
    """
    target = url[len(origin(url)) :]
    folder = user_folder(target)
    return folder + template(target[len(folder) :])


@dataclasses.dataclass(frozen=True)
class Where:
    """The scopes in which a rule is used, and those in which it was dropped.

    It holds in a further scope too, as long as it is used in another one of the same owner and was dropped in none of
    them; `sample` decides how many pages of that scope are fetched to verify it.
    """

    used: frozenset[str] = frozenset()
    dropped: frozenset[str] = frozenset()

    @classmethod
    def of(cls, states: Iterable[tuple[str, str]], *used: str) -> "Where":
        """From pairs of scope and state; `used` are the states that count as such."""
        pairs = list(states)
        return cls(
            frozenset(scope for scope, state in pairs if state in used),
            frozenset(scope for scope, state in pairs if state == "dropped"),
        )

    @functools.cached_property
    def _areas(self) -> frozenset[str]:
        return frozenset(map(user_folder, self.used)) - frozenset(map(user_folder, self.dropped))

    def is_trusted(self, scope: str) -> bool:
        """Whether other scopes of the same owner show that the rule is right."""
        return user_folder(scope) in self._areas

    def holds(self, scope: str) -> bool:
        return scope in self.used or (scope not in self.dropped and self.is_trusted(scope))
