"""What a capture holds, in rows: operations by category, kernels, fusions, layouts, constants, passes, decisions."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from xla_inspect.hlo.changes import compare
from xla_inspect.hlo.fusions import fused_computations, list_fusions
from xla_inspect.hlo.launches import list_launches
from xla_inspect.hlo.opcodes import CATEGORIES, IDLE, categorise
from xla_inspect.hlo.rewrites import count_executed, count_operations
from xla_inspect.hlo.traffic import main_memory_bytes
from xla_inspect.report.quantity import size

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from xla_inspect.hlo.launches import Launch
    from xla_inspect.hlo.module import Computation, Instruction, Module
    from xla_inspect.hlo.record import Capture

SHOWN = 60
"""Characters that a literal may take."""


def kernels(capture: Capture) -> tuple[Launch, ...]:
    """Return what a program launches, in order, without the copies that a TPU makes beside its kernels."""
    return tuple(found for found in list_launches(capture) if not is_copy(found))


def is_copy(launch: Launch) -> bool:
    """Return whether a launch only fetches a value to where it will be needed, while others run."""
    return launch.instruction is not None and launch.instruction.opcode.endswith("-start")


def count_categories(module: Module) -> Counter[str]:
    """Return how many instructions of each category a module has, those inside fusions included."""
    return Counter(categorise(instruction.opcode) for instruction in module.walk())


def categories(before: Module, after: Module) -> list[tuple[str, int, int, str]]:
    """Return a row per category: its name, how many before and after, and the opcodes whose number changed."""
    counts = count_categories(before), count_categories(after)
    opcodes = before.opcode_counts(), after.opcode_counts()
    rows = []
    for name in CATEGORIES:
        if not any(count[name] for count in counts):
            continue
        changed = [
            f"{opcode} {opcodes[0][opcode]} to {opcodes[1][opcode]}"
            for opcode in sorted({*opcodes[0], *opcodes[1]})
            if categorise(opcode) == name and opcodes[0][opcode] != opcodes[1][opcode]
        ]
        rows.append((name, counts[0][name], counts[1][name], ", ".join(changed)))
    return rows


def list_kernels(capture: Capture) -> list[tuple[str, str, str]]:
    """Return a row per kernel: its name, its kind with what emits it, and what it does."""
    fusions = {fusion.name: fusion for fusion in list_fusions(capture.module)}
    rows = []
    for launch in kernels(capture):
        fusion = fusions.get(launch.name)
        if fusion is not None:
            kind = f"{fusion.kind} {fusion.custom_kind or ''}".strip()
            rows.append((launch.name, kind, describe_opcodes(fusion.opcodes)))
        else:
            rows.append((launch.name, "no fusion", _name_work(launch)))
    return rows


def _name_work(launch: Launch) -> str:
    """Return what a launch without a fusion does: its opcode, and the library function that it calls."""
    if launch.instruction is None:
        return launch.name
    return " ".join(filter(None, (launch.instruction.opcode, launch.instruction.custom_call_target)))


def describe_opcodes(opcodes: Iterable[str]) -> str:
    """Return opcodes in order of appearance with their numbers, as in `2 multiply, add`; those that do nothing go."""
    counts = Counter(opcode for opcode in opcodes if opcode not in IDLE)
    return ", ".join(f"{count} {opcode}" if count > 1 else opcode for opcode, count in counts.items()) or "nothing else"


def list_shared(capture: Capture) -> list[tuple[str, str, str]]:
    """Return a row per kernel whose result several kernels read: its name, its result's shape, and who reads it."""
    entry = capture.module.entry
    rows = []
    for launch in kernels(capture):
        if launch.name not in entry.by_name:
            # It runs inside a loop or a branch.
            continue
        readers = list(dict.fromkeys(_list_readers(entry, launch.name)))
        if len(readers) > 1:
            rows.append((launch.name, entry.by_name[launch.name].shape.plain, ", ".join(readers)))
    return rows


def _list_readers(entry: Computation, name: str) -> Iterator[str]:
    """Give the instructions of ENTRY that read a value, also through those that only rename it."""
    for user in entry.users(name):
        if user.opcode in IDLE:
            yield from _list_readers(entry, user.name)
        else:
            yield user.name


def list_layouts(capture: Capture) -> list[tuple[str, str, str]]:
    """Return a row per instruction of ENTRY whose result is an array: its name, its shape, and its layout."""
    return [
        (found.name, found.shape.plain, str(found.shape).removeprefix(found.shape.plain) or "none")
        for found in capture.module.entry
        if not found.shape.elements and found.opcode not in IDLE - {"parameter", "bitcast"}
    ]


