"""Puts pages that are due again into the frontier: a small step before a round, when there are any."""

import dataclasses
from collections.abc import Sequence

import apache_beam as beam

from ..transforms.batches.semi_join import CollectKeys, ReadMatching
from ..transforms.batches.writers import ReportFiles
from ..transforms.directory.waiting import Waiting
from ..transforms.frontier.advance_urls import ReadMatchingWaiting
from ..transforms.frontier.due_pages import IsPlanned
from ..transforms.frontier.recrawl import AgeCriteria, WriteRevisits, read_due_keys
from ..transforms.tables.schemas import URLS

_ROWS_PER_PARTITION = 100_000


@dataclasses.dataclass(frozen=True)
class RevisitStep:
    """The inputs and outputs of one such step; paths are below the crawl directory."""

    root: str
    round: int
    criteria: AgeCriteria | IsPlanned
    expected: int  # upper estimate of due pages
    urls: Sequence[str]
    waiting: Waiting
    report: str


def build(pipeline: beam.Pipeline, step: RevisitStep) -> None:
    """Read the keys of due URLs, then their rows, and write those that are not in the frontier yet.

    The keys of planned revisits are read from table revisits, others from table urls.
    """
    count = 1 + step.expected // _ROWS_PER_PARTITION
    urls = pipeline | "UrlsFiles" >> beam.Create(step.urls)
    if isinstance(step.criteria, IsPlanned):
        paths = pipeline | "RevisitsFiles" >> beam.Create(step.criteria.pages.paths)
        found = paths | "PlannedKeys" >> beam.FlatMap(step.criteria.pages.keys, step.criteria.now, count)
    else:
        found = urls | "DueKeys" >> beam.FlatMap(read_due_keys, step.root, step.criteria, count)
    keys = found | "Keys" >> CollectKeys(step.expected, "url_key", "host")
    states = urls | "States" >> ReadMatching(step.root, URLS, "url_key", count, keys)
    frontier = pipeline | "ReadFrontier" >> ReadMatchingWaiting(step.root, step.waiting, count, keys)
    files = {"states": states, "frontier": frontier} | "Revisits" >> WriteRevisits(step.root, step.round, step.criteria)
    files | "Report" >> ReportFiles(step.report)
