"""The protobuf messages and enumerations that the text of an XLA module needs.

They come from `xla/service/hlo.proto` and `xla/xla_data.proto` of XLA. A test compares each with its description in
jaxlib.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from xla_inspect.wire import Field

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# Each row has a message with the number, name and type of each field, and `*` for a repeated field.
_FIELDS = """
HloProto: 1 hlo_module HloModuleProto, 3 buffer_assignment BufferAssignmentProto
HloModuleProto: 1 name string, 2 entry_computation_name string, 3 computations HloComputationProto*,
  4 host_program_shape ProgramShapeProto, 5 id int64, 6 entry_computation_id int64, 7 schedule HloScheduleProto,
  8 input_output_alias HloInputOutputAliasProto, 15 device_assignment DeviceAssignmentProto,
  17 stack_frame_index StackFrameIndexProto, 18 buffer_donor HloBufferDonorProto,
  19 frontend_attributes FrontendAttributes, 20 original_value_recovery_table OriginalValueRecoveryTableProto,
  22 payloads bytes*, 24 debug_attributes DebugAttributeTableEntryProto*
DebugAttributeTableEntryProto: 1 original_array OriginalArrayProto, 2 debug_attributes DebugAttributesProto*
DebugAttributesProto: 1 log_mode DebugAttributesProto.DebugLogModeProto, 2 callback_id int64, 3 op_id int64,
  4 partitioned bool
HloComputationProto: 1 name string, 2 instructions HloInstructionProto*, 5 id int64, 6 root_id int64,
  8 execution_thread string
HloInstructionProto: 1 name string, 2 opcode string, 3 shape ShapeProto, 7 metadata OpMetadata,
  8 literal LiteralProto, 9 parameter_number int64, 11 fusion_kind string, 13 tuple_index int64, 14 dimensions int64*,
  15 window Window, 16 convolution_dimension_numbers ConvolutionDimensionNumbers,
  17 slice_dimensions HloInstructionProto.SliceDimensions*, 18 exponent_bits int32, 19 mantissa_bits int32,
  20 dynamic_slice_sizes int64*, 21 padding_config PaddingConfig, 22 outfeed_config bytes,
  23 distribution RandomDistribution, 24 epsilon float, 25 feature_index int64, 26 channel_id int64,
  27 infeed_config bytes, 28 custom_call_target string, 29 outfeed_shape ShapeProto,
  30 dot_dimension_numbers DotDimensionNumbers, 31 fft_type FftType, 32 fft_length int64*,
  33 gather_dimension_numbers GatherDimensionNumbers, 34 gather_slice_sizes int64*, 35 id int64,
  36 operand_ids int64*, 37 control_predecessor_ids int64*, 38 called_computation_ids int64*, 40 sharding OpSharding,
  43 backend_config bytes, 47 is_host_transfer bool, 48 scatter_dimension_numbers ScatterDimensionNumbers,
  49 replica_groups ReplicaGroup*, 50 feature_group_count int64, 51 precision_config PrecisionConfig,
  52 source_target_pairs SourceTarget*, 54 domain_entry_sharding OpSharding, 55 domain_exit_sharding OpSharding,
  56 constrain_layout bool, 57 operand_shapes_with_layout ShapeProto*, 58 batch_group_count int64,
  59 triangular_solve_options TriangularSolveOptions, 60 is_stable bool,
  61 parameter_replication ParameterReplication, 62 cholesky_options CholeskyOptions, 63 comparison_direction string,
  65 custom_call_has_side_effect bool, 66 delta int64, 67 indices_are_sorted bool,
  68 frontend_attributes FrontendAttributes, 69 unique_indices bool, 70 rng_algorithm RandomAlgorithm,
  71 use_global_device_ids bool, 72 comparison_type string, 74 output_operand_aliasing OutputOperandAliasing*,
  75 padding_type PaddingType, 76 custom_call_schedule CustomCallSchedule,
  77 custom_call_api_version CustomCallApiVersion, 79 async_execution_thread string,
  80 cross_program_prefetch_index int32, 81 k int64, 82 statistics_viz StatisticsViz, 85 largest bool,
  87 collective_device_list CollectiveDeviceListProto, 88 original_value OriginalValueProto, 89 is_composite bool,
  90 ragged_dot_dimension_numbers RaggedDotDimensionNumbers, 91 result_accuracy ResultAccuracy,
  92 iota_collective_device_list IotaReplicaGroupListProto,
  93 mesh_axes_replica_group_list MeshAxesReplicaGroupListProto, 94 is_reverse bool, 95 num_carries int64,
  96 is_associative TriState, 97 conv_kind ConvolutionKind, 98 sparsity_config SparsityConfig,
  99 backend_config_payload Payload, 100 has_dynamic_root bool, 101 block_scaling_config BlockScalingConfig,
  102 comparison_order string, 103 shuffle_mode ShuffleMode
