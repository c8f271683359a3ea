"""The command for phases 2 and 5 of the practice: a model's jaxpr, and the changes that grad and vmap make."""

from __future__ import annotations

import inspect
import sys
from typing import TYPE_CHECKING

from xla_inspect.analysis import list_kernels
from xla_inspect.installation import run_line
from xla_inspect.plural import plural
from xla_inspect.practice import (
    PHASES,
    Forecast,
    Logbook,
    command,
    compile_for,
    find_exercises,
    require,
    start_jax,
    tables,
)
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
Phases 2 and 5 of 5, 20 and 15 minutes: the jaxpr, in which JAX records the operations of a function when it traces it.

Phase 2 shows the jaxpr of a two-layer model, explains its primitives, and follows the data from the inputs to the
result. Phase 5 comes after the phases on HLO; select it with --phase 5. It shows the equations and the kernels that
grad and vmap add. Without the option, phase 5 follows phase 2 once the exercises of phase 5 are done."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command that prints phase 2, or phase 5, or both, and return its exit status."""
    parser = command.build_parser("jaxpr_demo", DESCRIPTION)
    # Phase 5 contains answers to its own exercises and to those of phases 3 and 4.
    parser.add_argument(
        "--phase",
        type=int,
        choices=(PHASE.number, TRANSFORMS.number),
        help=f"the phase to show (default: {PHASE.number}, and also {TRANSFORMS.number} once the exercises of phase "
        f"{TRANSFORMS.number} are done)",
    )
    return command.show_and_exit(parser, show, arguments)


def show(paper: Paper, options: argparse.Namespace) -> int:
    """Print phase 2 or phase 5, as `options.phase` requests, or both, and return the exit status."""
    require(options.target)
    if options.phase != TRANSFORMS.number:
        show_jaxpr(paper)
    follows = options.phase is None and Logbook().find_open(find_exercises(TRANSFORMS.name)) is None
    if follows or options.phase == TRANSFORMS.number:
        show_transforms(paper, options.target)
    else:
        paper.say(f"Phase {TRANSFORMS.number}, {TRANSFORMS.title}, comes after phases 3 and 4. This command shows it:")
        paper.show(run_line(f"python -m xla_inspect.jaxpr_demo --phase {TRANSFORMS.number}"))
    return command.DONE


def show_jaxpr(paper: Paper) -> None:
    """Print phase 2: the jaxpr of a model, its primitives and data flow, and the things that a jaxpr lacks."""
    command.open_phase(paper, PHASE)
    start_jax()
    from xla_inspect.practice import Equations, explain, models

    paper.heading("2.1 The program, and its jaxpr")
    paper.show(inspect.getsource(models.mlp), "python")
    paper.say(
        "`jax.make_jaxpr` traces the function. It needs no numbers, only shapes and element types: tracers replace "
        "arrays, and JAX records each operation on a tracer."
    )
    forecast = Forecast(paper, PHASE)
    guess = forecast.commit("How many equations does the jaxpr have?")
    model = Equations(models.mlp, models.PARAMS, models.X)
    model.name_inputs("params", "x")
    paper.show(model.text, "jaxpr")
    explicit = len(model) - model.primitives["broadcast_in_dim"]
    forecast.reveal(
        guess,
        len(model),
        f"{explicit} come from operations in the Python code, and {model.primitives['broadcast_in_dim']} broadcast the "
        "smaller of two operands, which NumPy's rules do implicitly.",
        "equations",
    )
    paper.say(
        "Read the jaxpr from top to bottom. Between `lambda ;` and the dot are the inputs with their types, the leaves "
        "of `params` first. Each line of `let` assigns a name to the result of a primitive, and `in` lists the results."
    )
    paper.heading("2.2 The primitives")
    rows = [(name, number, explain(name)) for name, number in model.primitives.items()]
    paper.table(("primitive", "times", "effect"), rows, numbers=(1,))
    paper.heading("2.3 Follow the data")
    paper.say(
        f"These are the same {len(model)} equations, with the names of the inputs, and with results named after their "
        "equations."
    )
    paper.table(("", "primitive", "reads", "computes", "type"), model.rows(), numbers=(0,))
    _show_absent(paper, forecast)
    forecast.close()
    command.close_phase(paper, PHASE)


def _show_absent(paper: Paper, forecast: Forecast) -> None:
    """Print the section on the parts of a program that a jaxpr does not contain."""
    from xla_inspect.practice import Equations, models

    paper.heading("2.4 What a jaxpr does not contain")

    paper.show(inspect.getsource(models.doubled), "python")
    unrolled = Equations(models.doubled, models.shape(4))
    guess = forecast.commit("How many equations does the loop become?")
    paper.show(unrolled.text, "jaxpr")
    forecast.reveal(
        guess,
        len(unrolled),
        "the loop and the branch ran in Python during tracing, so the jaxpr has neither `range` nor `if`.",
        "unrolled",
    )
    paper.say(
        "A loop of a thousand iterations would have a thousand copies of its body. A jaxpr also has no memory layout, "
        "no fusion and no hardware: the compiler chooses them, as phase 3 shows."
    )


