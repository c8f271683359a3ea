"""A browser reloads if its page was rebuilt, and waits only for pages in progress."""

from __future__ import annotations

import threading
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from livepage.serve import rebuild

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import Future

    from conftest import Served
    from mkdocs.structure.pages import Page

pytestmark = pytest.mark.long("authors alone see it; otherwise a sentence and a block are edited")


class Browser:
    """A simulated browser that asks a server as the script of MkDocs in each page does."""

    def __init__(self, served: Served) -> None:
        self.address = f"http://127.0.0.1:{served.server.server_port}/"
        self.pool = ThreadPoolExecutor(8)

    def get(self, path: str, referer: str = "") -> str:
        """Return the text of the server's answer for a path."""
        request = urllib.request.Request(self.address + path, headers={"Referer": referer} if referer else {})  # noqa: S310 - to this machine
        with urllib.request.urlopen(request, timeout=20) as answer:  # noqa: S310 - as above
            return answer.read().decode()

    def open(self, page: str) -> Future[bool]:
        """Open a page, and return a future of whether the server asks for it to be loaded again."""
        epoch = self.get(page).rpartition("livereload(")[2].partition(",")[0]
        return self.pool.submit(lambda: int(self.get(f"livereload/{epoch}/1", self.address + page)) > int(epoch))


@pytest.fixture
def browser(served: Served) -> Iterator[Browser]:
    """A browser of a site whose server runs, and looks for edits."""
    served.server.watch(str(served.docs))
    served.server.watch(str(served.site.root / "mkdocs.yml"))
    served.rebuild.begin(str(served.docs))
    served.server.poll_response_timeout = 4
    loop = threading.Thread(target=served.server.serve, daemon=True)
    loop.start()
    while not served.server.serve_thread.is_alive():
        time.sleep(0.02)
    browser = Browser(served)
    yield browser
    browser.pool.shutdown()
    served.server.shutdown(wait=True)
    loop.join()


def test_an_edit_reloads_the_browsers_of_its_page_and_no_others(served: Served, browser: Browser) -> None:
    first, second = browser.open("first/"), browser.open("second/")
    served.replace("docs/first.md", "A sentence.", "A sentence that was not here.")
    assert first.result(timeout=8)
    assert "that was not here" in browser.get("first/")
    assert served.whole == 0
    assert not second.result(timeout=8)


def test_a_build_of_all_pages_reloads_every_browser(served: Served, browser: Browser) -> None:
    opened = [browser.open("first/"), browser.open("second/"), browser.open("")]
    served.replace("docs/first.md", "# First", "# The first")
    assert [reload.result(timeout=8) for reload in opened] == [True] * 3
    assert served.whole == 1


def test_other_pages_are_available_during_the_build_of_a_page(
    served: Served, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    started, end = threading.Event(), threading.Event()
    build_page = rebuild._build  # noqa: SLF001 - the step that each page takes

    def wait(page: Page, *rest: object) -> None:
        started.set()
        assert end.wait(timeout=10)
        build_page(page, *rest)  # type: ignore[arg-type]  # as it was called

    monkeypatch.setattr(rebuild, "_build", wait)
    served.rebuild.want(["first.md"])
    assert started.wait(timeout=10)
    waiting = [browser.pool.submit(browser.get, path) for path in ("first/", "llms.txt", "search/search_index.json")]
    assert "<article>" in browser.get("second/")
    assert [answer.done() for answer in waiting] == [False] * 3
    end.set()
    assert [bool(answer.result(timeout=8)) for answer in waiting] == [True] * 3


def test_a_new_page_is_found_without_an_edit(served: Served, browser: Browser) -> None:
    home = browser.open("")
    served.put("docs/third.md", "# Third\n")
    assert home.result(timeout=8)
    assert "<h1" in browser.get("third/")


def test_while_all_pages_are_built_every_request_waits(
    served: Served, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    started, end = threading.Event(), threading.Event()
    build_all = served.rebuild._build_all  # noqa: SLF001 - MkDocs' own builder, which a test cannot slow down

    def wait() -> None:
        started.set()
        assert end.wait(timeout=10)
        build_all()

    monkeypatch.setattr(served.rebuild, "_build_all", wait)
    served.replace("docs/first.md", "# First", "# The first")
    assert started.wait(timeout=10)
    waiting = [browser.pool.submit(browser.get, path) for path in ("first/", "second/")]
    time.sleep(0.2)
    assert [answer.done() for answer in waiting] == [False] * 2
    end.set()
    assert ["The first" in answer.result(timeout=8) for answer in waiting] == [True] * 2
