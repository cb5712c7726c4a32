"""Says in words why a rule of the scope rejects a URL."""

import re

from ..settings import Scope
from .filters import MAX_QUERY_LENGTH, MAX_REDIRECTS, REPETITIONS, extension


def in_words(rule: str, url: str, scope: Scope) -> str:
    """Why a rule that `UrlFilter.reject` names rejects a canonical URL, with the setting that decides.

    >>> in_words("extension", "http://a.org/b.png", Scope())
    'documents.kinds has no kind for files named .png'
    >>> in_words("exclude", "http://a.org/print/1", Scope(exclude=["[?]sort=", "/print/"]))
    'the pattern "/print/" of scope.exclude matches it'
    >>> in_words("seasons: closed season", "http://a.org/", Scope())
    'the URL filter "seasons" of scope.filters says: closed season'
    """
    name, is_plugin, reason = rule.partition(": ")
    if is_plugin:
        return f'the URL filter "{name}" of scope.filters says: {reason}'
    if rule == "exclude":
        pattern = next((pattern for pattern in scope.exclude if re.search(pattern, url)), "")
        return f'the pattern "{pattern}" of scope.exclude matches it'
    words = {
        "deny_host": "its host is one of scope.deny_hosts, or below one",
        "extension": f"documents.kinds has no kind for files named .{extension(url)}",
        "include": "no pattern of scope.include matches it",
        "scope": f'its {scope.mode} is not that of a seed (scope.mode = "{scope.mode}")',
        "external": (
            f"its status is not asked for: scope.check_external = {str(scope.check_external).lower()},"
            f' scope.mode = "{scope.mode}"'
        ),
        "port": "its port is neither 80, 443, a seed's, nor one of scope.ports",
        "path_depth": f"its path has more than {scope.path_depth} segments (scope.path_depth)",
        "repetition": f"segments of its path repeat {REPETITIONS} times in a row",
        "query": (
            f"its query has more than {scope.parameters} parameters (scope.parameters) or {MAX_QUERY_LENGTH} characters"
        ),
        "parameter": f"a parameter is in its query more than {scope.same_parameter} times (scope.same_parameter)",
        "too_long": f"it has more than {scope.max_url_length} characters (scope.max_url_length)",
        "depth": f"it is more than {scope.depth} links from a seed (scope.depth)",
        "redirect_limit": f"more than {MAX_REDIRECTS} redirects in a row lead to it",
    }
    return words[rule]
