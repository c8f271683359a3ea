"""Programs, tables and checks of the page about autotuning."""

from __future__ import annotations

from typing import TYPE_CHECKING

from programs import attention, conv_step, gelu, layer, layernorm, mlp, scatter_update, softmax
from xla_inspect import capture
from xla_inspect.analysis import list_kernels, main_memory_bytes
from xla_inspect.report import markdown
from xla_inspect.targets import TILING_MODEL

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from chapters import Choice
    from xla_inspect import Capture
    from xla_inspect.analysis.reasons import Decision

_MODULES = (layer, mlp, attention, conv_step, gelu, softmax, layernorm, scatter_update)
PROGRAMS = {
    name: (getattr(module, name), module.EXAMPLE) for module in _MODULES if (name := module.__name__.rpartition(".")[2])
}
TILE = "block_m: 128 block_n: 128 block_k: 64 num_stages: 3 num_warps: 8 num_ctas: 1"
WAYS: dict[str, dict[str, bool | str]] = {
    "as on this site": {},
    "a larger tile": {"xla_gpu_override_gemm_autotuner": TILE},
    "the first tile on the list": {TILING_MODEL: False},
    "without split-K": {"xla_disable_hlo_passes": "splitk-rewriter"},
    "cuBLAS": {"xla_gpu_enable_triton_gemm": False},
}
"""Ways to compile the dense layer for the H100: the label of each, mapped to its XLA options."""
BEFORE = ["layout-assignment", "splitk-rewriter", "priority-fusion"]
"""The passes of the H100 that decide before `config-assigner` runs."""


def compile_program(name: str, options: Mapping[str, bool | str | int] | None = None) -> Capture:
    """Compile the program of `PROGRAMS` with this name for the H100, with XLA options, and return its capture."""
    function, example = PROGRAMS[name]
    return capture(function, *example, target="h100", options=options or {})


def check_order(plain: Mapping[str, Capture], tiled: Decision) -> None:
    """Assert that some passes decide before `config-assigner` runs, and that only the GPU's compiler has this pass."""
    for name, program in plain.items():
        passes = [run.name for run in program.runs]
        assigner = passes.index("config-assigner")
        order = [*map(passes.index, BEFORE), assigner]
        assert order == sorted(order)
        assert not {*BEFORE} & set(passes[assigner:])
        assert name != "softmax" or passes.index(tiled.pass_name) < assigner
    assert "the tiles that the cost model found" in tiled.sentence
    for target in ("cpu", "tpu-v5e"):
        names = [run.name for run in capture(layer.layer, *layer.EXAMPLE, target=target).runs]
        assert not any("config-assigner" in name or "autotun" in name for name in names)


def show_ways(ways: Mapping[str, Capture], blocks: Mapping[str, int]) -> str:
    """Return a Markdown table of kernels, blocks, bytes and temporary memory for each of `WAYS` to compile the layer.

    Args:
        ways: The captures by way.
        blocks: The number of blocks of the matmul, for the ways in which XLA chooses it.
    """
    rows = [
        (
            name,
            len(list_kernels(program)),
            blocks.get(name, "cuBLAS chooses"),
            markdown.size(main_memory_bytes(program.module)),
            markdown.size(program.memory.temporaries),
        )
        for name, program in ways.items()
    ]
    header = ["the dense layer", "kernels", "blocks of the matmul", "bytes moved", "temporary memory"]
    return markdown.table(header, rows, numbers=[1, 2, 3, 4])


def check_ways(ways: Mapping[str, Capture], blocks: Mapping[str, int]) -> None:
    """Assert that a tile changes only the matmul's blocks, and that the other `WAYS` also change kernels and memory."""
    usual, tiled, listed, whole, library = ways.values()
    for program in (tiled, listed):
        assert main_memory_bytes(program.module) == main_memory_bytes(usual.module)
    assert tiled.memory.temporaries == usual.memory.temporaries
    assert blocks["a larger tile"] < blocks["as on this site"] < blocks["the first tile on the list"]
    assert len(list_kernels(whole)) == len(list_kernels(library)) == 1
    assert whole.memory.temporaries == 0 < usual.memory.temporaries < library.memory.temporaries


def format_sizes(sizes: tuple[int, ...]) -> str:
    """Return the sizes of a shape or tile as text such as `128 x 64`."""
    return " x ".join(map(str, sizes))


def show_tiles(modelled: Mapping[Choice, tuple[int, int]]) -> str:
    """Return an HTML table of published tiles of matmuls, each next to the cost model's tile for the same shape."""
    rows = [
        (
            format_sizes(choice.shape),
            format_sizes(tile),
            format_sizes(choice.tile),
            f'<a href="{choice.source}">{markdown.escape(choice.by)}</a>',
        )
        for choice, tile in modelled.items()
    ]
    return markdown.cards(["matmul", "cost model's tile", "published tile", "published by"], rows)


def show_differences(recorded: Mapping[str, Mapping[str, Any]]) -> str:
    """Return a table of the recorded programs whose launches differ from those of the captures.

    Args:
        recorded: The programs of one device in a record of `scripts/measure`, by name.
    """
    rows = [
        (markdown.code(name), _list_changes(program["changed"], 1), _list_changes(program["changed"], -1))
        for name, program in recorded.items()
        if program["changed"]
    ]
    return markdown.table(["program", "only on the GPU", "only in the capture"], rows)


def show_run_times(recorded: Mapping[str, Mapping[str, Any]]) -> str:
    """Return a table of the recorded programs with the microseconds of their kernels in one run, longest first."""
    times = {
        name: sum(kernel["us"] * kernel["launches"] for kernel in program["kernels"])
        for name, program in recorded.items()
    }
    rows = [
        (markdown.code(name), len(recorded[name]["kernels"]), f"{us:,.1f}")
        for name, us in sorted(times.items(), key=lambda item: -item[1])
    ]
    return markdown.table(["program", "kernels on the GPU", "µs"], rows, numbers=[1, 2])


def _list_changes(changed: Mapping[str, int], sign: int) -> str:
    """Return the kinds of launches of which there are more on the GPU (sign 1) or in the capture (sign -1)."""
    return ", ".join(f"{abs(number)} {markdown.code(sort)}" for sort, number in changed.items() if number * sign > 0)
