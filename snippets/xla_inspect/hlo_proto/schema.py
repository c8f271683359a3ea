"""The fields of the protocol buffers in which XLA keeps a module, as far as its text needs them.

From `xla/service/hlo.proto` and `xla/xla_data.proto` of XLA. A test compares each with the description that jaxlib
holds of it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from xla_inspect.errors import InspectError
from xla_inspect.wire import Field, lay_out, read_message

if TYPE_CHECKING:
    from collections.abc import Mapping

# Message: number, name and type of each field, `*` where it is repeated.
_FIELDS = """
HloProto: 1 hlo_module message, 3 buffer_assignment message
HloModuleProto: 1 name string, 2 entry_computation_name string, 3 computations message*, 4 host_program_shape message,
  5 id int64, 6 entry_computation_id int64, 7 schedule message, 8 input_output_alias message,
  15 device_assignment message, 17 stack_frame_index message, 18 buffer_donor message, 19 frontend_attributes message,
  20 original_value_recovery_table message, 22 payloads bytes*,
  24 debug_attributes message*
DebugAttributeTableEntryProto: 1 original_array message, 2 debug_attributes message*
DebugAttributesProto: 1 log_mode enum, 2 callback_id int64, 3 op_id int64, 4 partitioned bool
HloComputationProto: 1 name string, 2 instructions message*, 5 id int64, 6 root_id int64, 8 execution_thread string
HloInstructionProto: 1 name string, 2 opcode string, 3 shape message, 7 metadata message, 8 literal message,
  9 parameter_number int64, 11 fusion_kind string, 13 tuple_index int64, 14 dimensions int64*, 15 window message,
  16 convolution_dimension_numbers message, 17 slice_dimensions message*, 18 exponent_bits int32,
  19 mantissa_bits int32, 20 dynamic_slice_sizes int64*, 21 padding_config message, 22 outfeed_config bytes,
  23 distribution enum, 24 epsilon float, 25 feature_index int64, 26 channel_id int64, 27 infeed_config bytes,
  28 custom_call_target string, 29 outfeed_shape message, 30 dot_dimension_numbers message, 31 fft_type enum,
  32 fft_length int64*, 33 gather_dimension_numbers message, 34 gather_slice_sizes int64*, 35 id int64,
  36 operand_ids int64*, 37 control_predecessor_ids int64*, 38 called_computation_ids int64*, 40 sharding message,
  43 backend_config bytes, 47 is_host_transfer bool, 48 scatter_dimension_numbers message, 49 replica_groups message*,
  50 feature_group_count int64, 51 precision_config message, 52 source_target_pairs message*,
  54 domain_entry_sharding message, 55 domain_exit_sharding message, 56 constrain_layout bool,
  57 operand_shapes_with_layout message*, 58 batch_group_count int64, 59 triangular_solve_options message,
  60 is_stable bool, 61 parameter_replication message, 62 cholesky_options message, 63 comparison_direction string,
  65 custom_call_has_side_effect bool, 66 delta int64, 67 indices_are_sorted bool, 68 frontend_attributes message,
  69 unique_indices bool, 70 rng_algorithm enum, 71 use_global_device_ids bool, 72 comparison_type string,
  73 is_cross_program_prefetch bool, 74 output_operand_aliasing message*, 75 padding_type enum,
  76 custom_call_schedule enum, 77 custom_call_api_version enum, 79 async_execution_thread string,
  80 cross_program_prefetch_index int32, 81 k int64, 82 statistics_viz message, 85 largest bool,
  87 collective_device_list message, 88 original_value message, 89 is_composite bool,
  90 ragged_dot_dimension_numbers message, 91 result_accuracy message, 92 iota_collective_device_list message,
  93 mesh_axes_replica_group_list message, 94 is_reverse bool, 95 num_carries int64, 96 is_associative enum,
  97 conv_kind enum, 98 sparsity_config message, 99 backend_config_payload message, 100 has_dynamic_root bool,
  101 block_scaling_config message,
  102 comparison_order string, 103 shuffle_mode message
