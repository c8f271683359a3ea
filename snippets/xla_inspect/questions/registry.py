"""The table of all questions, from which the subcommands, the panels of a dump and the list in the docs are made."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

from xla_inspect.lazy_names import lazy_names

if TYPE_CHECKING:
    from collections.abc import Mapping

    from xla_inspect.questions import collectives, kernels, memory, passes, recompiles, summary, why  # noqa: F401 - `load_part` finds them here


@dataclass(frozen=True, slots=True)
class Question:
    """A question as commands and pages list it.

    Attributes:
        text: The subject of its answer, in a line of the help.
        needs: The fields of a capture that the answer depends on, of which a dump may lack some.
        panel: The title of its panel on the page that opens a dump, or an empty string where that has none.
    """

    text: str
    needs: tuple[str, ...] = ()
    panel: str = ""


QUESTIONS: Mapping[str, Question] = {
    "summary": Question(
        "the targets side by side: kernels, memory, collectives, and what to ask next",
        ("after", "buffers", "files"),
        "Summary",
    ),
    "memory": Question(
        "whether it fits, and what takes the memory of a device, by line, also where the compile fails",
        ("after", "buffers", "live_ranges", "files"),
        "Memory at the peak",
    ),
    "collectives": Question(
        "what devices send each other: by line, bytes, axis of the mesh, overlap, and who asked for it",
        ("after", "files"),
        "Collectives",
    ),
    "kernels": Question(
        "each launch: its line, what is fused, its work and least time; with --trace, what a profile measured",
        ("after", "thunks", "files"),
        "Kernels",
    ),
    "why": Question(
        "why the compiler did that: two kernels, a copy, a layout, a collective; in its own words, and what helps",
        ("before", "after", "passes", "log", "files"),
    ),
    "recompiles": Question(
        "of a script, `run SCRIPT.py ARGS`: what is compiled, how long it takes, and why again",
    ),
    "passes": Question(
        "where the time of a compile goes, pass by pass, and which part of the program makes the work",
        ("before", "passes", "runs", "times", "files"),
    ),
}
"""The questions by name, in the order in which the help lists them; each is a package of that name in this folder."""

_find_package = lazy_names(__name__)


def load_part(question: str, part: Literal["options", "finding"]) -> Any:  # noqa: ANN401 - a module
    """Return one of the modules that the package of each question has.

    Args:
        question: One of `QUESTIONS`.
        part: `options` has `ask(subject, targets, options)`, which yields answers. It may have `add_arguments(parser)`,
            for options of its own; `USUAL`, other targets than those that are usual where none is named; and
            `take_names(options)`, where words behind the subject are no second subject. `finding` of a question with a
            panel has `answer_dump(capture, asked)`.
    """
    package: Any = _find_package(question)
    return import_module(f"{package.__name__}.{part}")
