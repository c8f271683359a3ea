"""The reasons for retracing: what calls of one jitted function compile, and what `jax_explain_cache_misses` logs."""

import logging
from typing import TYPE_CHECKING

import jax
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

COMPILED = "/jax/core/compile/backend_compile_duration"


class Notes(logging.Handler):
    """A logging handler that appends each message of a logger to the list `said`."""

    def __init__(self) -> None:
        """Start with an empty list of messages."""
        super().__init__()
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Append the text of a message to `said`."""
        self.said.append(record.getMessage())


def cache_misses() -> list[tuple[str, int, str]]:
    """Run eight calls; return the text of each, its number of compilations, and JAX's reason, or '' for none."""

    def scale(x: jax.Array, by: int) -> jax.Array:
        return x * by

    f = jax.jit(scale, static_argnums=1)
    vector, longer, integers = np.ones(4, np.float32), np.ones(8, np.float32), np.ones(4, np.int32)
    calls: dict[str, Callable[[], jax.Array]] = {
        "`f(vector, 2)`": lambda: f(vector, 2),
        "`f(vector + 1, 2)`": lambda: f(vector + 1, 2),
        "`f(longer, 2)`": lambda: f(longer, 2),
        "`f(integers, 2)`": lambda: f(integers, 2),
        "`f(np.float32(2), 2)`": lambda: f(np.float32(2), 2),
        "`f(2.0, 2)`": lambda: f(2.0, 2),
        "`f(vector, 3)`": lambda: f(vector, 3),
        "`jax.jit(lambda x: x * 2)(vector)`": lambda: jax.jit(lambda x: x * 2)(vector),
    }
    notes, logger = Notes(), logging.getLogger("jax")
    compiled: list[str] = []

    def listen(event: str, duration_secs: float, **_: str | int) -> None:
        del duration_secs
        compiled.extend([event] * (event == COMPILED))

    rows = []
    explaining, passing_on = jax.config.jax_explain_cache_misses, logger.propagate
    jax.config.update("jax_explain_cache_misses", True)  # noqa: FBT003 - the option's value
    # Only these notes are to hear of it.
    logger.addHandler(notes)
    logger.propagate = False
    jax.monitoring.register_event_duration_secs_listener(listen)
    try:
        for name, call in calls.items():
            compiled.clear()
            notes.said.clear()
            call()
            rows.append((name, len(compiled), find_reason("\n".join(notes.said))))
    finally:
        jax.monitoring.unregister_event_duration_listener(listen)
        logger.removeHandler(notes)
        logger.propagate = passing_on
        jax.config.update("jax_explain_cache_misses", explaining)
    return rows


def find_reason(text: str) -> str:
    """Return the differences that JAX's explanation of a cache miss names, in one line; '' if it names none."""
    lines = [line.strip() for line in text.splitlines()]
    if "never seen function:" in lines:
        return "never seen function"
    said = " ".join(line for line in lines if line.startswith(("different", "*")))
    return said.partition("https:")[0]  # a page of the manual


if __name__ == "__main__":
    for row in cache_misses():
        print(*row)
