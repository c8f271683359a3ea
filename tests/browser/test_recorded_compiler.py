"""Explorer and playground from static files: recorded captures replace the compiler."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from inside_xla import explorer_files
from livepage.read import project
from programs import gelu, layer
from xla_inspect import capture_all
from xla_inspect.play import read_static, write_page
from xla_inspect.report.explorer import Recorded, embed_programs

from .host import Site, serve
from .waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Generator

    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.usefixtures("all_targets")

ROOT = Path(__file__).resolve().parents[2]
PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Recorded</title>
<main>{explorer}</main><script src="assets/explorer.js" defer></script></html>"""
PLAY = "xlaExplorer.playground"

# What a page does with a compiler, whichever it is.
COMPILE = """async ({ index, code, name, targets, options }) => {
  const { RecordedCompiler } = globalThis.xlaExplorer
  const home = new URL("assets/explorer/", document.baseURI).href
  const compiler = new RecordedCompiler(await (await fetch(home + index)).json(), home)
  const events = []
  const offers = await compiler.send({ code, function: name, arguments: "", targets, options }, (it) => events.push(it))
  const said = events.map(({ event, target, failure, data }) => {
    const { kind, hint } = failure ?? {}
    return { event, target, kind, hint, program: data?.program }
  })
  return { said, offers: offers.map(({ program, target }) => [program, target]) }
}"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Generator[Site]:
    """A folder of static files that is served: a page of two programs, and what it loads."""
    folder = tmp_path_factory.mktemp("recorded")
    programs = {
        program_example.__name__.rpartition(".")[2]: Recorded(title, capture_all(function, *program_example.EXAMPLE))
        for title, function, program_example in (("A layer", layer.layer, layer), ("GELU", gelu.gelu, gelu))
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(project, "root", folder)
        places: dict[str, Any] = {"program": "layer", "target": "h100", "pass": "priority-fusion"}
        html = PAGE.format(explorer=embed_programs(programs, "all", **places))
        (folder / "site").mkdir()
        explorer_files.publish_explorer([html], folder / "site")
    for name in ("index.html", "404.html"):
        (folder / "site" / name).write_text(html, encoding="utf-8")
    shutil.copy(ROOT / "docs" / "assets" / "explorer.js", folder / "site" / "assets" / "explorer.js")
    with serve(folder / "site") as served:
        yield served


@pytest.fixture
def page(recorded: Site, browser: Browser) -> Generator[Page]:
    window = browser.new_page(viewport={"width": 1280, "height": 800})
    window.on("pageerror", lambda error: pytest.fail(f"the page failed: {error}"))
    window.goto(recorded.address)
    yield window
    window.close()


@pytest.fixture
def playground(recorded: Site, browser: Browser) -> Generator[Page]:
    """The playground's page as static files, with recorded captures in the place of its server."""
    folder = recorded.folder / "play"
    (folder / "static").mkdir(parents=True, exist_ok=True)
    html = write_page("")
    for name in re.findall(r'(?:src|href)="static/([^"]+)"', html):
        recorded_files = read_static(name)
        assert recorded_files is not None, name
        (folder / "static" / name).write_bytes(recorded_files[0])
    _, index = find_index(recorded)
    stand_in = f'xlaExplorer.compiler = new xlaExplorer.RecordedCompiler({json.dumps(index)}, "../assets/explorer/")'
    (folder / "recorded.js").write_text(stand_in, encoding="utf-8")
    last = '<script src="static/play.js" defer></script>'
    assert last in html
    html = html.replace(last, f'<script src="recorded.js" defer></script>{last}')
    (folder / "index.html").write_text(html, encoding="utf-8")
    window = browser.new_page(viewport={"width": 1280, "height": 800})
    window.on("pageerror", lambda error: pytest.fail(f"the page failed: {error}"))
    window.goto(f"{recorded.address}/play/")
    yield window
    window.close()


def find_index(recorded: Site) -> tuple[str, dict[str, Any]]:
    name = (recorded.folder / "index.html").read_text(encoding="utf-8").partition('data-index="')[2].partition('"')[0]
    return name, json.loads((recorded.folder / "assets" / "explorer" / name).read_text(encoding="utf-8"))


