"""Events of /health and /ready in, responses out; and of addresses that are no route."""

import pytest

from codetrail import wiring
from codetrail.errors import Unavailable
from codetrail.services.health import REMEMBERED_SECONDS, Readiness
from tests.support.clock import Clock
from tests.support.events import event


class Watched:
    """A probe that counts, and fails while `down`."""

    def __init__(self) -> None:
        self.down = False
        self.asked = 0

    def check(self) -> None:
        self.asked += 1
        if self.down:
            raise Unavailable("the database is not answering")


@pytest.fixture
def probe(monkeypatch):
    probe, clock = Watched(), Clock()
    readiness = Readiness(probe, clock=clock)
    monkeypatch.setattr(wiring, "readiness", lambda: readiness)
    return probe, clock


def test_health_is_200_whatever_the_database_does(call, probe):
    probe[0].down = True

    answer = call(event("health"))

    assert (answer.status, answer.json) == (200, {"status": "ok"})
    assert probe[0].asked == 0


def test_ready_is_200_over_a_migrated_database_and_has_no_body(call):
    answer = call(event("health.ready"))

    assert (answer.status, answer.text) == (200, "")


def test_ready_is_503_without_a_database_and_has_no_body(call, probe):
    probe[0].down = True

    answer = call(event("health.ready"))

    assert (answer.status, answer.text) == (503, "")


def test_the_database_is_not_asked_again_within_ten_seconds(call, probe):
    watched, clock = probe
    statuses = []
    for down, now in (
        (False, 0.0),
        (True, REMEMBERED_SECONDS - 0.1),
        (True, REMEMBERED_SECONDS),
        (False, 19.9),
        (False, 20.0),
    ):
        watched.down, clock.now = down, now
        statuses.append(call(event("health.ready")).status)

    assert statuses == [200, 200, 503, 503, 200]
    assert watched.asked == 3


@pytest.mark.parametrize(
    "proxy", ["", "api", "api/", "api/nothing", "metrics", "Health", "health/x", "%00", "../health"]
)
def test_an_address_that_is_no_route_says_so(call, proxy):
    answer = call(event("health.no_route", proxy=proxy))

    assert (answer.status, answer.json) == (404, {"error": "no such route"})


def test_the_root_is_no_route(call):
    sent = event("health.no_route")
    sent |= {"resource": "/", "path": "/", "pathParameters": None}

    assert call(sent).status == 404
