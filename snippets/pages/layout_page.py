"""Queries and tables of the layout page: orders of arrays, passes that assign them, and kernels that move data."""

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
"""The name of the main fusion pass, by target."""

_MATMULS = ("dot", "convolution")
_MOVING = {"transpose", "copy"}
_STILL = _MOVING | {"parameter", "bitcast", "reshape"}


def compile_program(name: str) -> Captures:
    """Compile the program of `programs.layouts` with this name for the usual targets, with the compilers' reasons."""
    function, example = layouts.PROGRAMS[name]
    return capture_all(function, *example, reasons=True)


def find_asker(capture: Capture, about: str) -> str:
    """Return the name of the instruction for which layout assignment copies another one, or an empty string.

    Args:
        capture: The program, with reasons.
        about: The name of the instruction that is copied.
    """
    copy = find_decisions(capture, "copied-for-layout", about)[0]
    is_by_assignment = (copy.pass_name, copy.verdict, len(copy.others)) == ("layout-assignment", "done", 1)
    return copy.others[0] if is_by_assignment else ""


def count_moves(capture: Capture) -> int:
    """Return the number of instructions in ENTRY, fusions included, that only transpose or copy data."""
    module = capture.module
    inside = [
        {inner.opcode for inner in module.computation(instruction.calls["calls"][0])}
        if instruction.fusion_kind
        else {instruction.opcode}
        for instruction in module.entry
    ]
    return sum(bool(opcodes & _MOVING) and opcodes <= _STILL for opcodes in inside)


def list_copied_orders(capture: Capture) -> set[tuple[tuple[int, ...], ...]]:
    """Return the distinct pairs of dimension orders, minor to major, of the operand and result of each array copy."""
    pairs = [
        (block.by_name[copy.operands[0]].shape, copy.shape)
        for block in capture.module.computations
        for copy in block
        if copy.opcode == "copy" and copy.shape.dimensions
    ]
    return {tuple(map(_order, pair)) for pair in pairs}


def list_returned_orders() -> Iterator[set[tuple[tuple[int, ...], ...]]]:
    """Compile programs that return an argument, or also change it; yield each one's result of `list_copied_orders`."""
    for kind in (jnp.float32, jnp.bfloat16):
        example = jax.ShapeDtypeStruct((256, 128), kind)
        for returning in (lambda x: x, lambda x: (x, x.at[0].set(1))):
            yield from map(list_copied_orders, capture_all(returning, example, passes=False).values())


def is_row_major(shape: Shape) -> bool:
    """Return whether each array in a shape is row-major."""
    return all(_order(leaf) == tuple(reversed(range(leaf.rank))) for leaf in shape.leaves())


def _order(shape: Shape) -> tuple[int, ...]:
    return shape.layout.minor_to_major if shape.layout else ()


def find_matmul(stage: Capture | PassChange) -> Instruction:
    """Return the first dot or convolution of any computation of the module."""
    return next(instruction for instruction in stage.module.walk() if instruction.opcode in _MATMULS)


def show_operands(captures: Captures) -> str:
    """Return a fenced HLO listing of each target's arguments and the instruction that multiplies them."""
    blocks = [
        "\n".join((f"// {title(target)}", *map(print_instruction, (*it.module.entry.parameters, find_matmul(it)))))
        for target, it in captures.items()
    ]
    return markdown.fence("\n\n".join(blocks), "hlo")


def show_padding(shapes: Mapping[str, Shape]) -> str:
    """Return a Markdown table of the memory, with padding, of arrays on a TPU, by the HLO text of their shapes."""
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
    """Return a Markdown table of the positions of layout assignment and of the first fusion among all pass runs."""
    rows = []
    for target, it in captures.items():
        names, first = [run.name for run in it.runs], find_first_fusing(it)
        fused = next(place for place, run in enumerate(it.runs, 1) if run.name == first and run.changed)
        rows.append((title(target), names.index("layout-assignment") + 1, fused, markdown.code(first), len(names)))
    header = ["target", "layouts assigned in run", "first fusion in run", "pass that fuses first", "runs in total"]
    return markdown.table(header, rows, numbers=(1, 2, 4))


def list_early_fusions(captures: Iterable[Capture]) -> list[tuple[str, str]]:
    """Return the pairs (target, fusion pass) of the captures that fuse before they assign layouts."""
    early = []
    for it in captures:
        names = [run.name for run in it.runs]
        first = find_first_fusing(it) or FUSING[it.target]
        if names.index(first) < names.index("layout-assignment"):
            early.append((it.target, first))
    return early


def list_around_assignment(capture: Capture) -> tuple[PassChange, PassChange]:
    """Return the dump after layout assignment, and the dump after the next pass that changed the module."""
    place = _find_assignment(capture)
    return capture.passes[place], capture.passes[place + 1]


def show_assignment(capture: Capture) -> str:
    """Return a listing of ENTRY before and after layout assignment, with layouts."""
    place = _find_assignment(capture)
    return rewrite_matrix.show_steps(capture, place, place - 1, layouts=True)


def _find_assignment(capture: Capture) -> int:
    """Return the index of the first dump after layout assignment; on the TPU, that dump has a different name."""
    names = [step.name for step in capture.passes]
    return names.index("before_tiling_rewriter" if capture.target == "tpu-v5e" else "layout-assignment")


