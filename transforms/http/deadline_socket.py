"""Connections that enforce the time limits of a request, and that another thread can end."""

import contextlib
import io
import select
import socket
import ssl
import threading
import time
from collections.abc import Callable
from typing import Any

from ..outcomes import Outcome
from .errors import TOO_SLOW, RequestError, request_error


class Exchange:
    """The current request: its deadline and its connection."""

    def __init__(self, read_timeout: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._read_timeout = read_timeout
        self._clock = clock
        self._deadline = 0.0
        self._started = 0.0
        self.line: Line | None = None
        self.was_cut = False
        self._ended_at: float | None = None
        self._lock = threading.Lock()
        self.sent = False  # whether bytes of the request may have arrived
        self.kept = True  # whether it reuses the connection of an earlier request

    def begin(self, seconds: float) -> None:
        """Start a request that may take `seconds`."""
        self._started = self._clock()
        self._deadline = self._started + seconds
        with self._lock:
            self.line, self.was_cut, self.kept, self._ended_at = None, False, True, None
        self.sent = False

    def end(self) -> bool:
        """Mark the request as complete, so that `cut` has no effect; returns whether it was cut before."""
        with self._lock:
            self._ended_at = self._clock()
            return self.was_cut

    def connected(self) -> None:
        """Restart the clock of `elapsed_s`: time for DNS and for connecting does not measure the server's load."""
        self._started = self._clock()

    def elapsed_s(self) -> float:
        """Seconds from the connection of the request, or from its start if none was made, to its end or now."""
        return (self._clock() if self._ended_at is None else self._ended_at) - self._started

    def patience(self, limit: float | None = None) -> float:
        """Seconds to wait for the next byte, or for `limit` at most; RequestError after the deadline."""
        remaining = self._deadline - self._clock()
        if remaining <= 0 or self.was_cut:
            raise RequestError(Outcome.TIMEOUT, TOO_SLOW)
        return min(self._read_timeout if limit is None else limit, remaining)

    def failure(self, error: OSError) -> RequestError:
        """The RequestError for a failed read or write."""
        if not isinstance(error, TimeoutError):
            return request_error(error)
        over = self._clock() >= self._deadline
        return RequestError(Outcome.TIMEOUT, TOO_SLOW if over else f"nothing came for {self._read_timeout:g} seconds")

    def cut(self) -> None:
        """End the request, from another thread."""
        with self._lock:
            if self._ended_at is not None:
                return
            self.was_cut = True
            if line := self.line:
                line.cut()


class Line:
    """The subset of a socket's interface that HTTP libraries use. All failures are RequestErrors.

    Each read and write ends by the deadline of the current request: the timeouts of `requests` are per read,
    and a server that sends a byte now and then never exceeds them (docs/decisions/requests.md).
    """

    def __init__(self, sock: socket.socket, address: str | None, exchange: Exchange) -> None:
        self._sock = sock
        self._exchange = exchange
        self.address = address
        exchange.line = self

    def secure(self, context: ssl.SSLContext, host: str, limit: float) -> None:
        """Start TLS, and verify that the server is `host` (a name, or an address without brackets).

        RequestError if the handshake fails, or takes more than `limit` seconds.
        """
        try:
            host.encode("idna")  # ssl does the same, but only after it has taken over the socket
            self._sock.settimeout(self._exchange.patience(limit))
            name = host.removesuffix(".")  # RFC 6066, 3: a name is sent without the dot of the root
            self._sock = context.wrap_socket(self._sock, server_hostname=name, do_handshake_on_connect=False)
            self._sock.do_handshake()
        except TimeoutError as error:
            raise RequestError(Outcome.TIMEOUT, "the handshake of TLS took too long") from error
        except OSError as error:
            raise request_error(error) from error
        except ValueError as error:  # not a valid name for TLS
            raise RequestError(Outcome.TLS_ERROR, f"{host}: {error}") from error

    def sendall(self, data: bytes) -> None:
        self._exchange.line = self
        self.wait_no_longer()
        try:
            self._sock.sendall(data)
        except (BrokenPipeError, ConnectionResetError) as error:  # the server has closed the connection
            raise self._exchange.failure(error) from error
        except OSError as error:
            self._exchange.sent = True
            raise self._exchange.failure(error) from error
        self._exchange.sent = True

    def makefile(self, mode: str = "rb", buffering: int = io.DEFAULT_BUFFER_SIZE) -> io.BufferedReader:
        return io.BufferedReader(_Incoming(self, self._exchange, self._sock.makefile("rb", buffering=0)), buffering)

    def wait_no_longer(self) -> None:
        """Set the timeout of the next read or write."""
        seconds = self._exchange.patience()
        if self._sock.gettimeout() != seconds:  # setting it takes a system call
            self._sock.settimeout(seconds)

    def settimeout(self, seconds: float | None) -> None:
        """Does nothing: the exchange sets the timeouts."""

    def has_news(self) -> bool:
        """Whether bytes, or the end of the connection, are pending: then it must not be reused."""
        return _is_readable(self._sock) or (isinstance(self._sock, ssl.SSLSocket) and self._sock.pending() > 0)

    def fileno(self) -> int:
        return self._sock.fileno()

    def close(self) -> None:
        self._sock.close()

    def cut(self) -> None:
        """Make all reads and writes fail immediately."""
        with contextlib.suppress(OSError):  # it may already be closed
            # Not SSLSocket.shutdown: it drops TLS while another thread reads, which then raises a ValueError.
            socket.socket.shutdown(self._sock, socket.SHUT_RDWR)


def _is_readable(sock: socket.socket) -> bool:
    """Whether reading from a socket does not block."""
    if not hasattr(select, "poll"):  # Windows
        return bool(select.select([sock], [], [], 0.0)[0])
    poll = select.poll()  # unlike `select`, for any number of open files
    poll.register(sock, select.POLLIN)
    return bool(poll.poll(0))


class _Incoming(io.RawIOBase):
    """The incoming bytes of a line."""

    def __init__(self, line: Line, exchange: Exchange, raw: Any) -> None:
        self._line = line
        self._exchange = exchange
        self._raw = raw  # the socket's own file, which keeps the socket open until it is closed

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self._line.wait_no_longer()
        try:
            count: int | None = self._raw.readinto(buffer)
        except OSError as error:
            raise self._exchange.failure(error) from error
        return count

    def close(self) -> None:
        self._raw.close()
        super().close()
