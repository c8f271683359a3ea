"""Facts about a capture as rows: operations by category, kernels, fusions, layouts, constants, passes, decisions."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from xla_inspect.analysis import (
    compare_modules,
    count_executed,
    count_operations,
    fused_computations,
    list_fusions,
    list_kernels,
    list_launches,
    main_memory_bytes,
)
from xla_inspect.hlo import CATEGORIES, IDLE, categorise
from xla_inspect.plural import plural
from xla_inspect.report import format_bytes

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from xla_inspect.captured import Capture
    from xla_inspect.hlo import Computation, Instruction, Module

SHOWN = 60
"""The maximum number of characters in a result of `shorten`."""


def count_categories(module: Module) -> Counter[str]:
    """Return the number of instructions of each category in a module, including those inside fusions."""
    return Counter(categorise(instruction.opcode) for instruction in module.walk())


def categories(before: Module, after: Module) -> list[tuple[str, int, int, str]]:
    """Return a row per category that occurs: name, counts before and after, and the opcodes whose counts changed."""
    counts = count_categories(before), count_categories(after)
    opcodes = before.opcode_counts(), after.opcode_counts()
    rows = []
    for name in CATEGORIES:
        if not any(count[name] for count in counts):
            continue
        changes = [
            f"{opcode} {opcodes[0][opcode]} to {opcodes[1][opcode]}"
            for opcode in sorted({*opcodes[0], *opcodes[1]})
            # A pass may replace one opcode by another of the same category, so equal totals do not mean that nothing
            # changed.
            if categorise(opcode) == name and opcodes[0][opcode] != opcodes[1][opcode]
        ]
        rows.append((name, counts[0][name], counts[1][name], ", ".join(changes)))
    return rows


def describe_kernels(capture: Capture) -> list[tuple[str, str, str]]:
    """Return a row per kernel: its name, its kind with its emitter, and its operations."""
    fusions = {fusion.name: fusion for fusion in list_fusions(capture.module)}
    rows = []
    for launch in list_kernels(capture):
        fusion = fusions.get(launch.name)
        if fusion is not None:
            kind = f"{fusion.kind} {fusion.custom_kind or ''}".strip()
            rows.append((launch.name, kind, describe_opcodes(fusion.opcodes)))
        else:
            # A call of a library also has the name of the function that it calls.
            names = filter(None, (launch.instruction.opcode, launch.instruction.custom_call_target))
            rows.append((launch.name, "no fusion", " ".join(names)))
    return rows


def describe_opcodes(opcodes: Iterable[str]) -> str:
    """Return the opcodes that do work, in order of appearance, such as `2 multiply, add`; `nothing else` for none."""
    counts = Counter(opcode for opcode in opcodes if opcode not in IDLE)
    return ", ".join(f"{count} {opcode}" if count > 1 else opcode for opcode, count in counts.items()) or "nothing else"


def list_shared(capture: Capture) -> list[tuple[str, str, str]]:
    """Return a row per kernel of ENTRY with several readers: its name, its result's shape, and the readers."""
    entry = capture.module.entry
    rows = []
    for launch in list_kernels(capture):
        if launch.name not in entry.by_name:
            # The kernel runs inside a loop or a branch.
            continue
        readers = list(dict.fromkeys(_list_readers(entry, launch.name)))
        if len(readers) > 1:
            rows.append((launch.name, entry.by_name[launch.name].shape.plain, ", ".join(readers)))
    return rows


def _list_readers(entry: Computation, name: str) -> Iterator[str]:
    """Yield the instructions of ENTRY that read a value, directly or through instructions that only rename it."""
    for user in entry.users(name):
        # Tuples, bitcasts and the like launch no kernel, so the reader behind them is the one that counts.
        if user.opcode in IDLE:
            yield from _list_readers(entry, user.name)
        else:
            yield user.name


def list_layouts(capture: Capture) -> list[tuple[str, str, str]]:
    """Return a row (name, shape, layout) per instruction of ENTRY whose result is an array, without constants."""
    return [
        (
            instruction.name,
            instruction.shape.plain,
            str(instruction.shape).removeprefix(instruction.shape.plain) or "none",
        )
        for instruction in capture.module.entry
        # Tuples have no layout of their own, only their elements have one.
        if not instruction.shape.elements and instruction.opcode not in IDLE - {"parameter", "bitcast"}
    ]


def list_constants(module: Module) -> list[tuple[str, str, str]]:
    """Return a row per constant: its value, its shape, and its place: ENTRY, a fusion or another computation."""
    inside = fused_computations(module)
    return [
        (shorten(constant.literal or ""), constant.shape.plain, _place(constant, inside, module))
        for constant in module.walk()
        if constant.opcode == "constant"
    ]


