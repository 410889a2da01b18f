"""The API over HTTP: one method a route, bodies as they came, a plain sentence for what goes wrong."""

import ipaddress
import json
import socket
import ssl
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self
from urllib.parse import quote, urlsplit

import httpx

from codetrail.domain.search import Filter
from codetrail_local.errors import Misused, Trouble

# The gateway ends a request after 29 seconds; what takes longer is a dead line.
READ_SECONDS = 35.0
CONNECT_SECONDS = 5.0
# The API answers 6 MB at most; more is somebody else.
MAX_BODY_BYTES = 8 * 1024 * 1024
# Asking again is safe, since every route gives the same result twice; a person waits this long at most.
MAX_TRIES = 4
MAX_WAIT_SECONDS = 10.0

ALL = Filter()

# Of an address that makes no sense.
MAX_SHOWN = 80
_REDIRECTS = (301, 302, 303, 307, 308)


class ApiError(Trouble):
    """The API could not be asked, or did not answer as asked; `status` is 0 where it said nothing."""

    def __init__(self, message: str, *, status: int = 0, body: bytes = b"") -> None:
        super().__init__(message, body=body)
        self.status = status
        # The request cannot be served as it stands: another command line would do.
        self.exit_code = 2 if status in (400, 413) else 1


class AddressError(Misused):
    """An API address or a key that cannot be used; the message says why."""


