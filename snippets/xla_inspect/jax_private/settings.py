"""JAX's settings, backends and meshes, for the process and for one thread."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from contextlib import AbstractContextManager


def backends_started() -> bool:
    """Return whether JAX has started its backends, after which their settings can no longer change."""
    from jax._src import xla_bridge

    return bool(xla_bridge.backends_are_initialized())


def set_option(name: str, value: object) -> None:
    """Set one of JAX's process-wide options (`jax.config.update` is public but carries no types)."""
    import jax

    jax.config.update(name, value)


def read_options() -> bytes:
    """Return the XLA options that this process reads from the environment, serialized; calling this reads them."""
    from jaxlib import _jax

    return bytes(_jax.CompileOptions().SerializeAsString())


@contextmanager
def started_on_cpu(around: Callable[[], AbstractContextManager[None]]) -> Iterator[None]:
    """Make JAX start only its CPU backend within the `with` block, whichever platform the program requests.

    Args:
        around: A context manager to enter while JAX starts.
    """
    import jax
    from jax._src import xla_bridge

    start = xla_bridge.backends

    def backends() -> Any:  # noqa: ANN401 - as JAX has it
        # The platforms cannot change after the start, so the program's setting stays.
        if backends_started():
            return start()
        platforms = jax.config.jax_platforms
        set_option("jax_platforms", "cpu")
        try:
            with around():
                return start()
        finally:
            set_option("jax_platforms", platforms)

    xla_bridge.backends = backends
    try:
        yield
    finally:
        xla_bridge.backends = start


def read_settings() -> dict[str, Any]:
    """Return the JAX options that affect tracing in this thread, by name."""
    from jax._src import config

    try:
        names = {*config.trace_context_names()}
    except (AttributeError, NotImplementedError):
        # Older releases do not list the options that affect tracing, and have few others that a program changes.
        names = {*config.config_states}
    return {name: state.value for name, state in config.config_states.items() if name in names}


@contextmanager
def entered_settings(settings: Mapping[str, Any], meshes: tuple[Any, Any]) -> Iterator[None]:
    """Make this thread trace with the settings of another thread or of an earlier time within the `with` block.

    Args:
        settings: The result of `read_settings` there.
        meshes: The result of `read_meshes` there.
    """
    import jax
    from jax._src import config

    mesh, resource = meshes
    with ExitStack() as stack:
        for name, value in settings.items():
            state = config.config_states[name]
            if state.value != value:
                stack.enter_context(state(value))
        if not resource.empty:
            stack.enter_context(resource)
        if not mesh.empty:
            stack.enter_context(jax.set_mesh(mesh))
        yield


def read_meshes() -> tuple[Any, Any]:
    """Return the meshes that `jax.set_mesh` and `with mesh:` set in this thread, empty meshes if none are set."""
    from jax._src import mesh

    return mesh.get_concrete_mesh(), mesh.thread_resources.env.physical_mesh


def leave_meshes() -> None:
    """Reset the mesh that a script set, which would otherwise affect later compiles."""
    import sys

    # A script that has not imported JAX has set no mesh, and the import takes long.
    if "jax._src.pjit" in sys.modules and not read_meshes()[0].empty:
        import jax
        from jax._src import config

        jax.set_mesh(None)
        if manager := getattr(config, "abstract_mesh_context_manager", None):
            # Releases up to 0.10 distinguish an empty mesh from no mesh.
            manager.set_local(None)
