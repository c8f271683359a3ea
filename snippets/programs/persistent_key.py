"""What of a program is in the key of the persistent cache: variants of one function, and whether each is found."""

from collections.abc import Callable
from typing import cast

import jax
import jax.numpy as jnp

from programs.persistent import HIT, watch_cache

BATCH, SMALLER = (jax.ShapeDtypeStruct((rows, 128), jnp.float32) for rows in (64, 32))
SOURCE = "def step(x):\n    return jnp.tanh(x) * {factor}\n"
FIRST = SOURCE.format(factor=2.0)
VARIANTS: dict[str, tuple[str, str, jax.ShapeDtypeStruct, dict[str, str]]] = {
    "the same": (FIRST, "step", BATCH, {}),
    "the same, lines further down": (f"# a comment\n\n\n{FIRST}", "step", BATCH, {}),
    "another name of its argument": (FIRST.replace("x", "y"), "step", BATCH, {}),
    "another name of the function": (FIRST.replace("step", "update"), "update", BATCH, {}),
    "another number in it": (SOURCE.format(factor=3.0), "step", BATCH, {}),
    "another batch size": (FIRST, "step", SMALLER, {}),
    "another compiler option": (FIRST, "step", BATCH, {"xla_disable_hlo_passes": "algsimp"}),
}


def load(source: str, name: str) -> Callable[[jax.Array], jax.Array]:
    """Return a function of a source text, as if it stood in a file of its own."""
    names: dict[str, object] = {"jnp": jnp}
    exec(compile(source, "model.py", "exec"), names)  # noqa: S102 - the texts stand above
    return cast("Callable[[jax.Array], jax.Array]", names[name])


def persistent_key() -> list[tuple[str, bool]]:
    """Return each variant of a function that is compiled already, with whether the cache holds an executable for it."""
    rows = []
    with watch_cache() as (_, events):
        jax.jit(load(FIRST, "step")).lower(BATCH).compile()
        for variant, (source, name, example, options) in VARIANTS.items():
            events.clear()
            jax.jit(load(source, name)).lower(example).compile(options)
            rows.append((variant, events.count(HIT) == 1))
    return rows


if __name__ == "__main__":
    print(persistent_key())
