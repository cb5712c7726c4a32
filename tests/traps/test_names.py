"""The names of traps: which templates of a host are one trap, and the patterns that release it."""

import pytest

from beamtrawl.transforms.traps.allow_list import compile_allow_list
from beamtrawl.transforms.traps.discovery import Known, shape_of
from beamtrawl.transforms.traps.names import group_templates, pattern_of
from beamtrawl.transforms.traps.template_rows import Kind

# templates of a host: the names of its traps
NAMES = {
    "one template": (["/calendar/#/#"], {("/calendar/**",)}),
    "several folders below the first": (["/maze/*/", "/maze/*/*/"], {("/maze/**/",)}),
    "two extensions": (["/in/*/*.html", "/in/*/*/"], {("/in/**.html", "/in/**/")}),
    "an extension in many folders": ([f"/{name}/*.html" for name in "abcd"], {("/**.html",)}),
    "the same names in two folders": (["/a/*", "/b/*"], {("/a/**", "/b/**")}),
    "two traps": (["/calendar/#/#", "/tags/*"], {("/calendar/**",), ("/tags/**",)}),
    "a parameter on several paths": (["/a/*.html?reply", "/b/*.html?reply"], {("/*?reply*",)}),
    "a parameter in common": (["/w?diff&id", "/v?id"], {("/*?diff*id*", "/*?id*")}),
    "many combinations": ([f"/shop?{name}&size" for name in "abcd"], {("/*?**",)}),
    "queries and paths": (["/a/*", "/a/*?reply"], {("/a/**",), ("/*?reply*",)}),
    "nothing but new templates": (["*"], {("*",)}),
}


@pytest.mark.parametrize(("templates", "names"), NAMES.values(), ids=NAMES)
def test_templates_of_one_trap_have_one_name(templates: list[str], names: set[tuple[str, ...]]) -> None:
    assert set(group_templates(templates).values()) == names


RELEASED = {
    "/calendar/**": "/calendar/2026/11",
    "/**.html": "/a/b.html",
    "/*?reply*": "/a/b.html?reply=1",
    "*": "/any/thing",
}


@pytest.mark.parametrize(("name", "path"), RELEASED.items(), ids=RELEASED)
def test_the_pattern_of_a_name_matches_its_urls(name: str, path: str) -> None:
    matches = compile_allow_list([pattern_of("a.test:80", name)])
    assert matches(f"http://a.test:80{path}")
    assert not matches(f"http://b.test{path}")


NESTED = {
    ("/de/news/x.html", "/news/x.html"): Kind.SERIES,
    ("/fr/de/news/", "/de/news/"): Kind.SERIES,
    ("/de/", "/"): Kind.PLAIN,
    ("/de/news/y.html", "/news/x.html"): Kind.PLAIN,
    ("/news/x.html", "/de/news/x.html"): Kind.PLAIN,
}


@pytest.mark.parametrize(("path", "referrer"), NESTED)
def test_a_page_below_another_folder_is_one_of_a_series(path: str, referrer: str) -> None:
    shape = shape_of(f"http://a.test{path}", f"http://a.test{referrer}")
    assert Known().kind_of(shape, False) == NESTED[path, referrer]
