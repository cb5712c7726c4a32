"""Names of traps, as patterns of URLs: the templates of one trap may differ in folders, extensions or parameters."""

from collections.abc import Collection, Iterable, Iterator

from ..urls.templates import family
from .template_rows import ANY, template_part

_MOST = 3  # names of a trap; a general one replaces more


def group_templates(templates: Collection[str]) -> dict[str, tuple[str, ...]]:
    """The names of the trap to which each template of a host belongs; templates of one trap have equal names.

    Paths belong together if they have the first folder, the extension or all but the first folder in common, queries if
    they have the path or a parameter in common. The row that new templates share is left out if there are others.

    >>> group_templates(["/news/*.html?replytocom", "/guides/*.html?replytocom", "*"])["/guides/*.html?replytocom"]
    ('/*?replytocom*',)
    >>> group_templates(["/in/*/*.html", "/in/*/*/", "/maze/*/*"])["/in/*/*/"]
    ('/in/**.html', '/in/**/')
    """
    groups: list[tuple[set[str], list[str]]] = []  # marks and templates
    for template in sorted({one for one in templates if template_part(one) != ANY} or templates):
        marks, members = set(_marks(template_part(template))), [template]
        for group in [group for group in groups if group[0] & marks]:
            groups.remove(group)
            marks, members = marks | group[0], members + group[1]
        groups.append((marks, members))
    names = [(_names(members), members) for _, members in groups]
    return {template: of_group for of_group, members in names for template in members}


def pattern_of(host: str, name: str) -> str:
    """The HOST/PATTERN that releases a trap of this name.

    >>> pattern_of("a.org", "/in/**.html"), pattern_of("a.org", "*")
    ('a.org/in/*.html', 'a.org/*')
    """
    return host + "/" + name.removeprefix("/").replace("**", "*")


def _marks(template: str) -> Iterator[str]:
    path, is_query, query = template.partition("?")
    if is_query:
        yield "path " + path
        yield from (f"parameter {name}" for name in query.split("&"))
    else:
        first, _, end = family(template).partition("/**")
        yield "folder " + first
        yield f"end {end or template.removeprefix(first)}"


def _names(members: Iterable[str]) -> tuple[str, ...]:
    names = sorted({_name(template_part(template)) for template in members})
    if len(names) <= _MOST:
        return tuple(names)
    ends = {name.partition("/**")[2] for name in names}
    return ("/*?**",) if "?" in names[0] else (f"/**{ends.pop()}" if len(ends) == 1 else "/**",)


def _name(template: str) -> str:
    path, is_query, query = template.partition("?")
    if is_query:
        return f"/*?{query.replace('&', '*')}*"
    return family(path) if path.startswith("/") else path
