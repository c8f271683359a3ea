"""The table of the main questions, from which the subcommands, a dump page's panels and the docs' list are built."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

from xla_inspect.lazy_names import lazy_names

if TYPE_CHECKING:
    from collections.abc import Mapping

    from xla_inspect.questions import (  # noqa: F401 - `load_part` finds them here
        collectives,
        kernels,
        memory,
        numbers,
        passes,
        plan,
        recompiles,
        summary,
        time,
        why,
    )


@dataclass(frozen=True, slots=True)
class Question:
    """The entry of a question in the list of subcommands and on pages; its code is in the package of its name.

    Attributes:
        text: The subject of its answer, as the line that the command's help prints.
        needs: The fields of a capture that the answer depends on. A dump may lack some of them.
        panel: The title of its panel on the page that opens a dump, or an empty string if the question has no panel.
    """

    text: str
    needs: tuple[str, ...] = ()
    panel: str = ""


QUESTIONS: Mapping[str, Question] = {
    "summary": Question(
        "compare the targets: kernels, memory, collectives, and the commands to try next",
        ("after", "buffers", "files"),
        "Summary",
    ),
    "memory": Question(
        "memory use by line of Python, and whether the program fits, even if its compilation fails",
        ("after", "buffers", "live_ranges", "files"),
        "Memory at the peak",
    ),
    "collectives": Question(
        "data that devices send each other: line, bytes, mesh axis, overlap, and who asked for it",
        ("after", "files"),
        "Collectives",
    ),
    "kernels": Question(
        "each launch: its line, fused operations, work and estimated time; with --trace, its measured time",
        ("after", "thunks", "files"),
        "Kernels",
    ),
    "time": Question(
        "estimated time of a step before it runs, with a range, by line of Python and by kind of work",
        ("before", "after", "code", "files"),
        "Time",
    ),
    "numbers": Question(
        "the pass that changed a result, found by running the program after each pass on this CPU",
        ("before", "after", "passes", "files"),
    ),
    "plan": Question(
        "search for a faster step that fits into memory, by mesh, specs, checkpoints, microbatches and donation",
    ),
    "why": Question(
        "why the compiler made two kernels, a copy, a layout or a collective, and what would change it",
        ("before", "after", "passes", "log", "files"),
    ),
    "recompiles": Question(
        "run a script (`run SCRIPT.py ARGS`) and list its compilations, their times, and the causes of recompiles",
    ),
    "passes": Question(
        "compile time by pass, and the parts of the program that cause the work",
        ("before", "passes", "runs", "times", "files"),
    ),
}
"""The questions by name, in the order in which the help lists them; each is a package of that name in this folder."""

_find_package = lazy_names(__name__)


def load_part(question: str, part: Literal["options", "finding"]) -> Any:  # noqa: ANN401 - a module
    """Import and return the module `options` or `finding` of a question's package.

    Args:
        question: One of `QUESTIONS`.
        part: `options` has `ask(subject, targets, options)`, which yields answers. It may also have
            `add_arguments(parser)`, for options of its own; `USUAL`, the question's own default targets; and
            `take_names(options)`, if the words after the subject are not a second subject. `finding` of a question
            with a panel has `answer_dump(capture, command_words)`.
    """
    # Importing only the package of the question keeps the start of the command fast.
    package: Any = _find_package(question)
    return import_module(f"{package.__name__}.{part}")
