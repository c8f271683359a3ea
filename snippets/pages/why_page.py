"""One step that a page asks compilers about: the kernels of its lines, its layouts, its copies and its collectives."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from chapters import draw_boundaries, list_holders
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
"""The lines that standardize rows."""
_LINES = {
    "y = x @ w": ("y = x @ w",),
    "mean, std, z": STANDARDIZED,
    "z / 16": ("z = z / 16",),
    "table.at[slot].set": ("table = table",),
    "z @ z.T": ("alike = ",),
}


def compile_step(function: Callable[..., Any], **changed: Any) -> Captures:  # noqa: ANN401 - what `capture_all` takes
    """Return the step, or a change of it, for each target."""
    return capture_all(function, *remember.EXAMPLE, **changed)


def list_standardizing(it: Capture) -> tuple[str, ...]:
    """Return the kernels that compute a line of the standardization."""
    return tuple(list_holders(it, *STANDARDIZED))


def show_lines(captures: Captures) -> str:
    """Return a table of the kernels that compute a part of each line, counted, and their names folded."""
    holders = {text: [list_holders(it, *texts) for it in captures.values()] for text, texts in _LINES.items()}
    targets = [*map(title, captures)]
    table = markdown.table(
        ["kernels that compute a part of", *targets],
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
    return f"{table}\n{markdown.fold('The kernels by name', cards)}"


def name_matmul(it: Capture) -> str:
    """Return the library's function, or the kernel, that computes the first matmul."""
    name = list_holders(it, "y = x @ w")[0]
    kernel = next(kernel for kernel in list_kernels(it) if kernel.name == name)
    return kernel.instruction.attributes.get("custom_call_target", "").strip('"') or name


def show_choices(before: Captures, after: Captures, options: Mapping[str, Mapping[str, object]]) -> str:
    """Return a table of what computes the first matmul before and after one option is set on each target, HTML."""
    rows = [
        (
            title(target),
            markdown.code("=".join(map(str, next(iter(options[target].items()))))),
            markdown.code(name_matmul(before[target])),
            markdown.code(name_matmul(it)),
        )
        for target, it in after.items()
    ]
    return markdown.cards(["target", "changed", "x @ w before", "x @ w then"], rows)


def draw_kernels(it: Capture) -> str:
    """Return the kernels from the matmul to `z` as a picture, without those that write a result, HTML."""
    left_out = {*list_holders(it, "table = "), *list_holders(it, "return table")}
    names = [
        name
        for name in dict.fromkeys((*list_holders(it, "y = x @ w"), *list_standardizing(it)))
        if name not in left_out and name in it.module.entry.by_name
    ]
    kernels = f"The kernels from x @ w to z on {title(it.target)}"
    return draw_boundaries(it, names, f"{kernels}; below each, why the next one that reads it is another kernel.")


def list_transposed(reasons: Reasons, target: str) -> list[Decision]:
    """Return the first decision on the layout of the transpose that the program returns, or nothing."""
    kind = "layout-set" if target == "h100" else "layout-kept"
    return [
        decision
        for decision in reasons.of("layout")
        if decision.kind == kind and decision.instruction.startswith("transpose")
    ][:1]


def follow_layout(reasons: Reasons, name: str) -> list[Decision]:
    """Return who asked for a layout, from the first to the one for an instruction."""
    asks = {
        decision.instruction: decision for decision in reversed(reasons.of("layout")) if decision.kind == "layout-set"
    }
    steps = [asks[name]]
    while steps[-1].others and steps[-1].others[0] in asks and len(steps) < len(asks):
        steps.append(asks[steps[-1].others[0]])
    return steps[::-1]


def name_layout(step: Decision) -> str:
    """Return the layout in a decision's sentence."""
    return str(re.findall(r"\{[\d,]*\}", step.sentence)[0])


