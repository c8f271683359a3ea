"""Phase 4 of the practice: what the compiler changed, which pass did it, and how many kernels are left."""

from __future__ import annotations

import argparse
import inspect
import sys
from typing import TYPE_CHECKING

from xla_inspect.analysis import list_kernels
from xla_inspect.practice import PHASES, Forecast, command, compile_for, require, start_jax, tables
from xla_inspect.targets import title

if TYPE_CHECKING:
    from collections.abc import Sequence

    from xla_inspect.captured import Capture
    from xla_inspect.practice import Paper
    from xla_inspect.targets import Target

PHASE = PHASES["optimization"]

DESCRIPTION = """\
Phase 4 of 5, 20 minutes: a program before and after optimization.

Shows operations by category before and after, the kernels with what is fused in each, which pass did what, and a
summary of the compiler's decisions. Then it is your turn: predict the number of kernels of three new programs."""

WASTE = (
    ("x.T.T", ("transpose",), 0),
    ("x - 0.0", ("subtract",), 1),
    ("... + 0.0", ("add",), 2),
    ("the negative of the negative", ("negate",), 0),
    ("jnp.exp(shifted), a second time", ("exponential",), 1),
)
"""What the program of this phase wastes: in words, the opcodes to count, and how many are left when it is mended."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    parser = command.build_parser("optimization_compare", DESCRIPTION)
    parser.add_argument(
        "--predict",
        type=read_guesses,
        metavar="N,N,N",
        help="your guesses for the three programs, to be compared; without it a terminal asks for them",
    )
    return command.show_and_exit(parser, show, arguments)


def read_guesses(text: str) -> tuple[int, int, int]:
    """Return three numbers of kernels.

    Raises:
        argparse.ArgumentTypeError: The text is not three whole numbers with commas between.
    """
    parts = [part.strip() for part in text.split(",")]
    if len(parts) != 3 or not all(part.isdecimal() for part in parts):  # noqa: PLR2004 - there are three programs
        message = f"give three whole numbers with commas between, such as 1,1,1, and not {text!r}"
        raise argparse.ArgumentTypeError(message)
    first, second, third = map(int, parts)
    return first, second, third


def show(paper: Paper, options: argparse.Namespace) -> int:
    """Print the phase."""
    command.open_phase(paper, PHASE)
    require(options.target)
    start_jax()
    from xla_inspect.practice import models

    paper.heading(f"4.1 The program, {title(options.target.name)}")
    paper.say("It is written as nobody should write it.")
    paper.show(inspect.getsource(models.wasteful), "python")
    forecast = Forecast(paper, PHASE, options.target)
    paper.say(f"It wastes {len(WASTE)} things: {'; '.join(written for written, _, _ in WASTE)}.")
    said = forecast.commit("How many of them does the compiler leave in?")
    capture = compile_for(options.target, models.wasteful, models.PARAMS, models.X)
    show_counts(paper, capture)
    show_passes(paper, capture, forecast, said)
    show_decisions(paper, capture)
    show_predictions(paper, options.target, getattr(options, "predict", None), forecast)
    forecast.close()
    command.close_phase(paper, PHASE)
    return command.DONE


def show_counts(paper: Paper, capture: Capture) -> None:
    """Print operations by category before and after, and the kernels."""
    before, after = capture.unoptimized_module, capture.module
    paper.heading("4.2 Operations before and after")
    rows: list[tuple[str, int, int, str]] = tables.categories(before, after)
    rows.append(("all", before.instruction_count(), after.instruction_count(), ""))
    paper.table(("category", "before", "after", "what changed"), rows, numbers=(1, 2))
    paper.say(
        "More lines are no worse program: each fusion brings parameters of its own, and repeats what is cheap to "
        "compute again. What costs is the number of kernels, and the memory that they read and write."
    )
    paper.heading("4.3 The kernels, and what is fused in each")
    paper.table(("kernel", "kind", "what is in it"), tables.describe_kernels(capture))


def show_passes(paper: Paper, capture: Capture, forecast: Forecast, said: str) -> None:
    """Print which pass did what, and who removed each thing that was wasted."""
    paper.heading("4.4 Which pass did what")
    paper.say("Passes run in this order. Listed are those after which the text of the module differs.")
    rows = [(name, left, did) for name, did, left in tables.list_passes(capture)]
    paper.table(("pass", "instructions", "what it did"), rows, numbers=(1,))
    paper.say("And who put an end to each waste:")
    fates, again = [], 0
    for written, opcodes, goal in WASTE:
        by, left = tables.find_remover(capture, opcodes, goal)
        fates.append((written, ", ".join(opcodes), left, by))
        again += left > goal
    paper.table(("written", "opcode", "in the end", "removed by"), fates, numbers=(2,))
    forecast.reveal(
        said,
        again,
        "where more are left in the end than the program needs, a fusion computes again what another has: that costs "
        "less than to write it to memory and read it back."
        if again
        else "what is undone, or does nothing, is removed.",
        "wastes",
    )


def show_decisions(paper: Paper, capture: Capture) -> None:
    """Print the compiler's decisions."""
    paper.heading("4.5 The compiler's decisions")
    for decision in tables.list_decisions(capture):
        paper.item(decision)
    paper.say("")


def show_predictions(paper: Paper, target: Target, guesses: tuple[int, int, int] | None, forecast: Forecast) -> None:
    """Print three new programs, take the reader's guesses, and print how many kernels they are."""
    from xla_inspect.practice import models

    paper.heading("4.6 Predict: how many kernels?")
    paper.say(
        "Read each program and decide how many kernels the compiler will leave. The answers come after all three."
    )
    asked: list[str] = []
    for number, (name, (function, example)) in enumerate(models.PREDICTED.items()):
        shapes = ", ".join(str(list(argument.shape)) for argument in example)
        paper.say(f"{name}, for {shapes}:")
        paper.show(inspect.getsource(function), "python")
        asked.append(str(guesses[number]) if guesses else forecast.commit(f"How many kernels does {name} launch?"))
    paper.say(f"The answers, {title(target.name)}:")
    rows, right = [], 0
    for guess, (name, (function, example)) in zip(asked, models.PREDICTED.items(), strict=True):
        capture = compile_for(target, function, *example)
        count = len(list_kernels(capture))
        right += guess == str(count)
        if not guesses:
            forecast.note(name, guess, count)
        rows.append((name, guess or "none", count, "; ".join(did for _, _, did in tables.describe_kernels(capture))))
    paper.table(("program", "your guess", "kernels", "what is in each"), rows, numbers=(2,))
    if any(asked):
        paper.verdict(f"{right} of {len(rows)} as you said.", good=right == len(rows))


if __name__ == "__main__":
    sys.exit(main())
