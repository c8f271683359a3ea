"""Rewrites that textbooks promise: the programs that ask for them, their fates, and the rules of the simplifier."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from chapters import known_inputs
from programs import rewrites
from xla_inspect import capture, capture_all
from xla_inspect.analysis import find_fate
from xla_inspect.analysis.reasons import find_rules, read_reasons
from xla_inspect.report import markdown, print_instruction, title

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy as np

    from xla_inspect import Capture, Captures
    from xla_inspect.analysis import Fate
    from xla_inspect.analysis.reasons import AppliedRule, Decision

    type Made = Mapping[str, Mapping[str, Captures]]
    type Fates = Mapping[str, Mapping[str, Mapping[str, Fate]]]

KINDS = ("float32", "int32")
"""The element types that each program is compiled for."""
_SIMPLIFIER = "algsimp"
_EARLY = {"Python", "JAX", "import"}


def compile_rewrites() -> dict[str, dict[str, Captures]]:
    """Return the programs of all rewrites for each element type and target, with the reasons that compilers log."""
    programs = dict.fromkeys(program for program, _, _ in rewrites.REWRITES.values())
    return {program: {kind: _compile_typed(program, kind) for kind in KINDS} for program in programs}


def _compile_typed(program: str, kind: str) -> Captures:
    function, example = rewrites.typed(program, kind)
    return capture_all(function, *example, reasons=True)


def find_fates(made: Made) -> dict[str, dict[str, dict[str, Fate]]]:
    """Return the fate of each rewrite by element type and target."""
    return {
        name: {
            kind: {target: follow(made, name, kind, target) for target in captures}
            for kind, captures in made[program].items()
        }
        for name, (program, _, _) in rewrites.REWRITES.items()
    }


def follow(made: Made, name: str, kind: str, target: str) -> Fate:
    """Return the fate of one rewrite, for a target that may be missing."""
    program, opcodes, left = rewrites.REWRITES[name]
    return find_fate(made[program][kind][target], opcodes, left)


def count_early(fates: Fates, kind: str) -> int:
    """Return how many rewrites each target makes before the first pass runs."""
    return sum({fate.by for fate in kinds[kind].values()} <= _EARLY for kinds in fates.values())


def compile_fate(name: str, kind: str, *, fast_math: bool = False) -> Fate:
    """Return the fate of a rewrite on the CPU for an element type, with fast math where it is asked for."""
    program, opcodes, left = rewrites.REWRITES[name]
    function, example = rewrites.typed(program, kind)
    options = {"xla_cpu_enable_fast_math": True} if fast_math else {}
    return find_fate(capture(function, *example, options=options), opcodes, left)


def list_rules(it: Capture) -> list[AppliedRule]:
    """Return the replacements of the algebraic simplifier, each with its rule where one is named."""
    return [rule for rule in find_rules(read_reasons(it).decisions) if rule.decision.pass_name == _SIMPLIFIER]


def list_tried(it: Capture, instruction: str) -> list[str]:
    """Return the rules that the simplifier tried on an instruction, in its own notation, each once."""
    decisions = read_reasons(it).about(instruction)
    return list(dict.fromkeys(decision.words for decision in decisions if decision.kind.startswith("rule-tried")))


def find_decision(it: Capture, *kinds: str) -> Decision:
    """Return the first decision of one of some kinds."""
    return next(decision for decision in read_reasons(it).decisions if decision.kind in kinds)


def list_decisions(it: Capture, by: str = _SIMPLIFIER) -> list[Decision]:
    """Return the decisions of a pass."""
    return [decision for decision in read_reasons(it).decisions if decision.pass_name == by]


def show_rules(made: Made, fates: Fates) -> str:
    """Return a table of what the log says first of each rewrite that the simplifier had a part in, HTML."""
    header = ["rewrite", "from the log of", "for", "rule", "what it did"]
    return markdown.cards(header, _list_simplified(made, fates))


def _list_simplified(made: Made, fates: Fates) -> Iterator[Sequence[str]]:
    for name, (program, _, _) in rewrites.REWRITES.items():
        for kind, it in ((each, it) for each in KINDS for it in made[program][each].values()):
            if fates[name][kind][it.target].by not in {_SIMPLIFIER, "constant_folding"}:
                continue
            done = next(decision for decision in list_decisions(it) if decision.verdict == "done")
            rule = next((rule.rule for rule in list_rules(it) if rule.decision == done), "")
            named = markdown.code(rule) or "none is named"
            yield markdown.code(name), title(it.target), kind, named, markdown.escape(done.sentence)
            break


def show_runs(captures: Captures, names: Sequence[str]) -> str:
    """Return a table of how often passes run on each target."""
    rows = [
        (markdown.code(name), *(sum(run.name == name for run in it.runs) for it in captures.values())) for name in names
    ]
    return markdown.table(["runs of", *map(title, captures)], rows, numbers=range(1, len(captures) + 1))


def show_results(values: np.ndarray, results: Mapping[str, np.ndarray]) -> str:
    """Return a table of the results of programs for some values."""
    rows = [(f"`{x}`", *(f"`{result[i]}`" for result in results.values())) for i, x in enumerate(values)]
    return markdown.table(["x", *map(markdown.code, results)], rows)


def list_later_pipelines(it: Capture) -> list[str]:
    """Return the pipeline of each run of `algsimp` after the first of `cse`."""
    first = [run.name for run in it.runs].index("cse")
    return [run.pipeline for run in it.runs[first:] if run.name == _SIMPLIFIER]


def list_late_rewrites(made: Made, target: str, last: str) -> list[str]:
    """Return the rewrites on a target that are not made before the first run of a pass."""
    late = []
    for name, (program, _, _) in rewrites.REWRITES.items():
        for kind in KINDS:
            fate = follow(made, name, kind, target)
            ran = [(run.pipeline, run.name) for run in made[program][kind][target].runs]
            place = [run for _, run in ran].index(last)
            by = (fate.pipeline, fate.by)
            if by in ran[place:] or (fate.step is not None and by not in ran[:place]):
                late.append(f"{name} in {kind}")
    return late


def show_root(it: Capture) -> str:
    """Return the lines that hold GELU's root of two: in StableHLO, after import, and after the pass that inverts it."""
    stablehlo = next(line.strip() for line in it.stablehlo.splitlines() if "sqrt" in line)
    folded = next(step for step in it.passes if "divide" not in step.module.opcode_counts())
    parts = [markdown.fence(stablehlo, "stablehlo", title="in StableHLO")]
    for module, literal, stage in (
        (it.unoptimized_module, "1.41421354", "after import"),
        (folded.module, "0.707106769", f"after {folded.name}"),
    ):
        constant = next(instruction for instruction in module.walk() if instruction.literal == literal)
        parts.append(markdown.fence(print_instruction(constant, layouts=False), "hlo", title=stage))
    return "\n".join(parts)


