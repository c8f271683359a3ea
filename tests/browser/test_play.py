"""The playground: code is compiled as it is typed, errors are shown at their lines, and edits are compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from .played import PROGRAM, TEXT, context, opcodes, open_play, page, settle, type_at_start, write
from .waiting import wait_for, wait_until

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page, Route

    from measuring.trial_server import Playground

SHAPES = "() => xlaExplorer.playground.explorer.model.data.jaxpr[0][0]"
__all__ = ["context", "page"]  # fixtures
BESIDE = "word => xlaExplorer.playground.explorer.second?.model?.data.jaxpr.some(([text]) => text.includes(word))"
SHOWN = "() => xlaExplorer.playground.explorer.state"


def test_typed_code_is_compiled_after_a_pause_and_shown(page: Page) -> None:
    assert " tanh" in opcodes(page)
    waiting: list[Route] = []
    page.route("**/describe", lambda route: waiting.append(route), times=1)  # noqa: PLW0108 - marked by Playwright
    write(page, "jnp.tanh", "jnp.cos")
    expect(page.locator("#result.old"), "what is shown is of older code, and says so").to_have_count(1)
    expect(page.get_by_text("the result is of older code")).to_be_visible()
    wait_for(page, lambda: waiting != [])
    waiting[0].continue_()
    settle(page)
    assert " cos" in opcodes(page)
    expect(page.locator("#result.old")).to_have_count(0)
    expect(page.locator(".times .done")).to_contain_text("CPU")


def test_the_first_result_opens_on_the_pass_that_fuses_most(page: Page) -> None:
    wait_until(page, f"() => ({SHOWN})().view === 'passes'")
    wait_until(
        page, "() => xlaExplorer.playground.explorer.first.findFusion() === xlaExplorer.playground.explorer.state.pass"
    )


def test_the_last_result_stays_until_the_next_is_ready(page: Page) -> None:
    page.evaluate("() => xlaExplorer.playground.explorer.show({ view: 'kernels' })")
    write(page, "return jnp.tanh(h)", "return jnp.tanh(h")
    page.locator('#problems li[data-kind="syntax"]').wait_for()
    assert page.evaluate(SHOWN)["view"] == "kernels"
    assert page.locator("#explorer .pane").inner_text()
    write(page, "return jnp.tanh(h", "return jnp.cos(h)")
    settle(page)
    assert page.locator("#problems li").count() == 0
    assert page.evaluate(SHOWN)["view"] == "kernels"


@pytest.mark.parametrize(
    ("old", "new", "kind", "line", "words"),
    [
        ("    return jnp.tanh(h)", "    return jnp.tanh(h))", "syntax", 9, "unmatched"),
        ("EXAMPLE = (", "EXAMPLE = (no_such_name, ", "loading", 4, "no_such_name"),
        ("return jnp.tanh(h)", "return h @ x", "tracing", 9, "contracting dimensions"),
        ("return jnp.tanh(h)", "return int(h[0, 0])", "tracing", 9, "traced"),
    ],
)
def test_an_error_is_shown_at_its_line_and_in_the_list(  # noqa: PLR0913, PLR0917 - a row of the table
    page: Page, old: str, new: str, kind: str, line: int, words: str
) -> None:
    write(page, old, new)
    fault = page.locator(f'#problems li[data-kind="{kind}"]')
    fault.wait_for()
    assert words in fault.inner_text()
    lines = page.locator(".cm-line")
    wrong = lines.nth(line - 1)
    wrong.locator(".cm-lintRange-error").first.wait_for()
    mark, text = page.locator(".cm-lint-marker-error").bounding_box(), wrong.bounding_box()
    assert mark is not None
    assert text is not None
    assert text["y"] <= mark["y"] + mark["height"] / 2 <= text["y"] + text["height"]
    fault.get_by_role("button", name=f"line {line}").click()
    assert page.evaluate("() => xlaExplorer.playground.editor.view.hasFocus")
    write(page, new, old)
    settle(page)
    assert page.locator(".cm-lint-marker-error").count() == 0


def test_the_gutter_has_the_explorers_colours_and_lines_and_results_light_each_other(page: Page) -> None:
    page.evaluate("() => xlaExplorer.playground.explorer.show({ view: 'before' })")
    bars = page.locator(".cm-places .place")
    assert bars.count() == 2, "two lines became something"
    rows = page.locator("#explorer button.line[data-place]")
    rows.first.wait_for()
    page.locator(".cm-line", has_text="jnp.tanh").click()
    lit = page.locator("#explorer button.line.lit")
    lit.first.wait_for()
    assert "tanh" in lit.first.inner_text()
    assert "jnp.tanh" in page.locator(".cm-line.lit").inner_text()
    rows.filter(has_text="dot").first.click()
    wait_until(page, "() => document.querySelector('.cm-line.lit')?.textContent.includes('x @ w')")
    # An edit above moves the bars with their lines, before anything is compiled.
    type_at_start(page, "# a remark\n")
    page.locator(".cm-line", has_text="jnp.tanh").click()
    wait_until(page, "() => document.querySelector('.cm-line.lit')?.textContent.includes('jnp.tanh')")


def test_sizes_are_edited_as_text_by_slider_and_by_keyboard(page: Page) -> None:
    page.locator("summary", has_text="Arguments").click()
    shapes = page.get_by_label("Shapes of the arguments")
    assert shapes.input_value() == "x: f32[16,32], w: f32[32,8]"
    shapes.fill("x: f32[64,32], w: f32[32,8]")
    wait_until(page, f"() => ({SHAPES})().includes('f32[64,32]')")
    both = page.get_by_label("Power of two for x[1], w[0]")
    both.focus()
    page.keyboard.press("ArrowRight")
    assert shapes.input_value() == "x: f32[64,64], w: f32[64,8]"
    wait_until(page, f"() => ({SHAPES})().includes('f32[64,64]')")
    page.get_by_label("Size of w[1]").fill("12")
    wait_until(page, "() => JSON.stringify(xlaExplorer.playground.explorer.model.data.jaxpr).includes('f32[64,12]')")
    page.get_by_role("button", name="As the code says").click()
    wait_until(page, f"() => ({SHAPES})().includes('f32[16,32]')")


def test_mismatched_shapes_are_reported(page: Page) -> None:
    page.locator("summary", has_text="Arguments").click()
    page.get_by_label("Shapes of the arguments").fill("x: f32[16,32], w: f32[31,8]")
    fault = page.locator("#problems li")
    fault.wait_for()
    assert "32" in fault.inner_text()
    assert "31" in fault.inner_text()


def test_a_click_donates_maps_and_differentiates(page: Page) -> None:
    requests: list[dict[str, object]] = []
    page.on("request", lambda request: request.url.endswith("/compile") and requests.append(request.post_data_json))
    page.locator("#folds").evaluate("it => it.querySelectorAll('.fold').forEach((each) => (each.open = true))")
    write(page, "return jnp.tanh(h)", "return jnp.tanh(h).sum()")
    settle(page)
    page.get_by_label("grad, by the first argument").check()
    settle(page)
    page.locator('input[name="donate x"]').check()
    page.get_by_label("vmap over a batch of").check()
    settle(page)
    assert page.locator("#problems li").all_inner_texts() == []
    options = requests[-1]["options"]
    assert isinstance(options, dict)
    assert (options["grad"], options["donate"], options["vmap"]) == (True, ["x"], 8)
    assert "f32[8,16,32]" in page.evaluate(SHAPES)


def test_an_edit_is_compared_with_the_previous_one_and_the_original(page: Page) -> None:
    write(page, "jnp.tanh", "jnp.cos")
    settle(page)
    write(page, "jnp.cos", "jnp.exp")
    settle(page)
    for which, opcode in (("original", "tanh"), ("before", "cos")):
        page.locator("#run").get_by_label("Result beside").select_option(which)
        wait_until(page, BESIDE, f" {opcode}")
        page.locator("#run").get_by_label("Source against").select_option(which)
        expect(page.locator(".cm-deletedChunk")).to_contain_text(f"jnp.{opcode}")
    page.locator("#run").get_by_label("Result beside").select_option("")
    page.locator("#run").get_by_label("Source against").select_option("")
    wait_until(page, f"() => ({SHOWN})().pair === null")
    assert page.locator(".cm-deletedChunk").count() == 0


def test_an_example_asks_its_question_and_leaves_the_edits_before_it_among_the_earlier_ones(page: Page) -> None:
    write(page, "jnp.tanh", "jnp.sinh")
    settle(page)
    page.locator("summary", has_text="Start from").click()
    page.get_by_role("button", name="Rows of a table").click()
    settle(page)
    assert "Why does the lookup need a matmul?" in page.locator("#question").inner_text()
    assert "one_hot" in page.evaluate(TEXT)
    page.locator("summary", has_text="Earlier edits").click()
    page.locator(".menu .list button", has_text="def layer").first.click()
    settle(page)
    assert "jnp.sinh" in page.evaluate(TEXT)


def test_edits_are_restored_and_the_files_text_can_be_reloaded(server: Playground, context: BrowserContext) -> None:
    page = open_play(server, context)
    write(page, "jnp.tanh", "jnp.cosh")
    page.close()
    page = open_play(server, context)
    assert "jnp.cosh" in page.evaluate(TEXT)
    page.get_by_role("button", name="Show the file's").click()
    settle(page)
    assert page.evaluate(TEXT) == PROGRAM


def test_a_plain_editor_replaces_a_missing_bundle(server: Playground, context: BrowserContext) -> None:
    context.route("**/codemirror.js", lambda route: route.fulfill(body="", content_type="text/javascript"))
    page = open_play(server, context)
    assert "plain editor" in page.locator("#editor .plain").inner_text()
    area = page.get_by_label("Python", exact=True)
    area.fill(PROGRAM.replace("jnp.tanh", "jnp.cos"))
    settle(page)
    assert " cos" in opcodes(page)
    area.fill(PROGRAM.replace("jnp.tanh(h)", "h @ x"))
    page.locator('#problems li[data-kind="tracing"]').get_by_role("button").click()
    assert area.evaluate("it => it.value.slice(it.selectionStart, it.selectionEnd)") == "    return h @ x"


def test_a_stopped_run_keeps_the_last_result(page: Page) -> None:
    write(page, "def layer", "import time\n\ntime.sleep(8)\n\n\ndef layer")
    page.locator(".times .waiting, .times .compiling").first.wait_for()
    page.get_by_role("button", name="Stop").click()
    page.locator(".times .stopped").wait_for()
    assert page.locator("#result.old").count() == 1
    write(page, "time.sleep(8)", "time.sleep(0)")
    settle(page)


def test_the_page_sends_no_request_to_another_host(server: Playground, context: BrowserContext) -> None:
    hosts: list[str] = []
    context.on("request", lambda request: hosts.append(request.url))
    open_play(server, context)
    assert [url for url in hosts if not url.startswith((f"{server.address}/", "data:", "blob:"))] == []
