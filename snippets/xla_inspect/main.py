"""The whole practice: all phases in turn, or the marking of the reader's exercises."""

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
The practice: five phases in which you inspect what a compiler makes of your program, on this CPU or for hardware that
is not here. Without --check it shows all phases in turn; each is also a command of its own:

{commands}

With --check it compiles what you wrote into the files of the exercises, and marks it by what the compiler says;
with --watch it does so each time you save a file. What is done is kept in .practice/ of the project.
It ends with 0 where all is right, 1 where something is wrong, and 3 where something is not written yet."""

COMMANDS = {
    "basics": "basics",
    "jaxpr": "jaxpr_demo",
    "hlo": "hlo_dump",
    "optimization": "optimization_compare",
    "transforms": "jaxpr_demo --phase 5",
}
"""Which command shows each phase."""


ASKED = {
    "--watch": "mark the exercises each time you save one, and go on with the next; Ctrl-C ends",
    "--hint": "show a hint for an exercise, and one more each time; without a name, for the next one to do",
    "--solution": "show a solution of an exercise",
}
"""What may be asked of the exercises, and what each does."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    return command.show_and_exit(build_parser(), show, arguments)


def build_parser() -> argparse.ArgumentParser:
    """Return the parser, whose help also says how to set XLA's flags and how to use a GPU."""
    listed = "\n".join(
        f"  python -m xla_inspect.{COMMANDS[phase.name]:<22} phase {phase.number}: {phase.title}, {phase.minutes} min"
        for phase in PHASES.values()
    )
    parser = command.build_parser("main", DESCRIPTION.format(commands=listed))
    parser.add_argument(
        "--check",
        nargs="?",
        const=ALL,
        metavar="NAME",
        help=f"mark your exercises: all of them, those of one of {', '.join(CHECKED)}, or one, such as "
        f"{EXERCISES[0].key} or its file",
    )
    for option, said in ASKED.items():
        parser.add_argument(option, nargs="?", const=ALL, metavar="NAME", help=said)
    parser.add_argument("--list", action="store_true", help="list the exercises, and say which are right")
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
            "NO_COLOR=1 prints without colour, and so does a pipe.",
        )
    )
    return parser


def show(paper: Paper, options: argparse.Namespace) -> int:
    """Mark exercises where that was asked for, else print all phases in turn."""
    folder = options.exercises
    if options.check:
        flags.check()
        return run_marking((options.check,), folder)
    if options.watch:
        flags.check()
        return watch(options.watch, folder, paper)
    if options.list:
        list_exercises(paper, folder)
        return command.DONE
    if asked := options.hint or options.solution:
        (show_hint if options.hint else show_solution)(paper, asked, folder)
        return command.DONE
    # Before the first phase, not after it.
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
    """Wait for the reader before the next phase, where there is one."""
    phase = PHASES[name]
    command.ask_reader(paper, f"Press Enter for phase {phase.number}, {phase.title}; Ctrl-C ends.")


if __name__ == "__main__":
    sys.exit(main())
