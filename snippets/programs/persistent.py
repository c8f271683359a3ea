"""What the persistent cache holds, and that a compile of the same program finds it."""

import tempfile
from pathlib import Path

import jax
from jax.experimental.compilation_cache import compilation_cache

from programs import mlp

HIT = "/jax/compilation_cache/cache_hits"
MISS = "/jax/compilation_cache/cache_misses"


def persistent() -> tuple[list[tuple[str, int, int]], list[str]]:
    """Return two compiles, with the hits and misses of each, and the names of the files left behind."""
    events: list[str] = []

    def listen(event: str, **_: str | int) -> None:
        events.append(event)

    names = ("jax_compilation_cache_dir", "jax_persistent_cache_min_compile_time_secs", "jax_enable_compilation_cache")
    before = {name: getattr(jax.config, name) for name in names}
    rows = []
    jax.monitoring.register_event_listener(listen)
    with tempfile.TemporaryDirectory() as folder:
        try:
            # By default only what takes a second or more to compile is kept.
            for name, value in zip(names, (folder, 0, True), strict=True):
                jax.config.update(name, value)
            compilation_cache.reset_cache()
            for call in ("the first compile", "the second, as of a new process"):
                events.clear()
                # A new `jit` of a new function, so that nothing in memory is found.
                jax.jit(lambda *arrays: mlp.mlp(*arrays)).lower(*mlp.EXAMPLE).compile()  # noqa: PLW0108 - a new one
                rows.append((call, events.count(HIT), events.count(MISS)))
        finally:
            jax.monitoring.unregister_event_listener(listen)
            for name, value in before.items():
                jax.config.update(name, value)
            compilation_cache.reset_cache()
        return rows, sorted(path.name for path in Path(folder).iterdir())


if __name__ == "__main__":
    print(persistent())