def show_transforms(paper: Paper, target: Target) -> None:
    """Print phase 5: the equations and kernels that grad and vmap add, compiled for the target."""
    command.open_phase(paper, TRANSFORMS)
    start_jax()
    forecast = Forecast(paper, TRANSFORMS, target)
    show_grad(paper, target, forecast)
    show_vmap(paper, target, forecast)
    forecast.close()
    command.close_phase(paper, TRANSFORMS)


def show_grad(paper: Paper, target: Target, forecast: Forecast) -> None:
    """Print the jaxprs and the kernels of a loss and of its gradient, and the numbers that `jax.grad` adds."""
    import jax

    from xla_inspect.practice import Equations, compare_counts, models

    gradient, example = jax.grad(models.loss), (models.PARAMS, models.X, models.Y)
    forward, both = Equations(models.loss, *example), Equations(gradient, *example)
    paper.heading("5.1 grad: the equations that it adds to the jaxpr")
    paper.show(inspect.getsource(models.loss), "python")
    matmuls = both.primitives["dot_general"], forward.primitives["dot_general"]
    guess = forecast.commit(f"The loss has {matmuls[1]} matmuls. How many does its gradient have?")
    paper.say("This is the jaxpr of `jax.grad(loss)`: the forward pass, followed by the same steps in reverse order.")
    paper.show(both.text, "jaxpr")
    rows = [(name, old, new, new - old) for name, old, new in compare_counts(forward.primitives, both.primitives)]
    rows.append(("all", len(forward), len(both), len(both) - len(forward)))
    paper.table(("primitive", "loss", "grad(loss)", "added"), rows, numbers=(1, 2, 3))
    forecast.reveal(
        guess,
        matmuls[0],
        "in the backward pass, a matmul needs one matmul for each operand whose gradient is requested, and the "
        "gradient of x is not requested.",
        "matmuls",
    )
    paper.say(
        "A bias is broadcast over the batch, so its gradient is a reduction over the batch. The gradient of a maximum "
        "flows only to the larger operand, which is a `select_n`."
    )
    paper.say(
        f"{both.unused} of the equations compute only the loss itself, which is not a result of the gradient function: "
        "JAX drops them when it lowers the jaxpr."
    )
    paper.heading(f"5.2 grad: the kernels that it adds, {title(target.name)}")
    loss, grad = compile_for(target, models.loss, *example), compile_for(target, gradient, *example)
    guess = forecast.commit(f"The loss is {plural(len(list_kernels(loss)), 'kernel')}. How many is its gradient?")
    _compare(paper, {"loss": loss, "grad(loss)": grad})
    paper.say("These are the kernels of the gradient, in launch order:")
    paper.table(("kernel", "kind", "contents"), tables.describe_kernels(grad))
    forecast.reveal(
        guess,
        len(list_kernels(grad)),
        "the forward pass still runs for its values, and the backward pass adds its own matmuls and reductions.",
        "kernels",
    )
    shared = tables.list_shared(grad)
    if shared:
        paper.say(
            "The backward pass needs values of the forward pass. More than one kernel reads each of these results, so "
            "each result stays in memory until the last of these kernels has run:"
        )
        paper.table(("result of", "shape", "read by"), shared)


def show_vmap(paper: Paper, target: Target, forecast: Forecast) -> None:
    """Print the jaxprs and kernels without and with `jax.vmap`, and the kernels of a gradient per example."""
    import jax

    from xla_inspect.practice import Equations, models

    # Tracing needs only shapes, so no array has to be created.
    example = (models.PARAMS, models.shape(models.INPUT))
    batched = (models.PARAMS, models.X)
    mapped = jax.vmap(models.mlp, in_axes=(None, 0))
    one, many = Equations(models.mlp, *example), Equations(mapped, *batched)
    paper.heading("5.3 vmap: the changes to the jaxpr")
    paper.say("This is the model for one example, f32[64], followed by the model mapped over a batch of 32:")
    paper.show(one.text, "jaxpr")
    guess = forecast.commit(f"This jaxpr has {len(one)} equations. How many does the mapped one have?")
    paper.show(many.text, "jaxpr")
    forecast.reveal(
        guess,
        len(many),
        "there is no loop: every result that depends on x has one more dimension, and a vector times a matrix became "
        "a matmul of two matrices.",
        "mapped",
    )
    paper.heading(f"5.4 vmap: the kernels, {title(target.name)}")
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
        "`jax.vmap(jax.grad(loss), in_axes=(None, 0, 0))` computes a gradient for each example. Gradients that were "
        f"reduced over the batch have it as a dimension now, so there are {format_bytes(capture.memory.outputs)} of "
        "results."
    )
    paper.table(("kernel", "kind", "contents"), tables.describe_kernels(capture))


def _compare(paper: Paper, captures: dict[str, Capture]) -> None:
    """Print a table of the kernels, flops, and bytes of arguments, results and temporaries of captures by name."""
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
