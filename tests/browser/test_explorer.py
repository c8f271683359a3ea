"""The explorer in a browser agrees with the capture: lines, passes, launches and the memory plan."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from programs import buffers as memory
from xla_inspect import Captures, capture_all
from xla_inspect.analysis import (
    find_lines,
    find_peak,
    follow_passes,
    list_kernels,
    parse_buffers,
    parse_live_ranges,
    place_buffers,
)
from xla_inspect.report import print_instruction

if TYPE_CHECKING:
    from xla_inspect.hlo import Instruction

    from .conftest import Show

TARGETS = ("cpu", "h100", "tpu-v5e")
HIDDEN = {"metadata", "backend_config", "frontend_attributes"}

pytestmark = pytest.mark.usefixtures("all_targets")


def printed(instruction: Instruction) -> str:
    return print_instruction(instruction, HIDDEN)


@pytest.mark.long("otherwise the captures of the H100 stand for all", but=["h100"])
@pytest.mark.parametrize("target", TARGETS)
def test_a_line_of_python_highlights_its_instructions(show: Show, block: Captures, target: str) -> None:
    program = block[target]
    states = list(follow_passes(program))
    opened = show(block, f"x=report&target={target}&view=after")
    lines = [
        number for number, text in enumerate(program.source.splitlines(), 1) if "softmax" in text or "norm(x" in text
    ]
    assert lines
    for number in lines:
        opened.choose_line(f"{program.source_file}:{number}")
        for view, module in (("before", states[0].module), ("after", states[-1].module)):
            opened.choose(view)
            expected = [
                printed(instruction)
                for instruction, line in find_lines(program, module).items()
                if (line.file, line.number) == (program.source_file, number)
            ]
            assert sorted(opened.texts(".line.lit")) == sorted(expected)


@pytest.mark.long("otherwise the captures of the H100 stand for all", but=["h100"])
@pytest.mark.parametrize("target", TARGETS)
def test_the_keyboard_steps_through_passes_with_the_correct_diff(show: Show, layer: Captures, target: str) -> None:
    opened = show(layer, f"x=report&target={target}&view=passes&pass=0")
    passes = opened.page.get_by_role("listbox")
    passes.focus()
    before = None
    for state in follow_passes(layer[target]):
        if before is not None and state.change is not None:
            passes.press("ArrowDown")
            earlier_numbers, now = set(before.numbers.values()), set(state.numbers.values())
            # What stands among both, as what was moved into a fusion, is neither added nor removed.
            added_lines = [
                printed(instruction)
                for instruction in state.change.added
                if state.numbers[instruction] not in earlier_numbers
            ]
            removed_lines = [
                printed(instruction) for instruction in state.change.removed if before.numbers[instruction] not in now
            ]
            assert sorted(opened.texts("li.added > .line")) == sorted(added_lines)
            assert sorted(opened.texts("li.removed > .line")) == sorted(removed_lines)
            assert (
                len(added_lines) - len(removed_lines)
                == state.module.instruction_count() - before.module.instruction_count()
            )
        before = state
    passes.press("Home")
    assert opened.page.locator('[aria-selected="true"] b').inner_text() == "as imported"


def test_removed_instructions_are_shown_at_their_old_place(show: Show, layer: Captures) -> None:
    states = list(follow_passes(layer["h100"]))
    number = next(number for number, state in enumerate(states) if state.name == "algsimp" and state.change.removed)
    before, after = states[number - 1].module.entry, states[number].module.entry
    opened = show(layer, f"x=report&target=h100&view=passes&pass={number}")
    opened.page.get_by_label("unchanged lines").check()
    assert opened.texts("li:is(.same, .removed) > .line, .line.was") == [printed(element) for element in before]
    assert opened.texts("li:is(.same, .added) > .line, li.changed > .line:not(.was)") == [
        printed(element) for element in after
    ]


@pytest.mark.long("otherwise the captures of the H100 stand for all", but=["h100"])
@pytest.mark.parametrize("target", TARGETS)
def test_the_boxes_at_the_dashed_line_add_up_to_the_peak(show: Show, block: Captures, target: str) -> None:
    """The peak is that of live values, in the sizes of their allocations; the executable counts allocations."""
    program = block[target]
    opened = show(block, f"x=report&target={target}&view=buffers")
    rows = place_buffers(parse_buffers(program.buffers), parse_live_ranges(program.live_ranges))
    _, most = find_peak(row for row in rows if row.kind != "thread-local" and row.start is not None)
    assert opened.page.locator(".most").inner_text() == f"{most:,}"
    crossing = """() => {
      const inside = document.querySelector("#explorer").shadowRoot
      const x = inside.querySelector(".peak").getBoundingClientRect().left
      const boxes = [...inside.querySelectorAll(".value")].filter((box) => {
        const { left, right } = box.getBoundingClientRect()
        return left <= x && x <= right
      })
      const rows = [...inside.querySelectorAll(".allocation")]
      const number = (text) => Number(text.replaceAll(",", ""))
      return boxes.map((box) => {
        const [, size, offset] = box.title.match(/, ([0-9,]+) bytes at offset ([0-9,]+)/)
        return [rows.indexOf(box.parentElement), number(offset), number(size)]
      })
    }"""
    slots: dict[tuple[int, int], int] = {}
    for allocation, offset, size in opened.page.evaluate(crossing):
        slots[allocation, offset] = max(size, slots.get((allocation, offset), 0))
    assert sum(slots.values()) == most
    text = opened.page.locator(".analysis").inner_text()
    numbers = [int(number.replace(",", "")) for number in re.findall(r"[0-9,]*[0-9]", text)]
    stats = program.memory
    assert numbers == [stats.arguments, stats.outputs, stats.aliased, stats.temporaries, stats.peak]
    # What the plan and `memory_analysis` must agree on: arguments and outputs everywhere, and on a GPU the peak,
    # which there is all allocations together.
    kinds = parse_buffers(program.buffers).bytes_by_kind()
    assert (kinds["parameter"], kinds["output"]) == (stats.arguments, stats.outputs)
    if target == "h100":
        assert kinds["parameter"] + kinds["output"] + kinds["temporary"] + kinds["constant"] == stats.peak
        assert most <= stats.peak


def test_donation_can_be_switched_on(show: Show) -> None:
    function, example = memory.PROGRAMS["update"]
    lent, donating = capture_all(function, *example), capture_all(function, *example, donate_argnums=0)
    opened = show(lent, "x=report&target=cpu&view=buffers", donated=donating)
    assert (
        f"shared by arguments and outputs {lent['cpu'].memory.aliased:,}"
        in opened.page.locator(".analysis").inner_text()
    )
    opened.page.get_by_label("with its arguments donated").check()
    assert (
        f"shared by arguments and outputs {donating['cpu'].memory.aliased:,}"
        in opened.page.locator(".analysis").inner_text()
    )
    assert opened.page.locator(".group .named").first.inner_text().startswith("Arguments")


def test_an_instruction_shows_its_call_chain_or_the_source_of_its_line(show: Show, block: Captures) -> None:
    program = block["tpu-v5e"]
    lines = find_lines(program, program.module)
    opened = show(block, "x=report&target=tpu-v5e&view=after")
    own = next(
        operation
        for operation, line in lines.items()
        if not line.through and operation.computation == program.module.entry.name
    )
    borrowed = next(
        operation for operation, line in lines.items() if line.through and operation.computation == own.computation
    )
    for instruction in (own, borrowed):
        opened.page.get_by_role("button", name=printed(instruction), exact=True).click()
        line = lines[instruction]
        assert opened.status.startswith(f"{line.file}:{line.number}: ")
        assert (f"that of its neighbor {line.through}" in opened.status) == bool(line.through)
    opened.page.get_by_role("button", name=printed(own), exact=True).click()
    chain = [f"{frame.function} ({frame.file}:{frame.line})" for frame in program.frames[own.stack_frame or 0]]
    assert [frame for frame in chain if frame not in opened.status] == []


def name(box: str) -> str:
    """Return the name of an instruction from the text of its box, which begins with the letter of its kind."""
    return box[1:]


def test_the_boxes_of_the_graph_are_launches_and_open_to_their_instructions(show: Show, block: Captures) -> None:
    capture = block["h100"]
    opened = show(block, "x=report&target=h100&view=graph")
    names = [name(text) for text in opened.page.locator(".box summary b").all_inner_texts()]
    assert sorted(names) == sorted(kernel.name for kernel in list_kernels(capture))
    first = opened.page.locator(".box").first
    first.locator("summary").click()
    fusion = capture.module.entry.by_name[name(first.locator("summary b").inner_text())]
    instructions = [
        fusion,
        *(instruction for computation in capture.module.called(fusion) for instruction in computation),
    ]
    assert opened.texts(".box[open] .line")[: len(instructions)] == [
        printed(instruction) for instruction in instructions
    ]
