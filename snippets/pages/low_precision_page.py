"""Tables and checks of the page about low precision."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp

from chapters import matrix_units
from programs import narrow
from xla_inspect import capture, capture_all
from xla_inspect.analysis.bundles import read_below
from xla_inspect.plural import plural
from xla_inspect.report import markdown, short, title

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from xla_inspect.captured import Capture, Captures
    from xla_inspect.hlo import Instruction

    Program = tuple[Callable[..., Any], tuple[Any, ...]]

TARGETS = ("cpu", "h100", "b200", "tpu-v5e", "tpu7x")
GENERATIONS = ("tpu-v5e", "tpu-v6e", "tpu7x")


def list_matmuls(capture: Capture) -> Iterator[tuple[Instruction, str]]:
    """Yield each matmul of a compiled module with the element type of its left operand."""
    for computation in capture.module.computations:
        for instruction in computation:
            # A matmul of scaled operands may be a custom call, which only the name of its target identifies.
            call = instruction.attributes.get("custom_call_target", "")
            if instruction.opcode in {"dot", "convolution"} or "ScaledDot" in call:
                yield instruction, computation.by_name[instruction.operands[0]].shape.dtype


def find_operand(capture: Capture) -> str:
    """Return the element type of the first matmul's left operand."""
    return next(dtype for _, dtype in list_matmuls(capture))


def list_units(capture: Capture) -> list[str]:
    """Return the distinct matrix instructions in a GPU's PTX, sorted."""
    return sorted(
        {
            name
            for code in capture.code
            if code.language == "ptx"
            for name in re.findall(r"((?:wgmma\.mma_async|mma\.sync|tcgen05\.mma)\S*)", code.text)
        }
    )


def list_converts(capture: Capture) -> list[str]:
    """Return the element type of each convert's result, without converts of scalars."""
    return [
        instruction.shape.dtype
        for instruction in capture.module.walk()
        if instruction.opcode == "convert" and instruction.shape.dimensions
    ]


def show_operands(captures: Mapping[str, Captures]) -> str:
    """Return an HTML table of the left operand's type and the number of array converts, by matmul and target."""
    rows = [
        (
            markdown.escape(name),
            *(
                f"{markdown.code(find_operand(programs[target]))}, "
                f"{plural(len(list_converts(programs[target])), 'convert')}"
                for target in TARGETS
            ),
        )
        for name, programs in captures.items()
    ]
    return markdown.cards(["matmul of", *map(short, TARGETS)], rows)


def check_operands(captures: Mapping[str, Captures]) -> None:
    """Assert, by matmul and target, the operand types that reach the matmuls, and the result types of converts."""
    dequantized = captures["float8, dequantized"]
    for target in TARGETS:
        for name in ("bfloat16", "bfloat16, summed in float32"):
            assert find_operand(captures[name][target]) == "bf16"
        assert find_operand(captures["int8, summed in int32"][target]) == "s8"
        assert find_operand(dequantized[target]) == "bf16"
        assert not list_converts(captures["bfloat16, summed in float32"][target])
    assert [find_operand(captures["float8"][target]) for target in TARGETS] == ["f32", *["f8e4m3fn"] * 4]
    few = narrow.shape(jnp.bfloat16, 16, 64), narrow.shape(jnp.bfloat16, 64, 16)
    for target in ("h100", "b200"):
        assert list_converts(captures["bfloat16"][target]) == ["bf16"]
        assert list_converts(capture(narrow.as_given, *few, target=target)) == []
    for target in ("h100", "b200", "tpu7x"):
        assert set(list_converts(dequantized[target])) == {"bf16"}
    for target in ("cpu", "tpu-v5e"):
        assert "f32" in list_converts(dequantized[target])


def show_units(captures: Mapping[str, Captures]) -> str:
    """Return a table of each GPU's matrix instructions, by matmul, as HTML."""
    rows = [
        (
            markdown.escape(name),
            *(" ".join(map(markdown.code, list_units(programs[target]))) for target in ("h100", "b200")),
        )
        for name, programs in captures.items()
        if list_units(programs["h100"])
    ]
    return markdown.cards(["matmul of", f"H100 {markdown.by_model()}", f"B200 {markdown.by_model()}"], rows)


def make_matmul(
    kind: Any,  # noqa: ANN401 - a scalar type of JAX's
    function: Callable[..., Any] = narrow.narrow,
    sizes: Sequence[int] = (narrow.M, narrow.K, narrow.N),
) -> Program:
    """Return a matmul function and an example for it: two matrices of an element type, with sizes M, K and N."""
    return function, (narrow.shape(kind, *sizes[:2]), narrow.shape(kind, *sizes[1:]))


def compile_bundles(function: Callable[..., Any], example: tuple[Any, ...]) -> Captures:
    """Compile a function for three generations of TPUs, with its bundles."""
    return capture_all(function, *example, targets=GENERATIONS, machine=True, passes=False)


