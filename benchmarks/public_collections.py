"""Public collections in the form of `judged_queries.py`, from clones of the repositories that publish them.

    python benchmarks/public_collections.py CLONES INTO

CLONES has a clone of each repository, named OWNER+NAME; those that are missing are named and left out. INTO gets a
folder for each collection. There are three kinds:

- Questions about passages (SQuAD and sets of its form), in SOURCES: a passage is a document, and the only one that is
  relevant to its questions. Questions without an answer are left out.
- `ntrex-*`: the news of NTREX-128, translated by people into 128 languages. Five sentences of a text are a document;
  its headline is a query, to which all documents of the text are relevant. The languages are those of NTREX.
- Abstracts with judged queries (ADI, CACM, CISI, Cranfield, MED), in SMART's form, LISA and NPL.

A collection has at most 1,000 queries, drawn at random with a seed. No data is kept in this project. Licences, as the
repositories tell them, are in SOURCES; NTREX-128 is CC BY-SA 4.0; the abstracts have been free for research since the
sixties to eighties.
"""

import argparse
import gzip
import itertools
import json
import random
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

QUERIES = 1_000
SENTENCES = 5


class Source(NamedTuple):
    """A set of questions about passages."""

    repository: str
    files: tuple[str, ...]
    language: str
    licence: str


XQUAD = "google-deepmind+xquad"
SOURCES = {
    **{
        f"xquad-{code}": Source(XQUAD, (f"xquad.{code}.json",), code, "CC BY-SA 4.0")
        for code in ("ar", "de", "el", "en", "es", "hi", "ro", "ru", "th", "tr", "vi", "zh")
    },
    "amqa-am": Source("semantic-systems+amharic-qa", ("AmQA_Dataset.json",), "am", "MIT"),
    "arcd-ar": Source("husseinmozannar+SOQAL", ("data/arcd.json",), "ar", "MIT"),
    "cmrc-zh": Source("ymcui+cmrc2018", ("squad-style-data/cmrc2018_dev.json",), "zh", "CC BY-SA 4.0"),
    "drcd-zh": Source("DRCKnowledgeTeam+DRCD", ("DRCD_dev.json",), "zh", "CC BY-SA 3.0"),
    "faquad-pt": Source("liafacom+faquad", ("data/dataset.json",), "pt", "CC BY 4.0"),
    "hebrew-he": Source(
        "NNLP-IL+Hebrew-Question-Answering-Dataset",
        ("data/data v1.0/val.json", "data/data v1.0/test.json"),
        "he",
        "CC BY 4.0",
    ),
    "iapp-th": Source("iapp-technology+iapp-wiki-qa-dataset", ("squad_format/data/test.jsonl",), "th", "MIT"),
    "idk-id": Source(
        "rifkiaputri+IDK-MRC", ("dataset/idk_mrc/test.json", "dataset/idk_mrc/valid.json"), "id", "none told"
    ),
    "jsquad-ja": Source("yahoojapan+JGLUE", ("datasets/jsquad-v1.3/valid-v1.3.json",), "ja", "CC BY-SA 4.0"),
    "kazqad-kk": Source(
        "IS2AI+KazQAD",
        ("data/reading-comprehension/kazqad-reading-comprehension-v1.0-kk-validation.jsonl",),
        "kk",
        "CC BY-SA 4.0",
    ),
    "korquad-ko": Source("korquad+korquad.github.io", ("dataset/KorQuAD_v1.0_dev.json",), "ko", "CC BY-ND 2.0 KR"),
    "norquad-no": Source(
        "ltgoslo+NorQuAD",
        tuple(f"data/evaluation/all/{part}_dataset_flattened.json" for part in ("test", "validation")),
        "no",
        "CC0",
    ),
    "persian-fa": Source("sajjjadayobi+PersianQA", ("dataset/pqa_test.json",), "fa", "none told for the data"),
    "squad-es": Source(
        "ccasimiro88+TranslateAlignRetrieve", ("SQuAD-es-v1.1/dev-v1.1-es_small.json",), "es", "CC BY 4.0"
    ),
    "squad-it": Source("crux82+squad-it", ("SQuAD_it-test.json.gz",), "it", "CC BY-SA 4.0"),
    "squad-sv": Source("susumu2357+SQuAD_v2_sv", ("squad_dev_v2_sv.json.gz",), "sv", "Apache 2.0"),
    "tquad-tr": Source("TQuad+turkish-nlp-qa-dataset", ("dev-v0.1.json",), "tr", "none told"),
}

