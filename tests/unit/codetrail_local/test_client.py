import json
import socket

import pytest

from codetrail_local.client import MAX_BODY_BYTES, AddressError, ApiError, Client
from tests.support.recorded_api import Recorded, recorded_api


@pytest.fixture
def api():
    with recorded_api() as api:
        yield api


def client(api, key="", waits=None):
    return Client(api.url, key, wait=(waits if waits is not None else []).append)


def test_a_body_comes_back_as_it_was_sent(api):
    body = b'{ "id":"\\u00e9",\n"x":1 }\n'
    api.answer("GET", "/api/jobs/j", body)

    with client(api) as http:
        assert http.job("j") == body


def test_a_question_goes_into_the_body_and_never_into_the_address(api):
    api.answer("POST", "/api/repos/r/ask", b"{}")

    with client(api, key="ct_abc") as http:
        http.ask("r", "what is ñ")

    (asked,) = api.asked
    assert asked.path == "/api/repos/r/ask"
    assert json.loads(asked.body) == {"q": "what is ñ"}
    assert asked.headers["Content-Type"] == "application/json"
    assert asked.headers["Authorization"] == "Bearer ct_abc"


def test_an_id_cannot_lead_to_another_route(api):
    with client(api) as http, pytest.raises(ApiError):
        http.job("../repos?x")

    assert api.asked[0].path == "/api/jobs/..%2Frepos%3Fx"


def test_an_address_may_hold_a_stage(api):
    api.answer("GET", "/prod/api/jobs/j", b"{}")

    with Client(api.url + "/prod/") as http:
        assert http.job("j") == b"{}"


@pytest.mark.parametrize(
    ("response", "sentence", "exit_code"),
    [
        (Recorded(b'{"error":"ref must be plain","rule":"form"}', 400), "ref must be plain", 2),
        (Recorded(b'{"error":"too large"}', 413), "too large", 2),
        (Recorded(b'{"error":"no such repository"}', 404), "no such repository", 1),
        (Recorded(b'{"error":"evicted"}', 410), "evicted", 1),
        (Recorded(b'{"error":"another model"}', 409), "another model", 1),
        (Recorded(b"", 401), "asks for a key", 1),
        (Recorded(b"", 403), "does not allow this.", 1),
        (Recorded(b'{"error":"internal error","request_id":"r7"}', 500), "request id r7", 1),
        (Recorded(b"<h1>Bad gateway</h1>", 502), "failed with 502", 1),
        (Recorded(b"<h1>Not here</h1>", 404), "is not codetrail's API", 1),
        (Recorded(b"[1]", 404), "is not codetrail's API", 1),
        (Recorded(b"", 301, {"Location": "https://elsewhere/"}), "redirects to https://elsewhere/", 1),
    ],
)
def test_each_refusal_has_its_own_sentence(api, response, sentence, exit_code):
    api.answer("GET", "/api/jobs/j", response)

    with client(api) as http, pytest.raises(ApiError, match=sentence) as caught:
        http.job("j")

    assert caught.value.exit_code == exit_code


def test_a_refused_key_is_not_called_missing_and_never_repeated(api):
    api.answer("GET", "/api/jobs/j", Recorded(b"", 401))

    with client(api, key="ct_secret") as http, pytest.raises(ApiError, match="does not accept") as caught:
        http.job("j")

    assert "ct_secret" not in str(caught.value)


def test_a_busy_api_is_asked_again_when_it_says(api):
    waits: list[float] = []
    busy = Recorded(b'{"error":"wait"}', 503, {"Retry-After": "2"})
    api.answer("GET", "/api/jobs/j", busy, Recorded(b"", 429, {"Retry-After": "3"}), Recorded(b"{}"))

    with client(api, waits=waits) as http:
        assert http.job("j") == b"{}"

    assert waits == [2.0, 3.0]


def test_nobody_waits_long_for_a_busy_api(api):
    waits: list[float] = []
    api.answer("GET", "/api/jobs/j", Recorded(b"", 429, {"Retry-After": "60"}))

    with client(api, waits=waits) as http, pytest.raises(ApiError, match="try again in 60 seconds"):
        http.job("j")

    assert waits == []


def test_a_store_that_stays_away_is_said_in_the_end(api):
    waits: list[float] = []
    api.answer("GET", "/api/jobs/j", Recorded(b'{"error":"the store does not answer"}', 503))

    with client(api, waits=waits) as http, pytest.raises(ApiError, match="the store does not answer"):
        http.job("j")

    assert len(waits) == 3


def test_nothing_at_the_address_is_said():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    with Client(f"http://127.0.0.1:{port}") as http, pytest.raises(ApiError, match="nothing answers at"):
        http.job("j")


def test_a_host_that_does_not_exist_is_said():
    with (
        Client("http://codetrail.invalid") as http,
        pytest.raises(ApiError, match="cannot be looked up"),
    ):
        http.job("j")


@pytest.mark.parametrize("host", ["a..b", "a" * 300, "[v1.x]", "%zz", "x:99999", "256.256.256.256"])
def test_a_host_that_none_can_be_called_is_said(host):
    with pytest.raises((AddressError, ApiError)), Client(f"http://{host}/") as http:
        http.job("j")


def test_an_answer_that_breaks_off_is_said(api):
    api.answer("GET", "/api/jobs/j", Recorded(b'{"id":"0123456789"}', hang_up=True))

    with client(api) as http, pytest.raises(ApiError, match="broke off"):
        http.job("j")


def test_an_endless_answer_is_not_read(api):
    api.answer("GET", "/api/jobs/j", Recorded(b" " * (MAX_BODY_BYTES + 1)))

    with client(api) as http, pytest.raises(ApiError, match="sends more than"):
        http.job("j")


def test_a_server_that_speaks_no_tls_is_said(api):
    with (
        Client(api.url.replace("http:", "https:")) as http,
        pytest.raises(ApiError, match="no trusted connection"),
    ):
        http.job("j")


@pytest.mark.parametrize(
    "url",
    [
        "",
        "localhost:8400",
        "ftp://x",
        "http://",
        "http://x:port",
        "http://u:p@x",
        "http://x/?a",
        "http://x y",
        "http://[::1",
    ],
)
def test_what_is_no_address_is_refused_before_anything_is_sent(url):
    with pytest.raises(AddressError):
        Client(url)


@pytest.mark.parametrize("key", ["a\nb", "a b", "kľúč", "a\x00"])
def test_a_key_that_no_header_can_carry_is_refused_and_not_repeated(key):
    with pytest.raises(AddressError, match="copied whole") as caught:
        Client("http://127.0.0.1:1", key)

    assert key not in str(caught.value)
