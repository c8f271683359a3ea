"""The private names of JAX and jaxlib that this package needs where nothing public serves, and nothing else.

A test says which releases of JAX have them.
"""

from __future__ import annotations

import threading
from contextlib import ExitStack, contextmanager, suppress
from copy import copy
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import jax

JITS = "jax._src.pjit"
"""The module of `jax.jit`, whose functions `watch_jit` watches."""

_contexts: list[Any] = []
_lent = threading.local()


def backends_started() -> bool:
    """Return whether JAX has started its backends, after which their settings can no longer change."""
    from jax._src import xla_bridge

    return bool(xla_bridge.backends_are_initialized())


def set_option(name: str, value: object) -> None:
    """Set one of JAX's process-wide options (`jax.config.update` is public but carries no types)."""
    import jax

    jax.config.update(name, value)


def thread_settings() -> object:
    """Return what the `with` statements of this thread set of JAX's options, to compare with another thread's."""
    from jax._src import config

    return config.trace_context()


@contextmanager
def lent_context() -> Iterator[None]:
    """Let this thread lower in the MLIR context that an earlier one left, and leave it for a later one.

    To make one takes longer than to lower most programs. JAX itself uses each ten times, and keeps it by thread; before
    0.11 it makes one for each program, and there is none to lend.
    """
    from jax._src.interpreters import mlir

    context = getattr(mlir, "_thread_local_context", None)
    if context is None:
        yield
        return
    # A list's pop and append are whole: no two threads have the same one.
    context.set_local(_contexts.pop() if _contexts else None)
    try:
        yield
    finally:
        if context.value is not None:
            _contexts.append(context.value)
            context.set_local(None)


@contextmanager
def lent_client(client: Any | None) -> Iterator[None]:  # noqa: ANN401 - the class has no public name to annotate with
    """Let the rules that lower for a client of their own in this thread have the target's, or none.

    JAX knows the clients of the platforms that it runs on, and a target is none of them.

    Args:
        client: The target's client; None lets a rule that asks for it raise `LookupError`.
    """
    _answer_with_lent_client()
    _lent.client = client
    try:
        yield
    finally:
        del _lent.client


@cache
def _answer_with_lent_client() -> None:
    from jax._src.interpreters.mlir import ModuleContext

    asked = ModuleContext.get_backend

    def get_backend(self: ModuleContext, optional: bool = False) -> Any:  # noqa: ANN401, FBT001, FBT002 - as JAX has it
        if not hasattr(_lent, "client"):
            return asked(self, optional)
        if _lent.client is None:
            message = "a lowering rule asks for a client, and none is lent"
            raise LookupError(message)
        return _lent.client

    ModuleContext.get_backend = get_backend  # type: ignore[method-assign]  # what JAX's rules call


def find_layout(stage: jax.stages.Lowered) -> tuple[int, Any]:
    """Return for how many devices a program was lowered, and the first mesh over all of them that it names, or None."""
    from jax.sharding import NamedSharding

    known = stage._lowering.compile_args  # noqa: SLF001 - nothing public says it
    shardings = (*known["in_shardings"], *known["out_shardings"], *known["intermediate_shardings"])
    meshes = [*(sharding.mesh for sharding in shardings if isinstance(sharding, NamedSharding)), known["context_mesh"]]
    count = known["num_devices"]
    return count, next((mesh for mesh in meshes if not mesh.empty and mesh.size == count), None)


def place(stage: jax.stages.Lowered, devices: Sequence[jax.Device]) -> jax.stages.Lowered:
    """Return a lowered program to be compiled for other devices than it names: as many, in this order, of one client.

    Its host callbacks stay behind, which only a run would need, and for which a client without devices has no use.
    """
    from jaxlib import _jax

    placed = copy(stage)
    lowering: Any = copy(stage._lowering)  # noqa: SLF001 - nothing public changes it
    known = {**lowering.compile_args, "host_callbacks": []}
    if tuple(lowering._device_list or ()) != tuple(devices):  # noqa: SLF001
        for name in ("in_shardings", "out_shardings"):
            known[name] = tuple(_move(sharding, devices) for sharding in known[name])
        known["backend"] = devices[0].client
        lowering._device_list = _jax.DeviceList(tuple(devices))  # noqa: SLF001
    lowering.compile_args = known
    placed._lowering = lowering  # noqa: SLF001
    return placed


def _move(sharding: Any, devices: Sequence[jax.Device]) -> Any:  # noqa: ANN401 - also JAX's mark for none
    """Return a sharding over other devices, in their usual memory where it was in the usual memory of its own."""
    from jax._src.sharding_impls import GSPMDSharding
    from jax.sharding import Mesh, NamedSharding, SingleDeviceSharding
    from numpy import asarray

    if isinstance(sharding, NamedSharding) and isinstance(sharding.mesh, Mesh):
        laid = asarray(devices, dtype=object).reshape(sharding.mesh.devices.shape)
        mesh = Mesh(laid, sharding.mesh.axis_names, axis_types=sharding.mesh.axis_types)
        return sharding.update(mesh=mesh, memory_kind=_find_memory(sharding))
    if isinstance(sharding, SingleDeviceSharding):
        return SingleDeviceSharding(devices[0], memory_kind=_find_memory(sharding))
    if isinstance(sharding, GSPMDSharding):
        hlo = sharding._hlo_sharding  # noqa: SLF001
        return GSPMDSharding(tuple(devices), hlo, memory_kind=_find_memory(sharding))
    return sharding


