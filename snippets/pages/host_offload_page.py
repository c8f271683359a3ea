"""The tables and checks of the chapter on buffers about the host's memory, and running out of memory."""

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
"""The color of the host's memory in a plan."""
MARKS = {
    "convert-memory-placement-to-internal-annotations": "MoveToHost",
    "host-offloader": "dynamic-update-slice(",
    "host-memory-transfer-asyncifier": "async-start(",
}
"""By pass, a word of the instruction that it makes to move an input."""


def count_colors(captures: Captures, color: int) -> dict[str, int]:
    """Return the bytes of the plan in memory of a color by target."""
    return {target: parse_buffers(found.buffers).bytes_by_color().get(color, 0) for target, found in captures.items()}


def is_placed(found: Capture) -> bool:
    """Return whether JAX wrote a placement into the module."""
    return "annotate_device_placement" in found.stablehlo


def check_offload(stays: Captures, moves: Captures) -> None:
    """Check the bytes that the policy moves to the host, and the type of the saved inputs."""
    moves.require()
    stack = 4 * offloaded.LAYERS * offloaded.ROWS * offloaded.WIDTH
    assert [*count_colors(moves, HOST).values()] == [0, stack, stack]
    assert [*count_colors(stays, HOST).values()] == [0, 0, 0]
    before, after = count_colors(stays, 0), count_colors(moves, 0)
    freed = {target: before[target] - after[target] for target in before}
    assert freed["cpu"] == 0
    assert 0.3 * stack < freed["tpu-v5e"] < 0.5 * stack < 0.9 * stack < freed["h100"]
    assert [is_placed(found) for found in moves.values()] == [False, True, True]
    saved = {
        target: {
            leaf.dtype
            for each in found.module.walk()
            if each.opcode == "while"
            for leaf in each.shape.leaves()
            if leaf.dimensions == (offloaded.LAYERS, offloaded.ROWS, offloaded.WIDTH)
        }
        for target, found in stays.items()
    }
    assert saved == {"cpu": {"f32"}, "h100": {"f32"}, "tpu-v5e": {"bf16"}}


def list_stages(moves: Capture) -> dict[str, str]:
    """Return the instruction that moves an input to the host, as JAX lowers it and after each pass that changes it."""
    texts = {step.name: step.text for step in moves.passes}
    stages = {"as JAX lowers it": (moves.before, "annotate_device_placement")}
    stages |= {name: (texts[name], word) for name, word in MARKS.items()}
    return {name: _find_line(text, word) for name, (text, word) in stages.items()}


def _find_line(text: str, word: str) -> str:
    line = next(line.strip() for line in text.splitlines() if word in line and " = " in line)
    clutter = r", metadata=\{.*|, calls=.*|, custom_call_has_side_effect=true"
    return re.sub(clutter, "", line).removeprefix("ROOT ")


def show_stages(moves: Capture) -> str:
    """Return the instruction that moves an input to the host after each pass, folded."""
    rows = [(markdown.code(name), markdown.code(line)) for name, line in list_stages(moves).items()]
    table = markdown.cards(["after", "the instruction that moves an input to the host"], rows)
    return markdown.fold("What each pass makes of it", table)


def list_hiding(found: Capture, opcode: str) -> list[Instruction]:
    """Return the matmuls that the schedule has between the start of a transfer to or from the host and its done.

    Args:
        found: The capture.
        opcode: The opcode of the transfer, which its name begins with.
    """
    start = next(
        each
        for each in found.module.walk()
        if each.opcode == "async-start" and each.name.startswith(opcode) and f"S({HOST})" in str(each.shape)
    )
    order = found.module.computation(start.computation).instructions
    done = next(each for each in order if each.opcode == "async-done" and start.name in each.operands)
    between = order[order.index(start) + 1 : order.index(done)]
    return [each for each in between if each.opcode == "fusion" and ("gemm" in each.name or "convolution" in each.name)]


def check_transfers(moves: Captures) -> None:
    """Check the matmuls beside the transfers, the passes that make these, and that the peak counts the host."""
    hiding = {
        target: [len(list_hiding(moves[target], opcode)) for opcode in ("dynamic-update-slice", "dynamic-slice")]
        for target in ("h100", "tpu-v5e")
    }
    assert hiding == {"h100": [1, 0], "tpu-v5e": [0, 0]}
    for target in hiding:
        changed = [run.name for run in moves[target].runs if run.changed]
        order = [changed.index(name) for name in MARKS]
        assert order == sorted(order)
        memory = moves[target].memory
        assert memory.peak > count_colors(moves, HOST)[target] + memory.arguments
    assert f"S({HOST})" in list_stages(moves["h100"])["host-offloader"]
    assert any(a.color == HOST for a in list_allocations(moves["h100"]))


def check_landing(lands: Captures) -> None:
    """Check that a result that is put to the host is copied there, and that an array can be put there and back."""
    for target, found in lands.items():
        opcodes, is_cpu = found.module.opcode_counts(), target == "cpu"
        assert (opcodes["copy-start"], opcodes["copy-done"]) == ((0, 0) if is_cpu else (1, 1))
        assert (found.memory.outputs == 0) is not is_cpu
        assert count_colors(lands, HOST)[target] == (0 if is_cpu else found.memory.arguments)
    placed = jax.device_put(jnp.ones(8), jax.memory.Space.Host)
    assert placed.sharding.memory_kind == "pinned_host"
    back = jax.jit(lambda array: jax.device_put(array, jax.memory.Space.Device) + 1)(placed)
    assert back.sharding.memory_kind == "device"


def find_refusal(function: Callable[..., object], *example: object) -> str:
    """Return the report of the compiler for the TPU v5e about a program that does not fit, or an empty string."""
    try:
        capture(function, *example, target="tpu-v5e")
    except jax.errors.JaxRuntimeError as error:
        return str(error)
    return ""


def check_refusal(refusal: str) -> None:
    """Check the report of a program that does not fit, and that one without temporaries gets its words."""
    assert "RESOURCE_EXHAUSTED" in refusal
    assert "CompileTimeHbmOom" in refusal
    assert "dot" not in refusal
    assert "scores" not in refusal
    other = find_refusal(jnp.negative, jax.ShapeDtypeStruct((1 << 16, 1 << 16), jnp.float32))
    assert "required for HLO temporaries (32.00G)" in other


def check_blocks(larger: Capture, whole: Captures, blocks: Captures) -> None:
    """Check that the scores are the peak of attention, and the temporary memory of attention by blocks.

    Args:
        larger: Attention on a larger TPU.
        whole: Attention with all scores at once.
        blocks: Attention by blocks of rows.
    """
    scores, peak = 4 * buffers.LONG.shape[0] ** 2, parse_live_ranges(larger.live_ranges)
    assert peak.peak_values[0][2] == scores
    assert "jit(attend)/dot_general" in peak.breakdown.splitlines()[1]
    assert blocks["h100"].memory.temporaries < whole["h100"].memory.temporaries / 50
    assert "tpu-v5e" in blocks
    assert whole["cpu"].memory.temporaries == 0
    assert blocks["cpu"].memory.temporaries > scores / 128
    assert capture_text.name_kernels(whole["cpu"]) == "ynn_fusion"
