"""The server of the Model Context Protocol around the tools, by the official SDK (extra `mcp`)."""

import functools
import json
import logging
import os
import signal
from typing import Any

import anyio
import anyio.to_thread
import mcp_types as types
from mcp.server import Server
from mcp.server.stdio import stdio_server

from ... import __version__
from ...search.answers.results.carriers import without_carriers
from ...search.gateway.reload import NoIndexError
from ...transforms.outcomes import BeamtrawlError
from .schemas import THIRD_PARTY, ArgumentError
from .tools import Tools

INTERRUPTED = 130
"""The exit code after Ctrl-C."""

_LOG = logging.getLogger(__name__)


def create_server(tools: Tools, title: str) -> Server[Any]:
    """A server that answers by the tools. All of it is read-only."""

    async def list_tools(context: Any, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=_listed_tools(tools))

    async def call_tool(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        call = functools.partial(_called, tools, params.name, params.arguments or {})  # it reads files
        return await anyio.to_thread.run_sync(call, abandon_on_cancel=True)

    return Server(
        "beamtrawl",
        version=__version__,
        title=title,
        instructions=f"Search and read pages of a web crawl. {THIRD_PARTY}",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def _listed_tools(tools: Tools) -> list[types.Tool]:
    hints = types.ToolAnnotations(
        read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
    )
    return [
        types.Tool(
            name=tool.name,
            title=tool.title,
            description=tool.description,
            input_schema=tool.arguments,
            annotations=hints,
        )
        for tool in tools.described
    ]


def _called(tools: Tools, name: str, arguments: dict[str, Any]) -> types.CallToolResult:
    """The result of a call, as JSON in one text and as a structure; an error is one line."""
    try:
        answer = tools.call(name, arguments)
    except (ArgumentError, BeamtrawlError, NoIndexError) as error:
        return types.CallToolResult(content=[types.TextContent(type="text", text=str(error))], is_error=True)
    except Exception:  # any other error: the client learns that it failed, the operator why
        _LOG.exception("the tool %s failed", name)
        failed = types.TextContent(type="text", text="the call failed; the log of the server has the reason")
        return types.CallToolResult(content=[failed], is_error=True)
    text = without_carriers(json.dumps(answer, ensure_ascii=False, default=str)).encode(errors="replace").decode()
    content: list[types.ContentBlock] = [types.TextContent(type="text", text=text)]
    return types.CallToolResult(content=content, structured_content=json.loads(text))


def serve_stdio(server: Server[Any]) -> None:
    """Answer messages on standard input until it ends, or Ctrl-C.

    Whatever else is written to standard output meanwhile goes to standard error.
    """
    for number in (signal.SIGINT, signal.SIGTERM):  # the thread that reads cannot be woken, and nothing is open
        signal.signal(number, lambda *_: os._exit(INTERRUPTED))
    anyio.run(_serve_stdio, server)


async def _serve_stdio(server: Server[Any]) -> None:
    async with stdio_server() as (received, sent):
        await server.run(received, sent, server.create_initialization_options())
