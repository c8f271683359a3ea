"""Listings, tables and checks of the page about when compiling helps."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chapters import capture_text
from programs import padded, product, repeated, rounded
from xla_inspect import capture, capture_all
from xla_inspect.analysis import list_kernels, list_launches
from xla_inspect.report import markdown, print_computation, title

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import jax

    from xla_inspect.captured import Capture, Captures

    Mode = tuple[Sequence[tuple[str, int]], int]

RESULT = 256 * 256 * 4
"""The bytes of the MLP's result."""

LOOP, SCAN = repeated.PROGRAMS


def show_head(file: str, until: str) -> str:
    """Return a file up to a text in it, in a fence."""
    head = Path(file).read_text(encoding="utf-8").split(until)[0]
    return markdown.fence(head.rstrip(), "python", title=file)


def measure_written(mode: Mode) -> int:
    """Return the bytes that executables of a mode write for one another: all but one result of the MLP."""
    sizes = [size for _, size in mode[0]]
    assert RESULT in sizes
    return sum(sizes) - RESULT


def show_modes(modes: Mapping[str, Mode]) -> str:
    """Return how many executables each mode compiles and launches, and the bytes between them, as a table."""
    rows = [(name, len(mode[0]), mode[1], markdown.size(measure_written(mode))) for name, mode in modes.items()]
    return markdown.table(["mode", "executables compiled", "launched", "written between them"], rows, numbers=(1, 2, 3))


def show_executables(modes: Mapping[str, Mode]) -> str:
    """Return the executables of each mode by name, folded."""
    rows = [(name, ", ".join(markdown.code(called) for called, _ in sorted(mode[0]))) for name, mode in modes.items()]
    return markdown.fold("Which executables", markdown.table(["mode", "executables"], rows))


def check_modes(modes: Mapping[str, Mode]) -> None:
    """Check how many executables each mode of the MLP compiles and launches, and what they write."""
    assert len(modes) == 3
    counts = {name: (len(executables), launches) for name, (executables, launches) in modes.items()}
    assert counts["eagerly"] == (5, 5)
    assert counts["under `jax.jit`"] == (1, 1)
    assert min(counts["`jax.disable_jit`"]) > 5
    names = {name: sorted(called for called, _ in executables) for name, (executables, _) in modes.items()}
    assert names["eagerly"] == ["jit_add", "jit_add", "jit_matmul", "jit_matmul", "jit_relu"]
    assert {"jit_matmul", "jit_relu"}.isdisjoint(names["`jax.disable_jit`"])
    assert measure_written(modes["eagerly"]) == 3 * 256 * 1024 * 4 + RESULT
    assert measure_written(modes["under `jax.jit`"]) == 0


def show_speeds(speed: Mapping[str, Any]) -> str:
    """Return the times of each program eagerly and under `jit`, and their ratio, as a table."""
    rows = [
        (
            name,
            f"{times['eager_us']:,.0f}",
            f"{times['jit_us']:,.0f}",
            f"{times['ratio']:.1f} ({times['ratio_quartiles'][0]:.1f} to {times['ratio_quartiles'][1]:.1f})",
        )
        for name, times in speed["eager"].items()
    ]
    return markdown.table(["program", "eagerly, µs", "under jit, µs", "ratio"], rows, numbers=(1, 2, 3))


def check_speeds(speed: Mapping[str, Any]) -> None:
    """Check that small operations gain most in the recorded runs, and one matmul next to nothing."""
    ratios = {name: times["ratio"] for name, times in speed["eager"].items()}
    tiny, large, single, layers = ratios.values()
    assert tiny == max(ratios.values())
    assert tiny > 3 * large
    assert large > 1.1
    assert 0.8 < single < 1.25
    assert single < layers < large


def check_padding(ways: Sequence[tuple[str, int, int, int, float]]) -> None:
    """Check the executables, the elements computed and the errors of each way to pad."""
    assert len(padded.LENGTHS) == 8
    assert [executables for _, executables, *_ in ways] == [8, 1, 3]
    assert all(error < 1e-6 for *_, error in ways)
    exact, longest, powers = (computed for _, _, computed, *_ in ways)
    assert exact < powers < longest


def show_loops(loops: Mapping[str, Captures]) -> str:
    """Return the length of each loop's StableHLO and of its HLO on each target, as a table."""
    rows = [
        (
            name,
            capture_text.count_printed_operations(captures["cpu"].stablehlo),
            *(found.module.instruction_count() for found in captures.values()),
        )
        for name, captures in loops.items()
    ]
    header = ["sixteen layers by", "StableHLO operations", *(f"HLO on {title(target)}" for target in loops[LOOP])]
    return markdown.table(header, rows, numbers=range(1, 5))


def check_loops(loops: Mapping[str, Captures]) -> None:
    """Check that Python's loop is unrolled and the scan is kept as a `while`, from two iterations on."""
    for depth, whiles in ((1, 0), (2, 1)):
        few = capture_all(lambda x, w, depth=depth: repeated.scanned(x, w, depth), *repeated.EXAMPLE)
        assert [found.module.opcode_counts()["while"] for found in few.values()] == [whiles] * len(few)
    unrolled, scanned = loops[LOOP], loops[SCAN]
    for target, found in unrolled.items():
        assert "while" not in found.module.opcode_counts()
        assert scanned[target].module.opcode_counts()["while"] == 1
        assert scanned[target].module.instruction_count() < found.module.instruction_count()
    assert unrolled["cpu"].module.opcode_counts()["tanh"] == repeated.DEPTH == 16


