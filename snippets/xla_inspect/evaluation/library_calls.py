"""Custom calls of libraries, as the HLO operations that they stand for."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from xla_inspect.evaluation.plain_lines import UnknownOperationError, join
from xla_inspect.hlo import read_windows

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from xla_inspect.evaluation.plain_lines import PlainLines
    from xla_inspect.hlo import Instruction, Shape

_SAME = frozenset(
    {
        "AssumeGatherIndicesInBound", "GatherScatterIndicesBitpacked", "MoveToDevice", "MoveToHost", "PinToDevice",
        "Sharding", "annotate_device_placement", "xla.sdy.FuncResultSharding", "xla.sdy.PropagationBarrier",
    }
)  # fmt: skip
"""The custom calls whose result is their operand."""


@dataclass(frozen=True)
class LibraryCall:
    """A custom call with its operands.

    Attributes:
        instruction: The custom call.
        operands: The names of its operands in the rewritten module, with `%`.
        shapes: The shapes of its operands.
    """

    instruction: Instruction
    operands: Sequence[str]
    shapes: Sequence[Shape]

    @property
    def main(self) -> Shape:
        """The shape of its first result."""
        return self.instruction.shape.leaves()[0]

    @property
    def config(self) -> Mapping[str, Any]:
        """The fields of its `backend_config` if that is JSON, otherwise none."""
        with suppress(ValueError):
            return dict(json.loads(self.instruction.backend_config or "{}"))
        return {}


def write_call(call: LibraryCall, lines: PlainLines) -> None:
    """Add the operations that a custom call stands for.

    Raises:
        UnknownOperationError: The meaning of the call is not known here.
    """
    instruction, shape, target = call.instruction, call.instruction.shape, call.instruction.custom_call_target or ""
    if target == "TopK" or target.startswith("lapack_"):
        # The CPU's client has these calls itself.
        attributes = "".join(f", {key}={value}" for key, value in instruction.attributes.items() if key != "metadata")
        # LAPACK's matrices lie in columns, so the layouts of its results stay, as those of its operands.
        lines.end(shape.text, f"custom-call({', '.join(call.operands)}){attributes}")
    elif target in _SAME:
        lines.end(shape.plain, f"reshape({call.operands[0]})")
    elif shape.plain == "()":
        # Calls without a result, such as those of jax.debug.print, change no number.
        lines.end("()", "tuple()")
    elif target not in _WRITERS:
        message = f"{instruction.name}: the custom call `{target}` is not known here"
        raise UnknownOperationError(message)
    elif shape.is_tuple:
        main = lines.add(call.main.plain, _WRITERS[target](call, lines))
        # Its other results are scratch memory or a status, which is zero after success.
        others = [lines.fill(one.dtype, one.plain.removeprefix(one.dtype)) for one in shape.elements[1:]]
        lines.end(shape.plain, f"tuple({', '.join([main, *others])})")
    else:
        lines.end(shape.plain, _WRITERS[target](call, lines))


def _write_cholesky(call: LibraryCall, _: PlainLines) -> str:
    is_upper = "lower = false" in (call.instruction.backend_config or "")
    return f"cholesky({call.operands[0]}), lower={'false' if is_upper else 'true'}"


def _write_triangular_solve(call: LibraryCall, _: PlainLines) -> str:
    names = ("left_side", "lower", "unit_diagonal", "transpose_a")
    fields = ", ".join(f"{name}={json.dumps(call.config[name])}" for name in names).replace('"', "")
    return f"triangular-solve({', '.join(call.operands)}), {fields}"


def _write_inverse(call: LibraryCall, lines: PlainLines) -> str:
    """Return the inverses of lower triangular blocks, as the solutions for a unit matrix."""
    shape, size = call.main, call.main.dimensions[-1]
    square = f"[{size},{size}]"
    rows, columns = (lines.add(f"s32{square}", f"iota(), iota_dimension={number}") for number in (0, 1))
    diagonal = lines.add(f"pred{square}", f"compare({rows}, {columns}), direction=EQ")
    unit = lines.add(f"{shape.dtype}{square}", f"convert({diagonal})")
    units = lines.add(shape.plain, f"broadcast({unit}), dimensions={{{join((shape.rank - 2, shape.rank - 1))}}}")
    options = "left_side=true, lower=true, unit_diagonal=false, transpose_a=NO_TRANSPOSE"
    return f"triangular-solve({call.operands[0]}, {units}), {options}"


def _write_concatenation(call: LibraryCall, _: PlainLines) -> str:
    """Return the concatenation of parts that lie in memory one after another, along the dimension that they divide."""
    sizes = zip(call.shapes[0].dimensions, call.main.dimensions, strict=True)
    axes = [axis for axis, (part, size) in enumerate(sizes) if part != size]
    if len(axes) > 1:
        message = f"{call.instruction.name}: the parts of `ConcatBitcast` differ from the whole in two dimensions"
        raise UnknownOperationError(message)
    return f"concatenate({', '.join(call.operands)}), dimensions={{{axes[0] if axes else 0}}}"


def _write_buffer(call: LibraryCall, lines: PlainLines) -> str:
    """Return a buffer whose content no operation reads before it is written."""
    return f"broadcast({lines.fill(call.main.dtype, '[]')}), dimensions={{}}"


def _write_matmul(call: LibraryCall, lines: PlainLines) -> str:
    """Return a matmul with its scale, the added matrix or bias, and the activation (`gemm_backend_config`)."""
    config = call.config.get("gemm_backend_config", {})
    epilogue, alpha, beta = config.get("epilogue", "DEFAULT"), config.get("alpha_real", 1), config.get("beta", 0)
    if config.get("alpha_imag") or epilogue not in {"DEFAULT", "BIAS", "RELU", "BIAS_RELU"}:
        message = f"{call.instruction.name}: a matmul with the epilogue {epilogue} is not known here"
        raise UnknownOperationError(message)
    numbers, sides = config.get("dot_dimension_numbers", {}), [(s, k) for k in ("batch", "contracting") for s in "lr"]
    fields = "".join(
        f", {side}hs_{kind}_dims={{{join(numbers[f'{side}hs_{kind}_dimensions'])}}}"
        for side, kind in sides
        if numbers.get(f"{side}hs_{kind}_dimensions")
    )
    # Libraries add products of small types in f32, and round once, at the end.
    dtype = "f32" if call.main.dtype in {"bf16", "f16"} else call.main.dtype
    sizes, others = call.main.plain.removeprefix(call.main.dtype), [*call.operands[2:]]
    shape = dtype + sizes
    factors = [
        lines.add(one.plain.replace(one.dtype, dtype, 1), f"convert({name})")
        for name, one in zip(call.operands[:2], call.shapes[:2], strict=True)
    ]
    value = lines.add(shape, f"dot({', '.join(factors)}){fields}")
    if alpha != 1:
        value = lines.add(shape, f"multiply({value}, {lines.fill(dtype, sizes, alpha)})")
    if beta:
        matrix = lines.add(shape, f"convert({others.pop(0)})")
        matrix = lines.add(shape, f"multiply({matrix}, {lines.fill(dtype, sizes, beta)})")
        value = lines.add(shape, f"add({value}, {matrix})")
    if "BIAS" in epilogue:
        vector = lines.add(f"{dtype}[{call.main.dimensions[-1]}]", f"convert({others.pop(0)})")
        vector = lines.add(shape, f"broadcast({vector}), dimensions={{{call.main.rank - 1}}}")
        value = lines.add(shape, f"add({value}, {vector})")
    if "RELU" in epilogue:
        value = lines.add(shape, f"maximum({value}, {lines.fill(dtype, sizes)})")
    return f"convert({value})"


def _write_convolution(call: LibraryCall, _: PlainLines) -> str:
    """Return a convolution that computes the first result of a call of cuDNN without an activation.

    The attributes of a gradient describe the forward convolution: `lhs` of `dim_labels` is its input, and the result is
    that of the last operand.

    Raises:
        UnknownOperationError: The call has an activation, a scale, or a gradient with groups.
    """
    instruction = call.instruction
    config = call.config.get("cudnn_conv_backend_config", {})
    groups = int(instruction.attributes.get("feature_group_count", "1"))
    kind = (instruction.custom_call_target or "").removeprefix("__cudnn$conv")
    if (
        config.get("activation_mode", "kNone") != "kNone"
        or config.get("conv_result_scale", 1) != 1
        or (kind != "Forward" and groups > 1)
    ):
        message = (
            f"{instruction.name}: this convolution of cuDNN, with an activation, a scale or groups, is not known here"
        )
        raise UnknownOperationError(message)
    labels = instruction.attributes["dim_labels"]
    first, result = labels.partition("->")[::2]
    lhs, rhs = first.split("_")
    windows = read_windows(instruction.attributes.get("window", "{}"))
    if kind == "Forward":
        window, order = instruction.attributes.get("window", "{}"), labels
    elif kind == "BackwardInput":
        sizes = _find_sizes(lhs, call.main.dimensions), _find_sizes(result, call.shapes[0].dimensions)
        pads = []
        for one, size, length in zip(windows, *sizes, strict=True):
            reach = (one.size - 1) * one.window_dilation
            low = reach - one.low
            pads.append((low, size + reach - ((length - 1) * one.stride + 1) - low))
        window = _write_window(
            size=[one.size for one in windows],
            pad=pads,
            lhs_dilate=[one.stride for one in windows],
            rhs_dilate=[one.window_dilation for one in windows],
            rhs_reversal=[1] * len(windows),
        )
        order = f"{result}_{rhs.translate(str.maketrans('io', 'oi'))}->{lhs}"
    else:
        sizes = _find_sizes(lhs, call.shapes[0].dimensions), _find_sizes(result, call.shapes[1].dimensions)
        pads = []
        for one, size, length in zip(windows, *sizes, strict=True):
            needed = (one.size - 1) * one.window_dilation + (length - 1) * one.stride + 1
            pads.append((one.low, needed - size - one.low))
        window = _write_window(
            size=[*sizes[1]],
            stride=[one.window_dilation for one in windows],
            pad=pads,
            rhs_dilate=[one.stride for one in windows],
        )
        order = "_".join([lhs.translate(str.maketrans("bf", "fb")), result.translate(str.maketrans("bf", "io"))])
        order += f"->{rhs.translate(str.maketrans('io', 'bf'))}"
    grouping = f", feature_group_count={groups}" if groups > 1 else ""
    return f"convolution({', '.join(call.operands[:2])}), window={window}, dim_labels={order}{grouping}"


def _find_sizes(labels: str, dimensions: Sequence[int]) -> list[int]:
    """Return the spatial sizes in the order of their numbers in the labels of a shape."""
    return [dimensions[labels.index(number)] for number in sorted(filter(str.isdigit, labels))]


def _write_window(**fields: Sequence[int | tuple[int, int]]) -> str:
    texts = (
        f"{name}=" + "x".join("_".join(map(str, one)) if isinstance(one, tuple) else str(one) for one in values)
        for name, values in fields.items()
    )
    return f"{{{' '.join(texts)}}}"


_WRITERS: Mapping[str, Callable[[LibraryCall, PlainLines], str]] = {
    "AllocateBuffer": _write_buffer,
    "Cholesky": _write_cholesky,
    "ConcatBitcast": _write_concatenation,
    "InvertDiagBlocksLowerTriangular": _write_inverse,
    "__cublas$gemm": _write_matmul,
    "__cublas$lt$matmul": _write_matmul,
    "__cublas$triangularSolve": _write_triangular_solve,
    "__cudnn$convBackwardFilter": _write_convolution,
    "__cudnn$convBackwardInput": _write_convolution,
    "__cudnn$convForward": _write_convolution,
    "cusolver_potrf_ffi": _write_cholesky,
}
"""Functions that return the operation of the first result, for the custom calls that a few operations stand for."""
