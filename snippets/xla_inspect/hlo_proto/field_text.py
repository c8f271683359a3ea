"""A writer of message fields as HLO text, driven by a table of keys and forms (functions that write a value)."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

from xla_inspect.hlo import quote
from xla_inspect.hlo_proto.message import store_name
from xla_inspect.hlo_proto.schema import FIELDS, VALUES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from xla_inspect.hlo_proto.message import Message
    from xla_inspect.wire import Field

type _Form = Callable[[Any], str]

# Functions that write a value, by the type of its field or by a name in the table. Other modules register more.
_FORMS: dict[str, _Form] = {
    "bool": lambda value: "true" if value else "false",
    "bytes": lambda value: quote(value.decode("utf-8", "surrogateescape")),
    # XLA prints floating-point attributes with six significant digits.
    "double": lambda value: f"{value:.6g}",
    "float": lambda value: f"{value:.6g}",
    "string": quote,
    "plain": str,
    "true": lambda _: "true",
    "rotate": lambda _: "rotate",
    "single": lambda numbers: str(next(iter(numbers), 0)),
    "first": lambda numbers: f"{{{next(iter(numbers), 0)}}}",
    "sizes": lambda numbers: "x".join(map(str, numbers)),
    # The text prints the number of a parent frame plus one.
    "next": lambda number: str(number + 1),
    "positive": lambda number: str(number) if number > 0 else "",
    "several": lambda number: str(number) if number > 1 else "",
    "word": lambda name: name.rpartition("_")[2].lower(),
    "version": lambda name: "" if name == "API_VERSION_ORIGINAL" else name,
    "algorithm": lambda name: name.removeprefix("ALG_").lower(),
    "precisions": lambda names: "" if {*names} == {"DEFAULT"} else f"{{{','.join(names).lower()}}}",
}
_COMMAS = frozenset({"DebugAttributesProto", "ResultAccuracy", "ResultAccuracy.Tolerance"})

# Each row lists the fields of an opcode or a message in the order of the text, as `key=field:form`. The key defaults to
# the field's name and the form to that of its type. `?` omits a field with its default value or an empty text, and `!`
# omits an unset field. `*field` inserts the row of a message, and `@name` inserts another row.
_TABLE = """
collective: channel_id:positive? replica_groups=:groups constrain_layout?
all-gather all-gather-start: @collective dimensions:first use_global_device_ids?
all-reduce all-reduce-start: @collective use_global_device_ids?
all-to-all: @collective dimensions:first?
collective-broadcast collective-reduce: @collective has_dynamic_root
collective-permute collective-permute-start: channel_id:positive? source_target_pairs:pairs
ragged-all-to-all: @collective
reduce-scatter: @all-reduce dimensions:first
send send-done recv recv-done: channel_id:positive? is_host_transfer?
batch-norm-training batch-norm-inference batch-norm-grad: epsilon feature_index
broadcast concatenate map reduce reverse transpose: dimensions
get-dimension-size set-dimension-size: dimensions:first
iota: iota_dimension=dimensions:single
reshape: inferred_dimension=dimensions:single?
dynamic-slice: dynamic_slice_sizes
slice: slice=slice_dimensions:slices
pad: padding=padding_config
sort: dimensions is_stable?
topk: k largest is_stable
scan: dimensions num_carries is_reverse? is_associative:word?
shuffle: dimensions *shuffle_mode?
compare: direction=comparison_direction:plain
fft: fft_type:plain fft_length
cholesky: *cholesky_options?
triangular-solve: *triangular_solve_options?
reduce-precision: exponent_bits mantissa_bits
rng: distribution
rng-bit-generator: algorithm=rng_algorithm
rng-get-and-update-state: delta
parameter: *parameter_replication?
get-tuple-element: index=tuple_index
infeed: infeed_config?
outfeed: outfeed_shape outfeed_config?
domain: domain=:domain
copy-start: cross_program_prefetch_index!
async-start async-update: output_to_operand_aliasing=output_operand_aliasing?
fusion: kind=fusion_kind:plain output_to_operand_aliasing=output_operand_aliasing?
gather: *gather_dimension_numbers slice_sizes=gather_slice_sizes indices_are_sorted?
scatter: *scatter_dimension_numbers indices_are_sorted? unique_indices?
reduce-window select-and-scatter: window?
product: *precision_config? sparsity_config? block_scaling_config?
dot scaled-dot: *dot_dimension_numbers @product
ragged-dot: *ragged_dot_dimension_numbers *precision_config?
counts: feature_group_count:several? batch_group_count:several?
convolution: window? dim_labels=convolution_dimension_numbers @counts @product convolution_kind=conv_kind:word?
custom-call: window! dim_labels=convolution_dimension_numbers! @counts @product padding_type:plain?
  custom_call_target operand_layout_constraints=:constraints? custom_call_has_side_effect? literal!
  output_to_operand_aliasing=output_operand_aliasing? schedule=custom_call_schedule:plain?
  api_version=custom_call_api_version:version?
threaded: async_execution_thread?
attributed: frontend_attributes?
constructed: statistics=statistics_viz? result_accuracy? origin=:origin?
HloModuleProto: is_scheduled=schedule:true! input_output_alias? buffer_donor?
  entry_computation_layout=host_program_shape! *device_assignment? frontend_attributes?