def show_stages(speed: Mapping[str, Any]) -> str:
    """Return the times of tracing, lowering and compiling each program for each target, as a table."""
    rows = [
        (markdown.escape(name), title(target), *(f"{stages[stage]:,.0f}" for stage in ("trace", "lower", "compile")))
        for name, targets in speed["stages"].items()
        for target, stages in targets.items()
    ]
    return markdown.cards(["program", "target", "trace, ms", "lower, ms", "compile, ms"], rows)


def show_unfused(fused: Captures, apart: Captures, names: Mapping[str, str]) -> str:
    """Return the kernels of each target with its fusion passes and without them, as a table.

    Args:
        fused: The MLP.
        apart: The MLP without the passes that fuse.
        names: By target, the names of the passes that are switched off.
    """
    rows = [
        (
            title(target),
            markdown.code(names[target].removeprefix("cpu-parallel-task-assigner,")),
            *(f"{len(list_kernels(captures[target])):,}" for captures in (fused, apart)),
        )
        for target in fused
    ]
    return markdown.cards(["target", "switched off", "kernels with", "kernels without"], rows)


def show_fused(capture: Capture) -> str:
    """Return the first fused computation, in a fence."""
    fused = next(computation for computation in capture.module.computations if not computation.is_entry)
    return markdown.fence(print_computation(fused, layouts=False), "hlo")


def count_converts(capture: Capture) -> int:
    """Return the number of conversions between element types."""
    return capture.module.opcode_counts()["convert"]


def check_rounding(loose: Captures, strict: Capture) -> None:
    """Check which targets round a sum in bfloat16 before its difference, by default and without excess precision."""
    function, example = rounded.PROGRAMS["a sum in bfloat16"]
    assert "reduce-precision" not in loose["tpu-v5e"].module.opcode_counts()
    assert strict.module.opcode_counts()["reduce-precision"] == 1
    assert count_converts(loose["tpu-v5e"]) == 3
    strict_cpu = capture(function, *example, options={"xla_allow_excess_precision": False})
    assert count_converts(loose["cpu"]) == count_converts(strict_cpu) == 5
    assert "convert" not in loose["h100"].module.opcode_counts()


def compile_matmuls(exact: Capture) -> dict[str, Capture]:
    """Return matmuls for the H100 by their code: usual, exact, by preset, of a vector, and of small matrices.

    Args:
        exact: The matmul with the highest precision.
    """
    import jax
    import jax.numpy as jnp

    def by_preset(x: jax.Array, w: jax.Array) -> jax.Array:
        return jnp.matmul(x, w, precision=jax.lax.DotAlgorithmPreset.F32_F32_F32)

    x, _ = product.EXAMPLE
    few = jax.ShapeDtypeStruct((4, 4), jnp.float32)
    return {
        "`x @ w`": capture(product.product, *product.EXAMPLE, target="h100"),
        '`jnp.matmul(x, w, precision="highest")`': exact,
        "`jnp.matmul(x, w, precision=DotAlgorithmPreset.F32_F32_F32)`": capture(
            by_preset, *product.EXAMPLE, target="h100"
        ),
        "`x @ v`, of a vector": capture(jnp.matmul, x, jax.ShapeDtypeStruct(x.shape[1:], jnp.float32), target="h100"),
        "`x @ w`, of the smallest matrices": capture(product.product, few, few, target="h100"),
    }


def list_matrix_instructions(capture: Capture) -> list[str]:
    """Return the instructions in a GPU's PTX that multiply matrices."""
    ptx = "\n".join(piece.text for piece in capture.code if piece.language == "ptx")
    return sorted(set(re.findall(r"wgmma\.mma_async[\w.]*|mma\.sync[\w.]*", ptx)))


def show_matmuls(matmuls: Mapping[str, Capture]) -> str:
    """Return the instructions that multiply matrices of each matmul, as a table."""
    instructions = {label: list_matrix_instructions(found) for label, found in matmuls.items()}
    rows = [
        (label, f"{', '.join(map(markdown.code, names))} {markdown.by_model()}" if names else _say_none(label))
        for label, names in instructions.items()
    ]
    return markdown.table(["matmul", "matrix instructions in the PTX"], rows)


def _say_none(label: str) -> str:
    return "none: ordinary multiplications" if "highest" in label else "none"


def check_matmuls(matmuls: Mapping[str, Capture]) -> None:
    """Check that the usual matmul multiplies TF32 in tensor cores, and none of the others uses them."""
    usual, *others = map(list_matrix_instructions, matmuls.values())
    assert usual
    assert all("tf32" in name for name in usual)
    assert others == [[]] * 4


def check_scan(scanned: Captures) -> None:
    """Check the kernels of the scan on the H100: one matmul, a counter and copies."""
    assert {"loop_add_fusion", "loop_compare_fusion", "copy.5"} <= {
        launch.name for launch in list_launches(scanned["h100"])
    }


def count_matmuls(capture: Capture) -> int:
    """Return the number of a GPU's kernels that multiply matrices."""
    return sum(kernel.name.startswith("gemm") for kernel in list_kernels(capture))
