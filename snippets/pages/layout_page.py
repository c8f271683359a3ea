"""Layouts as programs get them: the orders of arrays, the passes that decide them, and the kernels that move data."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp

from chapters import find_decisions, find_first_fusing, rewrite_matrix, share_of_padding, tile_choices
from programs import layouts
from xla_inspect import capture, capture_all
from xla_inspect.analysis import list_kernels
from xla_inspect.report import markdown, print_instruction, title

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from xla_inspect import Capture, Captures
    from xla_inspect.captured import PassChange
    from xla_inspect.hlo import Instruction, Shape

FUSING = {"cpu": "fusion", "h100": "priority-fusion", "tpu-v5e": "tpu_fusion"}
"""The pass of each target that fuses."""

_MATMULS = ("dot", "convolution")
_MOVING = {"transpose", "copy"}
_STILL = _MOVING | {"parameter", "bitcast", "reshape"}


def compile_program(name: str) -> Captures:
    """Return one of the programs of `layouts.py` for each target, with the reasons that compilers log."""
    function, example = layouts.PROGRAMS[name]
    return capture_all(function, *example, reasons=True)


def find_asker(capture: Capture, about: str) -> str:
    """Return who asked for the first copy that layout assignment adds for an instruction, or an empty string."""
    added = find_decisions(capture, "copied-for-layout", about)[0]
    is_added = (added.pass_name, added.verdict, len(added.others)) == ("layout-assignment", "done", 1)
    return added.others[0] if is_added else ""


def count_moves(capture: Capture) -> int:
    """Return how many kernels and copies of ENTRY only move data."""
    module = capture.module
    inside = [
        {inner.opcode for inner in module.computation(instruction.calls["calls"][0])}
        if instruction.fusion_kind
        else {instruction.opcode}
        for instruction in module.entry
    ]
    return sum(bool(opcodes & _MOVING) and opcodes <= _STILL for opcodes in inside)


def list_copied_orders(capture: Capture) -> set[tuple[tuple[int, ...], ...]]:
    """Return the orders of the operand and the result of each copy of an array."""
    pairs = [
        (block.by_name[copy.operands[0]].shape, copy.shape)
        for block in capture.module.computations
        for copy in block
        if copy.opcode == "copy" and copy.shape.dimensions
    ]
    return {tuple(map(_order, pair)) for pair in pairs}


def list_returned_orders() -> Iterator[set[tuple[tuple[int, ...], ...]]]:
    """Yield the orders of copies where an argument is returned, and changed as well, by element type and target."""
    for kind in (jnp.float32, jnp.bfloat16):
        example = jax.ShapeDtypeStruct((256, 128), kind)
        for returning in (lambda x: x, lambda x: (x, x.at[0].set(1))):
            yield from map(list_copied_orders, capture_all(returning, example, passes=False).values())


def is_row_major(shape: Shape) -> bool:
    """Return whether each array in a shape has the order of its dimensions."""
    return all(_order(leaf) == tuple(reversed(range(leaf.rank))) for leaf in shape.leaves())


def _order(shape: Shape) -> tuple[int, ...]:
    return shape.layout.minor_to_major if shape.layout else ()


def find_matmul(stage: Capture | PassChange) -> Instruction:
    """Return the instruction that multiplies two matrices, wherever in the module it is."""
    return next(instruction for instruction in stage.module.walk() if instruction.opcode in _MATMULS)


def show_operands(captures: Captures) -> str:
    """Return each target's arguments and the instruction that multiplies them, as one listing."""
    blocks = [
        "\n".join((f"// {title(target)}", *map(print_instruction, (*it.module.entry.parameters, find_matmul(it)))))
        for target, it in captures.items()
    ]
    return markdown.fence("\n\n".join(blocks), "hlo")


def show_padding(shapes: Mapping[str, Shape]) -> str:
    """Return a table of what arrays on a TPU take in memory, by their texts."""
    rows = [
        (
            markdown.code(text),
            markdown.size(shape.bytes),
            markdown.size(shape.padded_bytes),
            f"{share_of_padding(shape):.0%}",
        )
        for text, shape in shapes.items()
    ]
    return markdown.table(["argument on the TPU", "elements", "in memory", "padding"], rows, numbers=(1, 2, 3))


