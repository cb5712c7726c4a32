"""The data card of a corpus: Markdown with the metadata that Hugging Face reads."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime

from ...transforms.directory.crawl_dir import program
from ...transforms.http.request_headers import Identity
from ..terminal.units import counted
from .corpus import LICENCE, OVERRIDES, Card
from .selection import BLOCKED

_REASONS = {
    BLOCKED: "the operator has blocked it",
    "gone": "the page is gone, denied or an alias today",
    "no_text": "it has no text",
    "duplicate": "it is a duplicate or near duplicate of another page",
    "noindex": "the page asks not to be indexed",
    "noarchive": "the page asks not to be shown from a copy",
    "unavailable": "its `unavailable_after` has passed",
    "reserved": "its author reserves it for training (Content-Usage, Content-Signal, RSL, TDMRep, noai)",
}


def card(
    made: Card, identity: Identity, where: str, include: Sequence[str], format_: str, rounds: int, now: datetime,
    licences: Sequence[str] = (),
) -> str:  # fmt: skip
    """The text of README.md."""
    ending = "parquet" if format_ == "parquet" else "jsonl.zst"
    codes = sorted(code for code in made.languages if re.fullmatch("[a-z]{2,3}", code))
    lines = [
        "---",
        *(["language:", *(f"- '{code}'" for code in codes)] if codes else ()),
        *(_configs(ending) if made.shards else ()),
        "---",
        "",
        "# Web corpus",
        "",
        f"{counted(made.documents, 'document')} with {counted(made.characters, 'character')},"
        f" exported on {now:%Y-%m-%d} from round {rounds}",
        f"of a crawl by {program()} as `{_code(identity.user_agent)}`.",
        "",
        "## Selection",
        "",
        "The newest version of each page for which this condition holds:",
        "",
        *(f"    {line}" for line in where.splitlines()),
        "",
        "| left out because | pages |",
        "|---|---|",
        *(f"| {text} | {made.left_out.get(name, 0)} |" for name, text in _REASONS.items() if name not in include),
        *([f"| it states no licence of those asked for | {made.left_out.get(LICENCE, 0)} |"] if licences else ()),
        "",
        "The crawl obeyed robots.txt (RFC 9309) at the time of each request.",
        *(["", f"Only pages under these licences were asked for: {', '.join(licences)}."] if licences else ()),
        *(_included(include)),
        "",
        "## Languages",
        "",
        "| language | documents |",
        "|---|---|",
        *(f"| {_code(code)} | {count} |" for code, count in _by_count(made.languages)),
        "",
        "## Licences",
        "",
        "As each page states it (`license`), by family:",
        "",
        "| licence | documents |",
        "|---|---|",
        *(f"| {name} | {count} |" for name, count in _by_count(made.licences)),
        "",
        "## Files",
        "",
        "| file | documents | bytes | SHA-256 |",
        "|---|---|---|---|",
        *(f"| {shard.name} | {shard.rows} | {shard.bytes} | `{shard.sha256}` |" for shard in made.shards),
        "",
        "Rights in the documents remain with their authors; `url` names the source of each.",
    ]
    return "\n".join(lines) + "\n"


def _configs(ending: str) -> list[str]:
    files = ["  data_files:", "  - split: train", f'    path: "data-*.{ending}"']
    return ["configs:", "- config_name: default", *files]


def _included(include: Sequence[str]) -> list[str]:
    chosen = [name for name in OVERRIDES if name in include]
    return ["", f"The operator included on purpose: {', '.join(chosen)}."] if chosen else []


def _by_count(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def _code(text: str) -> str:
    return re.sub(r"[`|<>\s]+", " ", text)
