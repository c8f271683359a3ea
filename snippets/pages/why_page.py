"""Tables and pictures of the chapter on compiler decisions: kernels, layouts, copies and collectives."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from chapters import draw_boundaries, list_kernels_of_lines
from programs import remember
from xla_inspect import capture_all
from xla_inspect.analysis import list_kernels
from xla_inspect.analysis.reasons import find_rules
from xla_inspect.report import Box, draw_boxes, markdown, title

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from xla_inspect import Capture, Captures
    from xla_inspect.analysis.reasons import Decision, Reasons

STANDARDIZED = ("mean = ", "std = ", "z = (y")
"""The beginnings of the lines that standardize rows in `programs.remember`."""
_LINES = {
    "y = x @ w": ("y = x @ w",),
    "mean, std, z": STANDARDIZED,
    "z / 16": ("z = z / 16",),
    "table.at[slot].set": ("table = table",),
    "z @ z.T": ("alike = ",),
}


def compile_step(function: Callable[..., Any], **options: Any) -> Captures:  # noqa: ANN401 - the options of `capture_all`
    """Compile the step of `programs.remember`, or a changed version of it, for the usual targets."""
    return capture_all(function, *remember.EXAMPLE, **options)


def list_standardizing(program: Capture) -> tuple[str, ...]:
    """Return the names of the kernels that compute a part of the lines of `STANDARDIZED`."""
    return tuple(list_kernels_of_lines(program, *STANDARDIZED))


def show_lines(captures: Captures) -> str:
    """Return a table of the number of kernels that compute part of each line, and a folded table of their names."""
    holders = {
        text: [list_kernels_of_lines(program, *texts) for program in captures.values()]
        for text, texts in _LINES.items()
    }
    targets = [*map(title, captures)]
    table = markdown.table(
        ["line", *(f"kernels on {target}" for target in targets)],
        [(markdown.code(text), *(str(len(names)) for names in kernels)) for text, kernels in holders.items()],
        numbers=range(1, len(targets) + 1),
    )
    cards = markdown.cards(
        ["line", *targets],
        [
            (markdown.code(text), *("<br>".join(map(markdown.code, names)) for names in kernels))
            for text, kernels in holders.items()
        ],
    )
    return f"{table}\n{markdown.fold('The names of the kernels', cards)}"


def name_matmul(program: Capture) -> str:
    """Return the name of the library function or kernel that computes the line `y = x @ w`."""
    name = list_kernels_of_lines(program, "y = x @ w")[0]
    kernel = next(kernel for kernel in list_kernels(program) if kernel.name == name)
    # The value of the attribute includes its quotes.
    return kernel.instruction.attributes.get("custom_call_target", "").strip('"') or name


def show_choices(before: Captures, after: Captures, options: Mapping[str, Mapping[str, object]]) -> str:
    """Return an HTML table of the kernel of `x @ w` without and with one compiler option on each target."""
    rows = [
        (
            title(target),
            markdown.code("=".join(map(str, next(iter(options[target].items()))))),
            markdown.code(name_matmul(before[target])),
            markdown.code(name_matmul(program)),
        )
        for target, program in after.items()
    ]
    return markdown.cards(["target", "option", "kernel of x @ w", "kernel with the option"], rows)


def draw_kernels(program: Capture) -> str:
    """Return a picture of the kernels from the matmul to `z`, without those that write a result, as HTML."""
    left_out = {*list_kernels_of_lines(program, "table = "), *list_kernels_of_lines(program, "return table")}
    names = [
        name
        for name in dict.fromkeys((*list_kernels_of_lines(program, "y = x @ w"), *list_standardizing(program)))
        # The picture shows only instructions of ENTRY, so a kernel inside a loop has no box.
        if name not in left_out and name in program.module.entry.by_name
    ]
    kernels = f"The kernels from x @ w to z on {title(program.target)}"
    return draw_boundaries(
        program,
        names,
        f"{kernels}; below each is the reason why its first reader is separate, or the pass that created it.",
    )


def list_transposed(reasons: Reasons, target: str) -> list[Decision]:
    """Return a list of the first logged decision about a transpose's layout, or an empty list."""
    kind = "layout-set" if target == "h100" else "layout-kept"
    return [
        decision
        for decision in reasons.of("layout")
        if decision.kind == kind and decision.instruction.startswith("transpose")
    ][:1]


def follow_layout(reasons: Reasons, name: str) -> list[Decision]:
    """Return the chain of logged layout requests that ends at the instruction `name`, from the first request on.

    Raises:
        KeyError: No logged decision sets the layout of the instruction.
    """
    # In reversed order, the first decision about an instruction replaces the later ones.
    requests = {
        decision.instruction: decision for decision in reversed(reasons.of("layout")) if decision.kind == "layout-set"
    }
    steps = [requests[name]]
    # Two instructions may request layouts from each other, so the length of the chain is bounded.
    while steps[-1].others and steps[-1].others[0] in requests and len(steps) < len(requests):
        steps.append(requests[steps[-1].others[0]])
    return steps[::-1]


