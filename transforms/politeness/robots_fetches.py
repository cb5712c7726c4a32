"""Fetches of robots.txt: redirects are followed in the queue of the host that they lead to, once for all hosts."""

import dataclasses
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from datetime import datetime
from typing import NamedTuple

from ..blocks.rules import Blocks
from ..frontier.selection import Due
from ..http.dns import Names
from ..http.reply import Reply, outcome
from ..outcomes import NO_ADDRESS, Outcome
from ..robots import lookup
from ..robots.lookup import RobotsAnswers, RobotsSearch
from ..robots.rules import Verdict, expires_at
from ..tables.schemas import HostRow, RobotsRow
from ..urls.canonical import domain, host as host_of, host_name, origin as origin_of
from .clock import Clock, monotonic
from .context import Event, VisitContext
from .host_queue import DelegatedRobotsFetch, HostTurn, Wait, shared_queue_name
from .turns import FOR_EVER, Turns
from .url_queue import UrlQueue


class Moved(NamedTuple):
    """The remaining work of a host whose robots.txt redirects to a host that another worker may process."""

    host: str
    due: list[Due]
    robots_rows: bytes
    search: RobotsSearch
    state: HostRow


class RobotsFetches:
    """The fetches of robots.txt of a bundle.

    `held` maps hosts, with or without due URLs, to the end of their delay: a robots.txt may redirect there.
    """

    def __init__(
        self,
        context: VisitContext,
        turns: Turns,
        names: Names,
        held: Mapping[str, datetime],
        clock: Clock,
        blocks: Callable[[], Blocks],
    ) -> None:
        self._context = context
        self._turns = turns
        self._names = names
        self._held = held
        self._clock = clock
        self._blocks = blocks
        self._unsent: list[HostTurn] = []  # their robots.txt fetch continues at another host
        self.answers = RobotsAnswers()
        self.moved: list[Moved] = []  # removed by the caller

    def add(self, name: str, turns: Iterable[HostTurn], ready_at: float = 0.0) -> None:
        """Add a shared queue with its hosts (`Turns.add`)."""
        self._unsent += self._turns.add(name, turns, ready_at)

    def resume(self) -> Iterator[Event]:
        """Continue the fetches of added hosts whose robots.txt has already redirected to another host."""
        while self._unsent:
            turn = self._unsent.pop()
            if turn.search:
                yield from self._send(turn, turn.search)

    def delegated(
        self, turn: HostTurn, ready_at: float, now: float
    ) -> Generator[Event, None, DelegatedRobotsFetch | Wait | None]:
        """Return a host's next fetch on behalf of others, or the wait before it.

        Fetches that cannot start in this round, and those of blocked URLs, end.
        """
        while turn.delegated:
            block = self._blocks().match(turn.delegated[0].search.url)
            if not block and now < self._turns.deadline and ready_at < self._turns.deadline:
                return turn.delegated[0] if ready_at <= now else Wait(ready_at)
            search, sender = turn.delegated.pop(0)
            if now < self._turns.deadline:
                error = f"robots.txt redirects to {turn.host}, which may not be requested in this round"
                error = f"robots.txt redirects to {search.url}: {block.error}" if block else error
                yield from self._arrive(sender, search, Reply(failure=Outcome.TIMEOUT, error=error), now)
            else:
                sender.search = None
                self._turns.schedule(sender)
        return None

    def take(
        self, turn: HostTurn, request: RobotsSearch | DelegatedRobotsFetch, reply: Reply, ended: float
    ) -> Generator[Event, None, Outcome]:
        """Process a response for all hosts whose search has led to it; return its outcome."""
        search = request.search if isinstance(request, DelegatedRobotsFetch) else request
        end = outcome(search.url, reply, conditional=False)
        self.answers.put(search.url, reply, self._clock.utc())
        waiting = [other for other in turn.delegated if other.search.url == search.url]
        turn.delegated = [other for other in turn.delegated if other.search.url != search.url]
        own = lookup.start_search(origin_of(search.url), search.depth)
        if isinstance(request, RobotsSearch):
            yield from self._arrive(turn, request, reply, ended)
        elif own.url == search.url and own.origin not in turn.robots and turn.search is None:
            yield from self._arrive(turn, own, reply, ended)  # one response for both
        else:
            self._turns.rest(turn, end, reply, ended)
            self._turns.schedule(turn)
        for each in waiting:
            yield from self._arrive(each.sender, each.search, reply, ended)
        return end

    def _arrive(self, turn: HostTurn, search: RobotsSearch, reply: Reply, ended: float) -> Iterator[Event]:
        """Process a response to a robots.txt fetch: follow its redirect, or use it as the result.

        A redirect to a blocked URL is no answer.
        """
        hop = lookup.next_hop(search, reply)
        if hop and (block := self._blocks().match(hop.url)):
            error = f"robots.txt redirects to {hop.url}: {block.error}"
            search, reply = hop, Reply(failure=Outcome.TIMEOUT, error=error, elapsed_s=reply.elapsed_s)
        end = outcome(search.url, reply, conditional=False)
        turn.search = lookup.next_hop(search, reply)
        lasts, is_of_origin = FOR_EVER, False
        if turn.search is None:
            row = self._use(turn, search, reply)
            yield Event("robots", row)
            robots = turn.robots[search.origin]
            if robots.verdict is Verdict.UNREACHABLE and robots.failure not in NO_ADDRESS:
                end = Outcome.UNREACHABLE_ROBOTS
            is_of_origin = end is Outcome.UNREACHABLE_ROBOTS and turn.answers_elsewhere(search.origin)
            lasts = (row["expires_at"] - row["fetched_at"]).total_seconds()
        self._turns.rest(turn, end, reply, ended, lasts, is_of_origin=is_of_origin)
        self._turns.trim(turn)
        if turn.search and turn.is_away and self._may_be_elsewhere(turn, host_of(turn.search.url)):
            self.moved.append(Moved(turn.host, list(turn.queue), turn.robots_rows, turn.search, self._turns.row(turn)))
            turn.queue.clear()
            turn.search = None
            self._turns.schedule(turn)
        elif turn.search and turn.is_away:
            yield from self._send(turn, turn.search)
        else:
            self._turns.schedule(turn, look=True)

    def _use(self, turn: HostTurn, search: RobotsSearch, reply: Reply) -> RobotsRow:
        """Use the response that ends a search as the robots.txt of its origin; return its row of table robots."""
        context, now = self._context, self._clock.utc()
        delay = context.politeness.delay
        row, robots = lookup.robots_row(search, turn.host, reply, context.round, now, context.identity.token, delay)
        last_good = turn.last_good.get(search.origin)
        if robots.verdict is Verdict.UNREACHABLE and last_good and last_good.is_usable(now):
            row["expires_at"] = expires_at(now, (), None, max(delay, last_good.crawl_delay))
            robots = dataclasses.replace(last_good, expires_at=row["expires_at"])
        if robots.verdict is Verdict.UNREACHABLE and search.hops:  # the failure is another host's
            robots = dataclasses.replace(robots, failure=None)
        turn.robots[search.origin] = robots
        longest = max(known.crawl_delay for known in turn.robots.values())
        turn.state = dataclasses.replace(turn.state, crawl_delay=longest)
        return row

    def _may_be_elsewhere(self, turn: HostTurn, host: str) -> bool:
        """Return whether another worker may have the host; a domain is in one worker, unless queues are by address."""
        if not self._context.emits_moved or self._turns.find(host):
            return False
        return self._context.politeness.scope == "address" or domain(host) != domain(turn.host)

    def _send(self, sender: HostTurn, search: RobotsSearch) -> Iterator[Event]:
        """Fetch a robots.txt from another host, in that host's queue and with its delay; once for all requesters."""
        if reply := self.answers.get(search.url, self._clock.utc()):
            yield from self._arrive(sender, search, reply, self._clock.monotonic())
            return
        host = host_of(search.url)
        turn = self._turns.find(host)
        if turn is None:
            scope = self._context.politeness.scope
            addresses = self._names.addresses_of(host) if scope == "address" else ()
            known = self._held.get(host), self._context.name_ready_at.get(host_name(host))
            ready_at = max((monotonic(moment, self._clock) for moment in known if moment), default=0.0)
            turn = HostTurn(host, UrlQueue(), ready_at=ready_at)
            self.add(shared_queue_name(host, scope, addresses), [turn])
        turn.delegated.append(DelegatedRobotsFetch(search, sender))
        self._turns.schedule(turn)
