"""The subcommands of `xla-inspect` by name, in groups, and their exit statuses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xla_inspect.questions import QUESTIONS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

OTHERS: Mapping[str, str] = {
    "doctor": "list the available compilers, packages to install, and version conflicts",
    "check": "check programs against their budgets, and report if you or the compiler broke one",
    "read": "list the modules of an XLA dump, which other commands accept as subjects",
    "diff": "compare two subjects, or one subject with another commit, target or options; --numbers runs both",
    "since": "find the JAX release that changed a program, with the pass and the line",
    "show": "print one stage, from the jaxpr to machine code",
    "report": "write an HTML file to step through the passes",
    "play": "serve a local page to edit a function and see the compiled code",
    "targets": "list the targets, and the reasons why some are unavailable",
}
"""The subcommands that are not questions. The module of each has `run_command(options, out)`, which returns the exit
status; `command_arguments` has its options."""

GROUPS: Mapping[str, Sequence[str]] = {
    "questions about a program": (*QUESTIONS,),
    "two programs, commits or releases": ("diff", "since", "check"),
    "everything about one program": ("show", "report", "play"),
    "a dump, and this machine": ("read", "doctor", "targets"),
}
"""The subcommands in the groups of the main help."""

APART = frozenset({"diff", "since"})
"""The subcommands that run the user's code in several processes and start these processes themselves."""

OK, NO, BAD_INPUT, MISSING, CHANGED = range(5)
"""Exit statuses: success; a negative answer; an error in the command line or in the user's code; an unavailable
target; a budget that a new version of the compiler broke."""
EXITS = """\
exit status: 0 success; 1 negative answer, such as a program that does not fit; 2 error in the command line or in your
code; 3 a target is unavailable on this machine; 4 (check only) a new compiler version broke a budget"""


def list_questions() -> dict[str, str]:
    """Return the description of each subcommand by its name, the questions first."""
    return {name: question.text for name, question in QUESTIONS.items()} | {**OTHERS}