HloInstructionProto.SliceDimensions: 1 start int64, 2 limit int64, 3 stride int64
HloScheduleProto: 1 sequences message*
HloScheduleProto.SequencesEntry: 1 key int64, 2 value message
HloScheduleProto.InstructionSequence: 1 instruction_ids int64*
HloInputOutputAliasProto: 1 entries message*
HloInputOutputAliasProto.AliasEntryProto: 1 output_shape_index int64*, 2 parameter_number int64,
  3 parameter_shape_index int64*, 4 kind enum
HloBufferDonorProto: 1 entries message*
HloBufferDonorProto.BufferDonorEntryProto: 1 parameter_number int64, 2 parameter_shape_index int64*
StackFrameIndexProto: 1 file_names string*, 2 function_names string*, 3 file_locations message*,
  4 stack_frames message*
StackFrameIndexProto.FileLocation: 1 file_name_id int32, 2 function_name_id int32, 3 line int32, 4 column int32,
  5 end_line int32, 6 end_column int32
StackFrameIndexProto.StackFrame: 1 file_location_id int32, 2 parent_frame_id int32
LogicalBufferProto: 1 id int64, 2 size int64, 3 defined_at message, 4 color int64
LogicalBufferProto.Location: 2 instruction_name string, 3 shape_index int64*, 4 instruction_id int64
BufferAllocationProto: 1 index int64, 2 size int64, 3 is_thread_local bool, 5 is_entry_computation_parameter bool,
  6 parameter_number int64, 7 maybe_live_out bool, 8 color int64, 9 assigned message*,
  10 parameter_shape_index int64*, 12 is_constant bool, 13 is_parameter_aliased_with_output bool
BufferAllocationProto.Assigned: 1 logical_buffer_id int64, 2 offset int64, 3 size int64
BufferAssignmentProto.BufferAlias: 1 source_buffer_id int64, 2 location message
BufferAssignmentProto: 1 logical_buffers message*, 2 buffer_aliases message*, 3 buffer_allocations message*,
  4 heap_simulator_traces message*
ShapeProto: 2 element_type enum, 3 dimensions int64*, 4 tuple_shapes message*, 5 layout message,
  6 is_dynamic_dimension bool*
LayoutProto: 1 minor_to_major int64*, 6 tiles message*, 7 element_size_in_bits int64, 8 memory_space int64,
  9 dim_level_types enum*, 10 physical_shape message, 11 index_primitive_type enum, 12 pointer_primitive_type enum,
  13 dim_unique bool*, 14 dim_ordered bool*, 15 dynamic_shape_metadata_prefix_bytes int64,
  16 tail_padding_alignment_in_elements int64, 17 split_configs message*
TileProto: 1 dimensions int64*
SplitConfigProto: 1 dimension int64, 2 split_indices int64*
ProgramShapeProto: 1 parameters message*, 2 result message
OpMetadata: 1 op_type string, 2 op_name string, 3 source_file string, 4 source_line int32, 5 profile_type enum*,
  12 deduplicated_name string, 15 stack_frame_id int32, 16 scheduling_name string, 17 source_end_line int32,
  18 source_column int32, 19 source_end_column int32, 20 metadata_payload message
Payload: 1 value bytes, 2 id int64
LiteralProto: 1 shape message, 2 preds bool*, 3 u8s bytes, 4 s32s int32*, 5 s64s int64*, 6 u32s uint32*,
  7 u64s uint64*, 8 f32s float*, 9 f64s double*, 10 tuple_literals message*, 11 f16s bytes, 12 c64s float*,
  13 bf16s bytes, 15 s8s bytes, 16 u16s bytes, 17 s16s bytes, 18 c128s double*, 19 f8e5m2s bytes, 20 f8e4m3fns bytes,
  21 s4s bytes, 22 u4s bytes, 23 f8e4m3b11fnuzs bytes, 24 f8e5m2fnuzs bytes, 25 f8e4m3fnuzs bytes, 26 s2s bytes,
  27 u2s bytes, 28 f8e4m3s bytes, 29 f8e3m4s bytes, 30 s1s bytes, 31 u1s bytes, 32 f4e2m1fns bytes,
  33 f8e8m0fnus bytes, 35 f6e3m2fns bytes, 36 f6e2m3fns bytes