def shorten(literal: str) -> str:
    """Return a literal on one line, cut off so that it has at most `SHOWN` characters."""
    text = " ".join(literal.split())
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 3]}..."


def _place(constant: Instruction, inside: frozenset[str], module: Module) -> str:
    name = constant.computation
    if name == module.entry.name:
        return "ENTRY"
    # Fusions can be nested, and the outermost one is the kernel.
    while name in inside and (caller := module.callers[name][-1]).computation in inside:
        name = caller.computation
    return f"inside {module.callers[name][-1].name}" if name in inside else name


def list_passes(capture: Capture) -> list[tuple[str, str, int]]:
    """Return a row per pass that visibly changed the module: its name, its changes, and the remaining instructions."""
    rows = []
    before = capture.unoptimized_module
    for step in capture.passes:
        change = compare_modules(before, step.module)
        before = step.module
        if change.is_visible:
            rows.append((name_pass(step.name, step.pipeline), change.summary, step.module.instruction_count()))
    return rows


def name_pass(name: str, pipeline: str) -> str:
    """Return the name of a pass; a change before the first pass of a pipeline is named after the pipeline."""
    return f"start of {pipeline}" if name == "pipeline-start" else name


def find_remover(capture: Capture, opcodes: Collection[str], goal: int) -> tuple[str, int]:
    """Return the stage or pass that first reduced some operations to a goal, or `no pass`, and their final number.

    An operation that two fusions compute counts twice, so the final number may be larger than an earlier one.

    Args:
        capture: The program on one target.
        opcodes: HLO's names of the operations to count together.
        goal: The number that the program needs.
    """
    remaining = count_executed(capture.after, opcodes)
    # The stages are checked in their order, because an operation that JAX omits is absent from all later texts.
    if count_operations(capture.stablehlo, opcodes) <= goal:
        return "JAX, before compilation", remaining
    if count_executed(capture.before, opcodes) <= goal:
        return "the conversion of StableHLO to HLO", remaining
    for step in capture.passes:
        if count_executed(step.text, opcodes) <= goal:
            return f"{name_pass(step.name, step.pipeline)}, in {step.pipeline}", remaining
    return "no pass", remaining


def list_decisions(capture: Capture) -> list[str]:
    """Return sentences about the compiler's decisions, with numbers counted in its modules."""
    before, after = capture.unoptimized_module, capture.module
    work = sum(instruction.opcode not in IDLE for instruction in before.walk())
    launched = list_kernels(capture)
    fusions = {fusion.name: fusion for fusion in list_fusions(after)}
    decisions = [
        f"{plural(work, 'operation')} on data became {plural(len(launched), 'kernel')}.",
        f"{len(list_passes(capture))} of {plural(len(capture.runs), 'run')} of passes changed the text of the module.",
    ]
    emitters = Counter(
        fusions[launch.name].custom_kind or fusions[launch.name].kind for launch in launched if launch.name in fusions
    )
    if emitters:
        emitted = ", ".join(f"{count} x {name}" for name, count in emitters.most_common())
        alone = len(launched) - emitters.total()
        decisions.append(f"Fusions by emitter: {emitted}. {plural(alone, 'kernel is', 'kernels are')} no fusion.")
    matmuls = [matmul.name for matmul in after.walk() if matmul.opcode in {"dot", "convolution"}]
    if matmuls:
        # TPUs compute matmuls as convolutions, so both opcodes count as matmuls.
        opcodes = sorted({matmul.opcode for matmul in after.walk() if matmul.opcode in {"dot", "convolution"}})
        decisions.append(
            f"{plural(len(matmuls), 'matmul remains', 'matmuls remain')}, written as {' and '.join(opcodes)}."
        )
    copies = [launch.is_async for launch in list_launches(capture) if launch.role == "copy"]
    if copies:
        decisions.append(
            f"{plural(len(copies), 'launch copies', 'launches copy')} a value unchanged; {sum(copies)} of them "
            f"{'starts' if sum(copies) == 1 else 'start'} before the copy is needed."
        )
    decisions.append(f"The kernels read and write {format_bytes(main_memory_bytes(after))} of main memory.")
    memory = capture.memory
    decisions.append(
        f"The program needs {format_bytes(memory.arguments)} for arguments, {format_bytes(memory.outputs)} for results "
        f"and {format_bytes(memory.temporaries)} for temporary values."
    )
    return decisions
