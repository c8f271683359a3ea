"""The command for phase 1 of the practice: jax.numpy, jit, grad, vmap, a comparison with PyTorch, and a pure model."""

from __future__ import annotations

import inspect
import math
import re
import sys
from typing import TYPE_CHECKING

from xla_inspect.practice import PHASES, Forecast, Prompt, command, notebook, start_jax

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from xla_inspect.practice import Paper

PHASE = PHASES["basics"]

DESCRIPTION = """\
Phase 1 of 5, 15 minutes: programs that a compiler can optimize as a whole.

Runs examples as you read: arrays of jax.numpy, the effects of jit, grad and vmap on simple functions, three short
comparisons of JAX and PyTorch, and a two-layer model as a pure function, jitted and differentiated."""

ARRAYS = """
x = jnp.arange(6.0).reshape(2, 3)
x
x.sum(axis=0)
x @ x.T
x[0, 0] = 7.0
x.at[0, 0].set(7.0)
"""

JIT = """
def f(x):
    print("tracing f for", x)
    return jnp.sin(x) ** 2 + jnp.cos(x) ** 2
fast = jax.jit(f)
fast(jnp.ones(3))
fast(jnp.zeros(3))
fast(jnp.ones(4))
"""

GRAD = """
def parabola(x):
    return 3.0 * x ** 2 + 2.0 * x
jax.grad(parabola)(2.0)
jax.grad(jax.grad(parabola))(2.0)
jax.value_and_grad(parabola)(2.0)
"""

VMAP = """
def dot(a, b):
    print("dot sees", a, "and", b)
    return jnp.sum(a * b)
rows = jnp.arange(12.0).reshape(4, 3)
jax.vmap(dot, in_axes=(0, None))(rows, jnp.ones(3))
"""

MODEL = """
params = init(seed=0)
x = jax.random.normal(jax.random.key(1), (32, 64))
y = jnp.zeros((32, 16))
jax.jit(mlp)(params, x).shape
jax.tree.map(jnp.shape, params)
"""

STEP = """
slope = jax.jit(jax.grad(loss))
jax.tree.map(jnp.shape, slope(params, x, y))
def step(params):
    change = lambda p, g: p - 0.1 * g
    return jax.tree.map(change, params, slope(params, x, y))
loss(params, x, y)
loss(step(params), x, y)
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command that prints phase 1, and return its exit status."""
    return command.show_and_exit(command.build_parser("basics", DESCRIPTION, target=False), show, arguments)


def show(paper: Paper, _: argparse.Namespace) -> int:
    """Print phase 1, and return the exit status."""
    command.open_phase(paper, PHASE)
    start_jax()
    prompt, forecast = open_prompt(), Forecast(paper, PHASE)
    show_functions(paper, prompt, forecast)
    show_pairs(paper, prompt)
    show_model(paper, prompt)
    forecast.close()
    command.close_phase(paper, PHASE)
    return command.DONE


def open_prompt() -> Prompt:
    """Return a Python prompt in which `jax`, `jnp`, and the functions `init`, `mlp` and `loss` are defined."""
    import jax
    import jax.numpy as jnp

    from xla_inspect.practice import models

    return Prompt(jax=jax, jnp=jnp, init=models.init, mlp=models.mlp, loss=models.loss)


def show_functions(paper: Paper, prompt: Prompt, forecast: Forecast) -> None:
    """Print the sections on arrays and on jit, grad and vmap of simple functions, and ask for two predictions."""
    paper.heading("1.1 Arrays: jax.numpy")
    paper.say("`jnp` follows NumPy's names and rules, with one difference that matters: an array never changes.")
    paper.show(prompt.type(ARRAYS), "pycon")
    paper.heading("1.2 jit: compile a function")
    paper.say(
        "The first call runs the Python code once, with tracers in place of arrays, and compiles the operations that "
        "they record. Later calls with the same shapes and types run the compiled program and no Python code."
    )
    guess = forecast.commit("`f` is called three times. How often does it print?", listing=JIT.strip())
    output = prompt.type(JIT)
    paper.show(output, "pycon")
    traces = sum(line.startswith("tracing f") for line in output.splitlines())
    forecast.reveal(
        guess, traces, "a new shape needs a new program, so the third call traces and compiles again.", "traces"
    )
    paper.heading("1.3 grad: the derivative as a function")
    paper.say("`jax.grad` returns a function, which can be differentiated, jitted or mapped like any other function.")
    paper.show(prompt.type(GRAD), "pycon")
    paper.heading("1.4 vmap: one example becomes a batch")
    paper.say(
        "The function is written for one example. `vmap` pushes the batch dimension through every operation; there is "
        "no loop."
    )
    guess = forecast.commit("`rows` is f32[4,3]. How many numbers does `a` have inside `dot`?", listing=VMAP.strip())
    output = prompt.type(VMAP)
    paper.show(output, "pycon")
    forecast.reveal(
        guess, _count_elements(output), "the printed type shows that the function still sees one row.", "seen"
    )


def _count_elements(output: str) -> int:
    """Return the number of elements of `dot`'s first argument, from the type that `dot` printed in `output`."""
    (dimensions,) = re.findall(r"^dot sees [^[]*\[([\d,]*)\]", output, re.MULTILINE)
    return math.prod(map(int, dimensions.split(",")))


def show_pairs(paper: Paper, prompt: Prompt) -> None:
    """Print three comparisons: PyTorch code with its recorded output, and JAX code that runs now."""
    recorded = notebook.read_pairs()
    paper.heading("1.5 JAX compared with PyTorch")
    paper.say(
        f"PyTorch is not needed here, since its output was recorded with {recorded['version']}. The JAX code runs now."
    )
    for number, pair in enumerate(recorded["pair"], start=1):
        paper.say(f"Pair {number}: {pair['title']}.")
        paper.show(f"# PyTorch\n{pair['torch'].strip()}", "pycon")
        paper.show(f"# JAX\n{prompt.type(pair['jax'])}", "pycon")
        paper.say(pair["said"])
        paper.say(pair["address"])


def show_model(paper: Paper, prompt: Prompt) -> None:
    """Print the section on the model: its source, and the results of running it jitted and differentiated."""
    from xla_inspect.practice import models

    paper.heading("1.6 A model as a pure function")
    paper.say(
        "The model has no class and no state: its parameters are an argument, and the result depends on nothing else. "
        "Therefore, a compiler can optimize the function as a whole. The next phases follow it through the compiler."
    )
    source = "\n\n".join(inspect.getsource(function).rstrip() for function in (models.mlp, models.loss))
    paper.show(source, "python")
    paper.show(prompt.type(MODEL), "pycon")
    paper.say("The gradient has the structure of the parameters, so a training step is one `tree.map`.")
    paper.show(prompt.type(STEP), "pycon")


if __name__ == "__main__":
    sys.exit(main())
