"""A dump that is dropped on the page is read there, is told as the tool tells it, and leaves it for nowhere."""

from __future__ import annotations

import io
import re
import shutil
import zipfile
from dataclasses import dataclass, field
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from maintaining.pyodide_bundle import PYODIDE
from xla_inspect.answers import explain_memory, find_exchanges, rank_launches, summarize, write_fragment
from xla_inspect.dumps import Files, list_modules, read_capture

from . import opening
from .host import serve
from .test_access import judge
from .visits import PHONE, POLICY, WIDE
from .waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from playwright.sync_api import Browser, Page, Request

    from xla_inspect.answers import Answer
    from xla_inspect.captured import Capture

    from .host import Site

PATIENCE = 90
READY = "() => openDump.reader.started && !openDump.reader.isBusy"
DROP = """([name, text]) => {
  const transfer = new DataTransfer()
  transfer.items.add(new File([text], name))
  const given = { dataTransfer: transfer, bubbles: true, cancelable: true }
  for (const kind of ["dragenter", "dragover", "drop"])
    document.querySelector(".drop-zone").dispatchEvent(new DragEvent(kind, given))
}"""
HLO = "HloModule jit_add\n\nENTRY main {\n  x = f32[4]{0} parameter(0)\n  ROOT y = f32[4]{0} add(x, x)\n}\n"
QUESTIONS: dict[str, Callable[[Capture, str], Answer]] = {
    "summary": lambda capture, asked: summarize(capture.program, [capture], asked),
    "memory": explain_memory,
    "kernels": lambda capture, asked: rank_launches(capture, asked, shown=10_000),
    "collectives": lambda capture, _: find_exchanges(capture.program, capture, {}),
}


@dataclass
class Opened:
    """The page, with what it asked for and what went wrong."""

    page: Page
    requests: list[Request] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def give(self, *paths: Path | dict[str, Any]) -> None:
        """Choose files, or a folder, and wait until they are read or refused."""
        folder = len(paths) == 1 and not isinstance(paths[0], dict) and paths[0].is_dir()
        given = paths[0] if folder else [*paths]
        self.page.locator(f"input[name={'folder' if folder else 'files'}]").set_input_files(given)  # type: ignore[arg-type]
        self.settle()

    def settle(self) -> None:
        """Wait until nothing is under way."""
        wait_until(self.page, READY, seconds=PATIENCE)
        self.page.wait_for_timeout(50)

    def rows(self) -> list[list[str]]:
        """Return the cells of the table of modules."""
        found: list[list[str]] = self.page.locator(".modules tbody tr").evaluate_all(
            "rows => rows.map(row => [...row.cells].map(cell => cell.textContent))"
        )
        return found

    def open(self, name: str) -> None:
        """Open a module of the table."""
        self.page.locator(".modules td button", has_text=name).click()
        self.page.locator(".module h2", has_text=name).wait_for(timeout=PATIENCE * 1000)
        self.settle()

    def show(self, view: str) -> str:
        """Choose a view, and return its text."""
        self.page.locator(f"#dump-tab-{view}").click()
        self.settle()
        found: str = self.page.locator(f"#dump-panel-{view}").evaluate("panel => panel.textContent")
        return found

    @property
    def refused(self) -> str:
        """What the page says is wrong."""
        return self.page.locator(".refused").first.inner_text()