def show_places(captures: Captures) -> str:
    """Return a table of the places at which layouts are assigned and the first fusion is made, among all runs."""
    rows = []
    for target, it in captures.items():
        names, first = [run.name for run in it.runs], find_first_fusing(it)
        fused = next(place for place, run in enumerate(it.runs, 1) if run.name == first and run.changed)
        rows.append((title(target), names.index("layout-assignment") + 1, fused, markdown.code(first), len(names)))
    header = ["target", "layouts: run", "fusion: run", "first fusion by", "of all runs"]
    return markdown.table(header, rows, numbers=(1, 2, 4))


def list_early_fusions(captures: Iterable[Capture]) -> list[tuple[str, str]]:
    """Return the targets on which a fusion is made before layouts are assigned, each with the pass that makes it."""
    early = []
    for it in captures:
        names = [run.name for run in it.runs]
        first = find_first_fusing(it) or FUSING[it.target]
        if names.index(first) < names.index("layout-assignment"):
            early.append((it.target, first))
    return early


def list_around_assignment(capture: Capture) -> tuple[PassChange, PassChange]:
    """Return the module after layouts were assigned, and the one after it."""
    place = _find_assignment(capture)
    return capture.passes[place], capture.passes[place + 1]


def show_assignment(capture: Capture) -> str:
    """Return ENTRY before and after layouts were assigned, with layouts."""
    place = _find_assignment(capture)
    return rewrite_matrix.show_steps(capture, place, place - 1, layouts=True)


def _find_assignment(capture: Capture) -> int:
    """Return the place of the first dump after layouts were assigned; the TPU's has another name."""
    names = [step.name for step in capture.passes]
    return names.index("before_tiling_rewriter" if capture.target == "tpu-v5e" else "layout-assignment")


def find_labels(capture: Capture) -> str:
    """Return the labels of the dimensions of a program's convolution."""
    return next(found.attributes["dim_labels"] for found in capture.module.walk() if "dim_labels" in found.attributes)


def show_labels(first: Captures, last: Captures) -> str:
    """Return a table of the labels of a convolution that is written with the channels first, and last."""
    rows = [
        (title(target), markdown.code(find_labels(it)), markdown.code(find_labels(last[target])))
        for target, it in first.items()
    ]
    return markdown.table(["target", "written as NCHW", "written as NHWC"], rows)


def show_moves(variants: Mapping[str, Captures]) -> str:
    """Return a table of the kernels and copies that only move data, by variant and target."""
    rows = [(name, *map(count_moves, captures.values())) for name, captures in variants.items()]
    return markdown.table(["layouts", *map(title, next(iter(variants.values())))], rows, numbers=(1, 2, 3))


def list_free_moves() -> Iterator[set[str]]:
    """Yield the opcodes that move data where the H100 transposes and reduces, by element type and shape."""
    for kind in (jnp.float32, jnp.bfloat16, jnp.int32):
        for dimensions, order, axis in (((512, 1024), (1, 0), 0), ((8, 64, 128), (2, 0, 1), 2)):

            def reduce_transposed(x: jax.Array, order: tuple[int, ...] = order, axis: int = axis) -> jax.Array:
                return x.transpose(order).sum(axis)

            example = jax.ShapeDtypeStruct(dimensions, kind)
            yield _MOVING & set(_count_opcodes(reduce_transposed, example, target="h100"))


def find_written(capture: Capture) -> tuple[int, int]:
    """Return the bytes and the memory space of the array that a kernel or a copy of ENTRY only moves."""
    moved = next(it.shape for it in capture.module.entry if "transpose" in it.name or it.opcode == "copy")
    return moved.bytes, moved.layout.memory_space if moved.layout else 0


def list_multiplications(capture: Capture) -> list[str]:
    """Return the matrix instructions in the PTX of a kernel, each once."""
    return sorted(set(re.findall(r"(?:wgmma\.mma_async|mma\.sync)[\w.]+", read_code(capture, "ptx"))))


def read_code(capture: Capture, language: str) -> str:
    """Return the first piece of code in a language."""
    return next(code.text for code in capture.code if code.language == language)


