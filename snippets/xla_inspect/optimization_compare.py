"""The command for phase 4 of the practice: the compiler's changes, the passes that make them, and the kernels."""

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

Shows operations by category before and after, the kernels with their fused operations, the changes of each pass, and a
summary of the compiler's decisions. Then you predict the number of kernels of three new programs."""

WASTE = (
    ("x.T.T", ("transpose",), 0),
    ("x - 0.0", ("subtract",), 1),
    ("... + 0.0", ("add",), 2),
    ("the negative of the negative", ("negate",), 0),
    ("jnp.exp(shifted), a second time", ("exponential",), 1),
)
"""The wasted work in this phase's program: its code, the opcodes to count, and their number without the waste."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command that prints phase 4, and return its exit status."""
    parser = command.build_parser("optimization_compare", DESCRIPTION)
    parser.add_argument(
        "--predict",
        type=read_guesses,
        metavar="N,N,N",
        help="your predictions for the three programs; without this option, the command asks for them in a terminal",
    )
    return command.show_and_exit(parser, show, arguments)


def read_guesses(text: str) -> tuple[int, int, int]:
    """Return the three predicted numbers of kernels from a text such as `1,2,1`.

    Raises:
        argparse.ArgumentTypeError: The text is not three whole numbers separated by commas.
    """
    parts = [part.strip() for part in text.split(",")]
    if len(parts) != 3 or not all(part.isdecimal() for part in parts):  # noqa: PLR2004 - there are three programs
        message = f"pass three whole numbers separated by commas, such as 1,1,1, not {text!r}"
        raise argparse.ArgumentTypeError(message)
    first, second, third = map(int, parts)
    return first, second, third


def show(paper: Paper, options: argparse.Namespace) -> int:
    """Print phase 4, and return the exit status."""
    command.open_phase(paper, PHASE)
    require(options.target)
    start_jax()
    from xla_inspect.practice import models

    paper.heading(f"4.1 The program, {title(options.target.name)}")
    paper.say("This program is deliberately wasteful.")
    paper.show(inspect.getsource(models.wasteful), "python")
    forecast = Forecast(paper, PHASE, options.target)
    paper.say(f"It wastes {len(WASTE)} things: {'; '.join(text for text, _, _ in WASTE)}.")
    guess = forecast.commit("How many of them does the compiler leave in?")
    capture = compile_for(options.target, models.wasteful, models.PARAMS, models.X)
    show_counts(paper, capture)
    show_passes(paper, capture, forecast, guess)
    show_decisions(paper, capture)
    show_predictions(paper, options.target, getattr(options, "predict", None), forecast)
    forecast.close()
    command.close_phase(paper, PHASE)
    return command.DONE


def show_counts(paper: Paper, capture: Capture) -> None:
    """Print the number of operations by category before and after optimization, and a table of the kernels."""
    before, after = capture.unoptimized_module, capture.module
    paper.heading("4.2 Operations before and after")
    rows: list[tuple[str, int, int, str]] = tables.categories(before, after)
    rows.append(("all", before.instruction_count(), after.instruction_count(), ""))
    paper.table(("category", "before", "after", "change"), rows, numbers=(1, 2))
    paper.say(
        "A program with more lines is not slower: each fusion has its own parameters, and repeats operations that are "
        "cheap to recompute. The cost depends on the number of kernels, and on the memory that they read and write."
    )
    paper.heading("4.3 The kernels and their fused operations")
    paper.table(("kernel", "kind", "contents"), tables.describe_kernels(capture))


def show_passes(paper: Paper, capture: Capture, forecast: Forecast, guess: str) -> None:
    """Print the change of each pass, the passes that removed the wasted work, and the answer to the user's guess."""
    paper.heading("4.4 The changes of each pass")
    paper.say("The passes run in this order. The table lists the passes that changed the text of the module.")
    rows = [(name, count, change) for name, change, count in tables.list_passes(capture)]
    paper.table(("pass", "instructions", "change"), rows, numbers=(1,))
    paper.say("These passes removed the wasted work:")
    removals, remaining = [], 0
    for code, opcodes, goal in WASTE:
        by, count = tables.find_remover(capture, opcodes, goal)
        removals.append((code, ", ".join(opcodes), count, by))
        # A compiler may repeat an operation inside several fusions, so more of them may remain than the program needs.
        remaining += count > goal
    paper.table(("code", "opcode", "remaining", "removed by"), removals, numbers=(2,))
    forecast.reveal(
        guess,
        remaining,
        "if more operations remain than the program needs, a fusion recomputes a value of another fusion, which costs "
        "less than writing the value to memory and reading it back."
        if remaining
        else "the compiler removes operations that cancel each other or have no effect.",
        "wastes",
    )


def show_decisions(paper: Paper, capture: Capture) -> None:
    """Print the compiler's decisions as a list of sentences."""
    paper.heading("4.5 The compiler's decisions")
    for decision in tables.list_decisions(capture):
        paper.item(decision)
    paper.say("")


def show_predictions(paper: Paper, target: Target, guesses: tuple[int, int, int] | None, forecast: Forecast) -> None:
    """Print three new programs, ask for predictions unless `guesses` has them, and print their numbers of kernels."""
    from xla_inspect.practice import models

    paper.heading("4.6 Predict: how many kernels?")
    paper.say("Read each program and predict its number of kernels. The answers come after all three programs.")
    predictions: list[str] = []
    for number, (name, (function, example)) in enumerate(models.PREDICTED.items()):
        shapes = ", ".join(str(list(argument.shape)) for argument in example)
        paper.say(f"{name}, for {shapes}:")
        paper.show(inspect.getsource(function), "python")
        predictions.append(
            str(guesses[number]) if guesses else forecast.commit(f"How many kernels does {name} launch?")
        )
    paper.say(f"The answers for {title(target.name)}:")
    rows, right = [], 0
    for guess, (name, (function, example)) in zip(predictions, models.PREDICTED.items(), strict=True):
        capture = compile_for(target, function, *example)
        count = len(list_kernels(capture))
        right += guess == str(count)
        if not guesses:
            forecast.note(name, guess, count)
        rows.append((name, guess or "none", count, "; ".join(did for _, _, did in tables.describe_kernels(capture))))
    paper.table(("program", "your guess", "kernels", "contents"), rows, numbers=(2,))
    if any(predictions):
        paper.verdict(f"{right} of {len(rows)} predictions were right.", good=right == len(rows))


if __name__ == "__main__":
    sys.exit(main())
