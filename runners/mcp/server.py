"""The server of the Model Context Protocol around the tools, by the official SDK (extra `mcp`)."""

import functools
import json
import logging
from collections.abc import Callable
from typing import Any, TypeVar

import anyio.to_thread
import mcp_types as types
from mcp import MCPError
from mcp.server import Server

from ... import __version__
from ...search.answers.results.carriers import without_carriers
from ...search.gateway.reload import NoIndexError
from ...transforms.outcomes import BeamtrawlError
from .schemas import MAX_TEXT_BYTES, THIRD_PARTY, ArgumentError
from .texts import SCHEME, Id, id_of_uri, piece, shortened, uri_of
from .tools import Tools

MAX_RESOURCE_BYTES = 5 * MAX_TEXT_BYTES
"""The most bytes of a text that is read as a resource."""

LISTED = 100
"""Resources in one part of their list."""

_LOG = logging.getLogger(__name__)

Value = TypeVar("Value")


def create_server(tools: Tools, title: str) -> Server[Any]:
    """A server that answers by the tools. All of it is read-only."""

    async def list_tools(context: Any, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=_listed_tools(tools))

    async def call_tool(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        return await _in_thread(_called, tools, params.name, params.arguments or {})

    async def list_resources(context: Any, params: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
        return await _in_thread(_resources, tools, params.cursor if params else None)

    async def list_templates(
        context: Any, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(resource_templates=[_TEMPLATE])

    async def read_resource(context: Any, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        return await _in_thread(_read, tools, params.uri)

    return Server(
        "beamtrawl",
        version=__version__,
        title=title,
        instructions=f"Search and read pages of a web crawl. {THIRD_PARTY}",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
    )


_TEMPLATE = types.ResourceTemplate(
    name="document",
    uri_template=SCHEME + "{id}",
    description=f"The text of a crawled page, by the id that search gives. {THIRD_PARTY}",
    mime_type="text/plain",
)


async def _in_thread(call: Callable[..., Value], *arguments: Any) -> Value:
    """The result of a call that reads files, while other messages are answered."""
    return await anyio.to_thread.run_sync(functools.partial(call, *arguments), abandon_on_cancel=True)


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


def _resources(tools: Tools, cursor: str | None) -> types.ListResourcesResult:
    if cursor is not None and not (cursor.isascii() and cursor.isdecimal() and len(cursor) < 10):
        raise MCPError(types.INVALID_PARAMS, f"{cursor[:20]!r} is not a cursor of this list")
    first = int(cursor or 0)
    found = _answered(lambda: tools.listed(first, LISTED + 1))
    resources = [
        types.Resource(
            name=shortened(document.title) or document.url,
            uri=uri_of(Id(document.url, document.crawl)),
            mime_type="text/plain",
        )
        for document in found[:LISTED]
    ]
    following = str(first + LISTED) if len(found) > LISTED else None
    return types.ListResourcesResult(resources=resources, next_cursor=following)


def _read(tools: Tools, uri: str) -> types.ReadResourceResult:
    wanted = id_of_uri(uri, tools.names)
    stored = _answered(lambda: tools.stored(wanted)) if wanted else None
    if stored is None:
        raise MCPError(types.INVALID_PARAMS, f"{shortened(uri)}: no such document can be searched")
    part = piece(stored.text, 0, MAX_RESOURCE_BYTES)
    cut = f"\n\n[cut: the tool fetch has the rest from offset {part.next} on]" if part.next is not None else ""
    text = f"[{stored.url}: {THIRD_PARTY}]\n\n{part.text}{cut}"
    contents = types.TextResourceContents(uri=uri, mime_type="text/plain", text=text)
    return types.ReadResourceResult(contents=[contents])


def _answered(call: Callable[[], Value]) -> Value:
    """The value of a call; a reason why there is none becomes an error of the protocol."""
    try:
        return call()
    except (BeamtrawlError, NoIndexError) as error:
        raise MCPError(types.INTERNAL_ERROR, str(error)) from error