NTREX = "MicrosoftTranslator+NTREX"
NTREX_LANGUAGES = {
    **{"amh": "am", "ben": "bn", "bod": "bo", "bul": "bg", "cat": "ca", "ces": "cs", "ckb-Arab": "ckb", "cym": "cy"},
    **{"dan": "da", "div": "dv", "dzo": "dz", "est": "et", "eus": "eu", "fas": "fa", "fin": "fi", "fra": "fr"},
    **{"gle": "ga", "glg": "gl", "guj": "gu", "hau": "ha", "heb": "he", "hrv": "hr", "hun": "hu", "hye": "hy"},
    **{"ind": "id", "isl": "is", "ita": "it", "jpn": "ja", "kan": "kn", "kat": "ka", "khm": "km", "kor": "ko"},
    **{"lao": "lo", "lav": "lv", "lit": "lt", "mal": "ml", "mar": "mr", "mkd": "mk", "mon": "mn", "mya": "my"},
    **{"nep": "ne", "nld": "nl", "nob": "no", "pan": "pa", "pol": "pl", "por": "pt", "pus": "ps", "sin": "si"},
    **{
        "slk": "sk",
        "slv": "sl",
        "snd-Arab": "sd",
        "sqi": "sq",
        "srp-Cyrl": "sr",
        "swa": "sw",
        "swe": "sv",
        "tam": "ta",
    },
    **{"tel": "te", "tha": "th", "tir": "ti", "uig": "ug", "ukr": "uk", "urd": "ur", "uzb": "uz", "vie": "vi"},
    **{"yor": "yo", "zho-TW": "zh"},
}

SMART = {  # the repository, and the files of documents, queries and judgments
    "adi": ("lailaglez+belief-network-irs", "adi/ADI.ALL", "adi/ADI.QRY", "adi/ADI.REL"),
    "cacm": (
        "aldidoanta+IRSystem",
        *(f"res/document/CACM/{name}" for name in ("cacm.all", "query.text", "qrels.text")),
    ),
    "cisi": ("aldidoanta+IRSystem", *(f"res/document/CISI/CISI.{end}" for end in ("ALL", "QRY", "REL"))),
    "cranfield": ("lailaglez+belief-network-irs", "cran/cran.all.1400", "cran/cran.qry", "cran/cranqrel"),
    "med": ("lailaglez+belief-network-irs", "med/MED.ALL", "med/MED.QRY", "med/MED.REL"),
}

Judgments = Iterable[tuple[str, str, int]]  # query, document and gain


class Clones(NamedTuple):
    """Clones of repositories, below a folder."""

    folder: Path

    def read(self, repository: str, path: str) -> str:
        """A file of the newest commit, unpacked if its name ends in .gz."""
        command = ["git", "-C", str(self.folder / repository), "show", f"HEAD:{path}"]
        data = subprocess.run(command, check=True, capture_output=True).stdout
        text = (gzip.decompress(data) if path.endswith(".gz") else data).decode("utf-8", "replace")
        return text.replace("\r\n", "\n")


def write(folder: Path, docs: Sequence[Mapping[str, str]], queries: Mapping[str, str], judgments: Judgments) -> None:
    """Write a collection, with at most QUERIES queries."""
    judgments = list(judgments)
    judged = sorted({query for query, _, _ in judgments} & set(queries))
    asked = set(random.Random(0).sample(judged, min(QUERIES, len(judged))))
    folder.mkdir(parents=True, exist_ok=True)
    rows = {"docs": docs, "queries": [{"id": i, "text": text} for i, text in queries.items() if i in asked]}
    for name, lines in rows.items():
        (folder / f"{name}.jsonl").write_text("".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines))
    lines = [f"{query}\t{doc}\t{gain}\n" for query, doc, gain in judgments if query in asked]
    (folder / "qrels.tsv").write_text("".join(lines))
    print(f"{folder.name}: {len(docs)} documents, {len(asked)} queries", flush=True)


def passages(found: Any) -> Iterator[tuple[str, list[str]]]:
    """The passages of a set in any of the forms of SQuAD, and the questions that each answers.

    >>> list(passages({"data": [{"context": "It rained.", "qas": [{"question": "Did it?"}]}]}))
    [('It rained.', ['Did it?'])]
    """
    if isinstance(found, list):
        for each in found:
            yield from passages(each)
    elif isinstance(found, dict) and "context" in found:
        asked = found.get("qas", [found])
        yield found["context"], [each["question"] for each in asked if each.get("answers", True)]
    elif isinstance(found, dict):
        yield from passages(list(found.values()))


def questions(source: Source, clones: Clones, folder: Path) -> None:
    texts: dict[str, str] = {}  # the number of each
    queries, judgments = {}, []
    for path in source.files:
        text = clones.read(source.repository, path)
        lines = text.splitlines() if ".jsonl" in path else [text]
        for passage, asked in passages([json.loads(line) for line in lines]):
            number = texts.setdefault(passage, str(len(texts) + 1))
            for question in asked:
                queries[key := str(len(queries) + 1)] = question
                judgments.append((key, number, 1))
    docs = [{"id": number, "title": "", "text": text, "language": source.language} for text, number in texts.items()]
    write(folder, docs, queries, judgments)


