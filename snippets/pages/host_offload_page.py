"""Tables and checks of the chapter on buffers: the host's memory, and running out of memory."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp

from chapters import capture_text
from pages.buffers_page import list_allocations
from programs import buffers, offloaded
from xla_inspect import capture
from xla_inspect.analysis import parse_buffers, parse_live_ranges
from xla_inspect.report import markdown

if TYPE_CHECKING:
    from collections.abc import Callable

    from xla_inspect import Capture, Captures
    from xla_inspect.hlo import Instruction

HOST = 5
"""The color of the host's memory in a memory plan."""
MARKS = {
    "convert-memory-placement-to-internal-annotations": "MoveToHost",
    "host-offloader": "dynamic-update-slice(",
    "host-memory-transfer-asyncifier": "async-start(",
}
"""For each pass, a text in the instruction that the pass makes to move an input to the host."""


def count_colors(captures: Captures, color: int) -> dict[str, int]:
    """Return the bytes that the memory plan places in the memory space `color`, by target."""
    return {
        target: parse_buffers(program.buffers).bytes_by_color().get(color, 0) for target, program in captures.items()
    }


def is_placed(program: Capture) -> bool:
    """Return whether JAX wrote a memory placement into the StableHLO of a program."""
    return "annotate_device_placement" in program.stablehlo


def check_offload(on_device: Captures, offloaded_run: Captures) -> None:
    """Assert the bytes that offloading moves to the host on each target, and the type of the saved inputs."""
    offloaded_run.require()
    stack = 4 * offloaded.LAYERS * offloaded.ROWS * offloaded.WIDTH
    assert [*count_colors(offloaded_run, HOST).values()] == [0, stack, stack]
    assert [*count_colors(on_device, HOST).values()] == [0, 0, 0]
    before, after = count_colors(on_device, 0), count_colors(offloaded_run, 0)
    differences = {target: before[target] - after[target] for target in before}
    assert differences["cpu"] == 0
    assert 0.3 * stack < differences["tpu-v5e"] < 0.5 * stack < 0.9 * stack < differences["h100"]
    assert [is_placed(program) for program in offloaded_run.values()] == [False, True, True]
    types = {
        target: {
            leaf.dtype
            for loop in program.module.walk()
            if loop.opcode == "while"
            for leaf in loop.shape.leaves()
            if leaf.dimensions == (offloaded.LAYERS, offloaded.ROWS, offloaded.WIDTH)
        }
        for target, program in on_device.items()
    }
    assert types == {"cpu": {"f32"}, "h100": {"f32"}, "tpu-v5e": {"bf16"}}


def list_stages(moves: Capture) -> dict[str, str]:
    """Return the line that moves an input to the host, by step: after JAX's lowering and after each pass of `MARKS`."""
    texts = {step.name: step.text for step in moves.passes}
    stages = {"lowering by JAX": (moves.before, "annotate_device_placement")}
    stages |= {name: (texts[name], word) for name, word in MARKS.items()}
    return {name: _find_line(text, word) for name, (text, word) in stages.items()}


def _find_line(text: str, word: str) -> str:
    # The word may also occur in the header of a computation, which contains no equals sign.
    line = next(line.strip() for line in text.splitlines() if word in line and " = " in line)
    # These attributes are long and do not describe the move.
    clutter = r", metadata=\{.*|, calls=.*|, custom_call_has_side_effect=true"
    return re.sub(clutter, "", line).removeprefix("ROOT ")


def show_stages(moves: Capture) -> str:
    """Return a folded HTML table of the result of `list_stages`: an instruction before the passes and after each."""
    rows = [(markdown.code(name), markdown.code(line)) for name, line in list_stages(moves).items()]
    table = markdown.cards(["step", "instruction that moves an input to the host"], rows)
    return markdown.fold("The instruction that moves an input to the host, after each pass", table)


