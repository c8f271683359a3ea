"""Functions that compile programs for textbook rewrites, and show the rewrites' outcomes and the simplifier's rules."""

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

    type Programs = Mapping[str, Mapping[str, Captures]]
    type Fates = Mapping[str, Mapping[str, Mapping[str, Fate]]]

KINDS = ("float32", "int32")
"""The element types for which each program is compiled."""
_SIMPLIFIER = "algsimp"
_EARLY = {"Python", "JAX", "import"}


def compile_rewrites() -> dict[str, dict[str, Captures]]:
    """Compile the programs of all rewrites with the compilers' logs; return captures by program and element type."""
    # Several rewrites share a program, which is compiled once.
    programs = dict.fromkeys(program for program, _, _ in rewrites.REWRITES.values())
    return {program: {kind: _compile_typed(program, kind) for kind in KINDS} for program in programs}


def _compile_typed(program: str, kind: str) -> Captures:
    function, example = rewrites.typed(program, kind)
    return capture_all(function, *example, reasons=True)


def find_fates(programs: Programs) -> dict[str, dict[str, dict[str, Fate]]]:
    """Return the outcome of each rewrite, whether and where it happened, by name, element type and target."""
    return {
        name: {
            kind: {target: follow(programs, name, kind, target) for target in captures}
            for kind, captures in programs[program].items()
        }
        for name, (program, _, _) in rewrites.REWRITES.items()
    }


def follow(programs: Programs, name: str, kind: str, target: str) -> Fate:
    """Return the outcome of one rewrite on one target.

    Raises:
        TargetUnavailableError: This machine cannot compile for the target.
    """
    program, opcodes, remaining = rewrites.REWRITES[name]
    return find_fate(programs[program][kind][target], opcodes, remaining)


def count_early(fates: Fates, kind: str) -> int:
    """Return the number of rewrites that every target makes before the first pass runs, in one element type."""
    return sum({fate.by for fate in kinds[kind].values()} <= _EARLY for kinds in fates.values())


def compile_fate(name: str, kind: str, *, fast_math: bool = False) -> Fate:
    """Compile a rewrite's program for the CPU and an element type, optionally with fast math; return the outcome."""
    program, opcodes, remaining = rewrites.REWRITES[name]
    function, example = rewrites.typed(program, kind)
    options = {"xla_cpu_enable_fast_math": True} if fast_math else {}
    return find_fate(capture(function, *example, options=options), opcodes, remaining)


def list_rules(it: Capture) -> list[AppliedRule]:
    """Return the algebraic simplifier's logged replacements, each with its rule if the log names one."""
    return [rule for rule in find_rules(read_reasons(it).decisions) if rule.decision.pass_name == _SIMPLIFIER]


def list_tried(it: Capture, instruction: str) -> list[str]:
    """Return the rules that the simplifier tried on an instruction, in its own notation and without duplicates."""
    decisions = read_reasons(it).about(instruction)
    return list(dict.fromkeys(decision.words for decision in decisions if decision.kind.startswith("rule-tried")))


def find_decision(it: Capture, *kinds: str) -> Decision:
    """Return the first logged decision of any of the given kinds; raise StopIteration if there is none."""
    return next(decision for decision in read_reasons(it).decisions if decision.kind in kinds)


def list_decisions(it: Capture, by: str = _SIMPLIFIER) -> list[Decision]:
    """Return the logged decisions of the pass `by`, the algebraic simplifier by default."""
    return [decision for decision in read_reasons(it).decisions if decision.pass_name == by]


def show_rules(programs: Programs, fates: Fates) -> str:
    """Return an HTML table of the first log entry for each rewrite that involved the simplifier."""
    header = ["rewrite", "compiler", "element type", "rule", "change"]
    return markdown.cards(header, _list_simplified(programs, fates))


def _list_simplified(programs: Programs, fates: Fates) -> Iterator[Sequence[str]]:
    for name, (program, _, _) in rewrites.REWRITES.items():
        for kind, it in (
            (element_type, it) for element_type in KINDS for it in programs[program][element_type].values()
        ):
            if fates[name][kind][it.target].by not in {_SIMPLIFIER, "constant_folding"}:
                continue
            replacement = next(decision for decision in list_decisions(it) if decision.verdict == "done")
            rule = next((rule.rule for rule in list_rules(it) if rule.decision == replacement), "")
            rule_name = markdown.code(rule) or "not named"
            yield markdown.code(name), title(it.target), kind, rule_name, markdown.escape(replacement.sentence)
            # One example per rewrite is enough for the table.
            break