def news(code: str, clones: Clones, folder: Path) -> None:
    names = clones.read(NTREX, "DOCUMENT_IDS.tsv").split()
    lines = clones.read(NTREX, f"NTREX-128/newstest2019-ref.{code}.txt").split("\n")
    docs, queries, judgments = [], {}, []
    for name, rows in itertools.groupby(zip(names, lines, strict=False), key=lambda row: row[0]):
        headline, *sentences = [sentence for _, sentence in rows]
        queries[name] = headline
        for start in range(0, len(sentences), SENTENCES):
            text = " ".join(sentences[start : start + SENTENCES])
            docs.append({"id": f"{name}.{start}", "title": "", "text": text, "language": NTREX_LANGUAGES[code]})
            judgments.append((name, f"{name}.{start}", 1))
    write(folder, docs, queries, judgments)


def records(text: str) -> Iterator[dict[str, str]]:
    """The records of a file in SMART's form, by the letters of their parts."""
    for record in re.split(r"^\.I ", text, flags=re.MULTILINE)[1:]:
        number, *parts = re.split(r"^\.([A-Z])[ \t]*\n", record, flags=re.MULTILINE)
        yield {"I": number.strip()} | dict(zip(parts[::2], parts[1::2], strict=True))


def smart(name: str, clones: Clones, folder: Path) -> None:
    repository, *paths = SMART[name]
    documents, asked, judged = (clones.read(repository, path) for path in paths)
    docs = []
    for record in records(documents):
        title, text = (" ".join(record.get(part, "").split()) for part in "TW")
        docs.append({"id": record["I"], "title": title, "text": text.removeprefix(title), "language": "en"})
    # Cranfield's judgments number the queries as they stand, and grade from 1, the best, to 4; -1 marks the paper that
    # a query was written from. Those of the others have no grades.
    graded = name == "cranfield"
    texts = [(record["I"], " ".join(record.get("W", "").split())) for record in records(asked)]
    queries = {str(place) if graded else number: text for place, (number, text) in enumerate(texts, 1) if text}
    rows = [line.split() for line in judged.splitlines() if line.strip()]
    gains = {"1": 4, "2": 3, "3": 2, "4": 1, "-1": 4, "5": 0} if graded else {}
    write(folder, docs, queries, [(str(int(row[0])), row[1], gains.get(row[2], 1)) for row in rows])


def lisa(clones: Clones, folder: Path) -> None:
    documents, asked, judged = (
        clones.read("zer01ike+Search_BM25", f"lisa/lisa.{name}.txt") for name in ("all", "queries", "relevance")
    )
    docs = []
    for record in filter(str.strip, re.split(r"^\*+\s*$", documents, flags=re.MULTILINE)):
        head, _, text = record.strip().partition("\n\n")
        number, _, title = head.partition("\n")
        title, text = " ".join(title.split()), " ".join(text.split())
        docs.append({"id": number.split()[1], "title": title, "text": text, "language": "en"})
    pairs = [each.strip().partition("\n") for each in asked.split("#") if each.strip()]
    numbers = iter([int(word) for word in judged.split()])
    judgments = [(str(query), str(doc), 1) for query in numbers for doc in itertools.islice(numbers, next(numbers))]
    write(folder, docs, {number.strip(): " ".join(text.split()) for number, _, text in pairs}, judgments)


def npl(clones: Clones, folder: Path) -> None:
    def parts(name: str) -> dict[str, list[str]]:
        texts = re.split(
            r"^\s*/\s*$", clones.read("stefreschke+Information-Retrieval", f"npl/{name}"), flags=re.MULTILINE
        )
        return {number: words for number, *words in (text.split() for text in texts if text.strip())}

    docs = [{"id": i, "title": "", "text": " ".join(words), "language": "en"} for i, words in parts("doc-text").items()]
    queries = {number: " ".join(words).lower() for number, words in parts("query-text").items()}
    write(folder, docs, queries, [(query, doc, 1) for query, found in parts("rlv-ass").items() for doc in found])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clones", type=Path)
    parser.add_argument("into", type=Path)
    arguments = parser.parse_args()
    clones, missing = Clones(arguments.clones), set()
    makers = {
        **{name: (source.repository, questions, source) for name, source in SOURCES.items()},
        **{f"ntrex-{code}": (NTREX, news, code) for code in NTREX_LANGUAGES},
        **{name: (files[0], smart, name) for name, files in SMART.items()},
    }
    for name, (repository, make, what) in makers.items():
        if (clones.folder / repository).exists():
            make(what, clones, arguments.into / name)
        else:
            missing.add(repository)
    for name, repository, each in (
        ("lisa", "zer01ike+Search_BM25", lisa),
        ("npl", "stefreschke+Information-Retrieval", npl),
    ):
        if (clones.folder / repository).exists():
            each(clones, arguments.into / name)
        else:
            missing.add(repository)
    for repository in sorted(missing):
        print(f"no clone of {repository}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
