"""Invalid bodies, lengths and connections are rejected with a message and block nobody."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from typing import TYPE_CHECKING

import pytest

from measuring.trial_server import Playground, play

from .raw_requests import ASKED, CODE, PATHS, PATIENCE, head, post, refused, send, status

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Playground]:
    """One server for all tests."""
    home = tmp_path_factory.mktemp("odd")
    # Code whose page is gone must end because of that, and not because of its time limit.
    with play("--limit-code", "900", folder=home, environment={"HOME": str(home)}) as playground:
        yield playground


@pytest.fixture(autouse=True)
def is_left_as_it_was(server: Playground) -> Iterator[None]:
    """Assert after each test that the page is served and a text is described."""
    yield
    assert server.process.poll() is None
    assert server.ask("/", headers={}, patience=PATIENCE).status == 200
    assert server.describe(CODE).status == 200


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{}",
        b"\xff\xfe{}",
        b'{"code": NaN}',
        b'{"code": "\\ud800", "function": "\\udfff"}',
        b'{"code": "\\u0000", "function": "\\u0000"}',
        b"[" * 200_000,
        b'{"code": ' + b"9" * 5000 + b"}",
        b'{"code": "", "targets": ["cpu", "cpu", "../../etc", "\\u0000", "h100:99999999"]}',
        b"code=def&function=f",
    ],
    ids=lambda body: repr(body[:40]),
)
@pytest.mark.parametrize("path", PATHS[1:])
def test_an_invalid_request_gets_a_json_answer(server: Playground, path: str, body: bytes) -> None:
    answer = send(server, post(server, path, body))
    assert server.token.encode() not in answer
    assert b"Traceback" not in answer
    assert status(answer) in {200, 400, 404, 413, 415, 422}


def test_a_field_of_a_wrong_type_is_rejected(server: Playground) -> None:
    for name in ASKED:
        for value in (None, 3, [], "", "x" * 100_000, {"x": {}}):
            answer = send(server, post(server, "/compile", json.dumps({**ASKED, name: value}).encode()))
            assert status(answer) in {200, 400, 413, 422}, (name, value)
            assert b"Traceback" not in answer, (name, value)


def test_a_body_of_more_than_a_megabyte_is_rejected(server: Playground) -> None:
    assert refused(server, send(server, post(server, "/describe", b'{"code": "' + b"x" * (1 << 20) + b'"}')))
    assert refused(server, send(server, head(server, "POST /describe HTTP/1.1", Content_Length=str(1 << 40))))


@pytest.mark.parametrize("length", [None, "-1", "0x10", "9" * 400, "5, 5", "٣"])
def test_an_invalid_length_is_rejected(server: Playground, length: str | None) -> None:
    raw = head(server, "POST /describe HTTP/1.1", Content_Length=None)
    if length is not None:
        raw = raw.replace(b"\r\n\r\n", b"\r\nContent-Length: " + length.encode() + b"\r\n\r\n")
    assert refused(server, send(server, raw + b'{"code": ""}', half_closed=True))


def test_two_lengths_and_chunked_bodies_are_rejected(server: Playground) -> None:
    body = b'{"code": ""}'
    for also in (b"Content-Length: 3\r\n", b"Transfer-Encoding: chunked\r\n"):
        raw = post(server, "/describe", body).replace(b"Content-Length", also + b"Content-Length", 1)
        assert refused(server, send(server, raw))


def test_a_request_hidden_in_another_is_not_answered(server: Playground) -> None:
    """The bytes after a rejected body must not be read as another request."""
    hidden = head(server, "GET /start HTTP/1.1")
    for outer in (
        post(server, "/describe", hidden, X_Play_Token="x", Connection=None),  # noqa: S106 - a wrong one
        post(server, "/nothing", hidden, Connection=None),
        head(server, "GET /start HTTP/1.1", Host="evil.test", Content_Length=str(len(hidden)), Connection=None)
        + hidden,
    ):
        assert send(server, outer).count(b"HTTP/1.") == 1


def test_pipelined_requests_are_answered_in_order_or_not_at_all(server: Playground) -> None:
    one = head(server, "GET /start HTTP/1.1", Connection="keep-alive")
    answer = send(server, one * 5 + head(server, "GET /start HTTP/1.1"))
    assert 1 <= answer.count(b"HTTP/1.") <= 6
    assert status(answer) == 200


@pytest.mark.parametrize(
    "raw",
    [
        b"\x00" * 1000,
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 100_000 + b"\r\n",
        b"GET /" + b"a" * 1_000_000 + b" HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\n: nothing\r\n no colon\r\n\r\n",
        b"GET / HTTP/1.1\nHost: evil.test\n\n",
        b"",
    ],
    ids=lambda raw: repr(raw[:30]),
)
def test_the_server_survives_other_protocols(server: Playground, raw: bytes) -> None:
    assert server.token.encode() not in send(server, raw, half_closed=True)


def test_a_silent_connection_blocks_nobody(server: Playground) -> None:
    with contextlib.ExitStack() as stack:
        for _ in range(200):
            stack.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE))
        start = time.monotonic()
        assert server.describe(CODE).status == 200
        assert time.monotonic() - start < PATIENCE


def test_bodies_sent_byte_by_byte_block_nobody(server: Playground) -> None:
    body = json.dumps({"code": CODE}).encode()

    def send_slowly() -> None:
        with contextlib.suppress(OSError):
            connection = socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE)
            connection.sendall(post(server, "/describe", body)[: -len(body)])
            for byte in body[:20]:
                connection.sendall(bytes([byte]))
                time.sleep(0.1)
            connection.close()  # and never sends the rest

    slow = [threading.Thread(target=send_slowly, daemon=True) for _ in range(30)]
    for thread in slow:
        thread.start()
    start = time.monotonic()
    assert server.describe(CODE).status == 200
    assert time.monotonic() - start < PATIENCE
    for thread in slow:
        thread.join()


def test_a_client_that_disconnects_leaves_nothing_running(server: Playground) -> None:
    endless = json.dumps({**ASKED, "client": "gone", "code": "while True:\n    pass\n"}).encode()
    for _ in range(5):
        with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as connection:
            connection.sendall(post(server, "/compile", endless))
            time.sleep(0.2)
    assert server.compile(CODE, client="odd").events[-1]["event"] == "done"
    # Waiting processes use no processor time; how many wait depends on the requests before.
    end = time.monotonic() + 2 * PATIENCE
    while (busy := server.list_busy(1)) and time.monotonic() < end:
        pass
    assert busy == []


def test_code_that_runs_is_listed_as_busy(server: Playground) -> None:
    endless = json.dumps({**ASKED, "client": "busy", "code": "while True:\n    pass\n"}).encode()
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as connection:
        connection.sendall(post(server, "/compile", endless))
        end = time.monotonic() + 2 * PATIENCE
        while not (busy := server.list_busy(1)) and time.monotonic() < end:
            pass
        assert len(busy) > 0


def test_a_client_that_stops_reading_blocks_nobody(server: Playground) -> None:
    """A client that requests a compilation and reads no answer does not block the compilations of others."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
        connection.sendall(post(server, "/compile", json.dumps({**ASKED, "client": "deaf"}).encode()))
        assert server.compile(CODE, client="hears").events[-1]["event"] == "done"