def draw_layouts(steps: Sequence[Decision]) -> str:
    """Return the chain of requests for layouts from the returned transpose to the matmul as a picture, HTML."""
    returned = Box(
        "other",
        is_result=True,
        lines=(("z.T, as it is returned", ()),),
        labels=(("{1,0}", "{1,0}"),),
        tooltip="a result of the program",
    )
    asked = [
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
        "Who asks whom for a layout on the H100: from the result z.T back to the matmul x @ w. "
        "Below each box stands the layout that it is given."
    )
    return draw_boxes([returned, *asked], [(number, number + 1) for number in range(len(steps))], caption)


def show_rules(reasons: Mapping[str, Reasons]) -> str:
    """Return a table of the replacements whose rule is named, each once, by target, HTML."""
    rows = []
    for target, of_target in reasons.items():
        named = {(each.rule, each.decision.instruction): each for each in find_rules(of_target.decisions) if each.rule}
        for rule in named.values():
            parts = (rule.rule, rule.decision.instruction, rule.decision.words)
            rows.append((title(target), *map(markdown.code, parts)))
    return markdown.cards(["target", "rule", "instruction", "became"], rows)


def count_copied(it: Capture) -> int:
    """Return the bytes of the copies of the table in ENTRY."""
    table = remember.EXAMPLE[0].shape
    return sum(copy.shape.bytes for copy in it.module.entry if copy.opcode == "copy" and copy.shape.dimensions == table)


def show_copied(kept: Captures, donated: Captures) -> str:
    """Return a table of the bytes that are copied and aliased, where the table is kept and where it is donated."""
    rows = []
    for target, it in kept.items():
        other = donated[target]
        sizes = (count_copied(it), count_copied(other), it.memory.aliased, other.memory.aliased)
        rows.append((title(target), *map(markdown.size, sizes)))
    return markdown.table(
        ["target", "copied", "copied, donated", "aliased", "aliased, donated"], rows, numbers=range(1, 5)
    )


def count_collective(it: Capture, name: str = "all-gather") -> int:
    """Return how many collectives of a kind a program has, asynchronous ones included."""
    counts = it.module.opcode_counts()
    return counts[name] + counts[f"{name}-start"]


def list_gathers(reasons: Reasons, *kinds: str) -> list[Decision]:
    """Return the decisions of some kinds that an all-gather has a part in."""
    return [
        decision
        for decision in reasons.of("sharding")
        if decision.kind in kinds
        and any(name.startswith("all-gather") for name in (decision.instruction, *decision.others))
    ]


def describe_exchanged(it: Capture) -> str:
    """Return the collectives of a program in words, with code as HTML."""
    numbers = {name: count_collective(it, name) for name in ("all-gather", "all-reduce")}
    return ", ".join(f"{number} {markdown.code(name)}" for name, number in numbers.items() if number) or "nothing"


def show_decisions(captures: Captures, reasons: Mapping[str, Reasons]) -> str:
    """Return a table of the decisions in each log by topic, and a list of why compilers are silent on some.

    Args:
        captures: By target, with reasons.
        reasons: The same as decisions; topics that others of them have are rows too.
    """
    examples = {decision.topic: decision for each in reasons.values() for decision in each.decisions}
    logs = (markdown.size(sum(len(event.text.encode()) for event in it.log)) for it in captures.values())
    table = markdown.table(
        ["decisions on", *map(title, captures)],
        [
            *(
                (topic, *(_count_topic(reasons[target], example) for target in captures))
                for topic, example in examples.items()
            ),
            ("lines of the log that are explained", *(f"{reasons[target].share:.0%}" for target in captures)),
            ("the log", *logs),
        ],
        numbers=range(1, 4),
    )
    silent = [
        f"* **{title(target)}**, {topic}: {why}" for target in captures for topic, why in reasons[target].silent.items()
    ]
    return "\n".join([table, *silent])


def _count_topic(reasons: Reasons, example: Decision) -> str:
    """Return how many decisions a log has on the topic of one."""
    number = len(reasons.of(example.topic))
    return f"{number:,}" if number else "silent" if example.topic in reasons.silent else "0"
