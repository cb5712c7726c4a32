"""`beamtrawl mcp` in a process of its own: by pipes and by HTTP, and by messages that no client should send."""

import asyncio
import contextlib
import json
import random
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from tests.support.assistants import Crawled, structured
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


@pytest.fixture(scope="module")
def served(crawled: Crawled) -> Iterator[tuple[Crawled, int]]:
    """A server on a port."""
    with started(crawled.folder, "--http", 0) as process:
        assert process.stderr
        try:
            port = int(process.stderr.readline().partition(b"127.0.0.1:")[2].partition(b"/")[0])
            yield crawled, port
        finally:
            process.send_signal(signal.SIGINT)
            said = process.stderr.read()
            assert process.wait(120) == 130
            assert b"Traceback" not in said


def test_http_by_the_client_of_the_sdk(served: tuple[Crawled, int]) -> None:
    crawled, port = served

    async def run() -> Any:
        async with Client(streamable_http_client(f"http://127.0.0.1:{port}/mcp")) as client:
            listed = await client.list_tools()
            return listed, await client.call_tool("search", {"query": "boats"})

    listed, found = asyncio.run(run())
    assert len(listed.tools) == 4
    assert structured(found)["results"][0]["url"] == crawled.url("/")


# headers, status
HEADERS = {
    "another name": ({"Host": "evil.test"}, 421),
    "another name with the port": ({"Host": "127.0.0.1.evil.test:{port}"}, 421),
    "another origin": ({"Origin": "http://evil.test"}, 403),
    "an origin without a name": ({"Origin": "null"}, 403),
    "another port": ({"Origin": "http://127.0.0.1:1"}, 403),
    "its own origin": ({"Origin": "http://127.0.0.1:{port}"}, 200),
}


@pytest.mark.parametrize(("headers", "status"), HEADERS.values(), ids=HEADERS)
def test_a_page_of_another_site_gets_nothing(served: tuple[Crawled, int], headers: dict[str, str], status: int) -> None:
    _, port = served
    sent = {name: value.format(port=port) for name, value in headers.items()}
    sent |= {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}).encode()
    request = Request(f"http://127.0.0.1:{port}/mcp", body, sent)
    with contextlib.suppress(HTTPError), urlopen(request) as answer:
        assert (answer.status, status) == (200, 200)
        return
    with pytest.raises(HTTPError) as error:
        urlopen(request)
    assert error.value.code == status
    error.value.close()


def test_a_port_that_is_used_is_named(crawled: Crawled) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        code, line = failure("mcp", crawled.folder, "--http", port)
    assert code == 1
    assert line == f"cannot listen at 127.0.0.1:{port}: Address already in use; choose another --http PORT"


def test_a_directory_without_a_crawl(tmp_path: Path) -> None:
    assert failure("mcp", tmp_path)[1].startswith(f"{tmp_path} holds no crawl")


@pytest.mark.slow("processes")
def test_it_imports_no_beam_and_the_tools_no_sdk() -> None:
    modules = ["sys", "beamtrawl.runners.mcp.tools", "beamtrawl.runners.mcp.transports"]
    program = "".join(f"import {module}; print(*sys.modules)\n" for module in modules)
    ran = subprocess.run([PROGRAM[0], "-P", "-c", program], capture_output=True, text=True, check=True)
    _, of_tools, of_transports = (set(line.split()) for line in ran.stdout.splitlines())
    assert not of_tools & {"apache_beam", "mcp", "flask"}
    assert not of_transports & {"apache_beam", "flask"}
