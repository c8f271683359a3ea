"""Counts of an instruction's arithmetic operations by element type, with matrix products and convolutions apart.

The rules are those of XLA's own cost analysis (`xla/service/hlo_cost_analysis.cc`), so that totals can be compared with
it. The differences are intentional:

- A loop counts as often as it is known to run; XLA's analysis counts it once.
- A library call counts as the product or convolution that it describes, otherwise as unknown; XLA's analysis adds -1.
- A ragged product counts each row once, a scan counts each step, and windows that all cover the whole input count once.
- The work keeps its element type.
- Numbers are whole; XLA's analysis adds up in float32 and rounds.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from xla_inspect.analysis.convolution import count_multiplications
from xla_inspect.analysis.loops import Loops, read_config
from xla_inspect.hlo import CATEGORY, read_windows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from xla_inspect.hlo import Computation, Instruction, Module, Shape, Window

_NAMES = """
    acos acosh asin asinh atan2 atanh cbrt cosine cosh erf exp2 exponential exponential-minus-one log log-plus-one log2
    logistic power rsqrt sine sinh sqrt tan tanh
"""
TRANSCENDENTAL = frozenset(_NAMES.split())
"""Element-wise operations that need several floating-point operations each: counted separately, one per element."""

ARITHMETIC = frozenset(name for name, category in CATEGORY.items() if category == "element-wise") - TRANSCENDENTAL
"""Element-wise operations that count as one operation per element of any type, as in XLA's analysis."""

LABELS = frozenset({"AllocateBuffer", "AsyncCollectiveDone", "AsyncCollectiveStart", "Sharding"})
"""The targets of custom calls that compute nothing and take no time."""

_MOVES = frozenset({"AssumeGatherIndicesInBound", "ConcatBitcast", "GetRngSeed", "X64Combine"})
"""The targets of custom calls that only move or mark data."""

MULTIPLY_ADD = 2
COMPLEX_MULTIPLY = 4

_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Work:
    """Numbers of arithmetic operations, which are counted from shapes and not measured.

    Attributes:
        products: Multiplications and additions of matrix products and convolutions, two for each pair of elements, by
            the type of the operands, followed by the requested precision if it is not the default (`f32 highest`).
        others: All other operations, one per element, by type.
        transcendentals: Evaluations of exp, tanh and similar functions, which are not included above.
        unknown: The targets of library calls that do not describe their work.
    """

    products: Counter[str] = field(default_factory=Counter)
    others: Counter[str] = field(default_factory=Counter)
    transcendentals: int = 0
    unknown: tuple[str, ...] = ()

    @property
    def flops(self) -> int:
        """The number of operations, without transcendental ones."""
        return self.products.total() + self.others.total()

    def __mul__(self, times: int) -> Work:
        """Return the work of that many repetitions; `unknown` stays the same."""
        return Work(
            Counter({name: number * times for name, number in self.products.items()}),
            Counter({name: number * times for name, number in self.others.items()}),
            self.transcendentals * times,
            self.unknown,
        )


class Count:
    """Counter for the work of a module's instructions, which visits each computation once.

    Args:
        module: The module.
    """

    def __init__(self, module: Module) -> None:
        """Start without any counts."""
        self.module = module
        self.loops = Loops(module)
        self._known: dict[str, Work] = {}

    def instruction(self, instruction: Instruction) -> Work:
        """Return the work of one run of an instruction, including everything that it calls."""
        opcode = instruction.opcode
        # An asynchronous start does the work of the computation or the opcode that it wraps.
        if opcode == "async-start":
            opcode = "call" if instruction.called else instruction.wrapped or opcode
        rule = _RULES.get(opcode)
        return rule(self, instruction) if rule else Work()

    def computation(self, computation: Computation) -> Work:
        """Return the work of all instructions of a computation."""
        if computation.name not in self._known:
            self._known[computation.name] = _add_up(map(self.instruction, computation))
        return self._known[computation.name]

    def called(self, instruction: Instruction) -> Work:
        """Return the total work of one run of every computation that an instruction calls."""
        callees = self.module.called(instruction)
        return self.computation(callees[0]) if len(callees) == 1 else _add_up(map(self.computation, callees))

    def shape(self, instruction: Instruction, number: int) -> Shape:
        """Return the shape of an instruction's operand at a position."""
        return self.module.operands(instruction)[number].shape


def _count_elements(_: Count, instruction: Instruction) -> Work:
    return Work(others=Counter({instruction.shape.dtype: instruction.shape.size}))