def name_layout(step: Decision) -> str:
    """Return the first layout in the sentence of a decision, such as `{1,0}`."""
    return str(re.findall(r"\{[\d,]*\}", step.sentence)[0])


def draw_layouts(steps: Sequence[Decision]) -> str:
    """Return a picture of the requests for layouts, from the returned transpose to the matmul, as HTML."""
    returned = Box(
        "other",
        is_result=True,
        lines=(("z.T, a result", ()),),
        labels=(("{1,0}", "{1,0}"),),
        tooltip="a result of the program",
    )
    instructions = [
        Box(
            "other",
            is_result=False,
            lines=((step.instruction, ()),),
            labels=((name_layout(step), name_layout(step)),),
            tooltip=step.sentence,
        )
        for step in steps
    ]
    caption = (
        "The chain of layout requests on the H100, from the result z.T back to the matmul x @ w. "
        "Below each box is its requested layout."
    )
    return draw_boxes([returned, *instructions], [(number, number + 1) for number in range(len(steps))], caption)


def show_rules(reasons: Mapping[str, Reasons]) -> str:
    """Return an HTML table of the logged replacements with a known simplification rule, each once per target."""
    rows = []
    for target, of_target in reasons.items():
        # A pass that runs again may log the same replacement again.
        rules = {(rule.rule, rule.decision.instruction): rule for rule in find_rules(of_target.decisions) if rule.rule}
        for rule in rules.values():
            parts = (rule.rule, rule.decision.instruction, rule.decision.words)
            rows.append((title(target), *map(markdown.code, parts)))
    return markdown.cards(["target", "rule", "instruction", "replacement"], rows)


def count_copied(program: Capture) -> int:
    """Return the total bytes of the copies of the table in the ENTRY computation."""
    table = remember.EXAMPLE[0].shape
    return sum(
        copy.shape.bytes for copy in program.module.entry if copy.opcode == "copy" and copy.shape.dimensions == table
    )


def show_copied(captures: Captures, donated: Captures) -> str:
    """Return a Markdown table of the copied and aliased bytes by target, without and with donation of the table."""
    rows = []
    for target, program in captures.items():
        other = donated[target]
        sizes = (count_copied(program), count_copied(other), program.memory.aliased, other.memory.aliased)
        rows.append((title(target), *map(markdown.size, sizes)))
    return markdown.table(
        ["target", "copied", "copied with donation", "aliased", "aliased with donation"], rows, numbers=range(1, 5)
    )


def count_collective(program: Capture, name: str = "all-gather") -> int:
    """Return the number of collectives of a kind in a program, including asynchronous ones."""
    counts = program.module.opcode_counts()
    # An asynchronous collective consists of two instructions, of which only the start is counted.
    return counts[name] + counts[f"{name}-start"]


def list_gathers(reasons: Reasons, *kinds: str) -> list[Decision]:
    """Return the logged sharding decisions of some kinds that involve an all-gather."""
    return [
        decision
        for decision in reasons.of("sharding")
        if decision.kind in kinds
        and any(name.startswith("all-gather") for name in (decision.instruction, *decision.others))
    ]


def describe_exchanged(program: Capture) -> str:
    """Return the numbers of a program's all-gathers and all-reduces as HTML, or `nothing`."""
    numbers = {name: count_collective(program, name) for name in ("all-gather", "all-reduce")}
    return ", ".join(f"{number} {markdown.code(name)}" for name, number in numbers.items() if number) or "nothing"


def show_decisions(captures: Captures, reasons: Mapping[str, Reasons]) -> str:
    """Return a Markdown table of the number of decisions in each log by topic, and why some topics are missing.

    Args:
        captures: The captures of each target, with their logs.
        reasons: The decisions of each capture, and of other captures, whose topics are rows as well.
    """
    examples = {decision.topic: decision for log in reasons.values() for decision in log.decisions}
    logs = (markdown.size(sum(len(event.text.encode()) for event in program.log)) for program in captures.values())
    table = markdown.table(
        ["topic of the decisions", *map(title, captures)],
        [
            *(
                (topic, *(_count_topic(reasons[target], example) for target in captures))
                for topic, example in examples.items()
            ),
            ("lines of the log with a known meaning", *(f"{reasons[target].share:.0%}" for target in captures)),
            ("size of the log", *logs),
        ],
        numbers=range(1, 4),
    )
    silent = [
        f"* **{title(target)}**, {topic}: {why}" for target in captures for topic, why in reasons[target].silent.items()
    ]
    return "\n".join([table, markdown.fold("The topics that a compiler does not log", "\n".join(silent))])


def _count_topic(reasons: Reasons, example: Decision) -> str:
    """Return the number of logged decisions on the topic of an example as text, or `not logged`."""
    number = len(reasons.of(example.topic))
    return f"{number:,}" if number else "not logged" if example.topic in reasons.silent else "0"
