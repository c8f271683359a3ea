"""What each opcode says of itself after its operands, as XLA writes it (xla/hlo/ir/hlo_instructions.cc)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xla_inspect.hlo import quote
from xla_inspect.hlo_proto.collective_text import COLLECTIVES, find_first, write_dimension, write_flags
from xla_inspect.hlo_proto.dimension_text import (
    list_numbers,
    write_dot,
    write_indexing,
    write_labels,
    write_operand_rules,
    write_padding,
    write_precision,
    write_window,
)
from xla_inspect.hlo_proto.literal_text import write_literal
from xla_inspect.hlo_proto.schema import decode, name_value
from xla_inspect.hlo_proto.shape_text import write_shape
from xla_inspect.hlo_proto.sharding_text import write_sharding

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

# The fields of an instruction that are set, by name.
type Fields = Mapping[str, Any]


def write_own(opcode: str, fields: Fields) -> Iterable[str]:
    """Return the attributes that an opcode has of its own, in the order in which XLA writes them."""
    writer = _WRITERS.get(opcode)
    return writer(fields) if writer else ()


def _dimensions(fields: Fields) -> Iterator[str]:
    yield f"dimensions={list_numbers(fields.get('dimensions', ()))}"


def _batch_norm(fields: Fields) -> Iterator[str]:
    yield f"epsilon={fields.get('epsilon', 0.0):.6g}"
    yield f"feature_index={fields.get('feature_index', 0)}"


def _fft(fields: Fields) -> Iterator[str]:
    yield f"fft_type={name_value('FftType', fields.get('fft_type', 0))}"
    yield f"fft_length={list_numbers(fields.get('fft_length', ()))}"


def _compare(fields: Fields) -> Iterator[str]:
    yield f"direction={fields.get('comparison_direction', '')}"
    # Numbers that are not comparable, such as nan, have a place only in a total order, which is usual for the others.
    is_total = fields.get("comparison_order") == "TOTAL" or fields.get("comparison_type") == "FLOATTOTALORDER"
    if is_total and fields["compares floats"]:
        yield "order=TOTAL"


def _solve(fields: Fields) -> Iterator[str]:
    options = decode("TriangularSolveOptions", fields.get("triangular_solve_options", b""))
    yield from write_flags(options, "left_side", "lower", "unit_diagonal")
    if number := options.get("transpose_a"):
        yield f"transpose_a={name_value('TriangularSolveOptions.Transpose', number)}"


def _cholesky(fields: Fields) -> Iterator[str]:
    yield from write_flags(decode("CholeskyOptions", fields.get("cholesky_options", b"")), "lower")


def _shuffle(fields: Fields) -> Iterator[str]:
    yield from _dimensions(fields)
    mode = decode("ShuffleMode", fields.get("shuffle_mode", b""))
    if "rotate" in mode:
        yield "mode=rotate"
        yield f"shifts={list_numbers(decode('ShuffleMode.Rotate', mode['rotate']).get('shifts', ()))}"


def _topk(fields: Fields) -> Iterator[str]:
    yield f"k={fields.get('k', 0)}"
    yield f"largest={'true' if fields.get('largest') else 'false'}"
    yield f"is_stable={'true' if fields.get('is_stable') else 'false'}"


def _sort(fields: Fields) -> Iterator[str]:
    yield from _dimensions(fields)
    yield from write_flags(fields, "is_stable")


def _scan(fields: Fields) -> Iterator[str]:
    yield from _dimensions(fields)
    yield f"num_carries={fields.get('num_carries', 0)}"
    yield from write_flags(fields, "is_reverse")
    if state := fields.get("is_associative"):
        yield f"is_associative={name_value('TriState', state).rpartition('_')[2].lower()}"


def _reshape(fields: Fields) -> Iterator[str]:
    if fields.get("dimensions"):
        yield f"inferred_dimension={find_first(fields)}"


def _slice(fields: Fields) -> Iterator[str]:
    parts = [decode("HloInstructionProto.SliceDimensions", part) for part in fields.get("slice_dimensions", ())]
    every = all(part.get("stride", 0) == 1 for part in parts)
    inner = (
        f"[{part.get('start', 0)}:{part.get('limit', 0)}{'' if every else ':' + str(part.get('stride', 0))}]"
        for part in parts
    )
    yield f"slice={{{', '.join(inner)}}}"


def _parameter(fields: Fields) -> Iterator[str]:
    replicated = decode("ParameterReplication", fields.get("parameter_replication", b""))
    if flags := replicated.get("replicated_at_leaf_buffers"):
        yield f"parameter_replication={{{','.join('true' if flag else 'false' for flag in flags)}}}"


def _fusion(fields: Fields) -> Iterator[str]:
    yield f"kind={fields.get('fusion_kind', '')}"
    yield from _aliasing(fields)


def _aliasing(fields: Fields) -> Iterator[str]:
    if parts := fields.get("output_operand_aliasing"):
        yield f"output_to_operand_aliasing={{{', '.join(map(_write_alias, parts))}}}"


def _write_alias(data: bytes) -> str:
    alias = decode("OutputOperandAliasing", data)
    inner = list_numbers(alias.get("operand_shape_index", ()))
    return f"{list_numbers(alias.get('output_shape_index', ()))}: ({alias.get('operand_index', 0)}, {inner})"


def _rng(fields: Fields) -> Iterator[str]:
    yield f"distribution={name_value('RandomDistribution', fields.get('distribution', 0)).lower()}"


def _rng_bits(fields: Fields) -> Iterator[str]:
    yield f"algorithm={name_value('RandomAlgorithm', fields.get('rng_algorithm', 0)).lower()}"


def _delta(fields: Fields) -> Iterator[str]:
    yield f"delta={fields.get('delta', 0)}"


def _precision(fields: Fields) -> Iterator[str]:
    yield f"exponent_bits={fields.get('exponent_bits', 0)}"
    yield f"mantissa_bits={fields.get('mantissa_bits', 0)}"


def _infeed(fields: Fields) -> Iterator[str]:
    if config := fields.get("infeed_config"):
        yield f"infeed_config={_quote(config)}"


def _outfeed(fields: Fields) -> Iterator[str]:
    yield f"outfeed_shape={write_shape(fields.get('outfeed_shape', b''))}"
    if config := fields.get("outfeed_config"):
        yield f"outfeed_config={_quote(config)}"


def _quote(data: bytes) -> str:
    return quote(data.decode("utf-8", "surrogateescape"))


def _window(fields: Fields) -> Iterator[str]:
    if fields.get("window"):
        yield f"window={{{write_window(fields['window'])}}}"


def _convolved(fields: Fields) -> Iterator[str]:
    yield from _window(fields)
    if "convolution_dimension_numbers" in fields:
        yield f"dim_labels={write_labels(fields['convolution_dimension_numbers'])}"
    for name in ("feature_group_count", "batch_group_count"):
        # Files that are older than a field leave it at nought, which means one.
        if (count := fields.get(name, 0) or 1) != 1:
            yield f"{name}={count}"
    yield from write_precision(fields.get("precision_config", b""))
    yield from write_operand_rules(fields)


def _convolution(fields: Fields) -> Iterator[str]:
    yield from _convolved({"convolution_dimension_numbers": b"", **fields})
    if kind := fields.get("conv_kind"):
        yield f"convolution_kind={name_value('ConvolutionKind', kind).rpartition('_')[2].lower()}"


def _custom_call(fields: Fields) -> Iterator[str]:
    if fields.get("window") == b"":
        yield "window={}"
    yield from _convolved(fields)
    if padding := fields.get("padding_type"):
        yield f"padding_type={name_value('PaddingType', padding)}"
    yield f"custom_call_target={quote(fields.get('custom_call_target', ''))}"
    if fields.get("constrain_layout"):
        shapes = ", ".join(write_shape(part) for part in fields.get("operand_shapes_with_layout", ()))
        yield f"operand_layout_constraints={{{shapes}}}"
    yield from write_flags(fields, "custom_call_has_side_effect")
    if "literal" in fields:
        yield f"literal={write_literal(fields['literal'], layout=True)}"
    yield from _aliasing(fields)
    if schedule := fields.get("custom_call_schedule"):
        yield f"schedule={name_value('CustomCallSchedule', schedule)}"
    if (version := fields.get("custom_call_api_version", 0) or 1) != 1:
        yield f"api_version={name_value('CustomCallApiVersion', version)}"


def _pad(fields: Fields) -> Iterator[str]:
    yield f"padding={write_padding(fields.get('padding_config', b''))}"


def _dynamic_slice(fields: Fields) -> Iterator[str]:
    yield f"dynamic_slice_sizes={list_numbers(fields.get('dynamic_slice_sizes', ()))}"


def _gather(fields: Fields) -> Iterator[str]:
    yield write_indexing("GatherDimensionNumbers", fields.get("gather_dimension_numbers", b""))
    yield f"slice_sizes={list_numbers(fields.get('gather_slice_sizes', ()))}"
    yield from write_flags(fields, "indices_are_sorted")


def _scatter(fields: Fields) -> Iterator[str]:
    yield write_indexing("ScatterDimensionNumbers", fields.get("scatter_dimension_numbers", b""))
    yield from write_flags(fields, "indices_are_sorted", "unique_indices")


def _iota(fields: Fields) -> Iterator[str]:
    yield f"iota_dimension={find_first(fields)}"


def _dot(fields: Fields) -> Iterator[str]:
    yield write_dot(fields.get("dot_dimension_numbers", b""))
    yield from write_precision(fields.get("precision_config", b""))
    yield from write_operand_rules(fields)


def _ragged_dot(fields: Fields) -> Iterator[str]:
    numbers = decode("RaggedDotDimensionNumbers", fields.get("ragged_dot_dimension_numbers", b""))
    yield write_dot(numbers.get("dot_dimension_numbers", b""))
    for name in ("lhs_ragged", "rhs_group"):
        if found := numbers.get(f"{name}_dimensions"):
            yield f"{name}_dims={list_numbers(found)}"
    yield from write_precision(fields.get("precision_config", b""))


def _domain(fields: Fields) -> Iterator[str]:
    entry, leaving = fields.get("domain_entry_sharding", b""), fields.get("domain_exit_sharding", b"")
    yield f'domain={{kind="sharding", entry={write_sharding(leaving)}, exit={write_sharding(entry)}}}'


def _copy_start(fields: Fields) -> Iterator[str]:
    if "cross_program_prefetch_index" in fields:
        yield f"cross_program_prefetch_index={fields['cross_program_prefetch_index']}"


def _element(fields: Fields) -> Iterator[str]:
    yield f"index={fields.get('tuple_index', 0)}"


_WRITERS: Mapping[str, Callable[[Fields], Iterator[str]]] = {
    **COLLECTIVES,
    **dict.fromkeys(("batch-norm-training", "batch-norm-inference", "batch-norm-grad"), _batch_norm),
    **dict.fromkeys(("broadcast", "concatenate", "map", "reduce", "reverse", "transpose"), _dimensions),
    **dict.fromkeys(("get-dimension-size", "set-dimension-size"), write_dimension),
    **dict.fromkeys(("reduce-window", "select-and-scatter"), _window),
    **dict.fromkeys(("dot", "scaled-dot"), _dot),
    "async-start": _aliasing,
    "async-update": _aliasing,
    "cholesky": _cholesky,
    "compare": _compare,
    "convolution": _convolution,
    "copy-start": _copy_start,
    "custom-call": _custom_call,
    "domain": _domain,
    "dynamic-slice": _dynamic_slice,
    "fft": _fft,
    "fusion": _fusion,
    "gather": _gather,
    "get-tuple-element": _element,
    "infeed": _infeed,
    "iota": _iota,
    "outfeed": _outfeed,
    "pad": _pad,
    "parameter": _parameter,
    "ragged-dot": _ragged_dot,
    "reduce-precision": _precision,
    "reshape": _reshape,
    "rng": _rng,
    "rng-bit-generator": _rng_bits,
    "rng-get-and-update-state": _delta,
    "scan": _scan,
    "scatter": _scatter,
    "shuffle": _shuffle,
    "slice": _slice,
    "sort": _sort,
    "topk": _topk,
    "triangular-solve": _solve,
}