HloInstructionProto.SliceDimensions: 1 start int64, 2 limit int64, 3 stride int64
HloScheduleProto: 1 sequences HloScheduleProto.SequencesEntry*
HloScheduleProto.SequencesEntry: 1 key int64, 2 value HloScheduleProto.InstructionSequence
HloScheduleProto.InstructionSequence: 1 instruction_ids int64*
HloInputOutputAliasProto: 1 entries HloInputOutputAliasProto.AliasEntryProto*
HloInputOutputAliasProto.AliasEntryProto: 1 output_shape_index int64*, 2 parameter_number int64,
  3 parameter_shape_index int64*, 4 kind Kind
HloBufferDonorProto: 1 entries HloBufferDonorProto.BufferDonorEntryProto*
HloBufferDonorProto.BufferDonorEntryProto: 1 parameter_number int64, 2 parameter_shape_index int64*
StackFrameIndexProto: 1 file_names string*, 2 function_names string*,
  3 file_locations StackFrameIndexProto.FileLocation*, 4 stack_frames StackFrameIndexProto.StackFrame*
StackFrameIndexProto.FileLocation: 1 file_name_id int32, 2 function_name_id int32, 3 line int32, 4 column int32,
  5 end_line int32, 6 end_column int32
StackFrameIndexProto.StackFrame: 1 file_location_id int32, 2 parent_frame_id int32
LogicalBufferProto: 1 id int64, 2 size int64, 3 defined_at LogicalBufferProto.Location, 4 color int64
LogicalBufferProto.Location: 2 instruction_name string, 3 shape_index int64*, 4 instruction_id int64
BufferAllocationProto: 1 index int64, 2 size int64, 3 is_thread_local bool, 5 is_entry_computation_parameter bool,
  6 parameter_number int64, 7 maybe_live_out bool, 8 color int64, 9 assigned BufferAllocationProto.Assigned*,
  10 parameter_shape_index int64*, 12 is_constant bool
BufferAllocationProto.Assigned: 1 logical_buffer_id int64, 2 offset int64, 3 size int64
BufferAssignmentProto.BufferAlias: 1 source_buffer_id int64, 2 location LogicalBufferProto.Location
BufferAssignmentProto: 1 logical_buffers LogicalBufferProto*, 2 buffer_aliases BufferAssignmentProto.BufferAlias*,
  3 buffer_allocations BufferAllocationProto*
ShapeProto: 2 element_type PrimitiveType, 3 dimensions int64*, 4 tuple_shapes ShapeProto*, 5 layout LayoutProto,
  6 is_dynamic_dimension bool*
LayoutProto: 1 minor_to_major int64*, 6 tiles TileProto*, 7 element_size_in_bits int64, 8 memory_space int64,
  10 physical_shape ShapeProto, 11 index_primitive_type PrimitiveType, 12 pointer_primitive_type PrimitiveType,
  15 dynamic_shape_metadata_prefix_bytes int64, 16 tail_padding_alignment_in_elements int64,
  17 split_configs SplitConfigProto*
TileProto: 1 dimensions int64*
SplitConfigProto: 1 dimension int64, 2 split_indices int64*
ProgramShapeProto: 1 parameters ShapeProto*, 2 result ShapeProto
OpMetadata: 1 op_type string, 2 op_name string, 3 source_file string, 4 source_line int32,
  5 profile_type ProfileType*, 12 deduplicated_name string, 15 stack_frame_id int32, 16 scheduling_name string,
  17 source_end_line int32, 18 source_column int32, 19 source_end_column int32, 20 metadata_payload Payload
Payload: 1 value bytes, 2 id int64
LiteralProto: 1 shape ShapeProto, 2 preds bool*, 3 u8s bytes, 4 s32s int32*, 5 s64s int64*, 6 u32s uint32*,
  7 u64s uint64*, 8 f32s float*, 9 f64s double*, 10 tuple_literals LiteralProto*, 11 f16s bytes, 12 c64s float*,
  13 bf16s bytes, 15 s8s bytes, 16 u16s bytes, 17 s16s bytes, 18 c128s double*, 19 f8e5m2s bytes, 20 f8e4m3fns bytes,
  21 s4s bytes, 22 u4s bytes, 23 f8e4m3b11fnuzs bytes, 24 f8e5m2fnuzs bytes, 25 f8e4m3fnuzs bytes, 26 s2s bytes,
  27 u2s bytes, 28 f8e4m3s bytes, 29 f8e3m4s bytes, 30 s1s bytes, 31 u1s bytes, 32 f4e2m1fns bytes,
  33 f8e8m0fnus bytes, 35 f6e3m2fns bytes, 36 f6e2m3fns bytes
