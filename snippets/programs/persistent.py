"""What the persistent cache holds, and that a compile of the same program finds it."""

import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import jax
from jax.experimental.compilation_cache import compilation_cache

from programs import mlp

if TYPE_CHECKING:
    from collections.abc import Iterator

HIT = "/jax/compilation_cache/cache_hits"
MISS = "/jax/compilation_cache/cache_misses"


@contextmanager
def watch_cache() -> "Iterator[tuple[Path, list[str]]]":
    """Keep executables in a new folder for a while; gives the folder, and a list in which events appear as they are."""
    events: list[str] = []

    def listen(event: str, **_: str | int) -> None:
        events.append(event)

    names = ("jax_compilation_cache_dir", "jax_persistent_cache_min_compile_time_secs", "jax_enable_compilation_cache")
    before = {name: getattr(jax.config, name) for name in names}
    jax.monitoring.register_event_listener(listen)
    with tempfile.TemporaryDirectory() as folder:
        try:
            # By default only what takes a second or more to compile is kept.
            for name, value in zip(names, (folder, 0, True), strict=True):
                jax.config.update(name, value)
            compilation_cache.reset_cache()
            yield Path(folder), events
        finally:
            jax.monitoring.unregister_event_listener(listen)
            for name, value in before.items():
                jax.config.update(name, value)
            compilation_cache.reset_cache()


def persistent() -> tuple[list[tuple[str, int, int]], list[str]]:
    """Return two compiles, with the hits and misses of each, and the names of the files left behind."""
    rows = []
    with watch_cache() as (folder, events):
        for call in ("the first compile", "the second, as of a new process"):
            events.clear()
            # A new `jit` of a new function, so that nothing in memory is found.
            jax.jit(lambda *arrays: mlp.mlp(*arrays)).lower(*mlp.EXAMPLE).compile()  # noqa: PLW0108 - a new one
            rows.append((call, events.count(HIT), events.count(MISS)))
        return rows, sorted(path.name for path in folder.iterdir())


if __name__ == "__main__":
    print(persistent())
