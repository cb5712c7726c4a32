"""A resolver and a connector that touch no network and remember what they were asked for."""

import socket
from typing import Any


class Socket:
    """A socket that only takes options."""

    def __init__(self) -> None:
        self.options: list[tuple[Any, ...]] = []

    def setsockopt(self, *option: Any) -> None:
        self.options.append(option)


class Connector:
    """Connects to nothing; `fails` are addresses where that does not work."""

    def __init__(self, *fails: str) -> None:
        self.fails = fails
        self.calls: list[tuple[tuple[str, int], float]] = []

    def __call__(self, address: tuple[str, int], timeout: float) -> Any:
        self.calls.append((address, timeout))
        if address[0] in self.fails:
            raise ConnectionRefusedError(f"{address[0]} refused")
        return Socket()

    @property
    def addresses(self) -> list[tuple[str, int]]:
        return [address for address, _ in self.calls]


class Resolver:
    """Each look-up of any name gives the next list of addresses, the last one for ever; an exception is raised."""

    def __init__(self, *answers: list[str] | Exception) -> None:
        self.answers = list(answers)
        self.names: list[str] = []

    def __call__(self, host: str, port: int, **how: Any) -> list[tuple[Any, ...]]:
        self.names.append(host)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return [entry(address, port) for address in answer]


def entry(address: str, port: int) -> tuple[Any, ...]:
    """What `socket.getaddrinfo` says of an address."""
    if ":" in address:
        return (socket.AF_INET6, socket.SOCK_STREAM, 6, "", (address, port, 0, 0))
    return (socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))


def numeric(host: str, port: int, **how: Any) -> list[tuple[Any, ...]]:
    """The system's own reading of a literal, which never asks DNS."""
    return socket.getaddrinfo(host, port, flags=socket.AI_NUMERICHOST, **how)


class Clock:
    """A time that passes only while somebody sleeps, or when a test says so."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
