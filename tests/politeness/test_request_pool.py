"""Answers of requests under way come to whoever waits for them, and nobody waits for longer than was said."""

import threading
from collections import deque

from beamtrawl.transforms.http.reply import Reply
from beamtrawl.transforms.politeness.host_queue import DelegatedRobotsFetch, HostTurn
from beamtrawl.transforms.politeness.request_pool import RequestPool
from beamtrawl.transforms.politeness.shared_queues import SharedQueue
from beamtrawl.transforms.robots.lookup import RobotsSearch
from beamtrawl.transforms.settings import Fetch


def test_a_wait_ends_also_if_its_time_is_over_before_it_begins():
    shared, turn = SharedQueue("a.test"), HostTurn("a.test", deque())
    request = DelegatedRobotsFetch(RobotsSearch("http://a.test", "http://a.test/robots.txt", 0), turn)
    requests = RequestPool(Fetch(), lambda turn: None)
    waits = []

    def wait_often():
        for _ in range(5_000):
            requests.start(shared, turn, request, lambda client, request: Reply(), 0.0)
            while not requests.take(0.0):
                pass
            waits.append(requests.take(1e-7))

    waiting = threading.Thread(target=wait_often, daemon=True)
    waiting.start()
    waiting.join(60)
    assert waits == [None] * 5_000
