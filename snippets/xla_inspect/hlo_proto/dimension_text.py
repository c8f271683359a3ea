"""Windows, paddings and the roles of dimensions, as XLA writes them (xla/window_util.cc, xla/xla_data helpers)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xla_inspect.hlo_proto.schema import MalformedProtoError, decode, name_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

_LIMIT = 1 << 12


def list_numbers(numbers: Sequence[int] = ()) -> str:
    """Return numbers in braces: `{0,1}`."""
    return f"{{{','.join(map(str, numbers))}}}"


def write_window(data: bytes) -> str:
    """Return a `Window`: `size=3x3 stride=2x2 pad=1_1x1_1`, with what is usual left out."""
    dimensions = [decode("WindowDimension", part) for part in decode("Window", data).get("dimensions", ())]
    return " ".join(_write_fields(dimensions))


def _write_fields(dimensions: list[dict[str, Any]]) -> Iterator[str]:
    yield f"size={'x'.join(str(dimension.get('size', 0)) for dimension in dimensions)}"
    if any(dimension.get("stride", 0) != 1 for dimension in dimensions):
        yield f"stride={'x'.join(str(dimension.get('stride', 0)) for dimension in dimensions)}"
    pads = [(dimension.get("padding_low", 0), dimension.get("padding_high", 0)) for dimension in dimensions]
    if any(map(any, pads)):
        yield f"pad={'x'.join(f'{low}_{high}' for low, high in pads)}"
    for name, field in (("lhs_dilate", "base_dilation"), ("rhs_dilate", "window_dilation")):
        if any(dimension.get(field, 0) != 1 for dimension in dimensions):
            yield f"{name}={'x'.join(str(dimension.get(field, 0)) for dimension in dimensions)}"
    if any(dimension.get("window_reversal", 0) for dimension in dimensions):
        yield f"rhs_reversal={'x'.join(str(int(bool(d.get('window_reversal', 0)))) for d in dimensions)}"


def write_padding(data: bytes) -> str:
    """Return a `PaddingConfig`: `1_1x0_2`, with a third number where elements are padded inside."""
    dimensions = decode("PaddingConfig", data).get("dimensions", ())
    parts = [decode("PaddingConfig.PaddingConfigDimension", part) for part in dimensions]
    inside = any(part.get("interior_padding", 0) for part in parts)
    return "x".join(
        f"{part.get('edge_padding_low', 0)}_{part.get('edge_padding_high', 0)}"
        + (f"_{part.get('interior_padding', 0)}" if inside else "")
        for part in parts
    )


_CONVOLVED = (
    ("b", "f", "input_batch_dimension", "input_feature_dimension", "input_spatial_dimensions"),
    ("i", "o", "kernel_input_feature_dimension", "kernel_output_feature_dimension", "kernel_spatial_dimensions"),
    ("b", "f", "output_batch_dimension", "output_feature_dimension", "output_spatial_dimensions"),
)


def write_labels(data: bytes) -> str:
    """Return `ConvolutionDimensionNumbers`: `b01f_01io->b01f`."""
    numbers = decode("ConvolutionDimensionNumbers", data)
    left, right, out = (_label(numbers, *row) for row in _CONVOLVED)
    return f"{left}_{right}->{out}"


def _label(numbers: Mapping[str, Any], first: str, second: str, *fields: str) -> str:
    one, other, spatial = fields
    places = {numbers.get(one, 0): first, numbers.get(other, 0): second}
    places |= {place: str(number) for number, place in enumerate(numbers.get(spatial, ()))}
    if min(places) < 0 or max(places) > _LIMIT:
        message = "a convolution has a dimension with a number that none can have"
        raise MalformedProtoError(message)
    return "".join(places.get(place, "?") for place in range(max(places) + 1))


def write_dot(data: bytes) -> str:
    """Return `DotDimensionNumbers`: `lhs_contracting_dims={1}, rhs_contracting_dims={0}`, with batches where any."""
    numbers = decode("DotDimensionNumbers", data)
    fields = []
    for side in ("lhs", "rhs"):
        if batch := numbers.get(f"{side}_batch_dimensions"):
            fields.append(f"{side}_batch_dims={list_numbers(batch)}")
        fields.append(f"{side}_contracting_dims={list_numbers(numbers.get(f'{side}_contracting_dimensions', ()))}")
    return ", ".join(fields)


_ALWAYS = {
    "GatherDimensionNumbers": ("offset_dims", "collapsed_slice_dims", "start_index_map"),
    "ScatterDimensionNumbers": ("update_window_dims", "inserted_window_dims", "scatter_dims_to_operand_dims"),
}
_BATCHES = {
    "GatherDimensionNumbers": ("operand_batching_dims", "start_indices_batching_dims"),
    "ScatterDimensionNumbers": ("input_batching_dims", "scatter_indices_batching_dims"),
}


def write_indexing(message: str, data: bytes) -> str:
    """Return `GatherDimensionNumbers` or `ScatterDimensionNumbers`."""
    numbers = decode(message, data)
    fields = [f"{name}={list_numbers(numbers.get(name, ()))}" for name in _ALWAYS[message]]
    fields += [f"{name}={list_numbers(numbers[name])}" for name in _BATCHES[message] if name in numbers]
    return ", ".join([*fields, f"index_vector_dim={numbers.get('index_vector_dim', 0)}"])


def write_precision(data: bytes) -> Iterator[str]:
    """Yield what a `PrecisionConfig` says, where that is not the usual."""
    config = decode("PrecisionConfig", data)
    precisions = config.get("operand_precision", ())
    if any(precisions):
        names = (name_value("PrecisionConfig.Precision", number).lower() for number in precisions)
        yield f"operand_precision={{{','.join(names)}}}"
    if algorithm := config.get("algorithm", 0):
        name = name_value("PrecisionConfig.Algorithm", algorithm)
        yield f"algorithm={name.removeprefix('ALG_').lower()}"


def write_operand_rules(fields: Mapping[str, Any]) -> Iterator[str]:
    """Yield which operands of a product or a convolution are sparse, and which are scaled by block."""
    if text := _write_sides(
        fields.get("sparsity_config", b""), "SparsityConfig", "TensorSparsityConfig", _write_sparse
    ):
        yield f"sparsity_config={{{text}}}"
    config = fields.get("block_scaling_config", b"")
    if text := _write_sides(config, "BlockScalingConfig", "TensorBlockScalingConfig", _write_scaled):
        yield f"block_scaling_config={{{text}}}"


def _write_sides(data: bytes, message: str, inner: str, write: Callable[[dict[str, Any]], str]) -> str:
    sides = decode(message, data)
    found = [(side, decode(f"{message}.{inner}", sides[side])) for side in ("lhs", "rhs") if side in sides]
    return " ".join(f"{side}={{{write(rules)}}}" for side, rules in found)


def _write_sparse(rules: dict[str, Any]) -> str:
    numbers = " ".join(f"{name}={rules.get(name, 0)}" for name in ("dimension", "stride", "idx"))
    return f"sparsity={rules.get('num_non_zero', 0)}x{rules.get('block_size', 0)} {numbers}"


def _write_scaled(rules: dict[str, Any]) -> str:
    words = [f"scale_idx={rules.get('scale_idx', 0)}"]
    words += [f"zero_idx={rules['zero_idx']}"] if "zero_idx" in rules else []
    words += [f"{name}={'x'.join(map(str, rules[name]))}" for name in ("strides", "steps") if name in rules]
    return " ".join(words)
