"""The explorer's code in a browser is linked to instructions and lines, and shows reasons for them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from programs import attention as program
from xla_inspect import Captures, capture_all
from xla_inspect.analysis.bundles import read_below
from xla_inspect.captured import Code
from xla_inspect.report import describe_kernels, write_bundles
from xla_inspect.report.explorer import describe_capture, describe_details

if TYPE_CHECKING:
    from .conftest import Opened, Show

TARGETS = ("cpu", "h100", "tpu-v5e")

pytestmark = pytest.mark.usefixtures("all_targets")


@pytest.fixture(scope="module")
def attention(all_targets: None) -> Captures:  # noqa: ARG001 - it asks for them
    return capture_all(program.attention, *program.EXAMPLE, machine=True, reasons=True)


def open_listing(opened: Opened, kernel: str, title: str) -> str:
    """Choose a stage of a kernel, and return its text."""
    fold = opened.page.locator(".kernel").filter(has=opened.page.locator("summary b", has_text=kernel)).first
    if fold.get_attribute("open") is None:
        fold.locator("summary").first.click()
    fold.get_by_role("radiogroup", name="Stage of").get_by_label(title, exact=True).check()
    fold.get_by_role("radiogroup", name="Beside it").get_by_label("nothing").check()
    text = fold.locator(".text pre")
    text.wait_for()
    return text.text_content() or ""  # what is not in sight is not laid out


def test_a_gpus_kernel_shows_its_figures_and_its_sass(show: Show, attention: Captures) -> None:
    opened = show(attention, "x=report&target=h100&view=code")
    for kernel in describe_kernels(attention["h100"])[:2]:
        sass = next(
            code.text for code in attention["h100"].code if (code.kernel, code.language) == (kernel.name, "sass")
        )
        assert open_listing(opened, kernel.name, "SASS").split() == sass.split()
        figures = opened.page.locator(".kernel", has_text=kernel.name).first.locator(".figures").inner_text()
        assert kernel.resources is not None
        assert f"{kernel.resources.registers} 32-bit registers" in figures


def test_a_tpus_kernel_shows_its_bundles_on_the_readers_own_machine(show: Show, attention: Captures) -> None:
    opened = show(attention, "x=report&target=tpu-v5e&view=code")
    kernel = read_below(attention["tpu-v5e"])[0]
    assert open_listing(opened, kernel.name, "Bundles").split() == write_bundles(kernel).split()
    assert opened.page.locator(".shares").first.is_visible()


def test_ptx_and_sass_are_highlighted_together_by_the_assemblers_lines(show: Show, attention: Captures) -> None:
    details = describe_details(attention["h100"], code=True)
    code = describe_capture(attention["h100"], code=True)["code"]
    kernel = code["kernels"][0]
    position = next(at for _, _, at, language in kernel["pieces"] if language == "sass")
    source = next(at for _, _, at, language in kernel["pieces"] if language == "ptx")
    lines = details["lines"][position]
    opened = show(attention, "x=report&target=h100&view=code")
    opened.page.locator(".kernel > summary").first.click()
    number, line = next((number, line) for number, line in enumerate(lines, 1) if line > 1)
    opened.page.locator(f'.text pre.sass [data-line="{number}"]').click()
    pinned_line = opened.page.locator(".text pre.ptx .pinned")
    assert pinned_line.inner_text().split() == details["code"][source].splitlines()[line - 1].split()
    assert pinned_line.is_visible()
    pinned_line.click()
    line_numbers = [index for index, of in enumerate(lines, 1) if of == line]
    assert opened.page.locator(".text pre.sass .pinned").count() == len(line_numbers)
    # By the keyboard: from a line to the one below it.
    opened.page.locator(".text pre.ptx").press("ArrowDown")
    assert opened.page.locator(".text pre.ptx .pinned").get_attribute("data-line") == str(line + 1)
    # The kernel's lines of Python are marked meanwhile.
    assert opened.page.locator(".source .akin").count() == len(kernel["places"])


def test_the_hlo_of_a_kernel_is_next_to_its_code_and_linked_to_python(show: Show, attention: Captures) -> None:
    opened = show(attention, "x=report&target=tpu-v5e&view=code")
    fold = opened.page.locator(".kernel").first
    fold.locator("summary").first.click()
    fold.locator(".text pre.bundles").wait_for()
    row = fold.locator(".text .hlo button.line[data-place]:not([data-place='-1'])").first
    row.click()
    assert opened.page.locator(".source .line.lit").count() == 1
    assert fold.locator(".text.lit").count() == 2


@pytest.mark.parametrize("target", TARGETS)
def test_an_instruction_leads_to_its_code_and_the_code_back_to_it(show: Show, attention: Captures, target: str) -> None:
    data = describe_capture(attention[target], code=True)
    kernel = next(kernel_entry for kernel_entry in data["code"]["kernels"] if kernel_entry["instructions"])
    number = kernel["instructions"][0]
    opened = show(attention, f"x=report&target={target}&view=after")
    opened.page.locator(f'.pane [data-instruction="{number}"]').click()
    text = opened.page.locator(".pane .line.chosen").inner_text()
    opened.page.get_by_role("button", name="Its code").click()
    chosen = opened.page.locator(".kernel.chosen")
    assert chosen.locator("summary b").first.inner_text() == kernel["name"]
    assert chosen.get_attribute("open") is not None
    assert chosen.locator(":scope > .code .line.chosen").inner_text() == text
    place = data["places"][kernel["places"][0]]
    assert opened.status.startswith(f"{data['sources'][place[0]][0]}:{place[1]}: ")
    opened.page.get_by_role("button", name="In the optimized HLO").click()
    assert opened.page.locator(".pane .line.chosen").inner_text() == text


def test_a_line_of_python_highlights_its_kernels(show: Show, attention: Captures) -> None:
    data = describe_capture(attention["h100"], code=True)
    opened = show(attention, "x=report&target=h100&view=code")
    file, line = data["places"][data["code"]["kernels"][0]["places"][0]]
    opened.choose_line(f"{data['sources'][file][0]}:{line}")
    place = data["places"].index((file, line))
    expected = [kernel["name"] for kernel in data["code"]["kernels"] if place in kernel["places"]]
    assert opened.page.locator(".kernel.lit > summary b").all_inner_texts() == expected
    assert opened.page.locator('[data-count="code"]').inner_text().strip() == str(len(expected))


@pytest.mark.parametrize("target", TARGETS)
def test_a_chosen_instruction_shows_the_compilers_decisions_with_links_to_passes(
    show: Show, attention: Captures, target: str
) -> None:
    reasons = describe_details(attention[target])["reasons"]
    data = describe_capture(attention[target], code=True)
    number = next(
        number
        for kernel in data["code"]["kernels"]
        for number in kernel["instructions"]
        if any(reasons["said"][at][5] >= 0 for at in reasons["about"][str(number)][:6])
    )
    opened = show(attention, f"x=report&target={target}&view=after")
    opened.page.locator(f'.pane [data-instruction="{number}"]').click()
    reason_items = opened.page.locator(".reasons li")
    reason_items.first.wait_for()
    positions = reasons["about"][str(number)]
    expected = [reasons["said"][at] for at in positions]
    assert reason_items.locator("q").all_inner_texts() == [message[4] for message in expected[:6]]
    if len(positions) > 6:
        opened.page.locator(".reasons .more").click()
    assert reason_items.count() == len(positions)
    assert [text.split()[0] for text in reason_items.all_inner_texts()] == [message[1] for message in expected]
    state = next(message[5] for message in expected if message[5] >= 0)
    reason_items.get_by_role("button").first.click()
    assert opened.page.locator('[aria-selected="true"]').get_attribute("data-pass") == str(state)


def test_hovering_over_an_instruction_shows_its_reasons(show: Show, attention: Captures) -> None:
    reasons = describe_details(attention["h100"])["reasons"]["about"]
    opened = show(attention, "x=report&target=h100&view=after")
    panel = opened.page.locator(".reasons")
    height = panel.bounding_box()
    lines = opened.page.locator(".pane button.line[data-instruction]")
    at = next(n for n in range(lines.count()) if lines.nth(n).get_attribute("data-instruction") in reasons)
    lines.nth(at).hover()
    name = lines.nth(at).inner_text().removeprefix("ROOT ").partition(" ")[0]
    panel.get_by_text(f"{name}: ").wait_for()
    assert panel.bounding_box() == height, "what is under the pointer must not move"
    opened.page.mouse.move(0, 0)
    panel.get_by_text("Hover over an instruction, or choose it").wait_for()


def test_code_and_reasons_are_loaded_on_demand(show: Show, attention: Captures) -> None:
    opened = show(attention, "x=report&target=h100&view=code")
    opened.page.evaluate("""() => {
      globalThis.fetched = 0
      const model = globalThis.xlaExplorer.Model.prototype, whole = model.details
      model.details = function () { if (!this.detailed) globalThis.fetched++; return whole.call(this) }
    }""")
    opened.choose("passes")
    opened.choose("after")
    assert opened.page.evaluate("globalThis.fetched") == 0
    opened.page.locator(".pane button.line[data-instruction]").first.click()
    opened.page.locator(".reasons").get_by_text("decision").first.wait_for()
    opened.choose("code")
    open_listing(opened, describe_kernels(attention["h100"])[0].name, "PTX")
    assert opened.page.evaluate("globalThis.fetched") == 1


def test_missing_details_are_reported_and_requested_again(show: Show, attention: Captures) -> None:
    opened = show(attention, "x=report&target=h100&view=after")
    opened.page.evaluate("""() => {
      const whole = globalThis.DecompressionStream
      globalThis.DecompressionStream = function () { throw new Error("no such file") }
      globalThis.mend = () => { globalThis.DecompressionStream = whole }
    }""")
    line = opened.page.locator(".pane button.line[data-instruction]").last
    line.click()
    opened.page.get_by_text("The compiler's reasons did not load: no such file").wait_for()
    opened.choose("code")
    fold = opened.page.locator(".kernel").first
    fold.locator("summary").first.click()
    fold.locator(".failed", has_text="did not load: no such file").first.wait_for()
    opened.page.evaluate("mend()")
    fold.get_by_role("button", name="Try again").first.click()
    fold.locator(".text pre").first.wait_for()


def test_html_in_code_and_reasons_is_shown_as_text(show: Show, attention: Captures) -> None:
    hostile = "<img src=x onerror='window.hit=1'></script><script>window.hit=1</script>"
    capture = attention["h100"]
    code = tuple(replace(piece, text=f"{hostile}\n{piece.text}") for piece in capture.code)
    log = tuple(replace(event, text=f"{event.text} {hostile}") for event in capture.log)
    odd = replace(capture, code=(*code, Code(hostile, "ptx", hostile)), log=log)
    opened = show(Captures({"h100": odd}, {}, ("h100",)), "x=report&view=code")
    for number in range(opened.page.locator(".kernel").count()):
        opened.page.locator(".kernel > summary").nth(number).click()
    opened.page.locator(".text pre").last.wait_for()
    opened.page.locator(".kernel button.line").first.click()
    opened.page.locator(".reasons li").first.wait_for()
    assert opened.page.locator("img").count() == 0
    assert opened.page.evaluate("window.hit") is None
    assert [text for text in opened.page.locator(".text pre").all_text_contents() if "<img src=x" not in text] == []
    assert "<img src=x" in opened.page.locator(".reasons").inner_text()
