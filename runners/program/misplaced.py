"""Explains words of a command line that are in another one's place."""

import re
import shlex
from collections.abc import Callable, Collection, Sequence

from ...transforms.directory.crawl_words import holds_crawl
from ...transforms.outcomes import meant

_WEB = re.compile("https?://", re.IGNORECASE)
_SITE = re.compile(r"(https?://.|[\w-]+(\.[\w-]+)+(:\d+)?(/|$))", re.IGNORECASE)
_DASHED = re.compile(r"--?[^-\d\s]\S*$")


def misplaced(
    program: str, directory: str, others: Sequence[str], is_crawl: Callable[[str], bool] = holds_crawl
) -> str | None:
    """Return one line with the right order, if there is a URL or another word in the place of the crawl directory.

    `program` is the command, such as `beamtrawl search`; `others` are its other words that are no flags.

    >>> misplaced("beamtrawl search", "moon", ["tides", "./demo"], is_crawl="./demo".__eq__)
    'moon is in the place of the crawl directory, which comes first: beamtrawl search ./demo moon tides'
    >>> misplaced("beamtrawl crawl", "http://a.example/", [], is_crawl="./demo".__eq__)
    'http://a.example/ is in the place of the crawl directory, which comes first: beamtrawl crawl DIR --seed http://a.example/'
    >>> misplaced("beamtrawl search", "./demo", ["moon"], is_crawl="./demo".__eq__)
    """
    takes_several = program.endswith((" serve", " mcp"))  # all words are crawls, in any order
    found = None if takes_several or is_crawl(directory) else next((word for word in others if is_crawl(word)), None)
    if found is None and not _WEB.match(directory):
        return None
    found = found or next((word for word in others if word.startswith((".", "/", "~"))), None)
    rest = [directory, *(word for word in others if word != found)]
    if program.endswith(" crawl"):
        rest = ["--seed", directory]
    line = f"{program} {shlex.join([found or 'DIR', *rest])}"
    return f"{directory} is in the place of the crawl directory, which comes first: {line}"


def unrecognized(program: str, directory: str, words: Sequence[str]) -> str | None:
    """Return one line on words that a command has no place for, if they mean something else; they come behind it.

    >>> unrecognized("beamtrawl crawl", "./x", ["a.example"])
    'a.example: to start from a URL, give --seed: beamtrawl crawl ./x --seed https://a.example'
    >>> unrecognized("beamtrawl status", "./x", ["a.example"])
    """
    if program.endswith(" crawl") and words and all(map(_SITE.match, words)):
        urls = [word if _WEB.match(word) else f"https://{word}" for word in words]
        seeds = [part for url in urls for part in ("--seed", url)]
        return f"{words[0]}: to start from a URL, give --seed: {program} {shlex.join([directory, *seeds])}"
    return None


def dashed_query(words: Sequence[str], flags: Collection[str]) -> str | None:
    """Return one line on a word behind `search` that looks like a flag and like none of `flags`, if there is one.

    >>> dashed_query(["./demo", "moon", "-tides", "--json"], ["--json"])
    "-tides is no flag; a query with such a word is one argument, behind another word or a blank: 'WORD -tides'"
    >>> dashed_query(["./demo", "moon -tides", "-5", "--json", "--jsom"], ["--json"])
    """
    dashed = next((word for word in words if _DASHED.match(word) and not meant(word.partition("=")[0], flags)), None)
    if dashed is None:
        return None
    return (
        f"{dashed} is no flag; a query with such a word is one argument, behind another word or a blank:"
        f" {shlex.quote(f'WORD {dashed}')}"
    )
