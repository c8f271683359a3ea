"""The convolutions of cuDNN, forward and of both gradients, as one HLO convolution each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xla_inspect.evaluation.plain_lines import UnknownOperationError
from xla_inspect.hlo import read_windows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from xla_inspect.evaluation.library_calls import LibraryCall
    from xla_inspect.evaluation.plain_lines import PlainLines


def write_convolution(call: LibraryCall, _: PlainLines) -> str:
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