def list_constants(module: Module) -> list[tuple[str, str, str]]:
    """Return a row per constant: its value, its shape, and where it stands: ENTRY, or the fusion that it is part of."""
    inside = fused_computations(module)
    callers = {called: caller for caller in module.walk() for called in caller.called}
    return [
        (shorten(found.literal or ""), found.shape.plain, _place(found, inside, callers, module))
        for found in module.walk()
        if found.opcode == "constant"
    ]


def shorten(literal: str) -> str:
    """Return a literal cut to what one line takes."""
    text = " ".join(literal.split())
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 3]}..."


def _place(found: Instruction, inside: frozenset[str], callers: dict[str, Instruction], module: Module) -> str:
    name = found.computation
    if name == module.entry.name:
        return "ENTRY"
    while name in inside and name in callers and callers[name].computation in inside:
        name = callers[name].computation
    return f"inside {callers[name].name}" if name in inside and name in callers else name


def list_passes(capture: Capture) -> list[tuple[str, str, int]]:
    """Return a row per pass that changed what the text shows: its name, what it did, and the instructions left."""
    rows = []
    before = capture.unoptimized_module
    for step in capture.passes:
        change = compare(before, step.module)
        before = step.module
        if change.is_visible:
            rows.append((name_pass(step.name, step.pipeline), change.summary, step.module.instruction_count()))
    return rows


def name_pass(name: str, pipeline: str) -> str:
    """Return how a pass is called; what happens before the first pass of a pipeline is named by the pipeline."""
    return f"start of {pipeline}" if name == "pipeline-start" else name


def find_remover(capture: Capture, opcodes: Collection[str], goal: int) -> tuple[str, int]:
    """Return who first brought the number of some operations down to a goal, and how many there are in the end.

    What a fusion computes a second time counts twice, so there may be more in the end than once there were.

    Args:
        capture: The program on one target.
        opcodes: HLO's names of the operations to count together.
        goal: How many the program needs.
    """
    left = count_executed(capture.after, opcodes)
    if count_operations(capture.stablehlo, opcodes) <= goal:
        return "JAX, before the compiler got it", left
    if count_executed(capture.before, opcodes) <= goal:
        return "the import of StableHLO into HLO", left
    for step in capture.passes:
        if count_executed(step.text, opcodes) <= goal:
            return f"{name_pass(step.name, step.pipeline)}, in {step.pipeline}", left
    return "nobody", left


def list_decisions(capture: Capture) -> list[str]:
    """Return what the compiler decided, a sentence each, counted from what it left."""
    before, after = capture.unoptimized_module, capture.module
    work = sum(found.opcode not in IDLE for found in before.walk())
    launched = kernels(capture)
    fusions = {fusion.name: fusion for fusion in list_fusions(after)}
    found = [
        f"{_number(work, 'operation')} that compute or move data became {_number(len(launched), 'kernel')}.",
        f"Of {_number(len(capture.runs), 'run')} of passes, {len(list_passes(capture))} changed what the text shows.",
    ]
    emitters = Counter(
        fusions[launch.name].custom_kind or fusions[launch.name].kind for launch in launched if launch.name in fusions
    )
    if emitters:
        said = ", ".join(f"{count} x {name}" for name, count in emitters.most_common())
        alone = len(launched) - emitters.total()
        found.append(f"Fusions by how they are emitted: {said}; {_number(alone, 'kernel')} without a fusion.")
    products = [found.name for found in after.walk() if found.opcode in {"dot", "convolution"}]
    if products:
        opcodes = sorted({found.opcode for found in after.walk() if found.opcode in {"dot", "convolution"}})
        found.append(f"Matrix products: {len(products)} left, written as {' and '.join(opcodes)}.")
    copies = sum(map(is_copy, list_launches(capture)))
    if copies:
        found.append(
            f"{_number(copies, 'copy', 'copies')} into other memory, started ahead of the kernel that needs it."
        )
    found.append(f"The kernels read and write {size(main_memory_bytes(after))} of main memory.")
    memory = capture.memory
    found.append(
        f"Memory: {size(memory.arguments)} of arguments, {size(memory.outputs)} of results, "
        f"{size(memory.temporaries)} for values in between."
    )
    return found


def _number(count: int, one: str, more: str = "") -> str:
    return f"{count:,} {one if count == 1 else more or f'{one}s'}"
