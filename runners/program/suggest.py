"""Suggestions for misspelled commands and flags."""

import re

from ...transforms.outcomes import meant

_MEANT = {
    "stop": "Ctrl-C, or SIGTERM, ends a crawl once the requests under way are answered",
    "pause": "Ctrl-C, or SIGTERM, ends a crawl, and the same command goes on",
    "resume": "beamtrawl crawl DIR goes on where a crawl ended",
    "continue": "beamtrawl crawl DIR goes on where a crawl ended",
    "recrawl": "beamtrawl crawl DIR --again visits all pages once more",
    "init": "beamtrawl crawl DIR --seed URL starts a crawl and writes DIR/crawl.toml",
    "new": "beamtrawl crawl DIR --seed URL starts a crawl",
    "list": "a crawl is a directory, which no list holds; beamtrawl status DIR shows its state",
    "ls": "a crawl is a directory, which no list holds; beamtrawl status DIR shows its state",
}
"""What to do instead of commands that other programs have."""

_CHOICE = re.compile(r"argument (\S+): invalid choice: '(.*)' \(choose from (.*)\)", re.DOTALL)


def with_suggestion(message: str) -> str:
    """Return a message of argparse on an unknown choice with a suggestion, and without the list of many choices.

    >>> with_suggestion("argument COMMAND: invalid choice: 'crwal' (choose from 'crawl', 'search')")
    'crwal: there is no such command; did you mean crawl?'
    """
    if not (found := _CHOICE.fullmatch(message)):
        return message
    name, word, choices = found[1], found[2], re.findall(r"'([^']*)'|([\w-]+)", found[3])
    if name == "COMMAND" and word in _MEANT:
        return f"{word}: there is no such command; {_MEANT[word]}"
    hint = meant(word, [quoted or bare for quoted, bare in choices])
    return f"{word}: there is no such command{hint}" if name == "COMMAND" else message + hint