DeviceAssignmentProto: replica_count:several? num_partitions=computation_count:several?
DotDimensionNumbers: lhs_batch_dims=lhs_batch_dimensions? lhs_contracting_dims=lhs_contracting_dimensions
  rhs_batch_dims=rhs_batch_dimensions? rhs_contracting_dims=rhs_contracting_dimensions
RaggedDotDimensionNumbers: *dot_dimension_numbers lhs_ragged_dims=lhs_ragged_dimensions?
  rhs_group_dims=rhs_group_dimensions?
GatherDimensionNumbers: offset_dims collapsed_slice_dims start_index_map operand_batching_dims?
  start_indices_batching_dims? index_vector_dim
ScatterDimensionNumbers: update_window_dims inserted_window_dims scatter_dims_to_operand_dims input_batching_dims?
  scatter_indices_batching_dims? index_vector_dim
PrecisionConfig: operand_precision:precisions? algorithm:algorithm?
CholeskyOptions: lower?
TriangularSolveOptions: left_side? lower? unit_diagonal? transpose_a:plain?
ParameterReplication: parameter_replication=replicated_at_leaf_buffers?
ShuffleMode: mode=rotate:rotate! *rotate!
ShuffleMode.Rotate: shifts
SparsityConfig: lhs! rhs!
SparsityConfig.TensorSparsityConfig: sparsity=:sparsity dimension stride idx
BlockScalingConfig: lhs! rhs!
BlockScalingConfig.TensorBlockScalingConfig: scale_idx zero_idx! strides:sizes? steps:sizes?
ResultAccuracy: mode? tolerance!
ResultAccuracy.Tolerance: atol rtol ulps
DebugAttributesProto: log_mode? callback_id! partitioned? op_id!
OpMetadata: op_type? op_name? source_file? source_line? source_end_line? source_column? source_end_column?
  profile_type? deduplicated_name? scheduling_name? stack_frame_id? metadata_payload?
StackFrameIndexProto.FileLocation: file_name_id function_name_id line end_line column end_column
StackFrameIndexProto.StackFrame: file_location_id parent_frame_id:next
"""
_ENTRY = re.compile(r"(?=\S)([*@]?)(?:([\w-]+)=)?([\w-]*)(?::(\w+))?([?!]?)(?:\s+|$)")
_ROWS = {
    name: entries
    for names, _, entries in (row.partition(": ") for row in re.split(r"\n(?! )", _TABLE.strip()))
    for name in names.split()
}


class _Entry(NamedTuple):
    """One field in a row of the table.

    Attributes:
        prefix: The text before the value, such as `dimensions=`.
        field: The name of the field, or an empty string for the whole message.
        key: The name under which the message stores the field before it is decoded.
        form: The function that writes the value.
        mark: `?` to omit a field with its default value, `!` to omit an unset field, or an empty string.
    """

    prefix: str
    field: str
    key: str
    form: _Form
    mark: str


def form_of[Form: Callable[..., str]](name: str) -> Callable[[Form], Form]:
    """Return a decorator that registers a function as the form (the writer) of a type or of a name in the table."""

    def register(form: Form) -> Form:
        _FORMS[name] = form
        return form

    return register


def write_fields(message: Message, row: str) -> list[str]:
    """Return the texts, such as `dimensions={0,1}`, of the fields that a row of the table lists; empty without a row.

    `row` is the name of the table's row: an opcode, a type of message or one of the table's own names.
    """
    fields, texts = vars(message), []
    for prefix, field, key, form, mark in _read_row(row):
        # An unset field is absent from the message's dictionary; `?` also omits a field that is set to a false value.
        if mark and key and (key not in fields or (mark == "?" and not fields[key])):
            continue
        text = form(getattr(message, field) if field else message)
        if text or (prefix and not mark):
            texts.append(f"{prefix}{text}")
    return texts


def write_message(message: Message, kind: str) -> str:
    """Return the text of a message's fields in braces, or an empty string without fields."""
    text = ("," if kind in _COMMAS else " ").join(write_fields(message, kind))
    return f"{{{text}}}" if text else ""


# The table has few rows, and a large module uses each of them for thousands of instructions.
@cache
def _read_row(row: str) -> Sequence[_Entry]:
    # A row that is not named for a message is that of an opcode, whose fields are those of an instruction.
    kinds = {field.name: field for field in FIELDS[row if row in FIELDS else "HloInstructionProto"]}
    entries: list[_Entry] = []
    for sign, key, name, form, mark in _ENTRY.findall(_ROWS.get(row, "")):
        if sign == "@":
            entries += _read_row(name)
            continue
        stored_name = store_name(kinds[name]) if name else ""
        if sign == "*":
            entries.append(_Entry("", name, stored_name, partial(_join_fields, kinds[name].kind), mark))
        else:
            write = _FORMS[form] if form else _find_form(kinds[name])
            entries.append(_Entry(f"{key or name}=", name, stored_name, write, mark))
    return entries


def _join_fields(row: str, message: Message) -> str:
    return ", ".join(write_fields(message, row))


def _find_form(field: Field) -> _Form:
    kind = field.kind
    form = _FORMS.get(kind) or (str.lower if kind in VALUES else str)
    if kind in _ROWS and kind not in _FORMS:
        form = partial(write_message, kind=kind)
    if not field.repeated:
        return form
    # XLA puts a blank after the comma between messages, but not between numbers.
    comma = ", " if kind in FIELDS else ","
    return lambda values: f"{{{comma.join(map(form, values))}}}"
