"""How clients reach the server: standard input and output, or HTTP on this machine."""

import os
import signal
import socket
from typing import Any

import anyio
import uvicorn
from mcp.server import Server
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings

ADDRESS = "127.0.0.1"
"""The address that HTTP is served at."""

PATH = "/mcp"
"""The path of the endpoint."""

INTERRUPTED = 130
"""The exit code after Ctrl-C."""

MAX_BODY = 1 << 20
"""The most bytes of a request."""


def listen(port: int) -> socket.socket:
    """A socket that listens on this machine; OSError if the port is used or not allowed."""
    listener = socket.socket()
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((ADDRESS, port))
        listener.listen(128)
    except OSError:
        listener.close()
        raise
    return listener


def serve_http(server: Server[Any], listener: socket.socket) -> None:
    """Answer requests until Ctrl-C.

    A request must name this machine as its host, and its origin, if it has one, too: a page of another site whose name
    resolves to this address can do nothing (DNS rebinding).
    """
    hosts = hosts_of_this_machine(listener.getsockname()[1])
    security = TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=hosts,
        allowed_origins=[f"http://{host}" for host in hosts],
    )
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        json_response=True,
        stateless_http=True,
        max_request_body_size=MAX_BODY,
        transport_security=security,
    )
    config = uvicorn.Config(app, log_level="error", access_log=False, timeout_graceful_shutdown=1, lifespan="on")
    uvicorn.Server(config).run(sockets=[listener])


def hosts_of_this_machine(port: int) -> list[str]:
    """Return what `Host` may be in requests to this port; clients leave out the default port of HTTP (RFC 9110, 4.2.3).

    >>> hosts_of_this_machine(8001)
    ['127.0.0.1:8001', 'localhost:8001']
    >>> hosts_of_this_machine(80)
    ['127.0.0.1:80', 'localhost:80', '127.0.0.1', 'localhost']
    """
    names = ["127.0.0.1", "localhost"]
    return [f"{name}:{port}" for name in names] + (names if port == 80 else [])


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
