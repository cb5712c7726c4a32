"""The tree construction tests of html5lib: the text of the body, and all elements in order, are those of the standard.

The data are html5lib/tree-construction.tar.gz: the folder of https://github.com/html5lib/html5lib-tests before the
commit 224991e, which moved it to web-platform-tests; its licence is beside it.
"""

import re
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from turbohtml import Element, Namespace, Node, Text

from beamtrawl.transforms.parsing import html_tree

DATA = Path(__file__).parent / "html5lib" / "tree-construction.tar.gz"

LEFT_OUT = re.compile("<template|<noscript|#document-fragment|#script-off", re.IGNORECASE)
"""Templates are left out of our trees, and `noscript` is read; fragments have no page."""


class Tree(NamedTuple):
    text: str  # of the body
    elements: list[str]


class Case(NamedTuple):
    name: str
    data: str
    expected: Tree


def cases() -> Iterator[Case]:
    with tarfile.open(DATA) as archive:
        for member in archive:
            is_static = member.name.endswith(".dat") and "/scripted/" not in member.name
            if file := archive.extractfile(member) if is_static else None:
                for number, test in enumerate(re.split(r"(?:^|\n\n)#data\n", file.read().decode().rstrip("\n"))[1:]):
                    data, _, rest = test.partition("\n#errors\n") if "\n#errors\n" in test else ("", "", test)
                    if not LEFT_OUT.search(test):
                        yield Case(
                            f"{member.name} {number}", data, wanted(rest.partition("#document\n")[2].split("\n"))
                        )


def wanted(lines: list[str]) -> Tree:
    """What a tree in html5lib's form has: a node a line, indented by its depth."""
    texts, elements, in_body = list[str](), list[str](), False
    last: list[str] | None = None
    for line in lines:
        if not line.startswith("| "):
            if last is not None:
                last[-1] += f"\n{line}"
            continue
        node = line[2:].lstrip(" ")
        depth = (len(line) - 2 - len(node)) // 2
        last = None
        if node.startswith('"'):
            if in_body:
                texts.append(node)
                last = texts
        elif re.fullmatch("<[^!?].*>", node):
            elements.append(node[1:-1])
            if depth == 1:
                in_body = node == "<body>"
    return Tree("".join(text.removeprefix('"').removesuffix('"') for text in texts), elements)


def found(data: str) -> Tree:
    root = html_tree.parse(data).root
    body = next((child for child in root if isinstance(child, Element) and child.tag == "body"), None)
    elements = [name(element) for element in (root, *root.iter_elements())]
    return Tree("".join(texts(body)) if body else "", elements)


def texts(node: Node) -> Iterator[str]:
    return (each.data for each in node.descendants if isinstance(each, Text))


def name(element: Element) -> str:
    return element.tag if element.namespace is Namespace.HTML else f"{element.namespace.value} {element.tag}"


def test_trees_are_those_of_the_standard() -> None:
    tests = list(cases())
    made = [found(test.data) for test in tests]
    assert len(tests) > 1_400
    wrong = [test.name for test, tree in zip(tests, made, strict=True) if tree.text != test.expected.text]
    disordered = [test.name for test, tree in zip(tests, made, strict=True) if tree.elements != test.expected.elements]
    assert len(wrong) <= 0.005 * len(tests), wrong
    assert len(disordered) <= 0.01 * len(tests), disordered