def _count_tests(count: Count, instruction: Instruction) -> Work:
    return Work(others=Counter({count.shape(instruction, 0).dtype: instruction.shape.size}))


def _count_transcendentals(_: Count, instruction: Instruction) -> Work:
    return Work(transcendentals=instruction.shape.size)


def _count_dot(count: Count, instruction: Instruction) -> Work:
    lhs = count.shape(instruction, 0)
    numbers = _NUMBER.findall(instruction.attributes.get("lhs_contracting_dims", ""))
    pairs = instruction.shape.size * math.prod(lhs.dimensions[int(number)] for number in numbers)
    if instruction.attributes.get("lhs_ragged_dims", "{}")[1:-1] in numbers:
        # Each group contracts only its own part of the ragged dimension, and the result has one element for each group.
        pairs //= count.shape(instruction, 2).dimensions[-1]
    return _multiply(_name_type(lhs.dtype, instruction.attributes), pairs)


def _count_convolution(count: Count, instruction: Instruction) -> Work:
    lhs, rhs = count.shape(instruction, 0), count.shape(instruction, 1)
    kind = _name_type(lhs.dtype, instruction.attributes)
    return _convolve(kind, instruction, (lhs, rhs, instruction.shape))


def _convolve(kind: str, instruction: Instruction, shapes: tuple[Shape, Shape, Shape]) -> Work:
    """Return the work of a convolution.

    Args:
        kind: The element type in which it multiplies.
        instruction: The convolution, or the library call that computes it.
        shapes: The shapes of its input, its kernel and its result.
    """
    pairs = count_multiplications(instruction.attributes, *(shape.dimensions for shape in shapes))
    target = instruction.custom_call_target or instruction.opcode
    return Work(unknown=(target,)) if pairs is None else _multiply(kind, pairs)


def _count_library(count: Count, instruction: Instruction) -> Work:
    """Return the work of a custom call, as described by the attributes of a library's product or convolution."""
    target, attributes = instruction.custom_call_target or "?", instruction.attributes
    if target in LABELS or target in _MOVES:
        return Work()
    shapes = [operand.shape for operand in count.module.operands(instruction)]
    # The tuple of a library call contains the result first and scratch memory after it.
    result = next(iter(instruction.shape.leaves()), instruction.shape)
    numbers = read_config(instruction).get("gemm_backend_config", {}).get("dot_dimension_numbers")
    if numbers is not None:
        contracted = [int(at) for at in numbers.get("lhs_contracting_dimensions", ())]
        return _multiply(shapes[0].dtype, result.size * math.prod(shapes[0].dimensions[at] for at in contracted))
    if target.startswith("__cudnn$conv") and "dim_labels" in attributes:
        # Roles of operands and result: `GetConvolutionFlops` in xla/service/gpu/model/gpu_hlo_cost_analysis.cc.
        roles = {
            "__cudnn$convBackwardInput": (result, shapes[1], shapes[0]),
            "__cudnn$convBackwardFilter": (shapes[0], result, shapes[1]),
        }.get(target, (shapes[0], shapes[1], result))
        return _convolve(shapes[0].dtype, instruction, roles)
    return Work(unknown=(target,))


def _count_called(count: Count, instruction: Instruction) -> Work:
    return count.called(instruction)


def _count_loop(count: Count, instruction: Instruction) -> Work:
    trips = count.loops.count_trips(instruction)
    # A loop with an unknown trip count counts once, as in XLA's own analysis.
    return count.called(instruction) * (1 if trips is None else trips)


def _count_branches(count: Count, instruction: Instruction) -> Work:
    """Return the largest work of any branch for each kind, because the chosen branch is unknown."""
    most = Work()
    for branch in map(count.computation, count.module.called(instruction)):
        most = Work(
            most.products | branch.products,
            most.others | branch.others,
            max(most.transcendentals, branch.transcendentals),
            tuple(dict.fromkeys(most.unknown + branch.unknown)),
        )
    return most


def _count_reduce(count: Count, instruction: Instruction) -> Work:
    # Combining n elements into one takes n - 1 operations.
    return count.called(instruction) * (count.shape(instruction, 0).size - instruction.shape.leaves()[0].size)