Window: 1 dimensions WindowDimension*
WindowDimension: 1 size int64, 2 stride int64, 3 padding_low int64, 4 padding_high int64, 5 window_dilation int64,
  6 base_dilation int64, 7 window_reversal bool
PaddingConfig: 1 dimensions PaddingConfig.PaddingConfigDimension*
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
RaggedDotDimensionNumbers: 1 dot_dimension_numbers DotDimensionNumbers, 2 lhs_ragged_dimensions int64*,
  3 rhs_group_dimensions int64*
SparsityConfig: 1 lhs SparsityConfig.TensorSparsityConfig, 2 rhs SparsityConfig.TensorSparsityConfig
SparsityConfig.TensorSparsityConfig: 1 num_non_zero int64, 2 block_size int64, 3 dimension int64, 4 stride int64,
  5 idx int32
BlockScalingConfig: 1 lhs BlockScalingConfig.TensorBlockScalingConfig,
  2 rhs BlockScalingConfig.TensorBlockScalingConfig
BlockScalingConfig.TensorBlockScalingConfig: 1 scale_idx int32, 2 zero_idx int32, 3 strides int64*, 4 steps int64*
ShuffleMode: 1 rotate ShuffleMode.Rotate
ShuffleMode.Rotate: 1 shifts int64*
TriangularSolveOptions: 1 left_side bool, 2 lower bool, 3 unit_diagonal bool,
  4 transpose_a TriangularSolveOptions.Transpose
CholeskyOptions: 1 lower bool
FrontendAttributes: 1 map FrontendAttributes.MapEntry*
FrontendAttributes.MapEntry: 1 key string, 2 value string
Statistic: 1 stat_name string, 2 stat_val double
StatisticsViz: 1 stat_index_to_visualize int64, 2 statistics Statistic*
MeshProto: 1 axes MeshProto.MeshAxis*, 2 device_ids int64*
MeshProto.MeshAxis: 1 name string, 2 size int64
AxisRefProto: 1 mesh_axis_index int64, 2 sub_axis_info AxisRefProto.SubAxis
AxisRefProto.SubAxis: 1 pre_size int64, 2 size int64
NamedShardingProto: 2 mesh MeshProto, 3 dim_shardings NamedShardingProto.DimensionSharding*,
  4 replicated_axes AxisRefProto*, 5 unreduced_axes AxisRefProto*, 6 metadata OpMetadata*,
  7 manual_axes AxisRefProto*, 8 reduction_op NamedShardingProto.ReductionOpProto
NamedShardingProto.DimensionSharding: 1 axes AxisRefProto*, 2 is_closed bool
OpSharding: 1 type OpSharding.Type, 3 tile_assignment_dimensions int64*, 4 tile_assignment_devices int64*,
  5 tuple_shardings OpSharding*, 6 replicate_on_last_tile_dim bool, 7 metadata OpMetadata*,
  8 last_tile_dims OpSharding.Type*, 9 iota_reshape_dims int64*, 10 iota_transpose_perm int32*,
  11 is_shard_group bool, 12 shard_group_id int64, 13 shard_group_type OpSharding.ShardGroupType,
  14 named_sharding NamedShardingProto
ReplicaGroup: 1 replica_ids int64*
MeshAxesReplicaGroupListProto: 1 mesh MeshProto, 2 axes AxisRefProto*
IotaReplicaGroupListProto: 1 num_replica_groups int64, 2 num_devices_per_group int64, 3 iota_reshape_dims int64*,
  4 iota_transpose_perm int32*
CollectiveDeviceListProto: 1 replica_groups ReplicaGroup*
SourceTarget: 1 source int64, 2 target int64
ResultAccuracy: 1 mode ResultAccuracy.Mode, 2 tolerance ResultAccuracy.Tolerance
ResultAccuracy.Tolerance: 1 atol double, 2 rtol double, 3 ulps int64
PrecisionConfig: 1 operand_precision PrecisionConfig.Precision*, 2 algorithm PrecisionConfig.Algorithm
ParameterReplication: 1 replicated_at_leaf_buffers bool*
OutputOperandAliasing: 1 output_shape_index int64*, 2 operand_index int64, 3 operand_shape_index int64*
OriginalArrayProto: 1 instruction_name string, 2 shape_index int64*
OriginalValueElementProto: 1 shape_index int64*, 2 original_array OriginalArrayProto
OriginalValueProto: 1 elements OriginalValueElementProto*, 2 is_synthetic_call bool, 3 call_hierarchy string
OriginalValueRecoveryTableProto: 1 entries OriginalValueRecoveryTableProto.Entry*
OriginalValueRecoveryTableProto.Entry: 1 old_original_array OriginalArrayProto,
  2 new_original_array OriginalArrayProto, 3 recovery_module HloModuleProto