def compile_types() -> dict[str, Captures]:
    """Compile a matmul of each element type for three generations of TPUs; return the captures by label.

    Raises:
        TargetUnavailableError: The TPU compiler is missing.
    """
    programs: dict[str, Program] = {
        "float32": make_matmul(jnp.float32),
        "float32, highest precision": make_matmul(jnp.float32, lambda x, w: jnp.matmul(x, w, precision="highest")),
        "bfloat16": make_matmul(jnp.bfloat16),
        "float8_e4m3fn": make_matmul(jnp.float8_e4m3fn),
        "float8_e5m2": make_matmul(jnp.float8_e5m2),
        "float8_e4m3fn, dequantized": (narrow.dequantized, narrow.PROGRAMS["float8, dequantized"][1]),
        "int8": make_matmul(jnp.int8, narrow.counted),
    }
    captures = {name: compile_bundles(*program) for name, program in programs.items()}
    for programs_by_target in captures.values():
        programs_by_target.require()
    return captures


def count_streams(captures: Mapping[str, Captures]) -> dict[str, dict[str, Counter[str]]]:
    """Return the number of operations in the code that send rows through matrix units, a loop's body counted once.

    The keys are the matmul, the target and the element type.
    """
    return {
        name: {target: matrix_units.count_types(capture, "vmatmul") for target, capture in programs.items()}
        for name, programs in captures.items()
    }


def list_loops(captures: Mapping[str, Captures]) -> list[tuple[str, str]]:
    """Return the matmul and the target of each program in which a kernel's code has a loop."""
    return [
        (name, target)
        for name, programs in captures.items()
        for target, program in programs.items()
        if any(kernel.loops for kernel in read_below(program) if kernel.is_kernel)
    ]


def show_streams(streams: Mapping[str, Mapping[str, Counter[str]]]) -> str:
    """Return an HTML table of the counts of `count_streams`."""
    rows = [
        (
            markdown.escape(name),
            *(
                ", ".join(f"{count:,} of {markdown.code(dtype)}" for dtype, count in counts[target].items())
                for target in GENERATIONS
            ),
        )
        for name, counts in streams.items()
    ]
    return markdown.cards(["matmul of", *map(title, GENERATIONS)], rows)


def check_streams(streams: Mapping[str, Mapping[str, Counter[str]]]) -> None:
    """Assert the element types and relative numbers in the result of `count_streams`."""
    wide = {target: streams["bfloat16"][target]["bf16"] for target in GENERATIONS}
    for target in GENERATIONS:
        assert dict(streams["float32"][target]) == dict(streams["bfloat16"][target]) == {"bf16": wide[target]}
        assert set(streams["float32, highest precision"][target]) == {"f32"}
        assert streams["float32, highest precision"][target]["f32"] > 2 * wide[target]
        assert set(streams["float8_e4m3fn, dequantized"][target]) == {"bf16"}
    for target in ("tpu-v5e", "tpu-v6e"):
        assert dict(streams["float8_e4m3fn"][target]) == {"f32": 2 * wide[target]}
        assert dict(streams["float8_e5m2"][target]) == {"bf16": wide[target] // 2}
        assert dict(streams["int8"][target]) == {"s8": wide[target] // 2}
    for name in ("float8_e4m3fn", "float8_e5m2"):
        assert dict(streams[name]["tpu7x"]) == {name.replace("float8_", "f8"): wide["tpu7x"] // 2}
    assert set(streams["int8"]["tpu7x"]) == {"f32"}


def check_squares() -> None:
    """Compile matmuls of larger square matrices for TPUs, and assert in which types the matrix units take them."""
    for kind, function, types in (
        (jnp.float32, narrow.narrow, ("bf16", "bf16", "bf16")),
        (jnp.float8_e4m3fn, narrow.narrow, ("f32", "f32", "f8e4m3fn")),
        (jnp.float8_e5m2, narrow.narrow, ("bf16", "bf16", "f8e5m2")),
        (jnp.int8, narrow.counted, ("s8", "s8", "f32")),
    ):
        square = compile_bundles(*make_matmul(kind, function, (512, 512, 512)))
        assert tuple("".join(matrix_units.count_types(program, "vmatmul")) for program in square.values()) == types


def check_memory(captures: Mapping[str, Captures]) -> None:
    """Assert that eight-bit arguments occupy half the memory, and that the CPU converts them in temporary memory."""
    for kind, sizes in (
        (jnp.float8_e4m3fn, (256, 512, 1024)),
        (jnp.float8_e5m2, (256, 512, 1024)),
        (jnp.float8_e4m3fn, (1024, 1024, 1024)),
    ):
        for target in ("cpu", "tpu-v5e"):
            eight, sixteen = (
                capture(function, *example, target=target, passes=False).memory
                for function, example in (make_matmul(dtype, sizes=sizes) for dtype in (kind, jnp.bfloat16))
            )
            assert 2 * eight.arguments == sixteen.arguments
            assert (eight.temporaries, sixteen.temporaries) == (4 * eight.arguments if target == "cpu" else 0, 0)
    for target in TARGETS:
        eight, sixteen = (captures[name][target].memory for name in ("float8", "bfloat16"))
        assert 2 * eight.arguments == sixteen.arguments
