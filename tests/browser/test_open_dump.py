"""A dump dropped on the page is read in the browser, answered as by the tool, and never sent anywhere."""

from __future__ import annotations

import re
import shutil
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest

from maintaining.pyodide_bundle import PYODIDE
from xla_inspect.answers import write_fragment
from xla_inspect.dumps import Files, list_modules, read_capture
from xla_inspect.questions.collectives import find_exchanges
from xla_inspect.questions.kernels import rank_launches
from xla_inspect.questions.memory import explain_memory
from xla_inspect.questions.summary import summarize
from xla_inspect.questions.time import estimate_time
from xla_inspect.report import title

from .host import serve
from .opened_dump import HLO
from .test_access import judge
from .visits import PHONE, WIDE

if TYPE_CHECKING:
    from collections.abc import Callable

    from xla_inspect.answers import Answer
    from xla_inspect.captured import Capture

    from .host import Site
    from .opened_dump import Opened

DROP = """([name, text]) => {
  const transfer = new DataTransfer()
  transfer.items.add(new File([text], name))
  const given = { dataTransfer: transfer, bubbles: true, cancelable: true }
  for (const kind of ["dragenter", "dragover", "drop"])
    document.querySelector(".drop-zone").dispatchEvent(new DragEvent(kind, given))
}"""
QUESTIONS: dict[str, Callable[[Capture, str], Answer]] = {
    "summary": lambda capture, asked: summarize(capture.program, [capture], asked),
    "memory": explain_memory,
    "kernels": lambda capture, asked: rank_launches(capture, asked, shown=10_000),
    "collectives": lambda capture, _: find_exchanges(capture.program, capture, {}),
    "time": lambda capture, asked: estimate_time(capture, asked, rows=10_000),
}


def tell(answer: Answer) -> str:
    """Return the text of an answer, as it is shown."""
    return unescape(re.sub(r"<[^>]*>", "", write_fragment(answer)))


def test_the_dump_reader_is_fetched_on_demand(dump_anew: Opened, dump_site: Site) -> None:
    dump_anew.page.wait_for_load_state("networkidle")
    before = len(dump_site.sent)
    fetched = [request.url for request in dump_anew.requests if "pyodide" in request.url or "reader" in request.url]
    assert [url.rpartition("/")[2] for url in fetched] == ["reader.js"]
    dump_anew.page.locator(".drop-zone").hover()
    dump_anew.settle()
    assert {path.rpartition("/")[2] for path, _ in dump_site.sent[before:]} >= {*PYODIDE.files}
    assert dump_anew.page.locator(".working [role=status]").inner_text() == "The reader is ready."


def test_the_table_matches_the_tools_output(dump_page: Opened, dump: Path) -> None:
    dump_page.give(dump)
    expected = [
        [module.key, module.title or title(module.target), str(module.passes), str(module.kernels)]
        for module in list_modules(Files.from_folder(dump))
    ]
    rows = [[name, target, passes, kernels] for name, target, passes, _, kernels, _ in dump_page.rows()]
    assert rows == expected
    assert len(rows) == 2
    assert dump_page.page.locator(".modules caption").inner_text().startswith("dump: 2 modules, ")


def test_each_question_has_the_same_answer_as_in_the_tool(dump_page: Opened, dump: Path) -> None:
    dump_page.give(dump)
    files = Files.from_folder(dump)
    module = next(module for module in list_modules(files) if "total" in module.name)
    capture = read_capture(files, module)
    dump_page.open(module.key)
    for name, ask in QUESTIONS.items():
        assert dump_page.show(name) == tell(ask(capture, f"dump:{module.key}")), name
    assert "all-reduce" in dump_page.show("collectives")
    assert "program.py:" in dump_page.show("kernels")


def test_the_explorer_steps_through_the_passes_of_one_module_after_the_other(dump_page: Opened, dump: Path) -> None:
    dump_page.give(dump)
    files = Files.from_folder(dump)
    for module in list_modules(files):
        dump_page.open(module.key)
        dump_page.show("explorer")
        explorer = dump_page.page.locator("#explorer-dump")
        names = read_capture(files, module).pass_names
        explorer.locator("[role=option]", has_text=names[-1]).last.click()
        explorer.locator("[aria-selected=true]", has_text=names[-1]).wait_for()
        dump_page.page.locator(".back").click()


@pytest.mark.parametrize("ending", ["zip", "gztar"])
def test_an_archive_is_read_like_its_folder(dump_page: Opened, dump: Path, tmp_path: Path, ending: str) -> None:
    dump_page.give(dump)
    rows = dump_page.rows()
    dump_page.give(Path(shutil.make_archive(str(tmp_path / "packed"), ending, dump)))
    assert dump_page.rows() == rows
    dump_page.open("total")
    assert "all-reduce" in dump_page.show("collectives")


def test_a_file_that_is_dropped_opens_at_once(dump_page: Opened) -> None:
    dump_page.page.evaluate(DROP, ["add.hlo", HLO])
    dump_page.page.locator(".module h2", has_text="jit_add").wait_for()
    dump_page.settle()
    assert "1 kernel" in dump_page.show("kernels")
    assert "(there is no module between passes in this dump" in dump_page.page.locator("details.missing").evaluate(
        "it => it.textContent"
    )


