"""Each rule that changed a URL is told, and no other."""

import doctest
import re
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from beamtrawl.transforms.urls import dedup, explain as explain_module
from beamtrawl.transforms.urls.canonical import CANONICAL_RULES, canonicalize, dedup_form
from beamtrawl.transforms.urls.explain import explain
from tests.urls.test_dedup import URLS

BASE = "http://a.test/b/c?d"

# reference, base: the rules
RULES = {
    ("http://a.test/", None): [],
    (" http://a.test/\n", None): ["trim"],
    ("HTTP://a.test/", None): ["scheme"],
    ("http://A.test/", None): ["host"],
    ("http://ü.test/", None): ["host"],
    ("http://127.1/", None): ["host"],
    ("http://a.test:80/", None): ["port"],
    ("http://a.test", None): ["path"],
    ("http://a.test/b/../c", None): ["path"],
    ("http://a.test/é", None): ["path"],
    ("http://a.test/?é", None): ["query"],
    ("http:\\\\a.test\\", None): ["scheme", "path"],
    ("http:a.test", None): ["standard"],
    ("../x", BASE): ["join"],
    ("?x", BASE): ["join"],
    ("//B.test/", BASE): ["join"],
    ("http://B.test/", BASE): ["host"],
    ("http://a.test/#b", None): ["drop_fragment"],
    ("http://me@a.test/", None): ["drop_user_info"],
    ("http://a.test./", None): ["drop_final_dot"],
    ("http://a.test/%7e", None): ["normalise_escapes"],
    ("http://a.test/?", None): ["drop_empty_query"],
    ("http://a.test/%28", None): ["unescape_plain"],
    ("http://a.test/b;jsessionid=1", None): ["drop_path_sessions"],
    ("http://a.test/?utm_source=b", None): ["drop_tracking"],
    ("http://a.test/?PHPSESSID=9682993c8daa2c5497996114facdc805", None): ["drop_sessions"],
    ("http://a.test/?b=1&", None): ["drop_empty_parameters"],
    ("http://a.test/?c=1&b=2", None): ["sort_parameters"],
    ("mailto:a@b.test", None): [],
    ("ftp://A.test/#b", None): ["host"],
    ("nothing", None): [],
}


@pytest.mark.parametrize(("reference", "base"), RULES)
def test_the_rules_that_changed_a_url(reference: str, base: str | None) -> None:
    assert [step.rule for step in explain(reference, base)] == RULES[reference, base]


@given(URLS | st.text() | st.text().map("http://a.test/{}".format), st.none() | st.just(BASE))
def test_the_steps_lead_from_the_reference_to_the_dedup_form(reference: str, base: str | None) -> None:
    steps = explain(reference, base)
    assert all(step.before != step.after for step in steps)
    assert [step.before for step in steps] == [reference, *(step.after for step in steps)][: len(steps)]
    if url := canonicalize(reference, base):
        assert dedup_form(url) == (steps[-1].after if steps else reference)


def test_examples_in_docstrings() -> None:
    assert doctest.testmod(explain_module) == (0, 1)


def test_every_rule_is_described() -> None:
    text = (Path(__file__).parents[2] / "docs" / "urls.md").read_text(encoding="utf-8")
    described = set(re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE))
    told = {rule for rules in RULES.values() for rule in rules}
    assert {rule.__name__ for rule in (*CANONICAL_RULES, *dedup.RULES)} <= told <= described
