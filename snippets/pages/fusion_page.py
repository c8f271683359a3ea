"""Tables, pictures and checks of the chapter on fusion: its programs, the kinds of fusion, and the kernels."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp

from chapters import find_decisions, fusion_picture
from programs import fusible, gelu
from xla_inspect import capture, capture_all
from xla_inspect.analysis import list_fusions, list_kernels, list_traffic, main_memory_bytes
from xla_inspect.analysis.reasons import read_reasons
from xla_inspect.jax_private import parse_hlo
from xla_inspect.report import markdown, title

if TYPE_CHECKING:
    from collections.abc import Mapping

    from xla_inspect import Capture, Captures
    from xla_inspect.analysis.reasons import Decision

type Programs = Mapping[str, Captures]

SPLIT = "splitk-rewriter"
TARGETS = ("cpu", "h100", "tpu-v5e")
KINDS = ("kLoop", "kInput", "kOutput", "kCustom")
DISABLED = {
    "cpu": {"xla_disable_hlo_passes": "fusion,cpu-parallel-task-assigner"},
    "h100": {"xla_disable_hlo_passes": "priority-fusion"},
    "tpu-v5e": {"xla_disable_hlo_passes": "tpu_fusion"},
}
"""The options that switch the fusion pass of each target off."""

MODULE = """HloModule m
c { p = f32[4] parameter(0)
  ROOT n = f32[4] negate(p) }
ENTRY e { p = f32[4] parameter(0)
  ROOT f = f32[4] fusion(p), kind=%s, calls=c }"""


def compile_fusible(name: str) -> Captures:
    """Compile the program of `programs.fusible` with this name for the usual targets, with the compilers' decisions."""
    function, example = fusible.PROGRAMS[name]
    return capture_all(function, *example, reasons=True)


def find_decision(program: Capture, kind: str, about: str = "") -> Decision:
    """Return the first logged decision of a kind about an instruction whose name begins with `about`."""
    return find_decisions(program, kind, about)[0]


def count_bytes(program: Capture) -> int:
    """Return the total bytes of the operands and results of a program's kernels."""
    return sum(traffic.total for traffic in list_traffic(program.module))


def count_launches(program: Capture) -> int:
    """Return the number of kernels of a program."""
    return len(list_kernels(program))


def list_counts(captures: Mapping[str, Capture]) -> list[int]:
    """Return the number of kernels on CPU, H100 and TPU, in this order."""
    return [count_launches(captures[target]) for target in TARGETS]


def check_scaled_sums(columns: Captures, rows: Captures) -> None:
    """Assert the number of kernels of sums over columns and rows, and that other arrays need several on the CPU."""
    assert list_counts(columns) == [1, 2, 1]
    assert list_counts(rows) == [1, 1, 1]
    for dimensions, dtype in (((64, 128), jnp.int32), ((8, 33), jnp.float32)):
        x, scale = (jax.ShapeDtypeStruct(shape, dtype) for shape in (dimensions, dimensions[-1:]))
        several = capture(lambda x, scale: jnp.sum(x * scale, axis=-1), x, scale, target="cpu", passes=False)
        assert len(list_kernels(several)) > 1
    assert count_bytes(columns["h100"]) > 2 * count_bytes(columns["tpu-v5e"])


def compile_unfused(example: jax.ShapeDtypeStruct) -> Captures:
    """Compile GELU for the usual targets, with the fusion pass of each switched off."""
    return capture_all(gelu.gelu, example, options=DISABLED)


def show_traffic(dense: Captures, least: int) -> str:
    """Return a Markdown table of the dense layer's kernels and of their traffic in main memory, by target.

    Args:
        dense: The captures of the dense layer.
        least: The least possible traffic, in bytes.
    """
    rows = []
    for target, program in dense.items():
        label = title(target) + (f" {markdown.by_model()}" if target == "h100" else "")
        names = ", ".join(kernel.name for kernel in list_kernels(program))
        moved = main_memory_bytes(program.module)
        rows.append((label, names, markdown.size(moved), f"{moved / least:.1f}"))
    header = ["relu(x @ w + b)", "kernels", "traffic in main memory", "relative to the minimum"]
    return markdown.table(header, rows, numbers=(2, 3))


def check_split(dense: Captures, least: int) -> None:
    """Assert the dense layer's traffic beyond `least` bytes, and that one pass splits its matmul on the H100."""
    partial = dense["h100"].module.entry.by_name["gemm_fusion_dot"].shape
    result = dense["cpu"].memory.outputs
    assert result == 64 * 256 * 4
    assert partial.dimensions == (4, 64, 256)
    assert partial.bytes == 4 * result
    moved = [main_memory_bytes(dense[target].module) - least for target in TARGETS]
    assert moved == [2 * result, 2 * partial.bytes, 0]
    order = [run.name for run in dense["h100"].runs]
    assert order.index(SPLIT) < order.index("config-assigner")
    decisions = read_reasons(dense["h100"]).decisions
    split = [(decision.kind, decision.instruction) for decision in decisions if decision.pass_name == SPLIT]
    assert split == [("replaced", "dot_general.1")]


