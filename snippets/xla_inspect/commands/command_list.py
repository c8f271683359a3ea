"""The subcommands of `xla-inspect` by name, in groups, and their exit statuses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xla_inspect.questions import QUESTIONS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

OTHERS: Mapping[str, str] = {
    "doctor": "what this machine can compile for, what to install, and what does not go together",
    "check": "hold the programs of a file against their budgets, and tell whether you or the compiler broke one",
    "read": "what a dump holds that XLA wrote, perhaps elsewhere: its modules, each of which can be asked about",
    "diff": "compare two subjects, or one with an earlier commit, another target or other options: what changed",
    "since": "under the releases of JAX between two: the first that changed it, the pass, and the line",
    "show": "print one stage, from the jaxpr to machine code",
    "report": "write one HTML file in which to step through the passes",
    "play": "serve a page on this machine on which you edit a function and see what the compilers make of it",
    "targets": "list the targets, and what those that cannot be compiled for lack",
}
"""The subcommands that are no questions: the module of each has `run_command(options, out)`, which returns the
exit status, and where it has options `add_arguments(parser)`."""

GROUPS: Mapping[str, Sequence[str]] = {
    "questions about a program": (*QUESTIONS,),
    "two programs, commits or releases": ("diff", "since", "check"),
    "everything about one program": ("show", "report", "play"),
    "a dump, and this machine": ("read", "doctor", "targets"),
}
"""The subcommands as the first screen shows them."""

APART = frozenset({"diff", "since"})
"""Those that run the reader's code in several processes, and start each themselves."""

OK, NO, BAD_INPUT, MISSING, CHANGED = range(5)
"""Exit statuses: it is shown or holds; the answer is no; something is wrong with what was asked; no such compiler; a
budget is broken by another compiler than the one that it was recorded under."""
EXITS = """\
exit status: 0 shown, or it holds; 1 the answer is no, such as that a program does not fit; 2 something is wrong with
what was asked, or with the code; 3 a target cannot be compiled for here; 4 of check: another compiler broke a budget"""


def list_questions() -> dict[str, str]:
    """Return each subcommand with what it does, the questions first."""
    return {name: question.text for name, question in QUESTIONS.items()} | {**OTHERS}
