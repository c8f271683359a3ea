"""The text of windows, paddings, slices and dimension numbers, as XLA writes them (xla/window_util.cc)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xla_inspect.hlo_proto.field_text import form_of
from xla_inspect.hlo_proto.message import refuse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from xla_inspect.hlo_proto.message import Message

_LIMIT = 1 << 12


def join_numbers(numbers: Sequence[int], separator: str = ",") -> str:
    """Return numbers joined by a separator: `0,1`."""
    return separator.join(map(str, numbers))


def list_numbers(numbers: Sequence[int]) -> str:
    """Return numbers in braces: `{0,1}`."""
    return f"{{{join_numbers(numbers)}}}"


@form_of("Window")
def write_window(window: Message) -> str:
    """Return the text of a `Window` without fields that have defaults only: `{size=3x3 stride=2x2 pad=1_1x1_1}`."""
    dimensions = window.dimensions
    fields = {
        "size": ([dimension.size for dimension in dimensions], None),
        "stride": ([dimension.stride for dimension in dimensions], 1),
        "pad": ([f"{dimension.padding_low}_{dimension.padding_high}" for dimension in dimensions], "0_0"),
        "lhs_dilate": ([dimension.base_dilation for dimension in dimensions], 1),
        "rhs_dilate": ([dimension.window_dilation for dimension in dimensions], 1),
        "rhs_reversal": ([int(bool(dimension.window_reversal)) for dimension in dimensions], 0),
    }
    unusual = {key: values for key, (values, usual) in fields.items() if {*values} - {usual}}
    return f"{{{' '.join(f'{key}={join_numbers(values, "x")}' for key, values in unusual.items())}}}"


@form_of("PaddingConfig")
def write_padding(config: Message) -> str:
    """Return the text of a `PaddingConfig`: `1_1x0_2`, with a third number each if any interior padding is not 0."""
    sides = [(side.edge_padding_low, side.edge_padding_high, side.interior_padding) for side in config.dimensions]
    count = 3 if any(inside for _, _, inside in sides) else 2
    return "x".join(join_numbers(side[:count], "_") for side in sides)


@form_of("ConvolutionDimensionNumbers")
def write_labels(numbers: Message) -> str:
    """Return the text of `ConvolutionDimensionNumbers`: `b01f_01io->b01f`."""
    inputs = {numbers.input_batch_dimension: "b", numbers.input_feature_dimension: "f"}
    kernel = {numbers.kernel_input_feature_dimension: "i", numbers.kernel_output_feature_dimension: "o"}
    outputs = {numbers.output_batch_dimension: "b", numbers.output_feature_dimension: "f"}
    return (
        f"{_write_labels(inputs, numbers.input_spatial_dimensions)}_"
        f"{_write_labels(kernel, numbers.kernel_spatial_dimensions)}->"
        f"{_write_labels(outputs, numbers.output_spatial_dimensions)}"
    )


def _write_labels(labels: dict[int, str], spatial: Sequence[int]) -> str:
    labels |= {dimension: str(number) for number, dimension in enumerate(spatial)}
    # The number of a dimension decides the length of the text, so an absurd number must not exhaust memory.
    if min(labels) < 0 or max(labels) > _LIMIT:
        refuse("a convolution has a dimension with a number that none can have")
    # XLA prints a `?` for a dimension that has no role.
    return "".join(labels.get(dimension, "?") for dimension in range(max(labels) + 1))


@form_of("slices")
def write_slices(slices: Sequence[Message]) -> str:
    """Return the text of a slice's ranges: `{[0:8:2], [0:8]}`, with strides if any stride is not 1."""
    strides = [f":{part.stride}" for part in slices] if any(part.stride != 1 for part in slices) else [""] * len(slices)
    parts = (f"[{part.start}:{part.limit}{stride}]" for part, stride in zip(slices, strides, strict=True))
    return f"{{{', '.join(parts)}}}"


@form_of("pairs")
def write_pairs(pairs: Sequence[Message]) -> str:
    """Return the text of a permutation's source and target devices: `{{0,1},{1,0}}`."""
    return f"{{{','.join(list_numbers((pair.source, pair.target)) for pair in pairs)}}}"


@form_of("OutputOperandAliasing")
def write_aliasing(alias: Message) -> str:
    """Return the text of an alias, the operand whose memory a result shares: `{0}: (1, {})`."""
    index = list_numbers(alias.operand_shape_index)
    return f"{list_numbers(alias.output_shape_index)}: ({alias.operand_index}, {index})"


@form_of("sparsity")
def write_sparsity(config: Message) -> str:
    """Return the text of a sparsity, the non-zero elements in each block of an operand: `2x4`."""
    return f"{config.num_non_zero}x{config.block_size}"