def show_fusions(fusions: Mapping[str, Capture]) -> str:
    """Return a picture of the last fusion in each program's ENTRY, under the program's call."""
    drawings = []
    for call, program in fusions.items():
        names = [instruction.name for instruction in program.module.entry if instruction.opcode == "fusion"]
        drawings.append(fusion_picture.draw_fusion(program, names[-1], call))
    return fusion_picture.arrange_drawings(*drawings)


def check_kinds(fusions: Mapping[str, Capture]) -> None:
    """Assert that the programs have the four kinds of fusion, and that XLA's parser rejects another kind."""
    kinds = [fusion.kind for program in fusions.values() for fusion in list_fusions(program.module, entry_only=True)]
    assert kinds == list(KINDS)
    assert len(kinds) == 4
    for call, root, opcodes in (
        ("sum(x * scale, axis=-1)", "reduce", {"multiply"}),
        ("relu(x @ w + b)", "maximum", {"convolution", "add"}),
    ):
        module = fusions[call].module
        inner = module.called(next(instruction for instruction in module.entry if instruction.opcode == "fusion"))[0]
        assert inner.root.opcode == root
        assert {instruction.opcode for instruction in inner} >= opcodes
    for kind in KINDS:
        assert f"kind={kind}" in parse_hlo(MODULE % kind)
    try:
        message = parse_hlo(MODULE % "kTransposeDot")
    except RuntimeError as error:
        message = str(error)
    assert "fusion kind" in message


def count_kinds(programs: Programs) -> dict[str, Counter[str]]:
    """Return the number of kernels of each kind of fusion in all programs together, by target."""
    return {
        target: Counter(
            kernel.fusion_kind
            for captures in programs.values()
            for kernel in list_kernels(captures[target])
            if kernel.fusion_kind
        )
        for target in TARGETS
    }


def show_kinds(programs: Programs) -> str:
    """Return a folded table of the number of fusions of each kind in all programs together, by target."""
    counts = count_kinds(programs)
    rows = [(markdown.code(kind), *(counts[target][kind] for target in TARGETS)) for kind in KINDS]
    header = ["kind of fusion", *map(title, TARGETS)]
    return markdown.fold(
        "Fusions of each kind in the ENTRY computations of eight programs",
        markdown.table(header, rows, numbers=(1, 2, 3)),
    )


def check_kind_counts(programs: Programs) -> None:
    """Assert on which targets two of the kinds occur, and the kinds of a sum over scaled rows and of reductions."""
    rows, counts = programs["scale and sum rows"], count_kinds(programs)
    assert len(programs) == 8
    assert {target for target in TARGETS if counts[target]["kInput"]} == {"h100"}
    assert {target for target in TARGETS if counts[target]["kOutput"]} == {"tpu-v5e"}
    assert [list_kernels(program)[0].fusion_kind for program in rows.values()] == ["kCustom", "kInput", "kLoop"]
    assert list_counts(rows) == [1, 1, 1]
    assert "reduce" in list_fusions(rows["tpu-v5e"].module)[0].opcodes
    fusions = list_fusions(programs["attention"]["cpu"].module)
    assert any(fusion.kind == "kLoop" and "reduce" in fusion.opcodes for fusion in fusions)


def show_kernels(programs: Programs) -> str:
    """Return a folded table of the names of each program's kernels, by target."""
    rows = [
        (
            f"<b>{markdown.escape(name)}</b>",
            *(
                "<br>".join(markdown.code(kernel.name) for kernel in list_kernels(captures[target]))
                for target in TARGETS
            ),
        )
        for name, captures in programs.items()
    ]
    return markdown.fold("The names of the kernels", markdown.cards(["program", *map(title, TARGETS)], rows))


def check_kernels(programs: Programs, by_row: Captures, long_rows: Capture) -> None:
    """Assert the number and kinds of the kernels of each program, and the logged reasons that the page quotes."""
    soft, whole = programs["softmax"], programs["(x - mean) / std"]
    assert list_counts(programs["gelu"]) == [1, 1, 1]
    for captures in (soft, programs["scale and softmax"], programs["layer norm"], by_row):
        assert [kernel.fusion_kind for kernel in list_kernels(captures["h100"])] == ["kCustom"]
        assert min(count_launches(captures["cpu"]), count_launches(captures["tpu-v5e"])) >= 3
    assert min(list_counts(whole)) >= 5
    blocks, rows = list_kernels(by_row["h100"])[0].thunk, by_row["h100"].module.entry.root.shape.dimensions[0]
    assert blocks is not None
    assert blocks.grid == (rows, 1, 1)
    assert "__triton" not in long_rows.after
    long = find_decision(long_rows, "normalization-not-tiled")
    assert (long.pass_name, long.verdict) == ("triton-softmax-rewriter", "refused")
    assert find_decision(soft["cpu"], "not-a-loop", "ynn_fusion").verdict == "refused"
    assert find_decision(soft["tpu-v5e"], "tpu-not-with-elementwise", "reduce").verdict == "refused"
    split = [decision for decision in read_reasons(whole["h100"]).of("fusion") if decision.kind == "reduction-split"]
    assert {decision.pass_name for decision in split} == {"tree-reduction-rewriter"}
    assert soft["h100"].unoptimized_module.opcode_counts()["reduce"] == 2
    assert {captures["h100"].options["xla_gpu_autotune_level"] for captures in programs.values()} == {0}