def list_remaining(name: str, it: Capture) -> list[str]:
    """Return the operations that are left of a value that no argument decides."""
    needed = Counter({known_inputs.CASES[name][2]: 1})
    return sorted(set(it.module.opcode_counts() - needed) - known_inputs.IDLE)


def show_remaining(known: Mapping[str, Captures]) -> str:
    """Return a table of the operations that are left of values that no argument decides, HTML."""
    rows = [
        (
            markdown.code(known_inputs.CASES[name][1]),
            *(", ".join(map(markdown.code, list_remaining(name, it))) or "nothing" for it in captures.values()),
        )
        for name, captures in known.items()
    ]
    targets = next(iter(known.values()))
    return markdown.cards(["program", *(f"left on the {title(target)}" for target in targets)], rows)


def show_halves(fates: Fates, half: Mapping[str, Fate]) -> str:
    """Return a table of what removes operations on the CPU, by element type, for some rewrites."""
    rows = [
        (markdown.code(name), *(markdown.code(fate.by) or "kept" for fate in (*_list_kinds(fates[name]), half[name])))
        for name in half
    ]
    return markdown.table(["rewrite", *KINDS, "bfloat16"], rows)


def _list_kinds(kinds: Mapping[str, Mapping[str, Fate]]) -> list[Fate]:
    return [kinds[kind]["cpu"] for kind in KINDS]