def show_runs(captures: Captures, names: Sequence[str]) -> str:
    """Return a Markdown table with the number of runs of each named pass, by target."""
    rows = [
        (markdown.code(name), *(sum(run.name == name for run in it.runs) for it in captures.values())) for name in names
    ]
    return markdown.table(["pass", *map(title, captures)], rows, numbers=range(1, len(captures) + 1))


def show_results(values: np.ndarray, results: Mapping[str, np.ndarray]) -> str:
    """Return a Markdown table with a row for each value and a column for the given results of each program."""
    rows = [(f"`{x}`", *(f"`{result[i]}`" for result in results.values())) for i, x in enumerate(values)]
    return markdown.table(["x", *map(markdown.code, results)], rows)


def list_later_pipelines(it: Capture) -> list[str]:
    """Return the pipeline of each `algsimp` run after the first `cse` run."""
    first = [run.name for run in it.runs].index("cse")
    return [run.pipeline for run in it.runs[first:] if run.name == _SIMPLIFIER]


def list_late_rewrites(programs: Programs, target: str, last: str) -> list[str]:
    """Return as `NAME in TYPE` the rewrites not certainly made before the first run of the pass `last` on a target."""
    late = []
    for name, (program, _, _) in rewrites.REWRITES.items():
        for kind in KINDS:
            fate = follow(programs, name, kind, target)
            ran = [(run.pipeline, run.name) for run in programs[program][kind][target].runs]
            place = [run for _, run in ran].index(last)
            by = (fate.pipeline, fate.by)
            # A pass that also runs later may have made the rewrite there, so it counts as late.
            if by in ran[place:] or (fate.step is not None and by not in ran[:place]):
                late.append(f"{name} in {kind}")
    return late


def show_root(it: Capture) -> str:
    """Return listings of GELU's square root of two in StableHLO, after the import, and after its inversion."""
    stablehlo = next(line.strip() for line in it.stablehlo.splitlines() if "sqrt" in line)
    inversion = next(step for step in it.passes if "divide" not in step.module.opcode_counts())
    parts = [markdown.fence(stablehlo, "stablehlo", title="in StableHLO")]
    # These literals are the square root of two and its inverse, as XLA prints them in float32.
    for module, literal, stage in (
        (it.unoptimized_module, "1.41421354", "after the import"),
        (inversion.module, "0.707106769", f"after {inversion.name}"),
    ):
        constant = next(instruction for instruction in module.walk() if instruction.literal == literal)
        parts.append(markdown.fence(print_instruction(constant, layouts=False), "hlo", title=stage))
    return "\n".join(parts)


def list_remaining(name: str, it: Capture) -> list[str]:
    """Return the opcodes that remain in a case of `known_inputs` to compute a value that no argument affects."""
    # The operation that needs the argument is not a part of the known value.
    necessary = Counter({known_inputs.CASES[name][2]: 1})
    return sorted(set(it.module.opcode_counts() - necessary) - known_inputs.IDLE)


def show_remaining(captures_by_name: Mapping[str, Captures]) -> str:
    """Return an HTML table of the result of `list_remaining` by program and target."""
    rows = [
        (
            markdown.code(known_inputs.CASES[name][1]),
            *(", ".join(map(markdown.code, list_remaining(name, it))) or "nothing" for it in captures.values()),
        )
        for name, captures in captures_by_name.items()
    ]
    targets = next(iter(captures_by_name.values()))
    return markdown.cards(["program", *(f"remaining on the {title(target)}" for target in targets)], rows)


def show_halves(fates: Fates, half: Mapping[str, Fate]) -> str:
    """Return a Markdown table of the passes that make the rewrites in `half` on the CPU, or `kept`, by element type."""
    rows = [
        (markdown.code(name), *(markdown.code(fate.by) or "kept" for fate in (*_list_kinds(fates[name]), half[name])))
        for name in half
    ]
    return markdown.table(["rewrite", *KINDS, "bfloat16"], rows)


def _list_kinds(kinds: Mapping[str, Mapping[str, Fate]]) -> list[Fate]:
    return [kinds[kind]["cpu"] for kind in KINDS]
