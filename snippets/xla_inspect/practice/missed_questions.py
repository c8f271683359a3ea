"""Missed questions, asked again about other programs; the answers are counted in their jaxprs and HLO modules."""

from __future__ import annotations

import inspect
import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp

from xla_inspect.analysis import list_kernels, print_computation
from xla_inspect.plural import plural
from xla_inspect.practice import models, tables
from xla_inspect.practice.compiler import compile_for
from xla_inspect.practice.equations import Equations
from xla_inspect.practice.predictions import NO, YES
from xla_inspect.practice.prompt import Prompt

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from xla_inspect.captured import Capture
    from xla_inspect.targets import Target


@dataclass(frozen=True, slots=True)
class Repeat:
    """A question about a program, with the answer and the text that proves it.

    Attributes:
        listing: The source code of the program.
        question: The question.
        answer: The right answer.
        because: The reason, in a sentence.
        shown: The text that proves the answer.
        language: The language of that text.
    """

    listing: str
    question: str
    answer: int | str
    because: str
    shown: str
    language: str

    @classmethod
    def of_jaxpr(
        cls, function: Callable[..., jax.Array], question: str, equations: Equations, answer: int, because: str
    ) -> Repeat:
        """Return a question whose answer a function's jaxpr proves."""
        return cls(inspect.getsource(function), question, answer, because, equations.text, "jaxpr")

    @classmethod
    def of_hlo(  # noqa: PLR0913 - the parts of a question
        cls,
        function: Callable[..., jax.Array],
        question: str,
        capture: Capture,
        answer: int | str,
        because: str,
        *,
        whole: bool = False,
    ) -> Repeat:
        """Return a question whose answer a compiled function's ENTRY computation or, if `whole`, module proves."""
        module = capture.module
        texts = map(print_computation, module.computations if whole else (module.entry,))
        return cls(inspect.getsource(function), question, answer, because, "\n".join(texts), "hlo")

    @property
    def choices(self) -> tuple[str, ...]:
        """The allowed answers; empty if the answer is a whole number."""
        return (YES, NO) if isinstance(self.answer, str) else ()


TRACED = """
def g(x):
    print("tracing g for", x)
    return x * 2
twice = jax.jit(g)
twice(jnp.ones(3))
twice(jnp.ones((1, 3)))
twice(jnp.ones(3, dtype=jnp.int32))
twice(jnp.zeros(3))
"""

MAPPED = """
def total(a):
    print("total sees", a)
    return jnp.sum(a)
cubes = jnp.arange(24.0).reshape(4, 2, 3)
jax.vmap(total, in_axes=1)(cubes)
"""

LARGE = models.shape(1024, 256)


def gathered(x: jax.Array) -> jax.Array:
    """Return x plus multiples of it, added in every second iteration of a loop."""
    total = x
    for turn in range(4):
        if turn % 2:
            total = total + x * float(turn)
    return total


def share(x: jax.Array) -> jax.Array:
    """Return each row as shares of its total."""
    return x / jnp.sum(x, axis=-1, keepdims=True)


def idle(x: jax.Array) -> jax.Array:
    """Return sin(x) + cos(x) * sin(x), with more work than it needs."""
    x = jnp.negative(jnp.negative(x * 1.0)).T.T
    return jnp.sin(x) + jnp.cos(x) * jnp.sin(x)


IDLE = (
    ("x * 1.0", ("multiply",), 1),
    ("the negative of the negative", ("negate",), 0),
    (".T.T", ("transpose",), 0),
    ("jnp.sin(x), a second time", ("sine",), 1),
)
"""The wasted operations of `idle`: a description, the opcodes to count, and the number that is needed."""


def swing(x: jax.Array) -> jax.Array:
    """Return tanh(x) * sin(x) + exp(-x * x), computed for each element alone."""
    return jnp.tanh(x) * jnp.sin(x) + jnp.exp(-x * x)


def normalize(x: jax.Array) -> jax.Array:
    """Return each row, divided by the root of its mean square."""
    return x / jnp.sqrt(jnp.mean(x * x, axis=-1, keepdims=True))


def stacked(x: jax.Array, w: jax.Array, v: jax.Array) -> jax.Array:
    """Return relu(x @ w) @ v.T: two matmuls, with a relu between them."""
    return jax.nn.relu(x @ w) @ v.T


def energy(w: jax.Array, v: jax.Array, x: jax.Array) -> jax.Array:
    """Return the mean square of the elements of x @ w @ v, f32[]."""
    return jnp.mean((x @ w @ v) ** 2)


def spread(x: jax.Array) -> jax.Array:
    """Return the mean square distance of each element from its row's mean, f32[]."""
    return jnp.mean((x - jnp.mean(x, axis=-1, keepdims=True)) ** 2)


def weigh(a: jax.Array, b: jax.Array) -> jax.Array:
    """Return the mean of a vector a, weighted by b, f32[]."""
    return jnp.sum(a * b) / jnp.sum(b)


def _prompt() -> Prompt:
    return Prompt(jax=jax, jnp=jnp)


def _traces(_: Target) -> Repeat:
    output = _prompt().type(TRACED)
    return Repeat(
        TRACED.strip(),
        "`twice` is called four times. How often does `g` print?",
        sum(line.startswith("tracing g") for line in output.splitlines()),
        "each shape and each element type is a program of its own; other numbers are not.",
        output,
        "pycon",
    )