Window: 1 dimensions message*
WindowDimension: 1 size int64, 2 stride int64, 3 padding_low int64, 4 padding_high int64, 5 window_dilation int64,
  6 base_dilation int64, 7 window_reversal bool
PaddingConfig: 1 dimensions message*
PaddingConfig.PaddingConfigDimension: 1 edge_padding_low int64, 2 edge_padding_high int64, 3 interior_padding int64
GatherDimensionNumbers: 1 offset_dims int64*, 2 collapsed_slice_dims int64*, 3 start_index_map int64*,
  4 index_vector_dim int64, 5 operand_batching_dims int64*, 6 start_indices_batching_dims int64*
ScatterDimensionNumbers: 1 update_window_dims int64*, 2 inserted_window_dims int64*,
  3 scatter_dims_to_operand_dims int64*, 4 index_vector_dim int64, 5 input_batching_dims int64*,
  6 scatter_indices_batching_dims int64*
ConvolutionDimensionNumbers: 3 kernel_input_feature_dimension int64, 4 kernel_output_feature_dimension int64,
  6 kernel_spatial_dimensions int64*, 7 input_batch_dimension int64, 8 input_feature_dimension int64,
  9 output_batch_dimension int64, 10 output_feature_dimension int64, 11 input_spatial_dimensions int64*,
  12 output_spatial_dimensions int64*
DotDimensionNumbers: 1 lhs_contracting_dimensions int64*, 2 rhs_contracting_dimensions int64*,
  3 lhs_batch_dimensions int64*, 4 rhs_batch_dimensions int64*
RaggedDotDimensionNumbers: 1 dot_dimension_numbers message, 2 lhs_ragged_dimensions int64*,
  3 rhs_group_dimensions int64*
SparsityConfig: 1 lhs message, 2 rhs message
SparsityConfig.TensorSparsityConfig: 1 num_non_zero int64, 2 block_size int64, 3 dimension int64, 4 stride int64,
  5 idx int32
BlockScalingConfig: 1 lhs message, 2 rhs message
BlockScalingConfig.TensorBlockScalingConfig: 1 scale_idx int32, 2 zero_idx int32, 3 strides int64*, 4 steps int64*
ShuffleMode: 1 rotate message
ShuffleMode.Rotate: 1 shifts int64*
TriangularSolveOptions: 1 left_side bool, 2 lower bool, 3 unit_diagonal bool, 4 transpose_a enum
CholeskyOptions: 1 lower bool
FrontendAttributes: 1 map message*
FrontendAttributes.MapEntry: 1 key string, 2 value string
Statistic: 1 stat_name string, 2 stat_val double
StatisticsViz: 1 stat_index_to_visualize int64, 2 statistics message*
MeshProto: 1 axes message*, 2 device_ids int64*, 3 iota_transform message
MeshProto.MeshAxis: 1 name string, 2 size int64
AxisRefProto: 1 mesh_axis_index int64, 2 sub_axis_info message
AxisRefProto.SubAxis: 1 pre_size int64, 2 size int64
NamedShardingProto: 2 mesh message, 3 dim_shardings message*, 4 replicated_axes message*, 5 unreduced_axes message*,
  6 metadata message*, 7 manual_axes message*, 8 reduction_op enum
NamedShardingProto.DimensionSharding: 1 axes message*, 2 is_closed bool
OpSharding: 1 type enum, 3 tile_assignment_dimensions int64*, 4 tile_assignment_devices int64*,
  5 tuple_shardings message*, 6 replicate_on_last_tile_dim bool, 7 metadata message*, 8 last_tile_dims enum*,
  9 iota_reshape_dims int64*, 10 iota_transpose_perm int32*, 11 is_shard_group bool, 12 shard_group_id int64,
  13 shard_group_type enum, 14 named_sharding message
