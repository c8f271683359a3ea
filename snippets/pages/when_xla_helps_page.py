"""Listings, tables and checks for the page about when compilation helps."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from chapters import capture_text
from pages.low_precision_page import list_units
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
"""The size of the MLP's result in bytes."""

LOOP, SCAN = repeated.PROGRAMS


def show_head(file: str, until: str) -> str:
    """Return the beginning of a file, up to the text `until`, in a fence."""
    head = Path(file).read_text(encoding="utf-8").split(until)[0]
    return markdown.fence(head.rstrip(), "python", title=file)


def measure_written(mode: Mode) -> int:
    """Return the bytes that a mode's executables write, without one result of the MLP: those written for one another.

    A mode is a pair: the name and the bytes written of each executable compiled, and the number of launches.
    """
    sizes = [size for _, size in mode[0]]
    assert RESULT in sizes
    return sum(sizes) - RESULT


def show_modes(modes: Mapping[str, Mode]) -> str:
    """Return a Markdown table of each mode's numbers of executables compiled and launched, and bytes between them."""
    rows = [(name, len(mode[0]), mode[1], markdown.size(measure_written(mode))) for name, mode in modes.items()]
    return markdown.table(
        ["mode", "executables compiled", "executables launched", "written between them"], rows, numbers=(1, 2, 3)
    )


def show_executables(modes: Mapping[str, Mode]) -> str:
    """Return a folded table of the names of the executables that each mode compiles."""
    rows = [
        (name, ", ".join(markdown.code(executable) for executable, _ in sorted(mode[0])))
        for name, mode in modes.items()
    ]
    return markdown.fold("The executables of each mode", markdown.table(["mode", "executables"], rows))


def check_modes(modes: Mapping[str, Mode]) -> None:
    """Assert the executables that each mode of the MLP compiles and launches, and the bytes that they write."""
    assert len(modes) == 3
    counts = {name: (len(executables), launches) for name, (executables, launches) in modes.items()}
    assert counts["eagerly"] == (5, 5)
    assert counts["under `jax.jit`"] == (1, 1)
    assert min(counts["`jax.disable_jit`"]) > 5
    names = {name: sorted(executable for executable, _ in executables) for name, (executables, _) in modes.items()}
    assert names["eagerly"] == ["jit_add", "jit_add", "jit_matmul", "jit_matmul", "jit_relu"]
    assert {"jit_matmul", "jit_relu"}.isdisjoint(names["`jax.disable_jit`"])
    assert measure_written(modes["eagerly"]) == 3 * 256 * 1024 * 4 + RESULT
    assert measure_written(modes["under `jax.jit`"]) == 0


def show_speeds(speed: Mapping[str, Any]) -> str:
    """Return a Markdown table of each program's recorded times, in µs, in eager execution and under `jit`."""
    rows = [
        (
            name,
            f"{times['eager_us']:,.0f}",
            f"{times['jit_us']:,.0f}",
            f"{times['ratio']:.1f} ({times['ratio_quartiles'][0]:.1f} to {times['ratio_quartiles'][1]:.1f})",
        )
        for name, times in speed["eager"].items()
    ]
    return markdown.table(["program", "eager execution, µs", "under jit, µs", "ratio"], rows, numbers=(1, 2, 3))


def check_speeds(speed: Mapping[str, Any]) -> None:
    """Assert that in the recorded runs small operations gain most, and one matmul gains almost nothing."""
    ratios = {name: times["ratio"] for name, times in speed["eager"].items()}
    tiny, large, single, layers = ratios.values()
    assert tiny == max(ratios.values())
    assert tiny > 3 * large
    assert large > 1.1
    # Measured times vary from run to run, so the bounds leave room on both sides.
    assert 0.8 < single < 1.25
    assert single < layers < large


def check_padding(ways: Sequence[tuple[str, int, int, int, float]]) -> None:
    """Assert the number of executables, the computed elements and the errors of each way to pad.

    Args:
        ways: The label, executables, elements computed, elements needed, and error of each way.
    """
    assert len(padded.LENGTHS) == 8
    assert [executables for _, executables, *_ in ways] == [8, 1, 3]
    assert all(error < 1e-6 for *_, error in ways)
    exact, longest, powers = (computed for _, _, computed, *_ in ways)
    assert exact < powers < longest


def show_loops(loops: Mapping[str, Captures]) -> str:
    """Return a Markdown table of each loop's number of StableHLO operations, and of HLO instructions by target."""
    rows = [
        (
            name,
            capture_text.count_printed_operations(captures["cpu"].stablehlo),
            *(it.module.instruction_count() for it in captures.values()),
        )
        for name, captures in loops.items()
    ]
    header = ["sixteen layers in", "StableHLO operations", *(f"HLO on {title(target)}" for target in loops[LOOP])]
    return markdown.table(header, rows, numbers=range(1, 5))