def find_labels(capture: Capture) -> str:
    """Return the attribute `dim_labels` of a program's first convolution."""
    labels = (instruction.attributes.get("dim_labels", "") for instruction in capture.module.walk())
    return next(filter(None, labels))


def show_labels(first: Captures, last: Captures) -> str:
    """Return a Markdown table of a convolution's labels, written with the channels first and with the channels last."""
    rows = [
        (title(target), markdown.code(find_labels(it)), markdown.code(find_labels(last[target])))
        for target, it in first.items()
    ]
    return markdown.table(["target", "written as NCHW", "written as NHWC"], rows)


def show_moves(variants: Mapping[str, Captures]) -> str:
    """Return a Markdown table of the result of `count_moves` by variant of a program and by target."""
    rows = [(name, *map(count_moves, captures.values())) for name, captures in variants.items()]
    return markdown.table(["layouts", *map(title, next(iter(variants.values())))], rows, numbers=(1, 2, 3))


def list_free_moves() -> Iterator[set[str]]:
    """Compile a transposition before a sum for the H100; yield the opcodes that move data, by type and shape."""
    for kind in (jnp.float32, jnp.bfloat16, jnp.int32):
        for dimensions, order, axis in (((512, 1024), (1, 0), 0), ((8, 64, 128), (2, 0, 1), 2)):

            def reduce_transposed(x: jax.Array, order: tuple[int, ...] = order, axis: int = axis) -> jax.Array:
                return x.transpose(order).sum(axis)

            example = jax.ShapeDtypeStruct(dimensions, kind)
            yield _MOVING & set(_count_opcodes(reduce_transposed, example, target="h100"))


def find_written(capture: Capture) -> tuple[int, int]:
    """Return the bytes and the memory space of the result of the first transposition or copy in ENTRY."""
    moved = next(it.shape for it in capture.module.entry if "transpose" in it.name or it.opcode == "copy")
    return moved.bytes, moved.layout.memory_space if moved.layout else 0


def list_multiplications(capture: Capture) -> list[str]:
    """Return the distinct matrix instructions in the first PTX of a capture, sorted."""
    return sorted(set(re.findall(r"(?:wgmma\.mma_async|mma\.sync)[\w.]+", read_code(capture, "ptx"))))


def read_code(capture: Capture, language: str) -> str:
    """Return the text of a capture's first piece of code in a language, such as `ptx`."""
    return next(code.text for code in capture.code if code.language == language)


def show_kernel(capture: Capture) -> str:
    """Return listings of a matmul kernel's tiling, its lines of Triton IR that move tiles, and matrix instructions."""
    words = ("scf.for", "xtile.extract", "tt.dot", "xtile.insert")
    lines = [line.strip() for line in read_code(capture, "triton").splitlines() if any(word in line for word in words)]
    tiling = tile_choices.read_tiling(capture)
    sizes = json.dumps({"output_tiles": tiling["output_tiles"], "num_warps": tiling["num_warps"]})
    whole = markdown.fence(json.dumps(tiling, indent=2), "json")
    parts = (
        markdown.fence(sizes, "json", title="from the kernel's backend_config"),
        markdown.fold("All fields for the kernel's tiles", whole),
        markdown.fence("\n".join(lines), "stablehlo", title="from the kernel's Triton IR"),
        markdown.fence(
            "\n".join(list_multiplications(capture)), "text", title="matrix instructions in the kernel's PTX"
        ),
    )
    return "\n".join(parts)


def show_tiles(kernels: Mapping[str, Capture]) -> str:
    """Return an HTML table of a matmul's kernels by name: tile, warps, blocks, shared memory and instructions."""
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
    """Return an HTML table of the H100's matrix instructions by requested precision, with the precision in HLO."""
    rows = [
        (
            markdown.code(name),
            markdown.code(find_matmul(it).attributes.get("operand_precision", "")) or "not set",
            ", ".join(map(markdown.code, list_multiplications(it))) or f"none, only {markdown.code('fma')}",
        )
        for name, it in captures.items()
    ]
    return markdown.cards(["precision", "in HLO", "matrix instruction on the H100"], rows)


def count_matmuls(target: str, kind: jax.typing.DTypeLike) -> list[tuple[int, int]]:
    """Compile a matrix-vector product, a batch of these, and an outer product; count convolutions and dots of each."""
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
    """Return an HTML table of the fields that autotuning would fill in, with their values when there is no GPU."""
    off = f"a matmul by cuBLAS, with {markdown.code('xla_gpu_enable_triton_gemm')} off"
    rows = [
        ("a matmul by Triton", markdown.code("output_tiles"), " x ".join(map(str, tile_choices.read_tile(triton)))),
        (off, markdown.code("selected_algorithm"), cublas),
        ("a convolution by cuDNN", markdown.code("algo_id"), cudnn),
    ]
    return markdown.cards(["kernel", "field", "value without a GPU"], rows)


def read_configuration(capture: Capture) -> dict[str, dict[str, str]]:
    """Return the parsed `backend_config` of the first custom call in ENTRY."""
    call = next(it for it in capture.module.entry if it.opcode == "custom-call")
    configuration: dict[str, dict[str, str]] = json.loads(call.backend_config or "{}")
    return configuration
