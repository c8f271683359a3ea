"""Phase 1 of the practice: jax.numpy, jit, grad and vmap, JAX beside PyTorch, and a model as a pure function."""

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
Phase 1 of 5, 15 minutes: programs that a compiler can take whole.

Shows, run as you read: arrays of jax.numpy, what jit, grad and vmap do to simple functions, JAX beside PyTorch in
three short pairs, and a two-layer model as a pure function, jitted and differentiated."""

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
    """Run the command and return its exit status."""
    return command.show_and_exit(command.build_parser("basics", DESCRIPTION, target=False), show, arguments)


def show(paper: Paper, _: argparse.Namespace) -> int:
    """Print the phase."""
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
    """Return a prompt at which JAX and the model are known."""
    import jax
    import jax.numpy as jnp

    from xla_inspect.practice import models

    return Prompt(jax=jax, jnp=jnp, init=models.init, mlp=models.mlp, loss=models.loss)


def show_functions(paper: Paper, prompt: Prompt, forecast: Forecast) -> None:
    """Print what arrays are, and what jit, grad and vmap do to simple functions."""
    paper.heading("1.1 Arrays: jax.numpy")
    paper.say("`jnp` follows NumPy's names and rules, with one difference that matters: an array never changes.")
    paper.show(prompt.type(ARRAYS), "pycon")
    paper.heading("1.2 jit: compile a function")
    paper.say(
        "The first call runs the Python once, with tracers in place of arrays, and compiles what they record. Later "
        "calls with the same shapes and types run what was compiled, and no Python."
    )
    said = forecast.commit("`f` is called three times. How often does it print?", listing=JIT.strip())
    shown = prompt.type(JIT)
    paper.show(shown, "pycon")
    traced = sum(line.startswith("tracing f") for line in shown.splitlines())
    forecast.reveal(
        said, traced, "another shape is another program, so the third call traces and compiles again.", "traces"
    )
    paper.heading("1.3 grad: the derivative as a function")
    paper.say("`jax.grad` returns a function, which can be differentiated, jitted or mapped like any other.")
    paper.show(prompt.type(GRAD), "pycon")
    paper.heading("1.4 vmap: one example becomes a batch")
    paper.say(
        "The function is written for one example. `vmap` pushes the batch dimension through every operation; there is "
        "no loop."
    )
    said = forecast.commit("`rows` is f32[4,3]. How many numbers does `a` hold inside `dot`?", listing=VMAP.strip())
    shown = prompt.type(VMAP)
    paper.show(shown, "pycon")
    forecast.reveal(said, _count_seen(shown), "what the function prints shows that it still sees one row.", "seen")


def _count_seen(shown: str) -> int:
    """Return how many numbers the first argument holds, by the type that is printed of it."""
    (dimensions,) = re.findall(r"^dot sees [^[]*\[([\d,]*)\]", shown, re.MULTILINE)
    return math.prod(map(int, dimensions.split(",")))


def show_pairs(paper: Paper, prompt: Prompt) -> None:
    """Print three things in PyTorch, as recorded, and in JAX, as run now."""
    recorded = notebook.read_pairs()
    paper.heading("1.5 JAX beside PyTorch")
    paper.say(f"PyTorch is not needed here: its side was recorded with {recorded['version']}. JAX's side runs now.")
    for number, pair in enumerate(recorded["pair"], start=1):
        paper.say(f"Pair {number}: {pair['title']}.")
        paper.show(f"# PyTorch\n{pair['torch'].strip()}", "pycon")
        paper.show(f"# JAX\n{prompt.type(pair['jax'])}", "pycon")
        paper.say(pair["said"])
        paper.say(pair["address"])


def show_model(paper: Paper, prompt: Prompt) -> None:
    """Print the model of the phases that follow, jitted and differentiated."""
    from xla_inspect.practice import models

    paper.heading("1.6 A model as a pure function")
    paper.say(
        "No class, no state: parameters come in as an argument, and the result depends on nothing else. That is what "
        "lets a compiler take the function whole. The next phases follow this one through the compiler."
    )
    source = "\n\n".join(inspect.getsource(function).rstrip() for function in (models.mlp, models.loss))
    paper.show(source, "python")
    paper.show(prompt.type(MODEL), "pycon")
    paper.say("The gradient has the structure of the parameters, so a step of training is one `tree.map`.")
    paper.show(prompt.type(STEP), "pycon")


if __name__ == "__main__":
    sys.exit(main())
