"""Reads a report as a person sees it."""

from pathlib import Path

import lxml.html

from tests.support.command_line import beamtrawl


def report_of(directory: Path, *flags: object) -> str:
    """The page that `beamtrawl report` prints."""
    code, out, err = beamtrawl("report", directory, *flags)
    assert (code, err) == (0, "")
    return out


def tables(page: str) -> dict[str, list[list[str]]]:
    """The rows of each table, by its caption."""
    root = lxml.html.fromstring(page)
    return {
        table.findtext("caption"): [
            [cell.text_content() for cell in row.findall("td")] for row in table.find("tbody").findall("tr")
        ]
        for table in root.iter("table")
    }


def figures(page: str) -> dict[str, str]:
    """The single values, by name."""
    root = lxml.html.fromstring(page)
    return {name.text: name.getnext().text for name in root.iter("dt")}


def paragraphs(page: str) -> list[str]:
    """The texts of all paragraphs."""
    return [element.text_content() for element in lxml.html.fromstring(page).iter("p")]