def show_kernel(capture: Capture) -> str:
    """Return the tiling of a matmul's kernel, the lines of Triton's IR that move tiles, and its matrix instructions."""
    words = ("scf.for", "xtile.extract", "tt.dot", "xtile.insert")
    lines = [line.strip() for line in read_code(capture, "triton").splitlines() if any(word in line for word in words)]
    parts = (
        markdown.fence(json.dumps(tile_choices.read_tiling(capture), indent=2), "json", title="its backend_config"),
        markdown.fence("\n".join(lines), "stablehlo", title="its Triton IR"),
        markdown.fence("\n".join(list_multiplications(capture)), "text", title="its matrix instructions, from the PTX"),
    )
    return "\n".join(parts)


def show_tiles(kernels: Mapping[str, Capture]) -> str:
    """Return a table of the tiles of a matmul's kernels, by name, HTML."""
    rows = []
    for name, it in kernels.items():
        thunk = list_kernels(it)[0].thunk
        rows.append(
            (
                name,
                " x ".join(map(str, tile_choices.read_tile(it))),
                f"{int(tile_choices.read_tiling(it)['num_warps']):,}",
                f"{thunk.grid[0] if thunk and thunk.grid else 0:,}",
                markdown.size((thunk and thunk.shared_memory) or 0),
                "<br>".join(map(markdown.code, list_multiplications(it))),
            )
        )
    return markdown.cards(["kernel", "tile", "warps", "blocks", "shared memory", "matrix instruction"], rows)


def show_precisions(captures: Mapping[str, Capture]) -> str:
    """Return a table of the matrix instructions of the H100, by the precision that was asked for, HTML."""
    rows = [
        (
            markdown.code(name),
            markdown.code(find_matmul(it).attributes.get("operand_precision", "")) or "not set",
            ", ".join(map(markdown.code, list_multiplications(it))) or f"none: ordinary {markdown.code('fma')}",
        )
        for name, it in captures.items()
    ]
    return markdown.cards(["precision", "in HLO", "matrix instruction on the H100"], rows)


def count_matmuls(target: str, kind: jax.typing.DTypeLike) -> list[tuple[int, int]]:
    """Return the convolutions and the dots of a matrix by a vector, of a batch of these, and of an outer product."""
    matrix, column = jax.ShapeDtypeStruct((128, 64), kind), jax.ShapeDtypeStruct((64,), kind)
    stacked = [jax.ShapeDtypeStruct((8, *shape.shape), kind) for shape in (matrix, column)]
    programs: list[tuple[Callable[..., jax.Array], list[jax.ShapeDtypeStruct]]] = [
        (jnp.matmul, [matrix, column]),
        (jax.vmap(jnp.matmul), stacked),
        (jnp.outer, [column, column]),
    ]
    counts = [_count_opcodes(function, *shapes, target=target) for function, shapes in programs]
    return [(count["convolution"], count["dot"]) for count in counts]


def _count_opcodes(
    function: Callable[..., jax.Array], *example: jax.ShapeDtypeStruct, target: str
) -> Mapping[str, int]:
    return capture(function, *example, target=target, passes=False).module.opcode_counts()


def show_defaults(triton: Capture, cublas: str, cudnn: str) -> str:
    """Return a table of the fields that autotuning would fill in, HTML.

    Args:
        triton: A matmul by Triton.
        cublas: The algorithm of a matmul by cuBLAS.
        cudnn: The algorithm of a convolution by cuDNN.
    """
    off = f"a matmul by cuBLAS, {markdown.code('xla_gpu_enable_triton_gemm')} off"
    rows = [
        ("a matmul by Triton", markdown.code("output_tiles"), " x ".join(map(str, tile_choices.read_tile(triton)))),
        (off, markdown.code("selected_algorithm"), cublas),
        ("a convolution by cuDNN", markdown.code("algo_id"), cudnn),
    ]
    return markdown.cards(["kernel", "field", "without a GPU"], rows)


def read_configuration(capture: Capture) -> dict[str, dict[str, str]]:
    """Return the configuration of the only call of a library in ENTRY."""
    call = next(it for it in capture.module.entry if it.opcode == "custom-call")
    configuration: dict[str, dict[str, str]] = json.loads(call.backend_config or "{}")
    return configuration
