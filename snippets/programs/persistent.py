"""The contents of the persistent cache, and a second compilation of the same program, which finds its entry."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import jax
from jax.experimental.compilation_cache import compilation_cache

from programs import mlp

HIT = "/jax/compilation_cache/cache_hits"
MISS = "/jax/compilation_cache/cache_misses"


@contextmanager
def fresh_cache() -> Iterator[Path]:
    """Make an empty folder JAX's persistent cache for all executables within the context, and yield the folder."""
    with tempfile.TemporaryDirectory() as folder:
        settings = {
            "jax_compilation_cache_dir": folder,
            "jax_enable_compilation_cache": True,
            # By default only what takes a second or more to compile is kept.
            "jax_persistent_cache_min_compile_time_secs": 0,
            "jax_persistent_cache_min_entry_size_bytes": -1,
        }
        before = {name: getattr(jax.config, name) for name in settings}
        try:
            for name, value in settings.items():
                jax.config.update(name, value)
            compilation_cache.reset_cache()
            yield Path(folder)
        finally:
            for name, value in before.items():
                jax.config.update(name, value)
            compilation_cache.reset_cache()


def persistent() -> tuple[list[tuple[str, int, int]], list[str]]:
    """Return two compilations, each as (name, cache hits, cache misses), and the names of the cache's files."""
    events: list[str] = []

    def listen(event: str, **_: str | int) -> None:
        events.append(event)

    rows = []
    jax.monitoring.register_event_listener(listen)
    try:
        with fresh_cache() as folder:
            for call in ("the first compile", "the second, as of a new process"):
                events.clear()
                # A new `jit` of a new function, so that nothing in memory is found.
                jax.jit(lambda *arrays: mlp.mlp(*arrays)).lower(*mlp.EXAMPLE).compile()  # noqa: PLW0108 - a new one
                rows.append((call, events.count(HIT), events.count(MISS)))
            return rows, sorted(path.name for path in folder.iterdir())
    finally:
        jax.monitoring.unregister_event_listener(listen)


if __name__ == "__main__":
    print(persistent())