def test_a_large_module_shows_its_summary_first(dump_anew: Opened) -> None:
    filler = "".join(f"  x.{n:0180} = f32[4]{{0}} add(x, x)\n" for n in range(6_000))
    dump_anew.page.evaluate(DROP, ["add.hlo", HLO.replace("  ROOT", f"{filler}  ROOT")])
    summary = dump_anew.page.locator("#dump-panel-summary")
    summary.get_by_text("6,001 kernels").first.wait_for()
    assert dump_anew.page.locator("#explorer-dump").count() == 0


def test_no_request_leaves_the_page_and_none_carries_anything(dump_page: Opened, dump_site: Site, dump: Path) -> None:
    dump_page.give(dump)
    before = len(dump_page.requests)
    dump_page.open("layer")
    for view in ("explorer", *QUESTIONS):
        dump_page.show(view)
    assert [
        it.url for it in dump_page.requests if not it.url.startswith((f"{dump_site.address}/", "blob:", "data:"))
    ] == []
    assert [it.url for it in dump_page.requests if it.method != "GET" or it.post_data] == []
    own = re.compile(rf"{re.escape(dump_site.address)}/assets/[\w./-]+$|blob:|data:")
    assert [it.url for it in dump_page.requests[before:] if not own.match(it.url)] == []


def test_the_policy_of_the_page_holds_in_the_reader_too(dump_page: Opened, tmp_path: Path) -> None:
    """The reader is Python of this project; if it were made to ask another host, the browser would refuse."""
    (tmp_path / "404.html").write_text("", encoding="utf-8")
    dump_page.page.locator(".drop-zone").hover()
    dump_page.settle()
    ask = "address => fetch(address, { mode: 'no-cors' }).then(() => 'sent', () => 'refused')"
    with serve(tmp_path) as elsewhere:
        assert [worker.evaluate(ask, elsewhere.address) for worker in dump_page.page.workers] == ["refused"]
        assert elsewhere.sent == []
    dump_page.faults[:] = [fault for fault in dump_page.faults if elsewhere.address not in fault]


def test_the_table_is_filtered_and_sorted(dump_page: Opened, dump: Path) -> None:
    dump_page.give(dump)
    names = [row[0] for row in dump_page.rows()]
    dump_page.page.locator("#filter-modules").fill("total")
    assert [row[0] for row in dump_page.rows()] == [name for name in names if "total" in name]
    assert dump_page.page.locator(".modules [role=status]").inner_text() == "1 of 2 modules"
    dump_page.page.locator("#filter-modules").fill("")
    dump_page.page.locator(".modules th button", has_text="passes").click()
    passes = [int(row[2]) for row in dump_page.rows()]
    assert passes == sorted(passes, reverse=True)
    assert dump_page.page.locator(".modules th[aria-sort=descending]").inner_text() == "passes"


def test_the_keyboard_chooses_a_dump_opens_a_module_and_changes_views(dump_anew: Opened, dump: Path) -> None:
    page = dump_anew.page

    def tab_to(selector: str) -> None:
        for _ in range(30):
            page.keyboard.press("Tab")
            if page.evaluate("selector => document.activeElement.matches(selector)", selector):
                return
        pytest.fail(f"Tab does not reach {selector}")

    # The browser is asked to hand over its dialogue, and has answered the next command, before the key that opens it.
    with page.expect_file_chooser() as chosen:
        page.get_by_role("button", name="Choose a folder").focus()
        page.keyboard.press("Enter")
    chosen.value.set_files(dump)
    dump_anew.settle()
    tab_to(".modules td button")
    page.keyboard.press("Enter")
    page.locator(".module h2").wait_for()
    dump_anew.settle()
    tab_to("[role=tab]")
    assert page.evaluate("document.activeElement.id") == "dump-tab-explorer"
    page.keyboard.press("ArrowRight")
    dump_anew.settle()
    assert page.evaluate("document.activeElement.id") == "dump-tab-summary"
    assert page.locator("#dump-panel-summary").is_visible()
    page.keyboard.press("End")
    dump_anew.settle()
    last = page.locator("[role=tab]").last
    assert page.evaluate("document.activeElement.id") == last.get_attribute("id")
    assert page.locator(f"#{last.get_attribute('aria-controls')}").is_visible()
    for _ in range(10):
        page.keyboard.press("Shift+Tab")
        if page.evaluate("document.activeElement.matches('.back')"):
            break
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.matches('.modules td button')")


@pytest.mark.parametrize(("scheme", "width"), [("light", WIDE), ("dark", PHONE)])
def test_the_page_is_accessible_and_does_not_scroll_sideways(
    dump_page: Opened, dump: Path, scheme: Literal["light", "dark"], width: int
) -> None:
    page = dump_page.page
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 900})
    dump_page.give(dump)
    assert judge(page) == []
    dump_page.open("total")
    for view in QUESTIONS:
        dump_page.show(view)
        assert judge(page) == [], view
        assert page.evaluate("document.documentElement.scrollWidth") == width, view
    page.set_viewport_size({"width": WIDE, "height": 900})
    page.emulate_media(color_scheme="light")