def _find_memory(sharding: Any) -> str | None:  # noqa: ANN401 - any of JAX's
    """Return the kind of memory that a sharding asks for, or None where it is the usual one of its devices."""
    # The devices of a target know no memory, and a sharding over them names none that it was not told.
    with suppress(RuntimeError):
        if sharding.memory_kind in {device.default_memory().kind for device in sharding.device_set}:
            return None
    kind: str | None = sharding.memory_kind
    return kind


def find_devices(executable: jax.stages.Compiled) -> tuple[jax.Device, ...]:
    """Return the devices that an executable was compiled for."""
    return tuple(executable._executable._unloaded_executable.device_list)  # type: ignore[attr-defined]  # noqa: SLF001


def hide_frames_of(file: str) -> None:
    """Keep the frames of a Python file out of every location that JAX records from now on."""
    from jax._src import source_info_util

    source_info_util.register_exclusion(file)


def walk_frames(equation: Any) -> Iterator[tuple[str, str, int]]:  # noqa: ANN401 - its class says nothing of it
    """Yield the file, function and line of each Python frame that an equation came from, innermost first."""
    from jax._src import source_info_util

    for frame in source_info_util.user_frames(equation.source_info.traceback):
        yield frame.file_name, frame.function_name, frame.start_line


def start_profiler() -> Any:  # noqa: ANN401 - the class has no public name to annotate with
    """Start XLA's own profiler in this process, without Python frames; `.stop()` returns a serialized XSpace."""
    from jaxlib import _profiler  # type: ignore[attr-defined]  # it has no stub

    options = _profiler.ProfileOptions()
    options.python_tracer_level = 0
    options.host_tracer_level = 1
    options.raise_error_on_start_failure = True
    return _profiler.ProfilerSession(options)


def count_work(module_text: str) -> dict[str, float]:
    """Return what XLA's HLO cost analysis counts in a module, property to number."""
    import jax
    from jaxlib import _hlo, _jax  # type: ignore[attr-defined]  # _hlo has no stub

    module = _hlo.hlo_module_from_text(module_text)
    return dict(_jax.hlo_module_cost_analysis(jax.devices("cpu")[0].client, module))


def parse_hlo(module_text: str) -> str:
    """Return a module as XLA prints it once it has parsed it; RuntimeError with the parser's message if it cannot."""
    from jaxlib import _hlo  # type: ignore[attr-defined]  # it has no stub

    return str(_hlo.hlo_module_from_text(module_text).to_string())


def read_options() -> bytes:
    """Return XLA's options as this process has read them from the environment, serialized; this reads them."""
    from jaxlib import _jax

    return bytes(_jax.CompileOptions().SerializeAsString())


@contextmanager
def watch_jit(around_trace: Callable[..., Any], around_run: Callable[..., Any]) -> Iterator[None]:
    """Let every call of a jitted function that JAX's quick path does not know go through two functions.

    Args:
        around_trace: Called with JAX's own function, the function that was jitted, JAX's record of how, and the
            positional and keyword arguments; returns what JAX's function returns of the rest. It traces where JAX
            has not traced the like.
        around_run: Called with JAX's own function, the function that was jitted, its positional and its keyword
            arguments, and what calls JAX's function. It lowers and compiles where JAX has not.
    """
    from jax._src import pjit

    trace, run = pjit._infer_params, pjit._run_python_pjit  # noqa: SLF001 - nothing public is called at each miss

    def infer_params(fun: Any, info: Any, args: Any, kwargs: Any) -> Any:  # noqa: ANN401 - whatever JAX passes
        return around_trace(lambda: trace(fun, info, args, kwargs), fun, info, args, kwargs)

    def run_python_pjit(found: Any, flat: Any, fun: Any, args: Any, kwargs: Any) -> Any:  # noqa: ANN401 - likewise
        return around_run(lambda: run(found, flat, fun, args, kwargs), fun, args, kwargs)

    pjit._infer_params, pjit._run_python_pjit = infer_params, run_python_pjit  # type: ignore[assignment]  # noqa: SLF001
    hide_frames_of(__file__)
    try:
        yield
    finally:
        pjit._infer_params, pjit._run_python_pjit = trace, run  # noqa: SLF001


def is_outside() -> bool:
    """Return whether this thread traces nothing, so that a call of a jitted function is one to compile and run."""
    from jax._src import core

    return bool(core.trace_state_clean())


def jit_again(fun: Callable[..., Any], info: Any) -> Any:  # noqa: ANN401 - JAX's record, and what it makes of it
    """Return a function jitted as JAX's record says that it was."""
    from jax._src import pjit

    return pjit._cpp_pjit(fun, info)  # noqa: SLF001 - the public way wants the options as the reader wrote them


@contextmanager
def traced_before(inferred: Any, leaves: Sequence[Any]) -> Iterator[None]:  # noqa: ANN401 - what JAX's tracing returned
    """Let whatever is traced now be what was traced before.

    Args:
        inferred: What JAX's function returned to `watch_jit` at that time.
        leaves: The flat arguments, or their shapes.
    """
    from jax._src import pjit

    trace = pjit._infer_params  # noqa: SLF001 - what `Traced` is made from
    pjit._infer_params = lambda *_: (inferred[0], list(leaves))  # noqa: SLF001
    try:
        yield
    finally:
        pjit._infer_params = trace  # noqa: SLF001


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

    if JITS in sys.modules and not read_meshes()[0].empty:
        import jax

        jax.set_mesh(None)