def read_code(recorded: Site) -> str:
    """Return the code of the first program."""
    _, index = find_index(recorded)
    folder = recorded.folder / "assets" / "explorer"
    code: str = json.loads((folder / index["codes"]).read_text(encoding="utf-8"))[index["programs"][0]["name"]]
    return code


def test_the_explorer_opens_automatically_with_all_programs_and_targets(page: Page) -> None:
    page.locator('[aria-selected="true"]', has_text="priority-fusion").wait_for()
    assert page.locator('select[name="program"] option').all_inner_texts() == ["A layer", "GELU"]
    assert page.locator('select[name="target"] option').count() == 3
    page.locator('select[name="program"]').select_option("gelu")
    page.locator(".source", has_text="gelu.py").wait_for()
    assert page.locator('select[name="target"]').input_value() == "h100"
    assert "program=gelu" in page.url


def test_only_viewed_data_is_fetched(recorded: Site, browser: Browser) -> None:
    recorded.sent.clear()
    window = browser.new_page()
    window.goto(recorded.address)
    window.get_by_role("listbox").wait_for()
    window.close()
    assert sum(path.endswith(".json") for path, _ in recorded.sent) == 2  # the index, and one capture
    assert [path.rpartition("/")[2] for path, _ in recorded.sent if path.endswith(".js")] == ["explorer.js"] * 2


@pytest.mark.parametrize("view", ["graph", "buffers", "kernels"])
def test_a_view_is_fetched_when_it_is_chosen(page: Page, view: str) -> None:
    page.get_by_role("listbox").wait_for()
    addresses: list[str] = []
    page.on("request", lambda request: addresses.append(request.url.rpartition("/")[2]))
    page.locator(f'.choice.view input[value="{view}"]').focus()
    page.keyboard.press("Space")
    page.locator(f".pane.{view}").wait_for()
    assert addresses == ["more.js"]


def test_a_line_of_python_is_counted_in_the_views_that_come_later(page: Page) -> None:
    line = page.locator(".source button.line").first
    line.focus()
    page.keyboard.press("Enter")
    graph_count = page.locator('[data-count="graph"]')
    wait_until(page, "document.querySelector('.explorer').shadowRoot.querySelector('[data-count=graph]').innerText")
    assert int(graph_count.inner_text()) > 0


def test_the_data_of_a_second_pane_is_fetched_on_demand_or_reported_missing(page: Page) -> None:
    page.get_by_role("listbox").wait_for()
    page.route("**/more.js", lambda route: route.abort())
    page.get_by_role("button", name="Compare").focus()
    page.keyboard.press("Enter")
    page.get_by_text("The second pane did not load").wait_for()
    page.locator('.choice.view input[value="graph"]').focus()
    page.keyboard.press("Space")
    page.get_by_text("did not load").wait_for()
    page.unroute("**/more.js")
    page.get_by_role("button", name="Try again").click()
    page.locator(".pane.graph").wait_for()
    page.get_by_role("button", name="Compare").click()
    page.get_by_role("region", name="Result beside").wait_for()


def test_an_old_link_to_a_program_still_works(recorded: Site, page: Page) -> None:
    page.goto("about:blank")
    page.goto(f"{recorded.address}/#x=gelu&target=tpu-v5e&view=kernels")
    page.locator(".pane.kernels").wait_for()
    assert page.url.endswith("#x=all&program=gelu&target=tpu-v5e&view=kernels")
    page.evaluate("location.hash = 'x=layer&target=cpu&view=after'")
    page.locator(".source", has_text="layer.py").wait_for()
    assert page.locator('select[name="target"]').input_value() == "cpu"


def test_a_failed_fetch_is_reported_and_repeated(recorded: Site, browser: Browser) -> None:
    window = browser.new_page()
    window.route("**/*.json", lambda route: route.abort())
    window.goto(recorded.address)
    window.get_by_text("The explorer did not open").wait_for()
    window.unroute("**/*.json")
    window.get_by_role("button", name="Try again").click()
    window.get_by_role("listbox").wait_for()
    window.route("**/*.json", lambda route: route.fulfill(status=404))
    window.locator('select[name="target"]').select_option("tpu-v5e")
    window.get_by_text("The data for TPU v5e did not load").wait_for()
    window.unroute("**/*.json")
    window.get_by_role("button", name="Try again").click()
    wait_until(window, "location.hash.includes('target=tpu-v5e')")
    window.close()


