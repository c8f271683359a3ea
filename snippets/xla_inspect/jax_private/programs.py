"""Access to JAX's lowering and compilation: contexts, clients, devices, compile requests, the profiler, HLO parsing."""

from __future__ import annotations

import threading
from contextlib import contextmanager, suppress
from copy import copy
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import jax

_contexts: list[Any] = []
_lent = threading.local()


@contextmanager
def lent_context() -> Iterator[None]:
    """Reuse an earlier MLIR context for lowering within the `with` block, and make it available to later blocks.

    Creating a context takes longer than lowering most programs. JAX itself uses each context ten times, and caches it
    by thread; before 0.11, JAX creates one for each program, so none can be reused.
    """
    from jax._src.interpreters import mlir

    context = getattr(mlir, "_thread_local_context", None)
    if context is None:
        yield
        return
    # A list's `pop` and `append` are atomic, so no two threads get the same context.
    context.set_local(_contexts.pop() if _contexts else None)
    try:
        yield
    finally:
        if context.value is not None:
            _contexts.append(context.value)
            context.set_local(None)


@contextmanager
def lent_client(client: Any | None) -> Iterator[None]:  # noqa: ANN401 - the class has no public name to annotate with
    """Give the target's client, or none, to lowering rules that need a client within the `with` block.

    JAX knows only the clients of the platforms that it runs on, and a target is not one of these.

    Args:
        client: The target's client; if None, a rule that needs a client raises `LookupError`.
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

    # The method is replaced once for all threads, and it answers with what the current thread has lent.
    original = ModuleContext.get_backend

    def get_backend(self: ModuleContext, optional: bool = False) -> Any:  # noqa: ANN401, FBT001, FBT002 - as JAX has it
        # A thread that lends nothing, such as the user's own, gets JAX's own answer.
        if not hasattr(_lent, "client"):
            return original(self, optional)
        if _lent.client is None:
            message = "a lowering rule asks for a client, and none is lent"
            raise LookupError(message)
        return _lent.client

    ModuleContext.get_backend = get_backend  # type: ignore[method-assign]  # what JAX's rules call


def find_layout(stage: jax.stages.Lowered) -> tuple[int, Any]:
    """Return the number of devices that a program was lowered for, and the first mesh over all of them, or None."""
    from jax.sharding import NamedSharding

    facts = stage._lowering.compile_args  # noqa: SLF001 - nothing public says it
    shardings = (*facts["in_shardings"], *facts["out_shardings"], *facts["intermediate_shardings"])
    meshes = [*(sharding.mesh for sharding in shardings if isinstance(sharding, NamedSharding)), facts["context_mesh"]]
    count = facts["num_devices"]
    # A program may also use meshes over some of its devices.
    return count, next((mesh for mesh in meshes if not mesh.empty and mesh.size == count), None)


def place(stage: jax.stages.Lowered, devices: Sequence[jax.Device]) -> jax.stages.Lowered:
    """Return a copy of a lowered program for other devices: as many as before, in the given order, of one client.

    Its host callbacks are dropped, because only a run needs them, and a client without devices cannot use them.
    """
    from jaxlib import _jax

    # The compiles for other targets use the same program, so it must not change.
    placed = copy(stage)
    lowering: Any = copy(stage._lowering)  # noqa: SLF001 - nothing public changes it
    facts = {**lowering.compile_args, "host_callbacks": []}
    if tuple(lowering._device_list or ()) != tuple(devices):  # noqa: SLF001
        for name in ("in_shardings", "out_shardings"):
            facts[name] = tuple(_move(sharding, devices) for sharding in facts[name])
        facts["backend"] = devices[0].client
        lowering._device_list = _jax.DeviceList(tuple(devices))  # noqa: SLF001
    lowering.compile_args = facts
    placed._lowering = lowering  # noqa: SLF001
    return placed


def replace_module(stage: jax.stages.Lowered, module: object) -> jax.stages.Lowered:
    """Return a copy of a lowered program with another MLIR module, since JAX compiles only what it has lowered."""
    copied = copy(stage)
    lowering: Any = copy(stage._lowering)  # noqa: SLF001 - nothing public changes it
    lowering._hlo = module  # noqa: SLF001
    copied._lowering = lowering  # noqa: SLF001
    return copied


def _move(sharding: Any, devices: Sequence[jax.Device]) -> Any:  # noqa: ANN401 - also JAX's mark for none
    """Return a sharding over other devices; the default memory kind of the old devices becomes that of the new ones."""
    from jax._src.sharding_impls import GSPMDSharding
    from jax.sharding import Mesh, NamedSharding, SingleDeviceSharding
    from numpy import asarray

    if isinstance(sharding, NamedSharding) and isinstance(sharding.mesh, Mesh):
        grid = asarray(devices, dtype=object).reshape(sharding.mesh.devices.shape)
        mesh = Mesh(grid, sharding.mesh.axis_names, axis_types=sharding.mesh.axis_types)
        return sharding.update(mesh=mesh, memory_kind=_find_memory(sharding))
    if isinstance(sharding, SingleDeviceSharding):
        return SingleDeviceSharding(devices[0], memory_kind=_find_memory(sharding))
    if isinstance(sharding, GSPMDSharding):
        hlo = sharding._hlo_sharding  # noqa: SLF001
        return GSPMDSharding(tuple(devices), hlo, memory_kind=_find_memory(sharding))
    return sharding


def _find_memory(sharding: Any) -> str | None:  # noqa: ANN401 - any of JAX's
    """Return the memory kind that a sharding requests, or None if it is the default of its devices."""
    # A target's devices have no memory kinds, so a sharding over them has one only if it was set explicitly.
    with suppress(RuntimeError):
        if sharding.memory_kind in {device.default_memory().kind for device in sharding.device_set}:
            return None
    kind: str | None = sharding.memory_kind
    return kind


def serialize(executable: jax.stages.Compiled) -> bytes:
    """Return an executable in its client's own format, which holds the machine code."""
    loaded: Any = executable.runtime_executable()
    data: bytes = loaded.serialize()
    return data


