"""HLO modules of any target, rewritten to operations that XLA's CPU client can run without a pass."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from xla_inspect.evaluation.device_tiles import list_groups
from xla_inspect.evaluation.library_calls import LibraryCall, write_call
from xla_inspect.evaluation.manual_regions import ENTRIES, EXITS, write_edge
from xla_inspect.evaluation.physical_order import find_order, flatten, unflatten
from xla_inspect.evaluation.plain_lines import PlainLines, UnknownOperationError, order_transposes
from xla_inspect.evaluation.rounded_factors import round_factor, rounds_factors
from xla_inspect.hlo import BITS

if TYPE_CHECKING:
    from collections.abc import Callable

    from xla_inspect.hlo import Computation, Instruction, Module, Shape

_DROPPED = frozenset(
    {
        "async_execution_thread", "backend_config", "control-predecessors", "cross_program_prefetch_index",
        "frontend_attributes", "metadata", "origin", "original_value", "output_to_operand_aliasing",
        "parameter_replication", "sharding", "statistics",
    }
)  # fmt: skip
"""The attributes that do not change the result."""

_SAME_TYPE = frozenset(
    {
        "abs", "add", "atan2", "broadcast", "cbrt", "ceil", "clamp", "concatenate", "copy", "cosine", "divide",
        "dynamic-slice", "dynamic-update-slice", "erf", "exponential", "exponential-minus-one", "floor", "gather",
        "log", "log-plus-one", "logistic", "maximum", "minimum", "multiply", "negate", "pad", "power", "remainder",
        "reshape", "reverse", "round-nearest-afz", "round-nearest-even", "rsqrt", "select", "sign", "sine", "slice",
        "sqrt", "subtract", "tan", "tanh", "transpose",
    }
)  # fmt: skip
"""The operations whose floating-point operands have the type of the result, except in modules for TPUs."""

_REDUCTIONS = frozenset({"reduce", "reduce-window", "select-and-scatter"})
_FOREIGN = frozenset({"infeed", "outfeed", "rng", "rng-get-and-update-state"})
_UNCHANGED = frozenset({"add-dependency", "domain", "optimization-barrier", "opt-barrier"})
_SMALL = frozenset({"bf16", "f16"})
_SMALL_TYPE = re.compile(r"\bb?f16(?=\[)")
_WIDE = ".wide"
_LAYOUT = re.compile(r"(?<=\])\{[^{}]*\}")
# XLA prints a negative zero as an integer, and reads it as a positive zero.
_NEGATIVE_ZERO = re.compile(r"(?<![\w.])-0(?![\w.])")


def write_plain(
    module: Module, *, fusions: bool = False, rounds_sums: bool = True, factor_bits: int | None = None
) -> str:
    """Return a module as HLO text without layouts, asynchronous pairs and calls of other targets' libraries.

    Args:
        module: The module.
        fusions: Whether fusions stay, as the CPU's own compiler made them, or become calls.
        rounds_sums: Whether a reduction of a small type rounds each sum, as on CPUs and GPUs, or only the last one.
        factor_bits: The bits to which matrix units round float32 factors, as in `FACTOR_BITS`, or None if they do not.

    Raises:
        UnknownOperationError: An operation's meaning is not known here; the message names it.
    """
    wide_names = set() if rounds_sums else _list_small_functions(module)
    bodies = []
    for computation in module.computations:
        bodies.append(_Body(module, computation, wide_names, factor_bits, fusions=fusions).write())
        if computation.name in wide_names:
            head, _, lines = bodies[-1].partition("\n")
            bodies.append(f"%{computation.name}{_WIDE} {head[-1]}\n{_SMALL_TYPE.sub('f32', lines)}")
    return f"HloModule {re.sub(r'[^A-Za-z0-9_.]', '_', module.name)}\n\n" + "\n".join(bodies)


def _list_small_functions(module: Module) -> set[str]:
    """Return the names of the functions with which reductions combine numbers of a small type.

    TPUs combine such numbers in f32 and round the last result, so a second version of each function does, too.
    """
    return {
        name
        for instruction in module.walk()
        if instruction.opcode in _REDUCTIONS and not instruction.shape.is_tuple
        for name in instruction.called
        # A function that calls another one keeps its type, because the other one has it, too.
        if not (function := module.computation(name)).called
        and any(parameter.shape.dtype in _SMALL for parameter in function.parameters)
    }


class _Body:
    """The rewriting of one computation."""

    def __init__(
        self,
        module: Module,
        computation: Computation,
        wide_names: set[str],
        factor_bits: int | None,
        *,
        fusions: bool,
    ) -> None:
        self.module, self.computation, self.wide_names, self.fusions = module, computation, wide_names, fusions
        self.factor_bits = factor_bits
        self.callers = module.callers.get(computation.name, ())
        # A fusion of the CPU's compiler that a library computes.
        self.is_library = fusions and any(caller.fusion_kind == "kCustom" for caller in self.callers)
        self.lines = PlainLines()
        self.renamed: dict[str, str] = {}

    def write(self) -> str:
        """Return the computation as text."""
        for instruction in self.computation:
            self.lines.begin(instruction.name)
            self._find_rule(instruction)(instruction)
        start = f"{'ENTRY ' if self.computation.is_entry else ''}%{self.computation.name} {{"
        root = f"{self._name(self.computation.root)} = "
        ordered = order_transposes(self.lines.lines) if self.fusions and not self.is_library else self.lines.lines
        lines = [f"  {'ROOT ' if line.startswith(root) else ''}{line}" for line in ordered]
        return "\n".join([start, *lines, "}\n"])

    def _find_rule(self, instruction: Instruction) -> Callable[[Instruction], None]:
        opcode = instruction.opcode
        rules: dict[str, Callable[[Instruction], None]] = {
            "bitcast": self._add_bitcast,
            "convolution": self._add_product,
            "custom-call": self._add_custom_call,
            "dot": self._add_product,
            "fusion": self._add_fusion,
            "mulhi": self._add_high_product,
        }
        if opcode.endswith(("-start", "-update")):
            return self._check_pair
        if opcode.endswith("-done"):
            return self._add_done
        if opcode in _FOREIGN:
            message = f"{instruction.name}: the result of {opcode} depends on data or on a state outside of the module"
            raise UnknownOperationError(message)
        if opcode in _UNCHANGED:
            return self._rename
        if opcode in _SAME_TYPE or opcode in _REDUCTIONS:
            return self._add_arithmetic
        return rules.get(opcode, self._copy)

    def _name(self, instruction: Instruction) -> str:
        name = instruction.name
        while name in self.renamed:
            name = self.renamed[name]
        return f"%{name}"

    def _operands(self, instruction: Instruction) -> list[str]:
        return [self._name(operand) for operand in self.computation.operands(instruction)]

    def _factors(self, product: Instruction) -> list[str]:
        """Return the names of a product's operands, and round both factors if a matrix unit does."""
        operands, bits = self._operands(product), self.factor_bits
        shapes = [operand.shape for operand in self.computation.operands(product)[:2]]
        if bits and rounds_factors(product, shapes, self.callers, bits):
            factors = zip(shapes, operands, strict=False)
            operands[:2] = [round_factor(shape, name, bits, self.lines) for shape, name in factors]
        return operands

    def _copy(self, instruction: Instruction) -> None:
        literal, operands = instruction.literal, ", ".join(self._factors(instruction))
        arguments = operands if literal is None else _NEGATIVE_ZERO.sub("-0.0", _LAYOUT.sub("", literal))
        self.lines.end(instruction.shape.plain, f"{instruction.opcode}({arguments}){_keep(instruction)}")

    def _rename(self, instruction: Instruction) -> None:
        self.renamed[instruction.name] = instruction.operands[0]

    def _check_pair(self, start: Instruction) -> None:
        """Check that only its end uses the result of an asynchronous start, which itself adds nothing."""
        users = self.computation.users(start.name)
        if not all(user.opcode.endswith(("-done", "-update")) for user in users):
            message = f"{start.name}: another instruction than its end uses the result of {start.opcode}"
            raise UnknownOperationError(message)

    def _add_done(self, end: Instruction) -> None:
        """Add the operation of an asynchronous pair at its end."""
        start = self.computation.operands(end)[0]
        while start.opcode.endswith("-update"):
            start = self.computation.operands(start)[0]
        operands = ", ".join(self._operands(start))
        kind = start.wrapped or start.opcode.removesuffix("-start")
        if kind in {"send", "recv", "host-compute"}:
            message = f"{start.name}: {kind} exchanges data with a program that is not known here"
            raise UnknownOperationError(message)
        if kind == "async" or (kind == "fusion" and not self.fusions):
            self.lines.end(end.shape.plain, f"call({operands}), to_apply=%{start.called[0]}")
        else:
            source = self._operands(start)[0] if kind == "copy" else operands
            self.lines.end(end.shape.plain, f"{kind}({source}){_keep(start)}")

    def _add_fusion(self, fusion: Instruction) -> None:
        if self.fusions and fusion.fusion_kind != "kCustom":
            self._copy(fusion)
            return
        operands = ", ".join(self._operands(fusion))
        self.lines.end(fusion.shape.plain, f"call({operands}), to_apply=%{fusion.calls['calls'][0]}")

    def _add_custom_call(self, call: Instruction) -> None:
        sources, operands = self.computation.operands(call), self._factors(call)
        if call.custom_call_target in ENTRIES | EXITS:
            write_edge(call, sources, operands, self.module.num_partitions, self.lines)
        else:
            write_call(LibraryCall(call, operands, [source.shape for source in sources]), self.lines)

    def _add_bitcast(self, bitcast: Instruction) -> None:
        """Add a bitcast, which keeps the bytes in memory, as operations on the array's elements."""
        source, shape = self.computation.operands(bitcast)[0], bitcast.shape
        name, dtype = self._name(source), source.shape.dtype
        if source.shape.is_tuple or source.shape.text == shape.text:
            self._rename(bitcast)
            return
        before, after = find_order(source.shape), find_order(shape)
        if before and after and dtype == shape.dtype and before.is_plain and after.is_plain:
            # The CPU's own rewrites expect bitcasts in a library's part.
            self.lines.end(shape.plain, f"{'bitcast' if self.is_library else 'reshape'}({name})")
        elif before and after and before.size == after.size:
            flat = flatten(before, dtype, name, self.lines)
            if dtype != shape.dtype:
                flat = self.lines.add(f"{shape.dtype}[{after.size}]", f"bitcast-convert({flat})")
            self.lines.end(shape.plain, unflatten(after, shape.dtype, flat, self.lines))
        elif _squeeze(source.shape) == _squeeze(shape):
            self.lines.end(shape.plain, f"reshape({name})")
        else:
            message = f"{bitcast.name}: the bitcast from {source.shape} to {shape} changes the padding"
            raise UnknownOperationError(message)

    def _add_high_product(self, product: Instruction) -> None:
        """Add the upper half of a product of integers, which MLIR has no operation for."""
        dtype, lines = product.shape.dtype, self.lines
        sizes = product.shape.plain.removeprefix(dtype)
        wide = f"{dtype[0]}{2 * BITS[dtype]}"
        first, second = (lines.add(wide + sizes, f"convert({name})") for name in self._operands(product))
        whole = lines.add(wide + sizes, f"multiply({first}, {second})")
        shift = "shift-right-arithmetic" if dtype[0] == "s" else "shift-right-logical"
        high = lines.add(wide + sizes, f"{shift}({whole}, {lines.fill(wide, sizes, BITS[dtype])})")
        lines.end(product.shape.plain, f"convert({high})")

    def _add_product(self, product: Instruction) -> None:
        types = self._list_float_types(product)
        if not self.fusions and (len(types) > 1 or any(BITS[name] < BITS["f32"] for name in types)):
            # The CPU's products take one type, and sums of products are rounded once, at their end.
            self._add_in_type(product, max(types | {"f32"}, key=BITS.__getitem__))
        else:
            self._copy(product)

    def _add_arithmetic(self, instruction: Instruction) -> None:
        """Add an operation that may have values of several types in a module for TPUs, but not on this CPU."""
        types = self._list_float_types(instruction)
        if instruction.opcode in _REDUCTIONS and types and not instruction.shape.is_tuple:
            # The function that it applies may have another type than its operands.
            types.add(self.module.computation(instruction.called[-1]).root.shape.dtype)
            if not self.wide_names.isdisjoint(instruction.called):
                types.add("f32")
        if len(types) > 1:
            self._add_in_type(instruction, max(types, key=BITS.__getitem__))
        else:
            self._copy(instruction)

    def _list_float_types(self, instruction: Instruction) -> set[str]:
        """Return the floating-point types of an instruction's operands and of its result."""
        shapes = [instruction.shape, *(operand.shape for operand in self.computation.operands(instruction))]
        return {shape.dtype for shape in shapes if _is_float(shape)}

    def _add_in_type(self, instruction: Instruction, dtype: str) -> None:
        """Add an operation on values of several types, which computes in one of them and rounds its result."""
        operands = self._operands(instruction)
        for number, operand in enumerate(self.computation.operands(instruction)):
            if operand.shape.dtype != dtype and _is_float(operand.shape):
                operands[number] = self.lines.add(_retype(operand.shape, dtype), f"convert({operands[number]})")
        attributes = _keep(instruction)
        for name in self.wide_names.intersection(instruction.called):
            attributes = re.sub(rf"%{re.escape(name)}(?![\w.-])", f"%{name}{_WIDE}", attributes)
        operation = f"{instruction.opcode}({', '.join(operands)}){attributes}"
        result = self.lines.add(_retype(instruction.shape, dtype), operation)
        self.lines.end(instruction.shape.plain, f"convert({result})")


def _keep(instruction: Instruction) -> str:
    attributes = {key: value for key, value in instruction.attributes.items() if key not in _DROPPED}
    if groups := attributes.get("replica_groups"):
        # XLA's import cannot read the axes of a mesh for some collectives.
        attributes["replica_groups"] = list_groups(groups)
    return "".join(f", {key}={value}" for key, value in attributes.items())


def _is_float(shape: Shape) -> bool:
    return shape.dtype.startswith(("f", "bf"))


def _retype(shape: Shape, dtype: str) -> str:
    """Return an array's shape with another element type."""
    return dtype + shape.plain.removeprefix(shape.dtype)


def _squeeze(shape: Shape) -> tuple[str, list[int]]:
    """Return the type and the sizes above 1, in the order in which they lie in memory."""
    order = reversed(shape.layout.minor_to_major) if shape.layout else range(shape.rank)
    return shape.dtype, [shape.dimensions[number] for number in order if shape.dimensions[number] > 1]
