"""The equations of a jaxpr as table rows, with readable names for operands and results."""

from __future__ import annotations

from collections import Counter
from itertools import count
from typing import TYPE_CHECKING, Any

import jax

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MEANINGS = {
    "add": "adds element by element",
    "broadcast_in_dim": "broadcasts along new dimensions or those of size one",
    "convert_element_type": "changes the element type",
    "copy": "copies",
    "copy_p": "copies",
    "cos": "cosine of each element",
    "custom_jvp_call": "a function with a derivative of its own",
    "custom_vjp_call": "a function with a gradient of its own",
    "div": "divides element by element",
    "dot_general": "a matmul: multiplies, and reduces over the contracted dimensions",
    "eq": "compares: equal",
    "exp": "e to the power of each element",
    "ge": "compares: at least",
    "gt": "compares: greater",
    "integer_pow": "raises to a whole power",
    "jit": "calls a function that is jitted itself",
    "log": "logarithm of each element",
    "logistic": "sigmoid of each element",
    "lt": "compares: less",
    "max": "takes the larger element; with zero, a relu",
    "mul": "multiplies element by element",
    "neg": "changes the sign",
    "reduce_max": "a reduction: takes the largest along dimensions",
    "reduce_sum": "a reduction: adds up along dimensions",
    "reshape": "gives the same numbers another shape",
    "select_n": "picks from one of several, element by element",
    "sin": "sine of each element",
    "slice": "takes a part",
    "sqrt": "square root of each element",
    "squeeze": "drops dimensions of size one",
    "sub": "subtracts element by element",
    "tanh": "hyperbolic tangent of each element",
    "transpose": "changes the order of dimensions",
}
"""Short descriptions of primitives, by name."""


class Equations:
    """The equations of a function, traced with arguments of certain shapes.

    Args:
        function: The function.
        *example: Its arguments; shapes are sufficient.

    Attributes:
        text: The jaxpr as JAX prints it, without colors.
        jaxpr: JAX's own object.
    """

    def __init__(self, function: Callable[..., Any], *example: Any) -> None:  # noqa: ANN401 - as `jax.make_jaxpr`
        """Trace the function."""
        closed = jax.make_jaxpr(function)(*example)
        # In a terminal or a notebook, JAX would add its own color codes to the text.
        self.text = str(closed.pretty_print(use_color=False))
        self.jaxpr: Any = closed.jaxpr
        paths = [jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_leaves_with_path(example)]
        self._names = dict(zip(self.jaxpr.invars, paths, strict=True))
        self._letters = count(1)

    def __len__(self) -> int:
        """Return the number of equations, without those of inner jaxprs."""
        return len(self.jaxpr.eqns)

    def __iter__(self) -> Iterator[Any]:
        """Return JAX's own equations, in order."""
        return iter(self.jaxpr.eqns)

    @property
    def primitives(self) -> Counter[str]:
        """The number of equations of each primitive, in order of appearance, without inner jaxprs."""
        return Counter(equation.primitive.name for equation in self)

    def name_inputs(self, *names: str) -> None:
        """Give names to the arguments, in order; the leaves of `params` are then called `params.w1` and so on."""
        for variable, path in self._names.items():
            # A path starts with the position of the argument in brackets, followed by the path inside the argument.
            position, _, rest = path.removeprefix("[").partition("]")
            if position.isdecimal() and int(position) < len(names):
                self._names[variable] = f"{names[int(position)]}{rest}"

    def rows(self) -> list[tuple[int, str, str, str, str]]:
        """Return a row per equation: its number, primitive, operands, results, and the shapes of the results."""
        for number, equation in enumerate(self, start=1):
            self._names.update(dict.fromkeys(equation.outvars, f"r{number}"))
        return [
            (
                number,
                equation.primitive.name,
                ", ".join(map(self.name, equation.invars)),
                ", ".join(map(self.name, equation.outvars)),
                ", ".join(variable.aval.str_short(short_dtypes=True) for variable in equation.outvars),
            )
            for number, equation in enumerate(self, start=1)
        ]

    def name(self, atom: Any) -> str:  # noqa: ANN401 - a variable or a literal of JAX's
        """Return the name of a value: an input's path, a literal's number, or `r3` for a result of equation 3.

        A result has the name `_` until `rows` has numbered the equations.
        """
        if hasattr(atom, "val"):
            return str(atom.val)
        return self._names.get(atom, "_")

    @property
    def unused(self) -> int:
        """The number of equations on whose results the function's result does not depend."""
        # Literals have a `val` and no equation that defines them.
        live = {atom for atom in self.jaxpr.outvars if not hasattr(atom, "val")}
        dead = 0
        # In reverse order, all users of a result are visited before the equation that defines it.
        for equation in reversed(self.jaxpr.eqns):
            if live.isdisjoint(equation.outvars):
                dead += 1
            else:
                live.update(atom for atom in equation.invars if not hasattr(atom, "val"))
        return dead


def explain(primitive: str) -> str:
    """Return a short description of a primitive by its name, or `see jax.lax` if `MEANINGS` lacks it."""
    return MEANINGS.get(primitive, "see jax.lax")


def compare_counts(before: Counter[str], after: Counter[str]) -> list[tuple[str, int, int]]:
    """Return a row per primitive in either count: its name, and its number of occurrences before and after."""
    return [(name, before[name], after[name]) for name in dict.fromkeys((*before, *after))]