def find_devices(executable: jax.stages.Compiled) -> tuple[jax.Device, ...]:
    """Return the devices that an executable was compiled for."""
    return tuple(executable._executable._unloaded_executable.device_list)  # type: ignore[attr-defined]  # noqa: SLF001


@dataclass(frozen=True)
class CompileCall:
    """JAX's compile request in a form that another process can submit.

    Attributes:
        module: The program as MLIR bytecode.
        options: XLA's `CompileOptions`, serialized.
        devices: The numbers of the devices to compile for.
    """

    module: bytes
    options: bytes
    devices: tuple[int, ...]


class _NotCompiledError(Exception):
    """The exception that stops a compile before the compiler is called."""


def describe_compile(stage: jax.stages.Lowered, options: Mapping[str, Any]) -> CompileCall:
    """Return the compile request that a lowered program's `compile` would submit, without compiling.

    Args:
        stage: The program.
        options: XLA's options by name.
    """
    from jax._src import compiler
    from jax._src.interpreters import mlir

    compile_now, here = compiler.backend_compile_and_load, threading.get_ident()
    calls: list[CompileCall] = []

    def note(backend: Any, module: Any, devices: Any, compile_options: Any, *others: Any) -> Any:  # noqa: ANN401 - as JAX has them
        # Another thread may be compiling, and its call must reach the compiler.
        if threading.get_ident() != here:
            return compile_now(backend, module, devices, compile_options, *others)
        numbers = tuple(device.id for device in devices)
        calls.append(CompileCall(mlir.module_to_bytecode(module), compile_options.SerializeAsString(), numbers))
        raise _NotCompiledError

    compiler.backend_compile_and_load = note
    try:
        stage.compile(dict(options))
    except _NotCompiledError:
        pass
    finally:
        compiler.backend_compile_and_load = compile_now
    return calls[0]


def compile_call(call: CompileCall, devices: Sequence[jax.Device]) -> None:
    """Compile a request that another process recorded, and discard the executable.

    Args:
        call: The compile request.
        devices: The target's devices.
    """
    from jax._src import compiler
    from jax._src.interpreters import mlir
    from jaxlib import _jax
    from jaxlib.mlir import ir

    # Device objects cannot pass from one process to another, so the request has their numbers.
    numbered = {device.id: device for device in devices}
    with mlir.make_ir_context():
        module = ir.Module.parse(call.module)
        compiler.backend_compile_and_load(
            devices[0].client,
            module,
            _jax.DeviceList(tuple(numbered[number] for number in call.devices)),
            _jax.CompileOptions.ParseFromString(call.options),
            [],
        )


def hide_frames_of(file: str) -> None:
    """Exclude the frames of a Python file from every location that JAX records from now on."""
    from jax._src import source_info_util

    source_info_util.register_exclusion(file)


def walk_frames(equation: Any) -> Iterator[tuple[str, str, int]]:  # noqa: ANN401 - its class says nothing of it
    """Yield the file, function and line of each frame outside of JAX in an equation's traceback, innermost first."""
    from jax._src import source_info_util

    for frame in source_info_util.user_frames(equation.source_info.traceback):
        yield frame.file_name, frame.function_name, frame.start_line


def start_profiler() -> Any:  # noqa: ANN401 - the class has no public name to annotate with
    """Start XLA's own profiler in this process, without Python frames; `.stop()` returns a serialized XSpace."""
    from jaxlib import _profiler  # type: ignore[attr-defined]  # it has no stub

    options = _profiler.ProfileOptions()
    options.python_tracer_level = 0
    options.host_tracer_level = 1
    # Without this option, a session that cannot start records nothing and raises no error.
    options.raise_error_on_start_failure = True
    return _profiler.ProfilerSession(options)


def count_work(module_text: str) -> dict[str, float]:
    """Return the properties that XLA's HLO cost analysis computes for a module's text, such as `flops`, by name."""
    import jax
    from jaxlib import _hlo, _jax  # type: ignore[attr-defined]  # _hlo has no stub

    module = _hlo.hlo_module_from_text(module_text)
    return dict(_jax.hlo_module_cost_analysis(jax.devices("cpu")[0].client, module))


def load_mlir() -> Any:  # noqa: ANN401 - a module of bindings
    """Import and return jaxlib's module of MLIR bindings."""
    from jaxlib.mlir import ir

    return ir


def parse_hlo(module_text: str) -> str:
    """Return the text of a module as XLA prints it after parsing; raise RuntimeError if XLA's parser rejects it."""
    from jaxlib import _hlo  # type: ignore[attr-defined]  # it has no stub

    return str(_hlo.hlo_module_from_text(module_text).to_string())


def make_cpus(count: int) -> list[Any]:
    """Make a client with `count` simulated CPU devices to compile for, apart from JAX's own, and return its devices.

    The caller decides whether it is needed, for example because JAX has started with fewer devices.
    """
    from jaxlib import xla_client

    client: Any = xla_client.make_cpu_client(num_devices=count)
    return list(client.devices())
