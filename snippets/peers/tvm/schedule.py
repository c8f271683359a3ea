"""A schedule of the dense layer's kernel that MetaSchedule found: `tune.py` printed it, and measured 24 candidates.

It is kept, since the search measures and finds another one each time.
"""

# ruff: noqa: F841, RUF059 - as TVM prints it

from __future__ import annotations

from typing import Any

TRIALS = 24
"""How many candidates the search measured."""


def apply_trace(sch: Any) -> None:  # noqa: ANN401 - TVM has no types
    """Transform the kernel that is called `main`: tiles, a fused loop that runs in parallel, and vectors."""
    b0 = sch.get_sblock(name="matmul", func_name="main")
    b1 = sch.get_sblock(name="T_add", func_name="main")
    b2 = sch.get_sblock(name="root", func_name="main")
    sch.compute_inline(block=b1)
    sch.annotate(block_or_loop=b0, ann_key="meta_schedule.tiling_structure", ann_val="SSRSRS")
    l3, l4, l5 = sch.get_loops(block=b0)
    v6, v7, v8, v9 = sch.sample_perfect_tile(loop=l3, n=4, max_innermost_factor=64, decision=[2, 1, 32, 1])
    l10, l11, l12, l13 = sch.split(
        loop=l3, factors=[v6, v7, v8, v9], preserve_unit_iters=True, disable_predication=False
    )
    v14, v15, v16, v17 = sch.sample_perfect_tile(loop=l4, n=4, max_innermost_factor=64, decision=[4, 2, 1, 32])
    l18, l19, l20, l21 = sch.split(
        loop=l4, factors=[v14, v15, v16, v17], preserve_unit_iters=True, disable_predication=False
    )
    v22, v23 = sch.sample_perfect_tile(loop=l5, n=2, max_innermost_factor=64, decision=[16, 8])
    l24, l25 = sch.split(loop=l5, factors=[v22, v23], preserve_unit_iters=True, disable_predication=False)
    sch.reorder(l10, l18, l11, l19, l24, l12, l20, l25, l13, l21)
    (b26,) = sch.get_consumers(block=b0)
    sch.reverse_compute_at(block=b26, loop=l19, preserve_unit_loops=True, index=-1)
    sch.annotate(block_or_loop=b2, ann_key="meta_schedule.parallel", ann_val=32)
    sch.annotate(block_or_loop=b2, ann_key="meta_schedule.vectorize", ann_val=64)
    v27 = sch.sample_categorical(candidates=[0, 16, 64, 512], probs=[0.25, 0.25, 0.25, 0.25], decision=2)
    sch.annotate(block_or_loop=b2, ann_key="meta_schedule.unroll_explicit", ann_val=v27)
    sch.enter_postproc()
    b28 = sch.get_sblock(name="root", func_name="main")
    sch.unannotate(block_or_loop=b28, ann_key="meta_schedule.parallel")
    sch.unannotate(block_or_loop=b28, ann_key="meta_schedule.vectorize")
    sch.unannotate(block_or_loop=b28, ann_key="meta_schedule.unroll_explicit")
    b29, b30 = sch.get_child_blocks(b28)
    l31, l32, l33, l34, l35, l36, l37, l38, l39, l40 = sch.get_loops(block=b29)
    l41 = sch.fuse(l31, l32, l33, l34, preserve_unit_iters=True)
    sch.parallel(loop=l41)
    l42 = sch.fuse(l40, preserve_unit_iters=True)
    sch.vectorize(loop=l42)
    sch.annotate(block_or_loop=l41, ann_key="pragma_auto_unroll_max_step", ann_val=64)
    sch.annotate(block_or_loop=l41, ann_key="pragma_unroll_explicit", ann_val=1)
    l43, l44, l45 = sch.get_loops(block=b30)
    l46 = sch.fuse(l45, preserve_unit_iters=True)
    sch.vectorize(loop=l46)
    b47 = sch.get_sblock(name="matmul", func_name="main")
    l48, l49, l50, l51, l52, l53, l54 = sch.get_loops(block=b47)
    b55 = sch.decompose_reduction(block=b47, loop=l49)
