"""JAX's settings, backends and meshes, of the process and of one thread."""

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
    """Return XLA's options as this process has read them from the environment, serialized; this reads them."""
    from jaxlib import _jax

    return bytes(_jax.CompileOptions().SerializeAsString())


@contextmanager
def started_on_cpu(around: Callable[[], AbstractContextManager[None]]) -> Iterator[None]:
    """Let JAX start the CPU alone if it starts meanwhile, whichever platform the program asks for.

    Args:
        around: Entered while JAX starts.
    """
    import jax
    from jax._src import xla_bridge

    start = xla_bridge.backends

    def backends() -> Any:  # noqa: ANN401 - as JAX has it
        if backends_started():
            return start()
        asked = jax.config.jax_platforms
        set_option("jax_platforms", "cpu")
        try:
            with around():
                return start()
        finally:
            set_option("jax_platforms", asked)

    xla_bridge.backends = backends
    try:
        yield
    finally:
        xla_bridge.backends = start


def read_settings() -> dict[str, Any]:
    """Return the options of JAX that what it traces depends on, as they are in this thread, name to value."""
    from jax._src import config

    try:
        names = {*config.trace_context_names()}
    except (AttributeError, NotImplementedError):
        # Releases that do not say which have few others that a program changes.
        names = {*config.config_states}
    return {name: state.value for name, state in config.config_states.items() if name in names}


@contextmanager
def entered_settings(settings: Mapping[str, Any], meshes: tuple[Any, Any]) -> Iterator[None]:
    """Let this thread trace as another did, or this one earlier.

    Args:
        settings: What `read_settings` said there.
        meshes: What `read_meshes` said there.
    """
    import jax
    from jax._src import config

    given, resource = meshes
    with ExitStack() as stack:
        for name, value in settings.items():
            state = config.config_states[name]
            if state.value != value:
                stack.enter_context(state(value))
        if not resource.empty:
            stack.enter_context(resource)
        if not given.empty:
            stack.enter_context(jax.set_mesh(given))
        yield


def read_meshes() -> tuple[Any, Any]:
    """Return the meshes that `jax.set_mesh` and `with mesh:` gave this thread, empty ones where there are none."""
    from jax._src import mesh

    return mesh.get_concrete_mesh(), mesh.thread_resources.env.physical_mesh


def leave_meshes() -> None:
    """Take back the mesh that a script set for what follows, which would hold for what is compiled later too."""
    import sys

    if "jax._src.pjit" in sys.modules and not read_meshes()[0].empty:
        import jax
        from jax._src import config

        jax.set_mesh(None)
        if manager := getattr(config, "abstract_mesh_context_manager", None):
            # Releases up to 0.10 tell an empty mesh from none.
            manager.set_local(None)