def list_hiding(program: Capture, opcode: str) -> list[Instruction]:
    """Return the matmuls that are scheduled between the start and the done instruction of a host transfer.

    Args:
        program: The capture.
        opcode: The opcode that the name of the transfer begins with.
    """
    start = next(
        instruction
        for instruction in program.module.walk()
        if instruction.opcode == "async-start"
        and instruction.name.startswith(opcode)
        and f"S({HOST})" in str(instruction.shape)
    )
    # In a scheduled module, the order of the instructions is the order of execution.
    order = program.module.computation(start.computation).instructions
    end = next(
        instruction
        for instruction in order
        if instruction.opcode == "async-done" and start.name in instruction.operands
    )
    between = order[order.index(start) + 1 : order.index(end)]
    return [
        instruction
        for instruction in between
        if instruction.opcode == "fusion" and ("gemm" in instruction.name or "convolution" in instruction.name)
    ]


def check_transfers(moves: Captures) -> None:
    """Assert the matmuls during host transfers, the order of the passes that make these, and the peak's host part."""
    hiding = {
        target: [len(list_hiding(moves[target], opcode)) for opcode in ("dynamic-update-slice", "dynamic-slice")]
        for target in ("h100", "tpu-v5e")
    }
    assert hiding == {"h100": [1, 0], "tpu-v5e": [0, 0]}
    for target in hiding:
        passes = [run.name for run in moves[target].runs if run.changed]
        order = [passes.index(name) for name in MARKS]
        assert order == sorted(order)
        memory = moves[target].memory
        assert memory.peak > count_colors(moves, HOST)[target] + memory.arguments
    assert f"S({HOST})" in list_stages(moves["h100"])["host-offloader"]
    assert any(a.color == HOST for a in list_allocations(moves["h100"]))


def check_landing(programs: Captures) -> None:
    """Assert that programs' results are in host memory except on the CPU, and that an array can move there and back."""
    for target, program in programs.items():
        opcodes, is_cpu = program.module.opcode_counts(), target == "cpu"
        assert (opcodes["copy-start"], opcodes["copy-done"]) == ((0, 0) if is_cpu else (1, 1))
        assert (program.memory.outputs == 0) is not is_cpu
        assert count_colors(programs, HOST)[target] == (0 if is_cpu else program.memory.arguments)
    host_array = jax.device_put(jnp.ones(8), jax.memory.Space.Host)
    assert host_array.sharding.memory_kind == "pinned_host"
    back = jax.jit(lambda array: jax.device_put(array, jax.memory.Space.Device) + 1)(host_array)
    assert back.sharding.memory_kind == "device"


def find_refusal(function: Callable[..., object], *example: object) -> str:
    """Compile for the TPU v5e, and return the compiler's error, or an empty string if compilation succeeds."""
    try:
        capture(function, *example, target="tpu-v5e")
    except jax.errors.JaxRuntimeError as error:
        return str(error)
    return ""


def check_refusal(refusal: str) -> None:
    """Assert the TPU compiler's error for a program that does not fit, and its words about one without temporaries."""
    assert "RESOURCE_EXHAUSTED" in refusal
    assert "CompileTimeHbmOom" in refusal
    assert "dot" not in refusal
    assert "scores" not in refusal
    other = find_refusal(jnp.negative, jax.ShapeDtypeStruct((1 << 16, 1 << 16), jnp.float32))
    assert "required for HLO temporaries (32.00G)" in other


def check_blocks(larger: Capture, whole: Captures, blocks: Captures) -> None:
    """Assert that the scores are attention's largest value at its peak, and the memory for attention by blocks."""
    scores, peak = 4 * buffers.LONG.shape[0] ** 2, parse_live_ranges(larger.live_ranges)
    assert peak.peak_values[0][2] == scores
    assert "jit(attend)/dot_general" in peak.breakdown.splitlines()[1]
    assert blocks["h100"].memory.temporaries < whole["h100"].memory.temporaries / 50
    assert "tpu-v5e" in blocks
    assert whole["cpu"].memory.temporaries == 0
    assert blocks["cpu"].memory.temporaries > scores / 128
    assert capture_text.name_kernels(whole["cpu"]) == "ynn_fusion"
