"""Phases 2 and 5 of the practice: what JAX writes down when it traces, and what grad and vmap add to it."""

from __future__ import annotations

import inspect
import sys
from typing import TYPE_CHECKING

from xla_inspect.analysis import list_kernels
from xla_inspect.plural import plural
from xla_inspect.practice import PHASES, Forecast, command, compile_for, require, start_jax, tables
from xla_inspect.report import format_amount, format_bytes
from xla_inspect.targets import title

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from xla_inspect.captured import Capture
    from xla_inspect.practice import Paper
    from xla_inspect.targets import Target

PHASE, TRANSFORMS = PHASES["jaxpr"], PHASES["transforms"]

DESCRIPTION = """\
Phases 2 and 5 of 5, 20 and 15 minutes: the jaxpr, which is what JAX writes down when it traces a function.

Phase 2 shows the jaxpr of a two-layer model, names its primitives, and follows the data from the inputs to the result.
Phase 5, which --phase 5 shows, comes after the phases on HLO: what grad and vmap add to the jaxpr, and what each adds
to the kernels that the target launches."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    parser = command.build_parser("jaxpr_demo", DESCRIPTION)
    # Phase 5 gives away what exercises of the phases between ask for.
    parser.add_argument(
        "--phase",
        type=int,
        choices=(PHASE.number, TRANSFORMS.number),
        default=PHASE.number,
        help="which of the two to show (default: %(default)s)",
    )
    return command.show_and_exit(parser, show, arguments)


def show(paper: Paper, options: argparse.Namespace) -> int:
    """Print the phase that was asked for."""
    require(options.target)
    if options.phase == PHASE.number:
        show_jaxpr(paper)
    else:
        show_transforms(paper, options.target)
    return command.DONE


def show_jaxpr(paper: Paper) -> None:
    """Print phase 2."""
    command.open_phase(paper, PHASE)
    start_jax()
    from xla_inspect.practice import Equations, explain, models

    paper.heading("2.1 The program, and its jaxpr")
    paper.show(inspect.getsource(models.mlp), "python")
    paper.say(
        "`jax.make_jaxpr` traces it. It needs no numbers, only shapes and element types: tracers stand in for arrays, "
        "and each operation on a tracer is written down."
    )
    forecast = Forecast(paper, PHASE)
    said = forecast.commit("How many equations does the jaxpr have?")
    model = Equations(models.mlp, models.PARAMS, models.X)
    model.name_inputs("params", "x")
    paper.show(model.text, "jaxpr")
    written = len(model) - model.primitives["broadcast_in_dim"]
    forecast.reveal(
        said,
        len(model),
        f"{written} stand in the Python, and {model.primitives['broadcast_in_dim']} broadcast what is smaller than "
        "the other operand, which NumPy's rules do without a word.",
        "equations",
    )
    paper.say(
        "Read it from top to bottom. Between `lambda ;` and the dot stand the inputs with their types, the leaves of "
        "`params` first; each line of `let` binds one result to a primitive applied to earlier ones; `in` names the "
        "result."
    )
    paper.heading("2.2 The primitives")
    rows = [(name, number, explain(name)) for name, number in model.primitives.items()]
    paper.table(("primitive", "times", "what it does"), rows, numbers=(1,))
    paper.heading("2.3 Follow the data")
    paper.say(
        f"The same {len(model)} equations, with the inputs called by their names, and each result by its equation."
    )
    paper.table(("", "primitive", "reads", "makes", "type"), model.rows(), numbers=(0,))
    _show_absent(paper, forecast)
    forecast.close()
    command.close_phase(paper, PHASE)


def _show_absent(paper: Paper, forecast: Forecast) -> None:
    """Print what a jaxpr does not hold."""
    from xla_inspect.practice import Equations, models

    paper.heading("2.4 What is not in it")

    paper.show(inspect.getsource(models.doubled), "python")
    unrolled = Equations(models.doubled, models.shape(4))
    said = forecast.commit("How many equations are left of the loop?")
    paper.show(unrolled.text, "jaxpr")
    forecast.reveal(
        said,
        len(unrolled),
        "the loop and the branch ran in Python, while JAX traced, and neither `range` nor `if` is left of them.",
        "unrolled",
    )
    paper.say(
        "A loop of a thousand turns would leave its body a thousand times. There is no "
        "memory layout, no fusion and no hardware in a jaxpr either: those are the compiler's to choose, in phase 3."
    )


def show_transforms(paper: Paper, target: Target) -> None:
    """Print phase 5."""
    command.open_phase(paper, TRANSFORMS)
    start_jax()
    forecast = Forecast(paper, TRANSFORMS, target)
    show_grad(paper, target, forecast)
    show_vmap(paper, target, forecast)
    forecast.close()
    command.close_phase(paper, TRANSFORMS)


def show_grad(paper: Paper, target: Target, forecast: Forecast) -> None:
    """Print what `jax.grad` adds."""
    import jax

    from xla_inspect.practice import Equations, compare_counts, models

    gradient, example = jax.grad(models.loss), (models.PARAMS, models.X, models.Y)
    forward, both = Equations(models.loss, *example), Equations(gradient, *example)
    paper.heading("5.1 grad: what it adds to the jaxpr")
    paper.show(inspect.getsource(models.loss), "python")
    matmuls = both.primitives["dot_general"], forward.primitives["dot_general"]
    said = forecast.commit(f"The loss has {matmuls[1]} matmuls. How many has its gradient?")
    paper.say("This is the jaxpr of `jax.grad(loss)`: the forward pass first, then backwards through the same steps.")
    paper.show(both.text, "jaxpr")
    rows = [(name, old, new, new - old) for name, old, new in compare_counts(forward.primitives, both.primitives)]
    rows.append(("all", len(forward), len(both), len(both) - len(forward)))
    paper.table(("primitive", "loss", "grad(loss)", "more"), rows, numbers=(1, 2, 3))
    forecast.reveal(
        said,
        matmuls[0],
        "backwards, a matmul takes one more for each operand whose gradient is asked for, and that of x is "
        "not asked for.",
        "matmuls",
    )
    paper.say(
        "A bias was broadcast over the batch, so its gradient is a reduction over it; a maximum passes the gradient "
        "of the operand that won, which is a `select_n`."
    )
    paper.say(
        f"{both.unused} of the equations make what no result depends on, the loss itself: JAX drops them as it lowers."
    )
    paper.heading(f"5.2 grad: what it adds to the kernels, {title(target.name)}")
    loss, grad = compile_for(target, models.loss, *example), compile_for(target, gradient, *example)
    said = forecast.commit(f"The loss is {plural(len(list_kernels(loss)), 'kernel')}. How many is its gradient?")
    _compare(paper, {"loss": loss, "grad(loss)": grad})
    paper.say("The kernels of the gradient, in the order in which they are launched:")
    paper.table(("kernel", "kind", "what is in it"), tables.describe_kernels(grad))
    forecast.reveal(
        said,
        len(list_kernels(grad)),
        "the forward pass is run for its values, and the backward pass adds matmuls and reductions of its own.",
        "kernels",
    )
    shared = tables.list_shared(grad)
    if shared:
        paper.say(
            "Backwards, the gradient needs again what was made on the way forwards. These results are read by more "
            "than one kernel, so each stays in memory until the last of them has run:"
        )
        paper.table(("result of", "shape", "read by"), shared)


def show_vmap(paper: Paper, target: Target, forecast: Forecast) -> None:
    """Print what `jax.vmap` adds."""
    import jax

    from xla_inspect.practice import Equations, models

    example = (models.PARAMS, models.shape(models.INPUT))
    batched = (models.PARAMS, models.X)
    mapped = jax.vmap(models.mlp, in_axes=(None, 0))
    one, many = Equations(models.mlp, *example), Equations(mapped, *batched)
    paper.heading("5.3 vmap: what it adds to the jaxpr")
    paper.say("The model for one example, f32[64], and mapped over a batch of 32:")
    paper.show(one.text, "jaxpr")
    said = forecast.commit(f"It has {len(one)} equations. How many has the mapped one?")
    paper.show(many.text, "jaxpr")
    forecast.reveal(
        said,
        len(many),
        "there is no loop: every result that depends on x has one more dimension, and a vector times a matrix became "
        "a matmul of two matrices.",
        "mapped",
    )
    paper.heading(f"5.4 vmap: what it adds to the kernels, {title(target.name)}")
    _compare(
        paper,
        {
            "one example": compile_for(target, models.mlp, *example),
            "vmap": compile_for(target, mapped, *batched),
            "written for a batch": compile_for(target, models.mlp, *batched),
        },
    )
    gradient_per_example = jax.vmap(jax.grad(models.loss), in_axes=(None, 0, 0))
    capture = compile_for(target, gradient_per_example, models.PARAMS, models.X, models.Y)
    paper.heading("5.5 Both: a gradient per example")
    paper.say(
        "`jax.vmap(jax.grad(loss), in_axes=(None, 0, 0))` gives each example its own gradient. What was reduced over "
        f"the batch keeps it as a dimension instead, and {format_bytes(capture.memory.outputs)} come out."
    )
    paper.table(("kernel", "kind", "what is in it"), tables.describe_kernels(capture))


def _compare(paper: Paper, captures: dict[str, Capture]) -> None:
    """Print what captures cost, side by side."""
    rows = [
        (
            name,
            len(list_kernels(capture)),
            format_amount(capture.cost.flops),
            format_bytes(capture.memory.arguments),
            format_bytes(capture.memory.outputs),
            format_bytes(capture.memory.temporaries),
        )
        for name, capture in captures.items()
    ]
    header = ("program", "kernels", "flops", "arguments", "results", "temporaries")
    paper.table(header, rows, numbers=range(1, len(header)))


if __name__ == "__main__":
    sys.exit(main())
