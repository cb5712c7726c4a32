"""The section of the report about a check."""

from pathlib import Path

from beamtrawl.runners.report.content import Figures, Table
from beamtrawl.runners.report.sections.site_check import section
from beamtrawl.runners.site_checks.check import check_site
from beamtrawl.transforms.settings import Settings
from tests.support.checked_sites import FAILED, GONE, crawled, page
from tests.support.command_line import beamtrawl

A, B, C = (f"http://a.test/{name}" for name in ("", "b", "c"))
BROKEN = {A: page("A", "<a href=b>b</a> <a href=c>c</a>"), B: page("B", "<h2 id=x>X</h2><a href=c>c"), C: GONE}


def test_counts_worst_pages_and_examples(tmp_path: Path) -> None:
    crawl = crawled(tmp_path, BROKEN | {C: FAILED}, {B: page("B", "<a href=c>c</a><h1>B</h1>"), C: GONE})
    with check_site(crawl, crawl.manifests(), Settings()) as checked:
        found = section(checked)
    figures, rules, worst, examples = found.parts
    assert isinstance(figures, Figures)
    assert [(figure.name, figure.value) for figure in figures.figures] == [("pages checked", 2), ("findings", 3)]
    assert isinstance(rules, Table)
    assert isinstance(worst, Table)
    assert isinstance(examples, Table)
    assert [(row[0], row[1], row[3], row[4]) for row in rules.rows] == [
        ("gone", "error", 2, 2),
        ("several_h1", "notice", 1, 1),
    ]
    assert worst.rows == [(B, 2, "gone, several_h1"), (A, 1, "gone")]
    assert examples.rows == [
        ("gone", A, "c", C, 404, 2),
        ("gone", B, "c", C, 404, 2),
        ("several_h1", B, None, None, None, 2),
    ]


def test_nothing_is_broken(tmp_path: Path) -> None:
    crawl = crawled(tmp_path, {A: page("A")})
    with check_site(crawl, crawl.manifests(), Settings()) as checked:
        assert len(section(checked).parts) == 1


def test_the_report_has_it_if_it_is_to(tmp_path: Path) -> None:
    crawled(tmp_path / "crawl", BROKEN)
    file = tmp_path / "report.html"
    for words, there in (([], False), (["--check-links"], True)):
        assert beamtrawl("report", tmp_path / "crawl", "-o", file, *words).code == 0
        assert ("Broken links and pages" in file.read_text()) is there