ReplicaGroup: 1 replica_ids int64*
MeshAxesReplicaGroupListProto: 1 mesh message, 2 axes message*
IotaReplicaGroupListProto: 1 num_replica_groups int64, 2 num_devices_per_group int64, 3 iota_reshape_dims int64*,
  4 iota_transpose_perm int32*
CollectiveDeviceListProto: 1 replica_groups message*
SourceTarget: 1 source int64, 2 target int64
ResultAccuracy: 1 mode enum, 2 tolerance message
ResultAccuracy.Tolerance: 1 atol double, 2 rtol double, 3 ulps int64
PrecisionConfig: 1 operand_precision enum*, 2 algorithm enum
ParameterReplication: 1 replicated_at_leaf_buffers bool*
OutputOperandAliasing: 1 output_shape_index int64*, 2 operand_index int64, 3 operand_shape_index int64*
OriginalArrayProto: 1 instruction_name string, 2 shape_index int64*
OriginalValueElementProto: 1 shape_index int64*, 2 original_array message
OriginalValueProto: 1 elements message*, 2 is_synthetic_call bool, 3 call_hierarchy string
OriginalValueRecoveryTableProto: 1 entries message*
OriginalValueRecoveryTableProto.Entry: 1 old_original_array message, 2 new_original_array message,
  3 recovery_module message
DeviceAssignmentProto: 1 replica_count int32, 2 computation_count int32, 3 computation_devices message*
"""
# Fields that newer compilers do not write any more, and without which a text of an older one would lack something.
_OLDER = """
CollectiveDeviceListProto: 2 iota_replica_group_list message
"""
# Enumeration: number and name of each value.
_VALUES = """
PrimitiveType: 0 PRIMITIVE_TYPE_INVALID, 1 PRED, 30 S1, 26 S2, 21 S4, 2 S8, 3 S16, 4 S32, 5 S64, 31 U1, 27 U2, 22 U4,
  6 U8, 7 U16, 8 U32, 9 U64, 10 F16, 11 F32, 16 BF16, 12 F64, 19 F8E5M2, 28 F8E4M3, 20 F8E4M3FN, 23 F8E4M3B11FNUZ,
  29 F8E3M4, 24 F8E5M2FNUZ, 25 F8E4M3FNUZ, 32 F4E2M1FN, 33 F8E8M0FNU, 35 F6E3M2FN, 36 F6E2M3FN, 15 C64, 18 C128,
  13 TUPLE, 14 OPAQUE_TYPE, 17 TOKEN, 34 BUFFER
FftType: 0 FFT, 1 IFFT, 2 RFFT, 3 IRFFT
RandomDistribution: 0 RNG_INVALID, 1 RNG_UNIFORM, 2 RNG_NORMAL
RandomAlgorithm: 0 RNG_DEFAULT, 1 RNG_THREE_FRY, 2 RNG_PHILOX
PaddingType: 0 PADDING_INVALID, 1 PADDING_VALID, 2 PADDING_SAME
CustomCallSchedule: 0 SCHEDULE_NONE, 1 SCHEDULE_LATEST, 2 SCHEDULE_EARLIEST
CustomCallApiVersion: 0 API_VERSION_UNSPECIFIED, 1 API_VERSION_ORIGINAL, 2 API_VERSION_STATUS_RETURNING,
  3 API_VERSION_STATUS_RETURNING_UNIFIED, 4 API_VERSION_TYPED_FFI
Kind: 0 UNDEFINED_ALIAS, 1 MAY_ALIAS, 2 MUST_ALIAS
ConvolutionKind: 0 CONVOLUTION_KIND_UNSET, 1 CONVOLUTION_KIND_FPROP, 2 CONVOLUTION_KIND_DGRAD,
  3 CONVOLUTION_KIND_WGRAD
