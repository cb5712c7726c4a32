"""What a complete explanation of a URL holds, as `explain --json` prints it."""

from collections.abc import Iterator
from typing import Any

_VISITED = ("fetched", "redirected", "gone", "failed", "denied")


def missing_parts(found: dict[str, Any]) -> Iterator[str]:
    """Yield what an explanation lacks; nothing if it is complete.

    - where the URL was found: it is a seed, or a page, redirect or path from a seed leads to it
    - its canonical form, the form by which it is known, and its host
    - for a URL without a state: the rule, nofollow, alias or depth that kept it out
    - for one that waits: its row of the frontier
    - for one that was visited: its visits with outcomes, the robots.txt that decided, the target of a redirect, the
      line or status that denied it, and the segment of the index or why it is in none
    """
    state = found["state"]
    yield from (name for name in ("url", "dedup_form", "url_key", "host", "conclusion") if not found[name])
    if not (found["seed"] or found["referrers"] or found["redirected_from"] or len(found["path"]) > 1):
        yield "where it was found"
    if state is None:
        reasons = (found["rejected"], found["aliases"], not found["followed"])
        if not any(reasons):
            yield "why it is not in the crawl"
        return
    if not found["seed"] and len(found["path"]) < 2:
        yield "the first path from a seed"
    if state["state"] == "due" and not found["frontier"]:
        yield "its row of the frontier"
    if state["state"] in _VISITED:
        yield from _of_visits(found, state)


def _is_denied(robots: dict[str, Any]) -> bool:
    """Whether a line of robots.txt, or its status, denies a URL."""
    return not robots["allows"] and bool(robots["line"] or robots["verdict"] == "deny_all")


def _of_visits(found: dict[str, Any], state: dict[str, Any]) -> Iterator[str]:
    if not found["visits"] or not all(visit["outcome"] for visit in found["visits"]):
        yield "its visits"
    if found["robots"] is None:
        yield "its robots.txt"
    elif state["reason"] == "denied_robots" and not _is_denied(found["robots"]):
        yield "what of robots.txt denies it"
    if state["state"] == "redirected" and not any(visit["redirect_to"] for visit in found["visits"]):
        yield "the target of its redirect"
    if state["state"] == "fetched" and not (found["indexed"] or "not in the index" in found["conclusion"]):
        yield "whether it is in the index"