def check_loops(loops: Mapping[str, Captures]) -> None:
    """Assert that a Python loop is unrolled, and that a scan of two or more iterations remains a `while`."""
    for depth, whiles in ((1, 0), (2, 1)):
        few = capture_all(lambda x, w, depth=depth: repeated.scanned(x, w, depth), *repeated.EXAMPLE)
        assert [it.module.opcode_counts()["while"] for it in few.values()] == [whiles] * len(few)
    unrolled, scanned = loops[LOOP], loops[SCAN]
    for target, it in unrolled.items():
        assert "while" not in it.module.opcode_counts()
        assert scanned[target].module.opcode_counts()["while"] == 1
        assert scanned[target].module.instruction_count() < it.module.instruction_count()
    assert unrolled["cpu"].module.opcode_counts()["tanh"] == repeated.DEPTH == 16


def show_stages(speed: Mapping[str, Any]) -> str:
    """Return an HTML table of recorded milliseconds of tracing, lowering and compiling each program for each target."""
    rows = [
        (markdown.escape(name), title(target), *(f"{stages[stage]:,.0f}" for stage in ("trace", "lower", "compile")))
        for name, targets in speed["stages"].items()
        for target, stages in targets.items()
    ]
    return markdown.cards(["program", "target", "trace, ms", "lower, ms", "compile, ms"], rows)


def show_unfused(fused: Captures, apart: Captures, names: Mapping[str, str]) -> str:
    """Return an HTML table of the number of kernels on each target with and without its fusion passes (`names`)."""
    rows = [
        (
            title(target),
            # This pass of the CPU does not fuse, so a column of fusion passes omits it.
            markdown.code(names[target].removeprefix("cpu-parallel-task-assigner,")),
            *(f"{len(list_kernels(captures[target])):,}" for captures in (fused, apart)),
        )
        for target in fused
    ]
    return markdown.cards(["target", "fusion passes", "kernels with them", "kernels without them"], rows)


def show_fused(capture: Capture) -> str:
    """Return the first computation other than ENTRY, a fusion's, as a fenced listing."""
    fused = next(computation for computation in capture.module.computations if not computation.is_entry)
    return markdown.fence(print_computation(fused, layouts=False), "hlo")


def count_converts(capture: Capture) -> int:
    """Return the number of `convert` instructions in a compiled module."""
    return capture.module.opcode_counts()["convert"]


def check_rounding(loose: Captures, strict: Capture) -> None:
    """Assert on which targets a sum in bfloat16 is rounded, with and without excess precision."""
    function, example = rounded.PROGRAMS["a sum in bfloat16"]
    assert "reduce-precision" not in loose["tpu-v5e"].module.opcode_counts()
    assert strict.module.opcode_counts()["reduce-precision"] == 1
    assert count_converts(loose["tpu-v5e"]) == 3
    strict_cpu = capture(function, *example, options={"xla_allow_excess_precision": False})
    assert count_converts(loose["cpu"]) == count_converts(strict_cpu) == 5
    assert "convert" not in loose["h100"].module.opcode_counts()


def compile_matmuls(exact: Capture) -> dict[str, Capture]:
    """Return five matmuls for the H100: the usual one, `exact`, by preset, with a vector, and with small matrices."""
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
        "`x @ v`, with a vector": capture(jnp.matmul, x, jax.ShapeDtypeStruct(x.shape[1:], jnp.float32), target="h100"),
        "`x @ w`, with small matrices": capture(product.product, few, few, target="h100"),
    }


def show_matmuls(matmuls: Mapping[str, Capture]) -> str:
    """Return a Markdown table of the matrix instructions of each matmul, by its label."""
    instructions = {label: list_units(it) for label, it in matmuls.items()}
    rows = [
        (label, f"{', '.join(map(markdown.code, names))} {markdown.by_model()}" if names else _describe_none(label))
        for label, names in instructions.items()
    ]
    return markdown.table(["matmul", "matrix instructions in the PTX"], rows)


def _describe_none(label: str) -> str:
    return "none: ordinary multiplications" if "highest" in label else "none"


def check_matmuls(matmuls: Mapping[str, Capture]) -> None:
    """Assert that only the first of the five matmuls of `compile_matmuls` uses tensor cores, with TF32."""
    usual, *others = map(list_units, matmuls.values())
    assert usual
    assert all("tf32" in name for name in usual)
    assert others == [[]] * 4


def check_scan(scanned: Captures) -> None:
    """Assert that the launches of the scan on the H100 include those of its counter and a copy."""
    assert {"loop_add_fusion", "loop_compare_fusion", "copy.5"} <= {
        launch.name for launch in list_launches(scanned["h100"])
    }


def count_matmuls(capture: Capture) -> int:
    """Return the number of GPU kernels that multiply matrices."""
    # The opcode of a matmul by Triton is `fusion`, so only the name of its kernel identifies it.
    return sum(kernel.name.startswith("gemm") for kernel in list_kernels(capture))