TriState: 0 TRI_STATE_UNSPECIFIED, 1 TRI_STATE_TRUE, 2 TRI_STATE_FALSE
TriangularSolveOptions.Transpose: 0 TRANSPOSE_INVALID, 1 NO_TRANSPOSE, 2 TRANSPOSE, 3 ADJOINT
PrecisionConfig.Precision: 0 DEFAULT, 1 HIGH, 2 HIGHEST
PrecisionConfig.Algorithm: 0 ALG_UNSET, 1 ALG_DOT_ANY_F8_ANY_F8_F32, 2 ALG_DOT_ANY_F8_ANY_F8_F32_FAST_ACCUM,
  3 ALG_DOT_F16_F16_F16, 4 ALG_DOT_F16_F16_F32, 5 ALG_DOT_BF16_BF16_BF16, 6 ALG_DOT_BF16_BF16_F32,
  7 ALG_DOT_BF16_BF16_F32_X3, 8 ALG_DOT_BF16_BF16_F32_X6, 9 ALG_DOT_TF32_TF32_F32, 10 ALG_DOT_TF32_TF32_F32_X3,
  11 ALG_DOT_F32_F32_F32, 12 ALG_DOT_F64_F64_F64, 13 ALG_DOT_BF16_BF16_F32_X9, 14 ALG_DOT_BF16_BF16_FP8X3,
  15 ALG_DOT_BF16_BF16_FP8X4
DebugAttributesProto.DebugLogModeProto: 0 NONE, 1 DEFAULT, 2 FUSION_DEBUGGER, 3 NO_FUSION, 4 GUARANTEED
OpSharding.Type: 0 REPLICATED, 1 MAXIMAL, 2 TUPLE, 3 OTHER, 4 MANUAL, 5 UNKNOWN, 6 UNREDUCED
OpSharding.ShardGroupType: 0 AS, 1 LIKE
ResultAccuracy.Mode: 0 DEFAULT, 1 HIGHEST
NamedShardingProto.ReductionOpProto: 0 SUM, 1 MAX, 2 MIN
"""


def _split(table: str, row: str) -> Mapping[str, list[tuple[str, ...]]]:
    messages = (text.partition(":") for text in re.split(r"\n(?! )", table.strip()))
    return {name: re.findall(row, rest) for name, _, rest in messages}


def _read_fields(table: str) -> Mapping[str, tuple[Field, ...]]:
    return {
        message: tuple(Field(int(number), name, kind, bool(star)) for number, name, kind, star in rows)
        for message, rows in _split(table, r"(\d+) (\w+) (\w+)(\*?)").items()
    }


FIELDS = _read_fields(_FIELDS)
"""The fields of each message, by the name that it has within the package `xla`."""

OLDER = _read_fields(_OLDER)
"""Likewise those that only older compilers write."""

VALUES: Mapping[str, Mapping[int, str]] = {
    enumeration: {int(number): name for number, name in rows}
    for enumeration, rows in _split(_VALUES, r"(\d+) (\w+)").items()
}
"""The names of each enumeration's values by their numbers."""

_LAYOUTS = {message: lay_out((*fields, *OLDER.get(message, ()))) for message, fields in FIELDS.items()}

DEEPEST = 64
"""How deep messages may nest in others of their kind; the reader of text takes no deeper shapes either."""


class MalformedProtoError(InspectError):
    """Bytes that are no module of XLA, or one that breaks off or contradicts itself."""


def decode(message: str, data: bytes) -> dict[str, Any]:
    """Return the fields of a message that are set, by name; messages within it stay bytes.

    Args:
        message: Its name, one of `FIELDS`.
        data: Its bytes.

    Raises:
        MalformedProtoError: They are no such message.
    """
    try:
        return read_message(data, _LAYOUTS[message])
    except EOFError:
        why = "ends within a field"
    except ValueError as error:
        why = f"is malformed: {error}"
    text = f"the {message} of {len(data):,} bytes there {why}"
    raise MalformedProtoError(text)


def name_value(enumeration: str, number: int) -> str:
    """Return the name of an enumeration's value, or its number where a newer XLA has one that is unknown here."""
    return VALUES[enumeration].get(number, str(number))