DeviceAssignmentProto: 1 replica_count int32, 2 computation_count int32
"""
# Newer compilers no longer write these fields, but the text of an older module needs them.
_OLDER = """
CollectiveDeviceListProto: 2 iota_replica_group_list IotaReplicaGroupListProto
"""
# Each row has an enumeration with the names of its values, numbered from 0.
_VALUES = """
PrimitiveType: PRIMITIVE_TYPE_INVALID PRED S8 S16 S32 S64 U8 U16 U32 U64 F16 F32 F64 TUPLE OPAQUE_TYPE C64 BF16 TOKEN
  C128 F8E5M2 F8E4M3FN S4 U4 F8E4M3B11FNUZ F8E5M2FNUZ F8E4M3FNUZ S2 U2 F8E4M3 F8E3M4 S1 U1 F4E2M1FN F8E8M0FNU BUFFER
  F6E3M2FN F6E2M3FN
FftType: FFT IFFT RFFT IRFFT
RandomDistribution: RNG_INVALID RNG_UNIFORM RNG_NORMAL
RandomAlgorithm: RNG_DEFAULT RNG_THREE_FRY RNG_PHILOX
PaddingType: PADDING_INVALID PADDING_VALID PADDING_SAME
CustomCallSchedule: SCHEDULE_NONE SCHEDULE_LATEST SCHEDULE_EARLIEST
CustomCallApiVersion: API_VERSION_UNSPECIFIED API_VERSION_ORIGINAL API_VERSION_STATUS_RETURNING
  API_VERSION_STATUS_RETURNING_UNIFIED API_VERSION_TYPED_FFI
Kind: UNDEFINED_ALIAS MAY_ALIAS MUST_ALIAS
ConvolutionKind: CONVOLUTION_KIND_UNSET CONVOLUTION_KIND_FPROP CONVOLUTION_KIND_DGRAD CONVOLUTION_KIND_WGRAD
TriState: TRI_STATE_UNSPECIFIED TRI_STATE_TRUE TRI_STATE_FALSE
TriangularSolveOptions.Transpose: TRANSPOSE_INVALID NO_TRANSPOSE TRANSPOSE ADJOINT
PrecisionConfig.Precision: DEFAULT HIGH HIGHEST
PrecisionConfig.Algorithm: ALG_UNSET ALG_DOT_ANY_F8_ANY_F8_F32 ALG_DOT_ANY_F8_ANY_F8_F32_FAST_ACCUM
  ALG_DOT_F16_F16_F16 ALG_DOT_F16_F16_F32 ALG_DOT_BF16_BF16_BF16 ALG_DOT_BF16_BF16_F32 ALG_DOT_BF16_BF16_F32_X3
  ALG_DOT_BF16_BF16_F32_X6 ALG_DOT_TF32_TF32_F32 ALG_DOT_TF32_TF32_F32_X3 ALG_DOT_F32_F32_F32 ALG_DOT_F64_F64_F64
  ALG_DOT_BF16_BF16_F32_X9 ALG_DOT_BF16_BF16_FP8X3 ALG_DOT_BF16_BF16_FP8X4
DebugAttributesProto.DebugLogModeProto: NONE DEFAULT FUSION_DEBUGGER NO_FUSION GUARANTEED
OpSharding.Type: REPLICATED MAXIMAL TUPLE OTHER MANUAL UNKNOWN UNREDUCED
OpSharding.ShardGroupType: AS LIKE
ResultAccuracy.Mode: DEFAULT HIGHEST
NamedShardingProto.ReductionOpProto: SUM MAX MIN
"""


def _split(table: str) -> Iterator[tuple[str, str]]:
    for row in re.split(r"\n(?! )", table.strip()):
        name, _, rest = row.partition(":")
        yield name, rest


def _read_fields(table: str) -> Mapping[str, tuple[Field, ...]]:
    return {
        message: tuple(
            Field(int(number), name, kind, bool(star))
            for number, name, kind, star in re.findall(r"(\d+) (\w+) ([\w.]+)(\*?)", fields)
        )
        for message, fields in _split(table)
    }


OLDER = _read_fields(_OLDER)
"""The fields that only older compilers write, by the name of their message."""

FIELDS = {message: (*fields, *OLDER.get(message, ())) for message, fields in _read_fields(_FIELDS).items()}
"""The fields of each message, by its name within the package `xla`."""

VALUES: Mapping[str, Mapping[int, str]] = {
    enumeration: dict(enumerate(names.split())) for enumeration, names in _split(_VALUES)
}
"""The names of each enumeration's values, by number."""
