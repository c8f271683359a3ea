"""The inputs of the persistent cache's key: one program is compiled again after each of several changes."""

import tempfile
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental.compilation_cache import compilation_cache

HIT = "/jax/compilation_cache/cache_hits"
X = jax.ShapeDtypeStruct((64, 64), jnp.float32)
SETTINGS = {
    "jax_persistent_cache_min_compile_time_secs": 0,
    "jax_enable_compilation_cache": True,
    "jax_compilation_cache_include_metadata_in_key": False,
}


def compile_as(text: str, *, name: str = "step", table: float = 1.0, **options: str) -> None:
    """Compile a function that is given as text, as a new process would find it.

    Args:
        text: The source of the function, and of the functions that it calls.
        name: The name of the function to compile, which takes f32[64,64].
        table: The value of all elements of `TABLE`, an array that the function closes over.
        options: Compiler options of XLA.
    """
    scope: dict[str, Any] = {"jax": jax, "jnp": jnp, "TABLE": np.full((64, 64), table, np.float32)}
    exec(text, scope)  # noqa: S102 - one of the texts below
    jax.jit(scope[name]).lower(X).compile(options or None)


STEP = "def step(x):\n    return jnp.tanh(x @ TABLE)\n"
CLIPPED = "@jax.jit\ndef {}(x):\n    return jnp.minimum(x, 1)\ndef step(x):\n    return {}(x @ TABLE)\n"


def cache_keys() -> list[tuple[str, bool]]:
    """Return seven changes of a program, each with whether the cache still finds the executable from before it."""
    changes: list[tuple[str, Callable[[], None], Callable[[], None]]] = [
        ("nothing", lambda: compile_as(STEP), lambda: compile_as(STEP)),
        ("comments and line numbers", lambda: compile_as(STEP), lambda: compile_as(f"# A comment.\n\n{STEP}")),
        ("the names of its variables", lambda: compile_as(STEP), lambda: compile_as(STEP.replace("x", "batch"))),
        (
            "the name of the function",
            lambda: compile_as(STEP),
            lambda: compile_as(STEP.replace("step", "train"), name="train"),
        ),
        (
            "the name of a jitted function that it calls",
            lambda: compile_as(CLIPPED.format("clip", "clip")),
            lambda: compile_as(CLIPPED.format("limit", "limit")),
        ),
        ("one number in a captured constant", lambda: compile_as(STEP), lambda: compile_as(STEP, table=2.0)),
        (
            "an option of XLA",
            lambda: compile_as(STEP),
            lambda: compile_as(STEP, xla_disable_hlo_passes="algsimp"),
        ),
    ]
    return [(name, _is_found(first, again)) for name, first, again in changes]


def _is_found(first: Callable[[], None], again: Callable[[], None]) -> bool:
    """Return whether the second compilation finds the first one's executable in a cache that was empty before."""
    events: list[str] = []

    def listen(event: str, **_: str | int) -> None:
        events.append(event)

    before = {name: getattr(jax.config, name) for name in (*SETTINGS, "jax_compilation_cache_dir")}
    with tempfile.TemporaryDirectory() as folder:
        jax.monitoring.register_event_listener(listen)
        try:
            for name, value in {**SETTINGS, "jax_compilation_cache_dir": folder}.items():
                jax.config.update(name, value)
            compilation_cache.reset_cache()
            first()
            events.clear()
            again()
            return HIT in events
        finally:
            jax.monitoring.unregister_event_listener(listen)
            for name, value in before.items():
                jax.config.update(name, value)
            compilation_cache.reset_cache()


if __name__ == "__main__":
    print(cache_keys())
