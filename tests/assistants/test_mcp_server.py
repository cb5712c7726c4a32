"""`beamtrawl mcp` in a process of its own: by pipes, and by messages that no client should send."""

import json
import random
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pytest

from tests.support.assistants import Crawled
from tests.support.command_line import PROGRAM, failure

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": "first",
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}
LAST = {"jsonrpc": "2.0", "id": "last", "method": "tools/call"} | {
    "params": {"name": "search", "arguments": {"query": "harbour"}}
}


def malformed(seed: int, count: int) -> Iterator[bytes]:
    """Lines that are no messages of the protocol, or wrong ones."""
    chance = random.Random(seed)
    values: list[Any] = [None, True, -1, 1e308, 2**80, "", "\ud800", "x" * 5_000, [], [[]] * 9, {}, {"a": {}}]
    methods = [
        "tools/call",
        "tools/list",
        "resources/read",
        "resources/list",
        "initialize",
        "ping",
        "sampling/x",
        "",
        7,
    ]
    names = ["search", "fetch", "explain", "changes", "sql", "", "\u202e", None]
    arguments = ["query", "id", "url", "since", "limit", "offset", "after", "page", "__proto__"]

    def value(depth: int = 0) -> Any:
        if depth < 3 and chance.random() < 0.2:
            return {chance.choice(arguments): value(depth + 1)}
        return chance.choice(values)

    def message() -> dict[str, Any]:
        given = {chance.choice(arguments): value() for _ in range(chance.randrange(3))}
        params = {
            "name": chance.choice(names),
            "arguments": given,
            "uri": chance.choice(["beamtrawl://document/%", "x"]),
        }
        found = {"jsonrpc": "2.0", "id": chance.choice([1, "a", None, 1.5, [], {}]), "method": chance.choice(methods)}
        return found | {"params": chance.choice([params, params, value()])}

    for _ in range(count):
        text = json.dumps(message())
        kind = chance.randrange(5)
        if kind == 0:
            yield chance.randbytes(chance.randrange(1, 200)).replace(b"\n", b"")
        elif kind == 1:
            yield text[: chance.randrange(1, len(text))].encode()
        elif kind == 2:
            yield b"[" * chance.randrange(1, 2_000)
        else:
            yield text.encode()


def spoken(process: "subprocess.Popen[bytes]", lines: list[bytes], until: str) -> list[Any]:
    """What a server answers to lines, up to the answer to the request `until`; all that it writes is JSON."""
    assert process.stdin and process.stdout
    writer = threading.Thread(target=_write, args=(process.stdin, lines))
    writer.start()
    answers = []
    for line in process.stdout:
        answers.append(json.loads(line))
        if answers[-1].get("id") == until:
            break
    writer.join()
    return answers


def _write(sink: IO[bytes], lines: list[bytes]) -> None:
    for line in lines:
        sink.write(line + b"\n")
    sink.flush()


def started(*words: object) -> "subprocess.Popen[bytes]":
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    return subprocess.Popen([*PROGRAM, "mcp", *map(str, words)], **pipes)


@pytest.mark.slow("processes")
def test_a_thousand_malformed_messages_do_not_end_it_and_the_end_of_input_does(crawled: Crawled) -> None:
    valid = [json.dumps(message).encode() for message in (INITIALIZE, INITIALIZED, LAST)]
    with started(crawled.folder) as process:
        answers = spoken(process, [*valid[:2], *malformed(1, 1_000), valid[2]], "last")
        rest, err = process.communicate(timeout=120)
    assert (process.returncode, rest) == (0, b"")
    by_id = {answer.get("id"): answer for answer in answers if isinstance(answer.get("id"), str)}
    assert by_id["first"]["result"]["serverInfo"]["name"] == "beamtrawl"
    assert json.loads(by_id["last"]["result"]["content"][0]["text"])["total"] == 3
    assert sum("error" in answer for answer in answers) > 20
    assert any(answer.get("result", {}).get("isError") for answer in answers)
    assert b"Traceback" not in err


@pytest.mark.slow("processes")
def test_input_that_ends_in_the_middle_of_a_message(crawled: Crawled) -> None:
    with started(crawled.folder) as process:
        spoken(process, [json.dumps(INITIALIZE).encode()], "first")
        _, err = process.communicate(json.dumps(LAST).encode()[:40], timeout=120)
    assert (process.returncode, err) == (0, b"")


@pytest.mark.slow("processes")
def test_an_interrupt_ends_it_without_a_traceback(crawled: Crawled) -> None:
    with started(crawled.folder) as process:
        assert process.stdin and process.stdout and process.stderr
        process.stdin.write(json.dumps(INITIALIZE).encode() + b"\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["id"] == "first"
        process.send_signal(signal.SIGINT)
        assert process.wait(120) == 130
        assert process.stderr.read() == b""


def test_a_directory_without_a_crawl(tmp_path: Path) -> None:
    assert failure("mcp", tmp_path)[1].startswith(f"{tmp_path} holds no crawl")


@pytest.mark.slow("processes")
def test_it_imports_no_beam_and_the_tools_no_sdk() -> None:
    modules = ["sys", "beamtrawl.runners.mcp.tools", "beamtrawl.runners.mcp.server"]
    program = "".join(f"import {module}; print(*sys.modules)\n" for module in modules)
    ran = subprocess.run([PROGRAM[0], "-P", "-c", program], capture_output=True, text=True, check=True)
    _, of_tools, of_server = (set(line.split()) for line in ran.stdout.splitlines())
    assert not of_tools & {"apache_beam", "mcp", "flask"}
    assert not of_server & {"apache_beam", "flask"}