def test_the_progress_of_a_file_is_shown(page: Page) -> None:
    answer = page.evaluate("""async () => {
      const bytes = new TextEncoder().encode(JSON.stringify({ a: "x".repeat(200000) }))
      const told = []
      const parts = [bytes.slice(0, 100000), bytes.slice(100000)]
      const real = globalThis.fetch
      const pull = (it) => (parts.length ? it.enqueue(parts.shift()) : it.close())
      globalThis.fetch = async () => new Response(new ReadableStream({ pull }))
      const tell = (text) => told.push(text)
      await globalThis.xlaExplorer.fetchData("x", { title: "CPU", size: bytes.length, tell })
      globalThis.fetch = real
      return told
    }""")
    assert answer[0] == "Loading CPU: 49 % of 195 KiB …"
    assert answer[-1].startswith("Loading CPU: 99 %")


def test_recorded_code_has_its_stages_and_other_code_an_explanation(recorded: Site, page: Page) -> None:
    page.get_by_role("listbox").wait_for()
    name, _ = find_index(recorded)
    code = read_code(recorded)
    request = {
        "index": name,
        "code": code.replace("\n", "  \n"),
        "name": "layer",
        "targets": ["cpu", "h100"],
        "options": {},
    }
    answer = page.evaluate(COMPILE, request)
    assert answer["offers"] == [["layer", "cpu"], ["layer", "h100"]]
    assert [line["event"] for line in answer["said"]] == ["started", "data", "data", "done"]
    assert {line["target"] for line in answer["said"] if line["program"] == "layer"} == {"cpu", "h100"}
    for change in ({"code": code.replace("relu", "gelu")}, {"options": {"grad": True}}, {"targets": ["b200"]}):
        refused = page.evaluate(COMPILE, request | change)
        assert refused["offers"] == []
        assert refused["said"][1]["kind"] == "limit"
        assert "xla-inspect play" in refused["said"][1]["hint"]


def test_code_is_described_without_running_it(recorded: Site, page: Page) -> None:
    page.get_by_role("listbox").wait_for()
    name, _ = find_index(recorded)
    described = page.evaluate(
        """async ({ index, code }) => {
          const home = new URL("assets/explorer/", document.baseURI).href
          const compiler = new globalThis.xlaExplorer.RecordedCompiler(await (await fetch(home + index)).json(), home)
          const { function: first } = await compiler.start()
          return [await compiler.describe(code), await compiler.copy("command", { code }), first]
        }""",
        {"index": name, "code": read_code(recorded)},
    )
    assert described[0]["chosen"] == "layer"
    assert described[0]["functions"] == [{"name": "layer", "line": 7, "parameters": ["x", "w", "b"]}]
    assert described[1:] == ["xla-inspect play layer.py:layer", "layer"]


def test_the_playground_runs_on_recorded_captures(recorded: Site, playground: Page) -> None:
    """The page works the same with recorded captures in place of a server."""
    wait_until(playground, f"{PLAY}.explorer.model?.data.program === 'layer'")
    assert playground.evaluate(f"{PLAY}.editor.text") == read_code(recorded)
    playground.get_by_text("Start from").click()
    playground.get_by_role("button", name="GELU").click()
    wait_until(playground, f"{PLAY}.explorer.model.data.program === 'gelu'")
    assert playground.locator("#problems li").count() == 0


def test_an_edit_of_recorded_code_explains_where_to_compile_it(playground: Page) -> None:
    playground.locator("#explorer .pane").first.wait_for()
    playground.evaluate(
        "() => xlaExplorer.playground.editor.replace(xlaExplorer.playground.editor.text.replace('relu', 'gelu'))"
    )
    playground.evaluate("() => xlaExplorer.playground.compile()")
    playground.locator("#problems", has_text="recorded compilations of its unchanged programs").wait_for()
    assert "xla-inspect play" in playground.locator("#problems").inner_text()
