"""Lucene as a peer of search: `java/LuceneSearch.java`, which benchmarks run on their documents and queries.

It needs a JDK of version 21 or later (JAVA_HOME, or `java` on the PATH) and Maven, which fetches Lucene once.
"""

import hashlib
import os
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

PROGRAM = Path(__file__).parent / "java"
BRIEF = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]  # of Java, for a run of a second

STANDARD = "standard.StandardAnalyzer"
ONE_TEXT = "1.2:0.75:text=1"
"""Lucene's defaults over one field, `text`."""

ANALYZERS = {
    **{"ar": "ar.Arabic", "bg": "bg.Bulgarian", "bn": "bn.Bengali", "ca": "ca.Catalan", "ckb": "ckb.Sorani"},
    **{
        "cs": "cz.Czech",
        "da": "da.Danish",
        "de": "de.German",
        "el": "el.Greek",
        "en": "en.English",
        "es": "es.Spanish",
    },
    **{"et": "et.Estonian", "eu": "eu.Basque", "fa": "fa.Persian", "fi": "fi.Finnish", "fr": "fr.French"},
    **{"ga": "ga.Irish", "gl": "gl.Galician", "hi": "hi.Hindi", "hu": "hu.Hungarian", "hy": "hy.Armenian"},
    **{"id": "id.Indonesian", "it": "it.Italian", "ja": "ja.Japanese", "ko": "ko.Korean", "lt": "lt.Lithuanian"},
    **{"lv": "lv.Latvian", "ne": "ne.Nepali", "nl": "nl.Dutch", "no": "no.Norwegian", "pl": "pl.Polish"},
    **{"pt": "pt.Portuguese", "ro": "ro.Romanian", "ru": "ru.Russian", "sr": "sr.Serbian", "sv": "sv.Swedish"},
    **{"ta": "ta.Tamil", "te": "te.Telugu", "th": "th.Thai", "tr": "tr.Turkish", "uk": "uk.UkrainianMorfologik"},
    **{"zh": "cn.smart.SmartChinese"},
}
"""The analyzer of each language that Lucene has one for, without its last word, Analyzer."""


def analyzers(language: str) -> list[str]:
    """The standard analyzer, and those of a language; for Chinese, Japanese and Korean also that of pairs."""
    own = [f"{ANALYZERS[language]}Analyzer"] if language in ANALYZERS else []
    return [STANDARD, *own, *(["cjk.CJKAnalyzer"] if language in ("zh", "ja", "ko") else [])]


def search(
    documents: Iterable[Mapping[str, str]],
    queries: Sequence[str],
    names: Sequence[str],
    settings: Sequence[str] = (ONE_TEXT,),
    depth: int = 10,
) -> dict[tuple[str, str], list[list[str]]]:
    """For each (analyzer, setting), the ids of the best documents of each query.

    `documents` have an `id` first, and the same fields. Raises CalledProcessError if Maven or Java fail, and
    FileNotFoundError if there is none.
    """
    with tempfile.TemporaryDirectory() as scratch:
        files = [Path(scratch) / "documents.tsv", Path(scratch) / "queries.tsv"]
        rows = [list(document.items()) for document in documents]
        lines = [[name for name, _ in rows[0]], *([value for _, value in row] for row in rows)]
        _write(files[0], lines)
        _write(files[1], [[str(number), text] for number, text in enumerate(queries)])
        made = _classes()
        command = [_java("java"), *BRIEF, "-cp", f"{made}:{made}/*", "LuceneSearch", *map(str, files), str(depth)]
        printed = subprocess.run([*command, ",".join(names), ",".join(settings)], capture_output=True, check=True)
    found: defaultdict[tuple[str, str], list[list[str]]] = defaultdict(list)
    for line in printed.stdout.decode().splitlines():
        name, setting, _, *ids = line.split("\t")
        found[name, setting].append(ids)
    return dict(found)


def _write(file: Path, lines: Iterable[Iterable[str]]) -> None:
    # Line ends, as Java and Unicode know them, are spaces.
    file.write_text("".join("\t".join(re.sub(r"\s", " ", value) for value in line) + "\n" for line in lines), "utf-8")


def _java(program: str) -> str:
    """`java` or `javac`."""
    home = os.environ.get("JAVA_HOME")
    return f"{home}/bin/{program}" if home else program


def _classes() -> Path:
    """The folder of Lucene's jars and of the compiled program; made once for each version of them."""
    sources = [PROGRAM / "pom.xml", PROGRAM / "LuceneSearch.java"]
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in sources)).hexdigest()[:16]
    ready = Path(tempfile.gettempdir()) / f"beamtrawl-lucene-{digest}"
    if not ready.exists():
        made = Path(tempfile.mkdtemp(dir=ready.parent))
        options = ["-q", "-B", "-f", str(sources[0]), f"-DoutputDirectory={made}"]
        subprocess.run(["mvn", *options, "dependency:copy-dependencies"], check=True, stdout=sys.stderr)
        subprocess.run([_java("javac"), "-cp", f"{made}/*", "-d", str(made), str(sources[1])], check=True)
        made.rename(ready)
    return ready
