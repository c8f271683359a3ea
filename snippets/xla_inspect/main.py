"""The command of the whole practice: show all phases in order, or mark the user's exercises."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from xla_inspect import basics, hlo_dump, jaxpr_demo, optimization_compare
from xla_inspect.practice import (
    ALL,
    CHECKED,
    EXERCISES,
    FOLDER,
    PHASES,
    command,
    flags,
    list_exercises,
    name_file,
    require,
    run_marking,
    show_hint,
    show_solution,
    watch,
)

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from xla_inspect.practice import Paper

DESCRIPTION = """\
The practice has five phases in which you inspect the compiled form of programs, for this CPU or for hardware that this
machine does not have. By default, the command shows all phases in order. Each phase also has its own command:

{commands}

With --check, it compiles your solutions in the exercise files and marks them by the compiler's output. With --watch, it
does so each time you save a file. Your progress is saved in .practice/ of the project.
The exit status is 0 if all answers are right, 1 if an answer is wrong, and 3 if an answer is missing."""

COMMANDS = {
    "basics": "basics",
    "jaxpr": "jaxpr_demo",
    "hlo": "hlo_dump",
    "optimization": "optimization_compare",
    "transforms": "jaxpr_demo --phase 5",
}
"""The command of each phase."""


ASKED = {
    "--watch": "mark an exercise each time you save it, and continue with the next one; Ctrl-C ends",
    "--hint": "show the next hint for an exercise; without a name, for the first unsolved exercise",
    "--solution": "show a solution of an exercise",
}
"""The options for exercises, with their help texts."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command that prints all phases or marks exercises, and return its exit status."""
    return command.show_and_exit(build_parser(), show, arguments)


def build_parser() -> argparse.ArgumentParser:
    """Return the command's argument parser. Its help also explains how to set XLA's flags and how to use a GPU."""
    commands = "\n".join(
        f"  python -m xla_inspect.{COMMANDS[phase.name]:<22} phase {phase.number}: {phase.title}, {phase.minutes} min"
        for phase in PHASES.values()
    )
    parser = command.build_parser("main", DESCRIPTION.format(commands=commands))
    parser.add_argument(
        "--check",
        nargs="*",
        metavar="NAME",
        help=f"mark your exercises: all of them, or those of the named phases ({', '.join(CHECKED)}) and exercises, "
        f"such as {EXERCISES[0].key} or its file",
    )
    for option, text in ASKED.items():
        parser.add_argument(option, nargs="?", const=ALL, metavar="NAME", help=text)
    parser.add_argument("--list", action="store_true", help="list the exercises and their results")
    parser.add_argument(
        "--exercises",
        type=Path,
        metavar="DIR",
        help=f"the folder of the exercises (default: {name_file(FOLDER)})",
    )
    parser.epilog = "\n\n".join(
        (
            "SETTING XLA'S FLAGS",
            command.plain(command.read_text("flags")),
            "ON A MACHINE WITH AN NVIDIA GPU",
            command.plain(command.read_text("gpu")),
            "Output has no colors if NO_COLOR=1 is set, or if it goes to a pipe.",
        )
    )
    return parser


def show(paper: Paper, options: argparse.Namespace) -> int:
    """Mark or list exercises, or show a hint or solution, if an option requests it; otherwise print all phases.

    Returns:
        The exit status.
    """
    folder = options.exercises
    if options.check is not None:
        flags.check()
        return run_marking(options.check, folder)
    if options.watch:
        flags.check()
        return watch(options.watch, folder, paper)
    if options.list:
        list_exercises(paper, folder)
        return command.DONE
    if key := options.hint or options.solution:
        (show_hint if options.hint else show_solution)(paper, key, folder)
        return command.DONE
    # A missing compiler is reported before the first phase, which would otherwise run for nothing.
    require(options.target)
    basics.show(paper, options)
    _pause(paper, "jaxpr")
    jaxpr_demo.show_jaxpr(paper)
    _pause(paper, "hlo")
    hlo_dump.show(paper, options)
    _pause(paper, "optimization")
    optimization_compare.show(paper, options)
    _pause(paper, "transforms")
    jaxpr_demo.show_transforms(paper, options.target)
    return command.DONE


def _pause(paper: Paper, name: str) -> None:
    """Wait until the user presses Enter for the next phase; outside of a terminal, do not wait."""
    phase = PHASES[name]
    command.ask_reader(paper, f"Press Enter for phase {phase.number}, {phase.title}; Ctrl-C ends.")


if __name__ == "__main__":
    sys.exit(main())