def _count_windows(count: Count, instruction: Instruction) -> Work:
    inputs, results = count.shape(instruction, 0).dimensions, instruction.shape.leaves()[0].dimensions
    size = outputs = 1
    for axis, elements, places in zip(_read_windows(instruction), inputs, results, strict=True):
        # If every window covers the whole axis, all windows have the same result, which is computed once. The TPU
        # compiler writes this to broadcast the maximum of a row over the row.
        last = (places - 1) * axis.stride
        is_whole = axis.size > 1 and axis.low >= last and axis.size - axis.low >= elements
        size *= elements if is_whole else axis.size
        outputs *= 1 if is_whole else places
    return count.called(instruction) * ((size - 1) * outputs)


def _count_scan(count: Count, instruction: Instruction) -> Work:
    axis = int(_NUMBER.findall(instruction.attributes.get("dimensions", "0"))[0])
    return count.called(instruction) * count.shape(instruction, 0).dimensions[axis]


def _count_scatter(count: Count, instruction: Instruction) -> Work:
    return count.called(instruction) * count.shape(instruction, -1).size


def _count_applied(count: Count, instruction: Instruction) -> Work:
    return count.called(instruction) * instruction.shape.size


def _count_select_and_scatter(count: Count, instruction: Instruction) -> Work:
    select, scatter = map(count.computation, count.module.called(instruction))
    sources = count.shape(instruction, 1).size
    window = math.prod(axis.size for axis in _read_windows(instruction))
    return _add_up((select * (sources * (window - 1)), scatter * sources))


def _count_sort(count: Count, instruction: Instruction) -> Work:
    first = count.shape(instruction, 0)
    return Work(others=Counter({first.dtype: first.size * math.ceil(math.log2(max(first.size, 1)))}))


def _count_fft(count: Count, instruction: Instruction) -> Work:
    first = count.shape(instruction, 0)
    lengths = map(int, _NUMBER.findall(instruction.attributes.get("fft_length", "")))
    depth = math.prod(length.bit_length() - 1 for length in lengths)
    return Work(others=Counter({first.dtype: MULTIPLY_ADD * COMPLEX_MULTIPLY * depth * first.size}))


def _count_cholesky(count: Count, instruction: Instruction) -> Work:
    first = count.shape(instruction, 0)
    return Work(others=Counter({first.dtype: first.size * first.dimensions[-1] // 3}))


def _count_triangular(count: Count, instruction: Instruction) -> Work:
    first, second = count.shape(instruction, 0), count.shape(instruction, 1)
    return Work(others=Counter({first.dtype: MULTIPLY_ADD * second.size * first.dimensions[-1]}))


_RULES: Mapping[str, Callable[[Count, Instruction], Work]] = {
    **dict.fromkeys(ARITHMETIC, _count_elements),
    **dict.fromkeys(TRANSCENDENTAL, _count_transcendentals),
    **dict.fromkeys(("compare", "is-finite"), _count_tests),
    **dict.fromkeys(("dot", "scaled-dot", "ragged-dot"), _count_dot),
    **dict.fromkeys(("fusion", "call"), _count_called),
    **dict.fromkeys(("map", "all-reduce", "all-reduce-start"), _count_applied),
    **dict.fromkeys(("rng", "rng-bit-generator"), _count_transcendentals),
    "convolution": _count_convolution,
    "custom-call": _count_library,
    "while": _count_loop,
    "conditional": _count_branches,
    "reduce": _count_reduce,
    "reduce-window": _count_windows,
    "scan": _count_scan,
    "scatter": _count_scatter,
    "select-and-scatter": _count_select_and_scatter,
    "sort": _count_sort,
    "fft": _count_fft,
    "cholesky": _count_cholesky,
    "triangular-solve": _count_triangular,
}


def _add_up(works: Iterable[Work]) -> Work:
    """Return the sum of some work, added up in place because a large module has tens of thousands of instructions."""
    products, others, transcendentals = Counter[str](), Counter[str](), 0
    unknown: dict[str, None] = {}
    for work in works:
        for name, number in work.products.items():
            products[name] += number
        for name, number in work.others.items():
            others[name] += number
        transcendentals += work.transcendentals
        unknown |= dict.fromkeys(work.unknown)
    return Work(products, others, transcendentals, tuple(unknown))


def _multiply(dtype: str, pairs: int) -> Work:
    return Work(products=Counter({dtype: MULTIPLY_ADD * pairs}))


def _read_windows(instruction: Instruction) -> list[Window]:
    return read_windows(instruction.attributes.get("window", ""))


def _name_type(dtype: str, attributes: Mapping[str, str]) -> str:
    precisions = set(re.findall(r"\w+", attributes.get("operand_precision", ""))) - {"default"}
    strictest = next((name for name in ("highest", "high") if name in precisions), "")
    return f"{dtype} {strictest}".rstrip()
