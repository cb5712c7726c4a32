"""Connections that keep to the time limits of a request, and that another thread can cut."""

import contextlib
import io
import socket
import ssl
import threading
import time
from collections.abc import Callable
from typing import Any

from urllib3.util import wait_for_read

from ..outcomes import Outcome
from .errors import TOO_SLOW, RequestError, request_error


class Exchange:
    """The request under way: how long it may take, and on which connection it is."""

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
        self.kept = True  # whether it goes out on the connection of an earlier one

    def begin(self, seconds: float) -> None:
        """A request that may take so long starts."""
        self._started = self._clock()
        self._deadline = self._started + seconds
        with self._lock:
            self.line, self.was_cut, self.kept, self._ended_at = None, False, True, None
        self.sent = False

    def end(self) -> bool:
        """The answer was read, so `cut` has no effect any more; returns whether the request was cut before."""
        with self._lock:
            self._ended_at = self._clock()
            return self.was_cut

    def connected(self) -> None:
        """The host is there: what the look-up of its name and the way to it took is no sign of how busy it is."""
        self._started = self._clock()

    def elapsed_s(self) -> float:
        """Seconds from when the request could be sent, or from its begin if it never could, to its end or now."""
        return (self._clock() if self._ended_at is None else self._ended_at) - self._started

    def patience(self, limit: float | None = None) -> float:
        """Seconds to wait for the next byte, or for `limit` at most; RequestError if the time for all is over."""
        remaining = self._deadline - self._clock()
        if remaining <= 0 or self.was_cut:
            raise RequestError(Outcome.TIMEOUT, TOO_SLOW)
        return min(self._read_timeout if limit is None else limit, remaining)

    def failure(self, error: OSError) -> RequestError:
        """What it means that a read or a write failed."""
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
    """As much of a socket as HTTP libraries use. Whatever fails on it is a RequestError.

    Each read and write waits no longer than the request under way may: requests' own limits are for single reads,
    and a server that sends a byte now and then never exceeds them (FINDINGS, "requests").
    """

    def __init__(self, sock: socket.socket, address: str | None, exchange: Exchange) -> None:
        self._sock = sock
        self._exchange = exchange
        self.address = address
        exchange.line = self

    def secure(self, context: ssl.SSLContext, host: str, limit: float) -> None:
        """Speak TLS from here on, with a server that can prove to be `host` (a name, or an address without brackets).

        RequestError if it cannot, or if that takes more than `limit` seconds.
        """
        try:
            host.encode("idna")  # what TLS does with it, too, but only after it has taken the socket over
            self._sock.settimeout(self._exchange.patience(limit))
            self._sock = context.wrap_socket(self._sock, server_hostname=host, do_handshake_on_connect=False)
            self._sock.do_handshake()
        except TimeoutError as error:
            raise RequestError(Outcome.TIMEOUT, "the handshake of TLS took too long") from error
        except OSError as error:
            raise request_error(error) from error
        except ValueError as error:  # a name that TLS cannot carry
            raise RequestError(Outcome.TLS_ERROR, f"{host}: {error}") from error

    def sendall(self, data: bytes) -> None:
        self._exchange.line = self
        self.wait_no_longer()
        try:
            self._sock.sendall(data)
        except (BrokenPipeError, ConnectionResetError) as error:  # the other end was closed before
            raise self._exchange.failure(error) from error
        except OSError as error:
            self._exchange.sent = True
            raise self._exchange.failure(error) from error
        self._exchange.sent = True

    def makefile(self, mode: str = "rb", buffering: int = io.DEFAULT_BUFFER_SIZE) -> io.BufferedReader:
        return io.BufferedReader(_Incoming(self, self._exchange, self._sock.makefile("rb", buffering=0)), buffering)

    def wait_no_longer(self) -> None:
        """Give the next read or write the time that it may take."""
        seconds = self._exchange.patience()
        if self._sock.gettimeout() != seconds:  # to set it is a system call
            self._sock.settimeout(seconds)

    def settimeout(self, seconds: float | None) -> None:
        """Nothing: the exchange knows better."""

    def has_news(self) -> bool:
        """Whether bytes wait to be read, or the end of the connection: then no answer of it can be trusted."""
        return wait_for_read(self._sock, timeout=0.0) or (
            isinstance(self._sock, ssl.SSLSocket) and self._sock.pending() > 0
        )

    def fileno(self) -> int:
        return self._sock.fileno()

    def close(self) -> None:
        self._sock.close()

    def cut(self) -> None:
        """Let all reads and writes fail at once."""
        with contextlib.suppress(OSError):  # it ended by itself in between
            # Not SSLSocket's own: it takes TLS away from under the thread that reads, which then raises a ValueError.
            socket.socket.shutdown(self._sock, socket.SHUT_RDWR)


class _Incoming(io.RawIOBase):
    """The bytes that come along a line."""

    def __init__(self, line: Line, exchange: Exchange, raw: Any) -> None:
        self._line = line
        self._exchange = exchange
        self._raw = raw  # the socket's own, which keeps it open as long as it is open itself

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
