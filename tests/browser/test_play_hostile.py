"""A page of another site, in a real browser, cannot run code in a playground or read from it."""

from __future__ import annotations

import json
import re
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Error

from measuring.trial_server import Playground, play

from .conftest import QUIET
from .played import TEXT, open_play, settle, type_at_start

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, BrowserType, Page

SCRIPT = Path(__file__).with_name("hostile_page.js").read_text(encoding="utf-8")
ATTEMPTS = re.findall(r"(?m)^  (\w+): (?:async )?\(", SCRIPT.partition("const attempts = {")[2])
# A name that leads to this machine, as after a change of its address; and no protection but the playground's own.
UNGUARDED = (
    "--host-resolver-rules=MAP evil.test 127.0.0.1",
    "--disable-features=LocalNetworkAccessChecks,BlockInsecurePrivateNetworkRequests,HttpsUpgrades",
    "--disable-popup-blocking",
)
# What runs tells so to the site that sent it: nothing else that it could do is seen as surely.
CODE = """
import urllib.request

urllib.request.urlopen("http://127.0.0.1:{port}/ran?{how}", timeout=2).read()


def f(x):
    return x * 2
"""


class Evil:
    """Another site, which is notified when code that it sent runs."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.port = 0
        self.told = "{}"

    @contextmanager
    def serve(self) -> Iterator[None]:
        """Serve the page of this site, and record its requests, within the context."""
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                site.asked.append(self.path)
                page = f'<!doctype html><script type="application/json" id="told">{site.told}</script><body></body>'
                content = SCRIPT if self.path == "/page.js" else f'{page}<script src="/page.js"></script>'
                self.send_response(200)
                self.send_header("Content-Type", "text/javascript" if self.path == "/page.js" else "text/html")
                self.end_headers()
                self.wfile.write(content.encode())

            def log_message(self, *_: object) -> None:
                """Log nothing about a request."""

        with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
            self.port = server.server_port
            threading.Thread(target=server.serve_forever, daemon=True).start()
            yield
            server.shutdown()

    @property
    def ran(self) -> list[str]:
        """The names of the ways in which code was sent that then ran."""
        return [path.partition("?")[2] for path in self.asked if path.startswith("/ran")]

    def code(self, how: str) -> str:
        """Code that notifies this site when it runs."""
        return CODE.format(port=self.port, how=how)


@pytest.fixture(scope="module")
def playground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Playground]:
    """The playground that the user has open."""
    with play(folder=tmp_path_factory.mktemp("play")) as started:
        yield started


@pytest.fixture(scope="module")
def evil(playground: Playground) -> Iterator[Evil]:
    """The other site."""
    site = Evil()
    with site.serve():
        site.told = json.dumps({"play": playground.address, "code": site.code("page")})
        yield site


@pytest.fixture(scope="module")
def unguarded(chromium: str, chromiums: BrowserType) -> Iterator[Browser]:
    """A browser without its own protection of local servers, so that the servers must protect themselves."""
    launched = chromiums.launch(executable_path=chromium, args=[*QUIET, *UNGUARDED])
    yield launched
    launched.close()


@pytest.fixture(scope="module")
def page(unguarded: Browser, evil: Evil) -> Page:
    """The page of the other site."""
    opened = unguarded.new_context().new_page()
    opened.goto(f"http://evil.test:{evil.port}/")
    assert opened.evaluate("names") == ATTEMPTS
    return opened


def test_code_from_the_playgrounds_own_page_runs_and_is_detected(playground: Playground, evil: Evil) -> None:
    """Code from the playground's own page runs; otherwise the other tests would prove nothing."""
    playground.compile(evil.code("own"))
    assert "own" in evil.ran


@pytest.mark.parametrize("name", ATTEMPTS)
def test_an_attack_from_another_site_runs_and_reads_nothing(
    playground: Playground, evil: Evil, page: Page, name: str
) -> None:
    reply = page.evaluate("name => attempt(name)", name)
    # What it sent would have run before this.
    playground.compile(evil.code(f"after{name}"))
    assert f"after{name}" in evil.ran
    assert "page" not in evil.ran
    assert playground.token not in reply
    assert "play-token" not in reply
    assert "examples" not in reply
    assert "event" not in reply
    assert playground.describe("x = 1").status == 200


def test_dns_rebinding_gives_another_site_no_access(playground: Playground, unguarded: Browser) -> None:
    for host in ("evil.test", "localhost.evil.test"):
        opened = unguarded.new_context().new_page()
        try:
            answer = opened.goto(f"http://{host}:{playground.port}/")
        except Error:
            continue  # the name leads nowhere
        assert answer is not None
        assert 400 <= answer.status < 500
        assert playground.token not in opened.content()
        for path in ("/start", "/", "/static/play.js"):
            reply = opened.evaluate(
                "async path => { const r = await fetch(path); return [r.status, await r.text()] }", path
            )
            assert 400 <= reply[0] < 500
            assert playground.token not in reply[1]
        body = {"code": "x", "function": "f", "arguments": "", "targets": ["cpu"], "options": {}}
        script = """async ({ body, token }) => (await fetch("/compile", {
          method: "POST", body: JSON.stringify(body), headers: { "X-Play-Token": token } })).status"""
        assert 400 <= opened.evaluate(script, {"body": body, "token": playground.token}) < 500


def test_a_message_from_another_window_changes_nothing(playground: Playground, evil: Evil, unguarded: Browser) -> None:
    opened = open_play(playground, unguarded.new_context())
    before = opened.evaluate(TEXT)
    for message in (
        {"code": evil.code("message")},
        {"type": "set", "code": evil.code("message")},
        evil.code("message"),
    ):
        opened.evaluate(
            "message => dispatchEvent(new MessageEvent('message', { data: message, origin: 'http://evil.test' }))",
            message,
        )
    # What they changed would be compiled with this.
    type_at_start(opened, "# a remark\n")
    settle(opened)
    assert opened.evaluate(TEXT) == f"# a remark\n{before}"
    assert "message" not in evil.ran
