"""Invalid requests are rejected with a message, reveal nothing, and leave the server unchanged."""

from __future__ import annotations

import json
import socket
from typing import TYPE_CHECKING

import pytest

from measuring.trial_server import Playground, play

from .raw_requests import ASKED, CODE, PATHS, PATIENCE, head, post, refused, send, status

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Playground]:
    """One server for all tests."""
    home = tmp_path_factory.mktemp("odd")
    with play(folder=home, environment={"HOME": str(home)}) as playground:
        yield playground


@pytest.fixture(autouse=True)
def is_left_as_it_was(server: Playground) -> Iterator[None]:
    """Assert after each test that the page is served and a text is described."""
    yield
    assert server.process.poll() is None
    assert server.ask("/", headers={}, patience=PATIENCE).status == 200
    assert server.describe(CODE).status == 200


def test_the_right_request_is_answered(server: Playground) -> None:
    assert status(send(server, post(server, "/describe", json.dumps({"code": CODE}).encode()))) == 200


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("token", [None, "é", "a" * 10_000])
def test_requests_without_the_token_are_rejected(server: Playground, path: str, token: str | None) -> None:
    body = json.dumps(ASKED).encode()
    request = (
        head(server, "GET /start HTTP/1.1", X_Play_Token=token)
        if path == "/start"
        else post(server, path, body, X_Play_Token=token)
    )
    assert refused(server, send(server, request))


def test_a_token_in_the_address_or_in_a_cookie_does_not_count(server: Playground) -> None:
    request = head(
        server, f"GET /start?token={server.token} HTTP/1.1", X_Play_Token=None, Cookie=f"play-token={server.token}"
    )
    assert refused(server, send(server, request))


@pytest.mark.parametrize(
    "host", [None, "evil.test:{port}", "evil.test@127.0.0.1:{port}", "127.1:{port}", "127.0.0.1:{port}, evil.test"]
)
@pytest.mark.parametrize("path", ["/", "/start", "/static/play.js"])
def test_requests_for_another_host_are_rejected(server: Playground, host: str | None, path: str) -> None:
    name = host and host.format(port=server.port)
    assert refused(server, send(server, head(server, f"GET {path} HTTP/1.1", Host=name)))


def test_two_host_headers_are_rejected(server: Playground) -> None:
    raw = head(server, "GET / HTTP/1.1").replace(b"Host:", b"Host: evil.test\r\nHost:", 1)
    assert refused(server, send(server, raw))


@pytest.mark.parametrize("origin", ["null", "http://evil.test", "https://127.0.0.1:{port}"])
@pytest.mark.parametrize("path", PATHS[1:])
def test_another_origin_is_rejected_even_with_the_token(server: Playground, origin: str, path: str) -> None:
    body = json.dumps(ASKED).encode()
    assert refused(server, send(server, post(server, path, body, Origin=origin.format(port=server.port))))


def test_no_other_origin_is_ever_allowed(server: Playground) -> None:
    for method in ("GET", "OPTIONS", "HEAD"):
        for origin in ("http://evil.test", "null"):
            raw = head(server, f"{method} /start HTTP/1.1", Origin=origin, Access_Control_Request_Method="POST")
            assert b"access-control-allow" not in send(server, raw).lower()


@pytest.mark.parametrize("method", ["PUT", "OPTIONS", "get", "X" * 5000])
def test_other_methods_are_rejected(server: Playground, method: str) -> None:
    for path in ("/", "/compile"):
        answer = send(server, head(server, f"{method} {path} HTTP/1.1"))
        assert server.token.encode() not in answer
        assert 400 <= status(answer) < 600


@pytest.mark.parametrize("path", PATHS[1:])
def test_each_path_accepts_only_its_own_method(server: Playground, path: str) -> None:
    assert refused(server, send(server, head(server, f"GET {path} HTTP/1.1")))
    assert refused(server, send(server, post(server, "/start", b"{}")))


@pytest.mark.parametrize(
    "path",
    [
        "/static/../play_page.py",
        "/static/..%2fplay_page.py",
        "/static//etc/passwd",
        "/static/..\\main.py",
        "/static/play.js%00.html",
        "/static/" + "a" * 5000,
        "/../../../../etc/passwd",
        "/static/%ff%fe",
        "http://evil.test/",
    ],
)
def test_paths_outside_of_the_server_are_rejected(server: Playground, path: str) -> None:
    answer = send(server, head(server, f"GET {path} HTTP/1.1"))
    assert b"root:" not in answer
    assert b"import annotations" not in answer
    assert refused(server, answer)


def test_the_page_is_served_with_a_policy_and_is_not_cached(server: Playground) -> None:
    answer = server.ask("/", headers={})
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe-eval" not in policy
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["cross-origin-resource-policy"] == "same-origin"
    assert answer.headers["cross-origin-opener-policy"] == "same-origin"
    assert "set-cookie" not in answer.headers


def test_the_server_listens_on_the_loopback_interface_only(server: Playground) -> None:
    outside = [info[4][0] for info in socket.getaddrinfo(socket.gethostname(), server.port, proto=socket.IPPROTO_TCP)]
    for address in {str(host) for host in outside} - {"127.0.0.1", "::1", "127.0.1.1"}:
        with pytest.raises(OSError), socket.create_connection((address, server.port), timeout=1):  # noqa: PT011 - any
            pass


def test_the_token_is_long_and_new_each_time(server: Playground, tmp_path: Path) -> None:
    with play(folder=tmp_path) as other:
        assert other.token != server.token
        assert min(len(other.token), len(server.token)) >= 22
        assert refused(server, send(server, head(server, "GET /start HTTP/1.1", X_Play_Token=other.token)))