@pytest.fixture(scope="module")
def dump(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dump of two functions for the CPU, one of them over four devices."""
    return opening.dump(tmp_path_factory.mktemp("dumped") / "dump")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Generator[Site]:
    """The page in a site of its own."""
    if not PYODIDE.is_made():
        pytest.skip(f"{PYODIDE.title} was not made: scripts/maintaining/browser-bundles makes it")
    with serve(opening.build(tmp_path_factory.mktemp("opened") / "site")) as served:
        yield served


@pytest.fixture(scope="module")
def opened(site: Site, browser: Browser) -> Generator[Opened]:
    """The page, whose reader is loaded once for these tests."""
    context = browser.new_context(viewport={"width": WIDE, "height": 900}, reduced_motion="reduce")
    found = visit(context.new_page(), site)
    yield found
    context.close()
    assert found.faults == []


@pytest.fixture
def anew(site: Site, browser: Browser) -> Generator[Opened]:
    """The page, as nobody has used it yet."""
    context = browser.new_context(viewport={"width": WIDE, "height": 900}, reduced_motion="reduce")
    found = visit(context.new_page(), site)
    yield found
    context.close()


def visit(page: Page, site: Site) -> Opened:
    """Go to the page, and listen from the beginning."""
    found = Opened(page)
    page.context.on("request", lambda request: found.requests.append(request))  # noqa: PLW0108 - marked by Playwright
    page.on("pageerror", lambda error: found.faults.append(str(error)))
    page.on("console", lambda message: POLICY in message.text and found.faults.append(message.text))
    page.goto(f"{site.address}/{opening.PAGE}", wait_until="load")
    return found


def tell(answer: Answer) -> str:
    """Return the text of an answer, as it is shown."""
    return unescape(re.sub(r"<[^>]*>", "", write_fragment(answer)))


def test_nothing_of_the_reader_is_fetched_until_somebody_reaches_for_it(anew: Opened, site: Site) -> None:
    anew.page.wait_for_load_state("networkidle")
    fetched = [request.url for request in anew.requests if "pyodide" in request.url or "reader" in request.url]
    assert [url.rpartition("/")[2] for url in fetched] == ["reader.js"]
    anew.page.locator(".drop-zone").hover()
    anew.settle()
    assert {path.rpartition("/")[2] for path, _ in site.sent} >= {*PYODIDE.files}
    assert anew.page.locator(".working [role=status]").inner_text() == "The reader is ready."


def test_the_table_is_that_of_the_tool(opened: Opened, dump: Path) -> None:
    opened.give(dump)
    expected = [
        [module.key, "CPU" if module.devices == 1 else "CPU, 4 devices", str(module.passes), str(module.kernels)]
        for module in list_modules(Files.from_folder(dump))
    ]
    rows = [[name, target, passes, kernels] for name, target, passes, _, kernels in opened.rows()]
    assert [row[0::2] + row[3:] for row in rows] == [row[0::2] + row[3:] for row in expected]
    assert len(rows) == 2
    assert opened.page.locator(".modules caption").inner_text().startswith("dump: 2 modules, ")


def test_each_question_is_answered_as_the_tool_answers_it(opened: Opened, dump: Path) -> None:
    opened.give(dump)
    files = Files.from_folder(dump)
    module = next(module for module in list_modules(files) if "total" in module.name)
    capture = read_capture(files, module)
    opened.open(module.key)
    for name, ask in QUESTIONS.items():
        assert opened.show(name) == tell(ask(capture, f"dump:{module.key}")), name
    assert "all-reduce" in opened.show("collectives")
    assert "program.py:" in opened.show("kernels")


def test_the_explorer_steps_through_the_passes_of_one_module_after_the_other(opened: Opened, dump: Path) -> None:
    opened.give(dump)
    files = Files.from_folder(dump)
    for module in list_modules(files):
        opened.open(module.key)
        opened.show("explorer")
        explorer = opened.page.locator("#explorer-dump")
        names = read_capture(files, module).pass_names
        explorer.locator(f".passes :text-is('{names[0]}')").first.wait_for()
        assert explorer.locator("h1, .detail .what").first.inner_text()
        opened.page.locator(".back").click()


@pytest.mark.parametrize("ending", ["zip", "gztar"])
def test_an_archive_is_read_as_the_folder_that_it_holds(
    opened: Opened, dump: Path, tmp_path: Path, ending: str
) -> None:
    opened.give(dump)
    rows = opened.rows()
    opened.give(Path(shutil.make_archive(str(tmp_path / "packed"), ending, dump)))
    assert opened.rows() == rows
    opened.open("total")
    assert "all-reduce" in opened.show("collectives")


def test_a_file_that_is_dropped_opens_at_once(opened: Opened) -> None:
    opened.page.evaluate(DROP, ["add.hlo", HLO])
    opened.page.locator(".module h2", has_text="jit_add").wait_for()
    opened.settle()
    assert "1 kernel" in opened.show("kernels")
    assert "passes: there is no module between passes" in opened.page.locator(".missing").evaluate(
        "it => it.textContent"
    )


def test_no_request_leaves_the_page_and_none_carries_anything(opened: Opened, site: Site, dump: Path) -> None:
    opened.give(dump)
    before = len(opened.requests)
    opened.open("layer")
    for view in ("explorer", *QUESTIONS):
        opened.show(view)
    assert [it.url for it in opened.requests if not it.url.startswith((f"{site.address}/", "blob:", "data:"))] == []
    assert [it.url for it in opened.requests if it.method != "GET" or it.post_data] == []
    own = re.compile(rf"{re.escape(site.address)}/assets/[\w./-]+$|blob:|data:")
    assert [it.url for it in opened.requests[before:] if not own.match(it.url)] == []


def test_the_policy_of_the_page_holds_in_the_reader_too(opened: Opened, tmp_path: Path) -> None:
    """The reader is Python of this project; if it were made to ask another host, the browser would refuse."""
    (tmp_path / "404.html").write_text("", encoding="utf-8")
    opened.page.locator(".drop-zone").hover()
    opened.settle()
    ask = "address => fetch(address, { mode: 'no-cors' }).then(() => 'sent', () => 'refused')"
    with serve(tmp_path) as elsewhere:
        assert [worker.evaluate(ask, elsewhere.address) for worker in opened.page.workers] == ["refused"]
        assert elsewhere.sent == []
    opened.faults[:] = [fault for fault in opened.faults if elsewhere.address not in fault]


def pack(**members: bytes) -> bytes:
    """Return a zip file of members by their names, in which `__` stands for a slash."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, member in members.items():
            archive.writestr(name.replace("__", "/"), member)
    return content.getvalue()


REFUSED = {
    "notes.txt": (b"nothing of XLA's\n", "is a text without an HLO module"),
    "image.bin": (bytes(range(256)) * 20, "is binary, and no HloProto"),
    "empty.hlo": (b"", "is empty"),
    "cut.zip": (pack(a=b"x" * 5000)[:-40], "cannot be read"),
    "bomb.zip": (pack(**{"module_0000.a.before_optimizations.txt": bytes(300 << 20)}), "which no dump does"),
    "climbs.zip": (pack(**{"..__..__module_0000.a.before_optimizations.txt": HLO.encode()}), "climbs out"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_dump_is_refused_in_words_and_the_page_goes_on(opened: Opened, name: str) -> None:
    content, said = REFUSED[name]
    opened.give({"name": name, "mimeType": "application/octet-stream", "buffer": content})
    assert said in opened.refused
    assert "fault of the reader" not in opened.refused
    opened.give({"name": "add.hlo", "mimeType": "text/plain", "buffer": HLO.encode()})
    assert not opened.page.locator(".refused").is_visible()
    assert opened.page.locator(".module h2").inner_text() == "jit_add"


def test_a_folder_with_nothing_in_it_is_refused(opened: Opened) -> None:
    opened.page.evaluate("openDump.take([])")
    assert "There is no file in it" in opened.refused


def test_what_hlo_says_wrong_is_told_with_its_line(opened: Opened) -> None:
    wrong = HLO.replace("add(x, x)", "add(x, nowhere)")
    opened.give({"name": "wrong.hlo", "mimeType": "text/plain", "buffer": wrong.encode()})
    assert re.search(r"line 5, column \d+", opened.refused)


def test_names_are_shown_as_text_whatever_they_hold(opened: Opened) -> None:
    evil = "<img src=x onerror=document.title=1>"
    text = HLO.replace("jit_add", "jit_<b>add</b>").replace("add(x, x)", f'add(x, x), metadata={{op_name="{evil}"}}')
    opened.give({"name": f"{evil}.hlo", "mimeType": "text/plain", "buffer": text.encode()})
    for view in ("explorer", *QUESTIONS):
        opened.show(view)
    assert opened.page.locator(".open-dump img").count() == 0
    assert opened.page.evaluate("document.querySelectorAll('.open-dump b').length") == 0
    assert opened.page.title().startswith("Open a dump")


def test_the_table_is_filtered_and_sorted(opened: Opened, dump: Path) -> None:
    opened.give(dump)
    names = [row[0] for row in opened.rows()]
    opened.page.locator("#filter-modules").fill("total")
    assert [row[0] for row in opened.rows()] == [name for name in names if "total" in name]
    assert opened.page.locator(".modules [role=status]").inner_text() == "1 of 2 modules"
    opened.page.locator("#filter-modules").fill("")
    opened.page.locator(".modules th button", has_text="passes").click()
    passes = [int(row[2]) for row in opened.rows()]
    assert passes == sorted(passes, reverse=True)
    assert opened.page.locator(".modules th[aria-sort=descending]").inner_text() == "passes"


def test_what_is_stopped_can_be_asked_for_again(anew: Opened, dump: Path) -> None:
    page = anew.page
    anew.give(dump)
    page.evaluate("() => { openDump.reader.ask('read', { number: 0 }).catch(() => {}); openDump.stop() }")
    assert page.locator(".working [role=status]").inner_text() == "Stopped."
    page.wait_for_timeout(500)
    assert page.workers == []
    anew.open("total")
    assert "all-reduce" in anew.show("collectives")
    assert anew.faults == []


def test_after_a_large_dump_the_next_gets_memory_of_its_own(anew: Opened, dump: Path) -> None:
    anew.give(dump)
    (first,) = anew.page.workers
    anew.give(dump)
    assert anew.page.workers == [first]
    anew.page.evaluate("openDump.reader.used = 2 ** 30")
    anew.give(dump)
    assert first not in anew.page.workers
    assert len(anew.page.workers) == 1
    assert len(anew.rows()) == 2


def test_a_page_without_python_says_what_brings_it(anew: Opened) -> None:
    anew.page.route("**/parts.json", lambda route: route.fulfill(json={"missing": "`some command` brings it."}))
    anew.page.locator(".drop-zone").hover()
    anew.page.locator(".refused", has_text="`some command` brings it.").wait_for()


def test_a_reader_that_did_not_come_is_asked_for_again(anew: Opened, dump: Path) -> None:
    anew.page.route("**/pyodide.asm.wasm", lambda route: route.abort())
    anew.page.locator("input[name=folder]").set_input_files(dump)
    anew.page.locator(".refused:not([hidden])").wait_for(timeout=PATIENCE * 1000)
    anew.page.unroute("**/pyodide.asm.wasm")
    anew.give(dump)
    assert len(anew.rows()) == 2


def test_the_keyboard_chooses_a_dump_opens_a_module_and_changes_views(opened: Opened, dump: Path) -> None:
    page = opened.page
    page.get_by_role("button", name="Choose a folder").focus()
    with page.expect_file_chooser() as chosen:
        page.keyboard.press("Enter")
    chosen.value.set_files(dump)
    opened.settle()
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('.modules td button')"):
            break
    page.keyboard.press("Enter")
    page.locator(".module h2").wait_for(timeout=PATIENCE * 1000)
    opened.settle()
    page.keyboard.press("Tab")
    while not page.evaluate("document.activeElement.matches('[role=tab]')"):
        page.keyboard.press("Tab")
    page.locator("#dump-tab-explorer").focus()
    page.keyboard.press("ArrowRight")
    opened.settle()
    assert page.evaluate("document.activeElement.id") == "dump-tab-summary"
    assert page.locator("#dump-panel-summary").is_visible()
    page.keyboard.press("End")
    opened.settle()
    assert page.locator("#dump-panel-collectives").is_visible()


@pytest.mark.parametrize(("scheme", "width"), [("light", WIDE), ("dark", PHONE)])
def test_everyone_can_use_it_and_nothing_scrolls_sideways(opened: Opened, dump: Path, scheme: Any, width: int) -> None:  # noqa: ANN401
    page = opened.page
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 900})
    opened.give(dump)
    assert judge(page) == []
    opened.open("total")
    for view in QUESTIONS:
        opened.show(view)
        assert judge(page) == [], view
        assert page.evaluate("document.documentElement.scrollWidth") == width, view
    page.set_viewport_size({"width": WIDE, "height": 900})
    page.emulate_media(color_scheme="light")