class Client:
    """A codetrail API at one address. Close it, or use it as a context."""

    def __init__(self, url: str, key: str = "", *, wait: Callable[[float], None] = time.sleep) -> None:
        self.url = _checked_url(url)
        self._wait = wait
        headers = {"Accept": "application/json", "User-Agent": "codetrail"}
        if key:
            headers["Authorization"] = f"Bearer {_checked_key(key)}"
        self._keyed = bool(key)
        try:
            self._http = httpx.Client(
                headers=headers,
                timeout=httpx.Timeout(READ_SECONDS, connect=CONNECT_SECONDS),
                # A proxy for the outside world cannot reach this machine's own loopback.
                trust_env=not is_loopback(self.url),
            )
        except (
            ValueError,
            ImportError,
            OSError,
        ) as error:  # a proxy or certificate setting that httpx cannot use
            raise AddressError(
                f"the proxy or certificate settings of the environment cannot be used: {error}"
            ) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give the connections back."""
        self._http.close()

    def submit(self, remote: str, ref: str) -> bytes:
        """Ask for a repository to be indexed; the body is a job."""
        return self._call("POST", "/api/repos", {"remote": remote, "ref": ref})

    def job(self, job_id: str) -> bytes:
        """One job."""
        return self._call("GET", f"/api/jobs/{quote(job_id, safe='')}")

    def repos(self, *, remote: str = "", ref: str = "", limit: int = 50, cursor: str = "") -> bytes:
        """A page of the corpus, all of it or what was indexed of one remote and ref."""
        query = {"remote": remote, "ref": ref, "limit": str(limit), "cursor": cursor}
        return self._call("GET", "/api/repos", query={name: value for name, value in query.items() if value})

    def repo(self, repo_id: str) -> bytes:
        """One repository with its counts."""
        return self._call("GET", f"/api/repos/{quote(repo_id, safe='')}")

    def search(self, repo_id: str, query: str, limit: int | None = None, only: Filter = ALL) -> bytes:
        """Spans that match, best first."""
        body = {"q": query, **_fields(only)}
        if limit is not None:
            body["limit"] = limit
        return self._call("POST", f"/api/repos/{quote(repo_id, safe='')}/search", body)

    def ask(self, repo_id: str, question: str, only: Filter = ALL) -> bytes:
        """An answer, or a refusal."""
        body = {"q": question, **_fields(only)}
        return self._call("POST", f"/api/repos/{quote(repo_id, safe='')}/ask", body)

    def ready(self) -> bool:
        """Whether the API and what it depends on can serve."""
        try:
            return self._send("GET", "/ready", None, None)[0].status_code == 200
        except ApiError:
            return False

    def _call(
        self,
        method: str,
        path: str,
        body: dict[str, object] | None = None,
        query: dict[str, str] | None = None,
    ) -> bytes:
        waited = 0.0
        for attempt in range(1, MAX_TRIES + 1):
            response, content = self._send(method, path, body, query)
            if response.status_code not in (429, 503) or attempt == MAX_TRIES:
                break
            pause = _retry_after(response)
            if waited + pause > MAX_WAIT_SECONDS:
                break
            waited += pause
            self._wait(pause)
        if response.is_success:
            return content
        raise self._refused(response, content)

    def _send(
        self, method: str, path: str, body: dict[str, object] | None, query: dict[str, str] | None
    ) -> tuple[httpx.Response, bytes]:
        content = None if body is None else json.dumps(body).encode()
        headers = {} if body is None else {"Content-Type": "application/json"}
        try:
            with self._http.stream(
                method, self.url + path, content=content, headers=headers, params=query
            ) as response:
                pieces, size = [], 0
                for piece in response.iter_bytes():
                    size += len(piece)
                    if size > MAX_BODY_BYTES:
                        raise ApiError(
                            f"what answers at {self.url} sends more than codetrail's API ever does."
                        )
                    pieces.append(piece)
                return response, b"".join(pieces)
        except httpx.HTTPError as error:
            raise ApiError(self._unreachable(error)) from error
        except (httpx.InvalidURL, UnicodeError) as error:  # the resolver's codec refuses some names by itself
            raise AddressError(f"{self.url[:MAX_SHOWN]!r} names no host that there can be") from error

    def _unreachable(self, error: httpx.HTTPError) -> str:
        host = urlsplit(self.url).netloc
        root = _root(error)
        if isinstance(error, httpx.ConnectTimeout):
            why = f"{host} did not take a connection in {CONNECT_SECONDS:.0f} seconds: is the network up?"
        elif isinstance(error, httpx.TimeoutException):
            why = f"{host} took the request and did not answer in {READ_SECONDS:.0f} seconds. Ask again."
        elif isinstance(error, httpx.ProxyError):
            why = f"the proxy that the environment names did not let the request to {host} through: {root}"
        elif isinstance(root, ssl.SSLError):
            why = f"there is no trusted connection to {host}: {root}"
        elif isinstance(root, socket.gaierror):
            why = f"the host name {urlsplit(self.url).hostname} cannot be looked up: is it spelled right?"
        elif isinstance(error, httpx.ConnectError):
            why = f"nothing answers at {self.url}: is codetrail running there?"
        else:
            why = f"{host} broke off in the middle of an answer ({root}). Ask again."
        return why

    def _refused(self, response: httpx.Response, content: bytes) -> ApiError:
        status = response.status_code
        said, request_id = _error_fields(content)
        because = f": {said}" if said else "."
        if status in _REDIRECTS:
            elsewhere = response.headers.get("Location", "another address")
            message = f"{self.url} redirects to {elsewhere}: give that address as --api."
        elif status == 401 and self._keyed:
            message = "the API does not accept this key: it may be mistyped, expired or revoked."
        elif status == 401:
            message = "the API asks for a key: give one with --key or CODETRAIL_KEY."
        elif status == 403:
            message = f"the API does not allow this{' for this key' if self._keyed else ''}{because}"
        elif status == 429:
            message = f"too many requests: try again in {_retry_after(response):.0f} seconds."
        elif status == 503:
            message = f"the API is up, but something that it needs is not: try again shortly{because}"
        elif status >= 500:
            request_id = request_id or response.headers.get("X-Request-Id", "unknown")
            message = f"the API failed with {status}, request id {request_id}{because}"
        else:
            message = said or f"what answers at {self.url} is not codetrail's API (HTTP {status})."
        # Only an error as codetrail's API writes one is worth passing on.
        return ApiError(message, status=status, body=content if said else b"")


def _fields(only: Filter) -> dict[str, object]:
    """What a body says of *only*: an API that knows no filters is told of none."""
    fields = {
        "path": only.path,
        "language": only.language,
        "kind": only.kind and only.kind.value,
        "exclude_tests": only.exclude_tests,
    }
    return {name: value for name, value in fields.items() if value}


def is_loopback(url: str) -> bool:
    """Whether *url* leads to this machine."""
    host = urlsplit(url).hostname or ""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _checked_url(url: str) -> str:
    try:
        parts = urlsplit(url)
        _ = parts.port  # raises for one that is no number
    except ValueError as error:
        raise AddressError(f"{url!r} is not an address: {error}") from error
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise AddressError(
            f"{url!r} is not an API's address; one looks like http://127.0.0.1:8400 or https://example.com/stage"
        )
    if parts.username or parts.password:
        raise AddressError("the API's address holds a password; a key goes into --key or CODETRAIL_KEY")
    if parts.query or parts.fragment:
        raise AddressError(f"{url!r} holds a ? or a #; give the address that the routes are appended to")
    if not url.isascii() or not url.isprintable() or " " in url:
        raise AddressError(f"{url!r} holds characters that no address has")
    return url.rstrip("/")


def _checked_key(key: str) -> str:
    if not key.isascii() or not key.isprintable() or " " in key:
        raise AddressError(
            "the key holds characters that no key has: was it copied whole, and without a line break?"
        )
    return key


def _retry_after(response: httpx.Response) -> float:
    text = response.headers.get("Retry-After", "")
    return min(float(text), 3600.0) if text.isascii() and text.isdigit() else 1.0


def _error_fields(content: bytes) -> tuple[str, str]:
    """(error, request_id) of an error body, each empty where it is missing."""
    try:
        fields = json.loads(content)
    except ValueError:
        return "", ""
    if not isinstance(fields, dict):
        return "", ""
    error, request_id = fields.get("error"), fields.get("request_id")
    return error if isinstance(error, str) else "", request_id if isinstance(request_id, str) else ""


def _root(error: BaseException) -> BaseException:
    while (cause := error.__cause__ or error.__context__) is not None:
        error = cause
    return error
