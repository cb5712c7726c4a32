"""How well main text is told from boilerplate on articles, forums, shops, listings and other kinds of pages.

    PYTHONPATH=. python benchmarks/labelled_pages.py WCXB [--split dev|test] [--with resiliparse trafilatura]

WCXB is a clone of https://github.com/Murrough-Foley/web-content-extraction-benchmark (CC BY 4.0): pages of 1,613
domains with their main content as text, which people have reviewed. No page of it is kept in this project. Compares
words as the set's own script does: runs of letters, digits and underscores in lower case, as often as they stand there.
The means over pages of precision, recall and F1, by the set's kinds of pages, and of all.
"""

import argparse
import gzip
import json
import re
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from statistics import fmean

from beamtrawl.transforms.parsing import charsets
from benchmarks.main_text import OTHERS, ours, whole


def score(text: str, content: str) -> tuple[float, float, float]:
    """Precision, recall and F1 of the words of a text."""
    found, wanted = (Counter(re.findall(r"\w+", each.lower())) for each in (text, content))
    if not (found and wanted):
        return (float(found == wanted),) * 3
    common = (found & wanted).total()
    precision, recall = common / found.total(), common / wanted.total()
    return precision, recall, 2 * precision * recall / (precision + recall) if common else 0.0


def kind_of(label: dict[str, dict[str, dict[str, str]]]) -> str:
    kind = label["_internal"]["page_type"]["primary"]
    return "collection" if kind == "category" else kind


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wcxb", type=Path, metavar="WCXB")
    parser.add_argument("--split", choices=("dev", "test"), default="test")
    parser.add_argument("--with", nargs="*", default=[], choices=OTHERS, dest="others")
    arguments = parser.parse_args()
    folder = arguments.wcxb / arguments.split
    pages = []
    for file in sorted((folder / "ground-truth").glob("*.json")):
        label = json.loads(file.read_bytes())
        body = gzip.decompress((folder / "html" / f"{file.stem}.html.gz").read_bytes())
        pages.append(
            (kind_of(label), charsets.decode(body, "utf-8", True)[0], label["ground_truth"].get("main_content") or "")
        )
    extractors: dict[str, Callable[[str], str]] = {"all text": whole, "ours": ours}
    extractors |= {name: OTHERS[name] for name in arguments.others}
    print("| kind | pages | text | precision | recall | F1 | pages/s |\n|---|---|---|---|---|---|---|")
    for name, extract in extractors.items():
        scores, started = defaultdict(list), time.process_time()
        texts = [extract(html) for _, html, _ in pages]
        rate = len(pages) / (time.process_time() - started)
        for (kind, _, content), text in zip(pages, texts, strict=True):
            for of in (kind, "all"):
                scores[of].append(score(text, content))
        for kind in sorted(scores):
            means = " | ".join(f"{fmean(each):.3f}" for each in zip(*scores[kind], strict=True))
            print(f"| {kind} | {len(scores[kind])} | {name} | {means} | {rate:.0f} |", flush=True)


if __name__ == "__main__":
    main()