def _seen(_: Target) -> Repeat:
    output = _prompt().type(MAPPED)
    (dimensions,) = re.findall(r"^total sees [^[]*\[([\d,]*)\]", output, re.MULTILINE)
    return Repeat(
        MAPPED.strip(),
        "`cubes` is f32[4,2,3], mapped along dimension 1. How many numbers does `a` hold inside `total`?",
        math.prod(map(int, dimensions.split(","))),
        f"the function sees what is left when the mapped dimension is taken out, f32[{dimensions}].",
        output,
        "pycon",
    )


def _equations(_: Target) -> Repeat:
    whole = Equations(models.classify, models.PARAMS, models.X)
    alone = Equations(models.mlp, models.PARAMS, models.X)
    return Repeat.of_jaxpr(
        models.classify,
        f"`mlp` has {len(alone)} equations. How many has `classify`, which calls it?",
        whole,
        len(whole),
        f"the call leaves no trace, and the two operations on pixels add {len(whole) - len(alone)}: JAX takes a "
        "Python number as an operand without a broadcast.",
    )


def _unrolled(_: Target) -> Repeat:
    traced = Equations(gathered, models.shape(4))
    because = "Python runs the loop and the branch; each round that passes it leaves its operations."
    return Repeat.of_jaxpr(gathered, "How many equations are left of the loop?", traced, len(traced), because)


def _entry(target: Target) -> Repeat:
    compilation = compile_for(target, models.loss, models.PARAMS, models.X, models.Y)
    return Repeat.of_hlo(
        models.loss,
        f"Compiled, its ENTRY has {plural(compilation.module.instruction_count(entry_only=True), 'line')}. "
        "How many are kernels?",
        compilation,
        len(list_kernels(compilation)),
        "parameters, constants, tuples and bitcasts run nothing.",
    )


def _divides(target: Target) -> Repeat:
    compilation = compile_for(target, share, LARGE)
    remaining = compilation.module.opcode_counts()["divide"]
    return Repeat.of_hlo(
        share,
        "The program divides by what it computes. Will a kernel divide?",
        compilation,
        YES if remaining else NO,
        f"{plural(remaining, 'division')} left; the reciprocal of a computed number cannot be worked out beforehand.",
        whole=True,
    )


def _wastes(target: Target) -> Repeat:
    compilation = compile_for(target, idle, LARGE)
    removals = [(source, goal, *tables.find_remover(compilation, opcodes, goal)) for source, opcodes, goal in IDLE]
    removers = "; ".join(f"{source}: {by}" for source, _, by, _ in removals)
    return Repeat.of_hlo(
        idle,
        f"It wastes {len(IDLE)} things: {'; '.join(source for source, _, _ in IDLE)}. "
        "How many of them does the compiler leave in?",
        compilation,
        sum(remaining > goal for _, goal, _, remaining in removals),
        f"who removed each: {removers}.",
        whole=True,
    )


def _kernels(function: Callable[..., jax.Array], *example: jax.ShapeDtypeStruct) -> Callable[[Target], Repeat]:
    """Return a function that asks for the number of kernels that a program launches."""

    def ask(target: Target) -> Repeat:
        compilation = compile_for(target, function, *example)
        shapes = ", ".join(str(list(argument.shape)) for argument in example)
        question = f"How many kernels does {function.__name__} launch, for {shapes}?"
        return Repeat.of_hlo(function, question, compilation, len(list_kernels(compilation)), _describe(compilation))

    return ask


def _describe(capture: Capture) -> str:
    return f"in each kernel: {'; '.join(did for _, _, did in tables.describe_kernels(capture))}."


def _matmuls(_: Target) -> Repeat:
    example = models.shape(64, 128), models.shape(128, 16), models.shape(32, 64)
    argnums = tuple(range(len(example)))
    forward, both = Equations(energy, *example), Equations(jax.grad(energy, argnums=argnums), *example)
    return Repeat.of_jaxpr(
        energy,
        f"It has {forward.primitives['dot_general']} matmuls. How many has `jax.grad(energy, argnums={argnums})`?",
        both,
        both.primitives["dot_general"],
        "backwards, a matmul takes one more for each operand whose gradient is asked for, here for both of each.",
    )


def _backwards(target: Target) -> Repeat:
    alone, both = (compile_for(target, function, LARGE) for function in (spread, jax.grad(spread)))
    question = f"It is {plural(len(list_kernels(alone)), 'kernel')}. How many is its gradient?"
    return Repeat.of_hlo(spread, question, both, len(list_kernels(both)), _describe(both))


def _batched(_: Target) -> Repeat:
    vector, rows = models.shape(3), models.shape(32, 3)
    one, many = Equations(weigh, vector, vector), Equations(jax.vmap(weigh, in_axes=(0, None)), rows, vector)
    additions = ", ".join((many.primitives - one.primitives).elements())
    return Repeat.of_jaxpr(
        weigh,
        f"It has {len(one)} equations. How many has `jax.vmap(weigh, in_axes=(0, None))`?",
        many,
        len(many),
        f"there is no loop; what vmap adds for the operand that is not mapped is {additions}."
        if additions
        else "there is no loop, and the operations are as many as before.",
    )


QUESTIONS: Mapping[str, Callable[[Target], Repeat]] = {
    "basics/traces": _traces,
    "basics/seen": _seen,
    "jaxpr/equations": _equations,
    "jaxpr/unrolled": _unrolled,
    "hlo/kernels": _entry,
    "hlo/divides": _divides,
    "optimization/wastes": _wastes,
    "optimization/decay": _kernels(swing, LARGE),
    "optimization/center": _kernels(normalize, LARGE),
    "optimization/gated": _kernels(stacked, *models.PREDICTED["gated"][1]),
    "transforms/matmuls": _matmuls,
    "transforms/kernels": _backwards,
    "transforms/mapped": _batched,
}
"""The function that returns the repeated question for a missed prediction, by phase and prediction."""
