"""The patterns of `[index]` by which the documents in an index were chosen, from the manifests alone."""

from collections.abc import Iterable

from ..urls.index_scope import IndexScope
from .manifests import Manifest


def scopes_of(manifests: Iterable[Manifest]) -> set[IndexScope]:
    """The scopes by which the documents in the index were chosen: since it was made anew, if it was."""
    found: set[IndexScope] = set()
    # Manifests are sorted by name; a step of a round that makes the index anew comes after its update step.
    for manifest in sorted(manifests, key=lambda m: (m.round, m.step == "compact", m.ended_at)):
        if manifest.step == "compact" and manifest.settings is not None:
            found = set()
        elif manifest.step != "update":
            continue
        found.add(IndexScope.recorded(manifest.settings or {}))
    return found
