"""Why a pass refused to fuse two things, each reason as a clause of a sentence: short forms of what the tables say."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xla_inspect.answers.why import Reason

CLAUSES = {
    "array-constant": "a constant of more than one element stays in memory and is read",
    "code-too-large": "it is needed at so many different indices that its code would be repeated too often",
    "constant-alone": "a fusion of one instruction and a constant gains nothing",
    "dimensions-not-tiled": "it reorders or splits dimensions in a way that the matmul's tiles do not follow",
    "expensive-repeated": "it is expensive and has several users, so it is computed once and read",
    "gpu-code-too-large": "it is needed at so many different indices that its code would be repeated too often",
    "gpu-many-operands": "one kernel of both would have more operands and results than XLA passes to a kernel",
    "gpu-many-reductions": "one kernel of both would hold more reductions than fit into registers",
    "gpu-not-tiled": "one of them is a Triton kernel, and for both together XLA found no tiles",
    "gpu-producer-not-fusible": "XLA's GPU kernels do not compute it inside another, as they do not a library call, "
    "a sort or a matmul by Triton",
    "gpu-reduction-would-become-loop": "with its reader in the same kernel, the reduction would be a plain loop in "
    "which each thread reduces alone",
    "gpu-scan": "what reads the result of a scan is not computed in the same kernel",
    "gpu-scatter-operand": "a scatter updates an array in place, which must be in memory first",
    "gpu-scatter-result": "a scatter is done only when all its updates are, so what reads its result runs after it",
    "gpu-shared-memory": "the reductions and transposes of both need more shared memory than a block has",
    "gpu-triton-needs-a-reason": "neither is a Triton kernel, and none is started without a dot or a normalization",
    "gpu-two-reductions": "both reduce 16 or more elements to one, and outside of Triton a GPU kernel of XLA's does "
    "not do one such reduction after another",
    "gpu-user-not-fusible": "a user of it cannot take anything in, as a library call, a sort, a dot or a collective, "
    "and a producer is fused into all its users or into none",
    "in-place-buffer-read-twice": "its user writes in place into a buffer that it reads as another operand too",
    "in-place-conflict": "its user updates a buffer in place that it reads other than element by element",
    "in-place-index-mismatch": "it reads a slice of the buffer that its user updates in place, and not certainly the "
    "slice that is written",
    "inefficient-concatenate": "one of them is a concatenate along the innermost dimension or of many operands, and a "
    "fused loop would look up the operand of each element",
    "inside-library-fusion": "its user is a fusion that a library computes, which is left as it is",
    "is-the-result": "it is a result of the computation and has to be written",
    "kept-for-its-dot": "the addition is kept for a fusion with its matrix-vector dot",
    "library-refuses": "the library does not take it there (another operation, type or shape, or it does not pay)",
    "not-a-loop": "it is not computed element by element, as a dot, a sort and a library's fusion are not",
    "not-profitable": "it is expensive, and its user, as a broadcast does, would compute it once for each read",
    "operand-not-tiled": "a tile of it is not made of whole tiles of its operands",
    "operand-reads-more": "its operands have more bytes than its result, so the kernel would read more",
    "pair-not-worthwhile": "it is as small as a scalar, so reading it once saves nothing",
    "parameter-or-effect": "it has an effect beside its result, or is a parameter",
    "pass-repeats-nothing": "it has several users, and this run of the pass computes nothing twice",
    "producer-is-fusion": "it is a fusion already, and on the CPU a fusion is not moved into a user",
    "reads-more-when-repeated": "it reads more than it writes and cannot be fused into all its users, so its operands "
    "would be read several times",
    "result-of-computation": "it is a result of the computation and has to be written",
    "several-updates": "its user holds several dynamic-update-slices, which XLA does not prove to stay in place",
    "too-expensive-to-repeat": "it is expensive and has several users: fused, it would be computed for each of them",
    "too-many-reductions": "its user holds more than five reductions already",
    "tpu-after-matmul-only": "this run of the pass does not fuse it with what comes after it",
    "tpu-expensive-repeated": "it is expensive and has several users, so it is computed once and read",
    "tpu-matmul-not-with-elementwise": "the matmul does not take in this elementwise operation",
    "tpu-matmul-without-user": "the results of the matrix unit cannot pass through this operation",
    "tpu-no-reduce-broadcast-convert": "a reduction is not fused with the broadcast of its result",
    "tpu-not-a-loop": "it is of a kind that cannot be part of a loop with its reader",
    "tpu-not-with-elementwise": "a reduction, or what is computed from one, is finished before an elementwise "
    "operation reads it",
    "tpu-scalar": "it is a scalar, which is not fused for its own sake",
    "tpu-tuple": "it has several results, and what has several is not fused into a user",
    "tpu-without-words": "the log names only the line of libtpu's closed source that forbids it",
    "triton-dot": "Triton kernels of XLA's do not take this matmul's types, algorithm or dimensions",
    "user-not-a-loop": "its user is not computed element by element (a dot, a sort, a scatter, a call)",
    "user-not-worthwhile": "it writes more bytes than it reads, so the matmul's kernel would write more with it",
    "user-reads-other-arrays": "it combines the result with another computed array, which the Triton kernel of a "
    "matmul does not take in",
}
"""What follows `does not fuse A into B: `, by the key of a message; `{a}` and `{b}` are these two."""

_COSTS = re.compile(r"reckons (?P<fused>[\d.]+) µs .* and (?P<apart>[\d.]+) µs ")
_END = re.compile(r"(?<=[\w)])[.:] ")


def write_clause(reason: Reason, first: str, second: str) -> str:
    """Return why something was refused, to follow `does not fuse A into B: `.

    Args:
        reason: The refusal.
        first: How what would be fused is called now.
        second: How what would take it in is called now.
    """
    if costs := _COSTS.search(reason.sentence) if reason.kind == "costs-when-fused" else None:
        fused, apart = (f"{float(costs[name]):.3g}" for name in ("fused", "apart"))
        if fused == apart:
            fused, apart = (f"{float(costs[name]):.5g}" for name in ("fused", "apart"))
        return f"its cost model estimates {fused} µs for the fused kernel and {apart} µs for two"
    if reason.kind in CLAUSES:
        return CLAUSES[reason.kind].format(a=first, b=second)
    said = _END.split(reason.meaning.rstrip("."))[0]
    for name, now in ((reason.instruction, first), (reason.others[0] if reason.others else "", second)):
        if name:
            said = re.sub(rf"(?<![\w.-]){re.escape(name)}(?![\w-]|\.\w)", now, said)
    return said
