"""Analyses of a capture (a recorded compilation) or a module: launches, fusions, memory, FLOPs, lines of Python."""

from typing import TYPE_CHECKING

from xla_inspect.lazy_names import lazy_names

if TYPE_CHECKING:
    from xla_inspect.analysis.allocation import ALLOCATION_KINDS, Allocation, Placement
    from xla_inspect.analysis.changes import ModuleChange, compare_modules
    from xla_inspect.analysis.code_summary import CodeSummary, measure_distance, summarize_code
    from xla_inspect.analysis.collectives import (
        COLLECTIVE_KINDS,
        REDUCE_SCATTER,
        Collective,
        is_cut_anew,
        list_collectives,
        name_kind,
    )
    from xla_inspect.analysis.compilations import Compilation, ScriptRun
    from xla_inspect.analysis.dataflow import Flow, FlowGraph, trace_flow
    from xla_inspect.analysis.device_groups import Mesh, find_mesh, list_prime_factors, read_groups, read_pairs
    from xla_inspect.analysis.flops import Count
    from xla_inspect.analysis.fusion_log import FusionLog, parse_log
    from xla_inspect.analysis.fusions import (
        Fusion,
        custom_fusion_kind,
        fused_computations,
        is_fusion,
        list_fusions,
        list_opcodes,
        list_work,
    )
    from xla_inspect.analysis.instruction_history import Histories, Step
    from xla_inspect.analysis.instruction_identity import PassState, follow_passes
    from xla_inspect.analysis.instruction_lines import (
        SourceLine,
        close_brackets,
        find_computation_lines,
        find_frame,
        find_lines,
        read_line,
        show_place,
    )
    from xla_inspect.analysis.jaxpr_steps import INPUT, JaxprStep, find_residuals, is_residual, list_edges
    from xla_inspect.analysis.kernel_parts import HEAVY, KernelParts
    from xla_inspect.analysis.launch_costs import MEMORY, STATEMENT, Launched, list_unknown_work, model_launches
    from xla_inspect.analysis.launch_lines import list_origins
    from xla_inspect.analysis.launches import (
        HOST_CALL,
        Launch,
        Role,
        calls_host,
        find_role,
        fit_symbol,
        list_kernels,
        list_launches,
    )
    from xla_inspect.analysis.listing import print_computation, print_instruction
    from xla_inspect.analysis.matching import Meanings
    from xla_inspect.analysis.memory_plan import (
        find_peak,
        live_bytes,
        parse_buffers,
        parse_live_ranges,
        parse_report,
        place_buffers,
    )
    from xla_inspect.analysis.module_stage import (
        FINAL,
        Stage,
        StageName,
        count_spread,
        find_stage,
        is_global,
        is_scheduled,
        read_stage,
    )
    from xla_inspect.analysis.op_lines import (
        Operation,
        Place,
        find_expression,
        find_instructions,
        find_launch,
        find_line,
        read_jaxpr_lines,
        read_names,
        read_operations,
        read_stablehlo_lines,
    )
    from xla_inspect.analysis.package_lines import use_lines_of
    from xla_inspect.analysis.pass_difference import UNREADABLE, PassDifference, find_difference
    from xla_inspect.analysis.peak import Held, list_held
    from xla_inspect.analysis.peak_causes import SCHEDULER, PeakCause, find_peak_causes
    from xla_inspect.analysis.refusals import HBM, Refusal, find_refusal, name_failure, read_refusal, tell_failure
    from xla_inspect.analysis.rewrites import Fate, count_executed, count_operations, find_fate
    from xla_inspect.analysis.scopes import join_alike, name_alike, name_part, read_op_scope, read_scope
    from xla_inspect.analysis.signatures import Difference, Leaf, Signature, Value, find_nearest
    from xla_inspect.analysis.traffic import MAIN, list_traffic, main_memory_bytes, measure_traffic
    from xla_inspect.analysis.value_flow import (
        COPYING,
        REWRITING,
        ValueFlow,
        is_passed_on,
        search,
        skip_renaming,
        walk_inside,
    )
else:
    __getattr__ = lazy_names(__name__)
