"""Tracing and lowering of a function, independent of the call site, but with the caller's JAX options and meshes."""

from __future__ import annotations

import inspect
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import jax

from xla_inspect import folders, jax_private, targets
from xla_inspect.compilation import meshes
from xla_inspect.compilation.program_stages import Lowered, Traced, prefix_pattern
from xla_inspect.errors import InspectError
from xla_inspect.notebook_cells import list_cells

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from xla_inspect.captured import Capture
    from xla_inspect.targets import Target

jax_private.hide_frames_of(str(Path(__file__).parent))

SETTINGS = threading.RLock()
"""The lock that is held while JAX's process-wide settings differ from the user's."""


@dataclass(frozen=True)
class Program:
    """A function that JAX can trace, with the example arguments that define its shapes.

    Attributes:
        function: The jitted function.
        name: The name of the Python function.
        args: Positional examples; arrays are reduced to shape and dtype, so that no value can matter.
        kwargs: Keyword examples, reduced in the same way.
        file: The file that defines the function, or None if there is none.
        mesh: Axis names and sizes of the mesh that the program runs under, or None.
        specs: The sharding of each positional example over the mesh, or None (see `meshes.shard`).
        known: The lowered program by platform; None if a lowering rule needs the target's own device.
        around_tracing: A context manager to enter, in the tracing thread, while the function is traced.
    """

    function: Any
    name: str
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    file: Path | None
    mesh: Mapping[str, int] | None = None
    specs: tuple[Any, ...] | None = None
    known: dict[str, Lowered | None] = field(default_factory=dict, compare=False, repr=False)
    around_tracing: Callable[[], AbstractContextManager[None]] = field(default=nullcontext, compare=False, repr=False)

    @cached_property
    def traced(self) -> Traced:
        """The program traced once without its mesh, for targets of all platforms."""
        return run_fresh(lambda: _trace(self, self.args, self.kwargs))

    @cached_property
    def project(self) -> Path:
        """The root of relative file names: the nearest project around the program's file, else the file's folder."""
        folder = self.file.parent if self.file else Path.cwd()
        return folders.find_project(folder) or folder

    @cached_property
    def source_file(self) -> str:
        """The name of the program's file relative to the project, as locations use it, or an empty string."""
        return re.sub(prefix_pattern(self.project), "", str(self.file)).replace("\\", "/") if self.file else ""

    @property
    def source(self) -> str:
        """The text of the program's file, or an empty string."""
        return self.file.read_text(encoding="utf-8", errors="replace") if self.file else ""

    @property
    def code_file(self) -> str:
        """The base name of the file that Python reports for the function; the file need not exist."""
        code = getattr(inspect.unwrap(self.function), "__code__", None)
        return Path(code.co_filename).name if code else ""

    def read_sources(self, names: Sequence[str]) -> dict[str, str]:
        """Return the texts of the project files that call chains refer to, by name, the program's own file first."""
        files = {file: self.project / file for file in names if file != self.source_file}
        others = {file: path.read_text(encoding="utf-8") for file, path in files.items() if path.is_file()}
        return {self.source_file: self.source, **others} if self.source_file else others

    def describe_sources(self, capture: Capture) -> dict[str, Any]:
        """Return the capture fields with the names and texts of the source files, or of a notebook's cells."""
        sources = self.read_sources(capture.files)
        fields = {"source_file": self.source_file, "source": self.source, "sources": sources}
        cells = {file: cell for file, cell in list_cells().items() if file in capture.files}
        if not cells:
            return fields
        chains = {
            number: tuple(
                replace(frame, file=cells[frame.file][0]) if frame.file in cells else frame for frame in chain
            )
            for number, chain in capture.frames.items()
        }
        own = cells.get(self.code_file, (self.source_file, self.source))
        return {
            "source_file": own[0],
            "source": own[1],
            "sources": {**dict(filter(all, [own])), **sources, **dict(cells.values())},
            "frames": chains,
            "files": tuple(sorted({frame.file for chain in chains.values() for frame in chain})),
        }


def describe_call(
    fn: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], jit_options: Mapping[str, Any]
) -> Program:
    """Return the program of a function and its examples, jitted with `jit_options`, but not traced yet.

    Raises:
        InspectError: `fn` is not callable, or it is already jitted and `jit_options` are not empty.
    """
    if not callable(fn):
        message = f"capture() takes a function and its example arguments, and {fn!r} is not callable"
        raise InspectError(message)
    jitted = hasattr(fn, "trace") and hasattr(fn, "lower")
    if jitted and jit_options:
        message = (
            f"{name_of(fn)!r} is jitted already, so {', '.join(sorted(jit_options))} would have no effect; "
            "give it to jax.jit, or pass the plain function"
        )
        raise InspectError(message)
    function = fn if jitted else jax.jit(fn, **jit_options)
    shapes, keywords = jax.tree.map(abstract, (tuple(args), dict(kwargs)))
    return Program(function, name_of(fn), shapes, keywords, find_file(fn))


def abstract(leaf: Any) -> Any:  # noqa: ANN401 - a leaf is whatever the reader passed
    """Return an array as a `ShapeDtypeStruct`, with its sharding if it spans devices, and any other value unchanged."""
    if isinstance(leaf, jax.ShapeDtypeStruct) or not (hasattr(leaf, "shape") and hasattr(leaf, "dtype")):
        return leaf
    layout = getattr(leaf, "sharding", None)
    # The device that holds an unsharded array has no influence on the program.
    spread = isinstance(layout, jax.sharding.NamedSharding) or getattr(layout, "num_devices", 1) > 1
    sharding = layout if spread else None
    return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=sharding, weak_type=getattr(leaf, "weak_type", False))


def name_of(fn: Callable[..., Any]) -> str:
    """Return the `__name__` of a function, or that of the function under partial applications, or its type's name."""
    while not hasattr(fn, "__name__") and hasattr(fn, "func"):
        fn = fn.func
    return getattr(fn, "__name__", type(fn).__name__)


def find_file(fn: Callable[..., Any]) -> Path | None:
    """Return the file that defines a function, or None if there is none on disk."""
    while hasattr(fn, "func"):
        fn = fn.func
    try:
        file = Path(inspect.getsourcefile(inspect.unwrap(fn)) or "")
    except TypeError:
        return None
    return file.absolute() if file.is_file() else None


@contextmanager
def held_settings(project: Path) -> Iterator[None]:
    """Set the process-wide settings of JAX that a capture needs in the `with` block, and restore them afterwards.

    Args:
        project: The folder that source file names are relative to.
    """
    settings = {
        "jax_hlo_source_file_canonicalization_regex": prefix_pattern(project),
        # JAX's persistent cache must be off, because a compile that it serves writes no dumps.
        "jax_enable_compilation_cache": False,
    }
    with SETTINGS:
        before = {name: getattr(jax.config, name) for name in settings}
        try:
            for name, value in settings.items():
                jax_private.set_option(name, value)
            with jax_private.assume_libraries():
                yield
        finally:
            for name, value in before.items():
                jax_private.set_option(name, value)


def lower(program: Program, target: Target) -> Lowered:
    """Trace a program and lower it for a target, once for all targets of its platform; under a mesh, anew in each call.

    This loads no compiler and creates no device, with two exceptions: a program under a mesh uses the target's devices,
    and some lowering rules, such as those of host callbacks and of Pallas, need the target's client.

    Raises:
        InspectError: The mesh, specs, examples and target contradict each other.
    """
    if program.mesh:
        return _lower_under_mesh(program, meshes.make_mesh(program.mesh, target), target)
    if target.platform not in program.known:
        try:
            program.known[target.platform] = _lower_traced(program.traced, target, None)
        except Exception:  # noqa: BLE001 - whatever it is, it is raised again where it has another cause
            program.known[target.platform] = None
    return program.known[target.platform] or _lower_traced(program.traced, target, target.devices()[0])


def _lower_under_mesh(program: Program, mesh: jax.sharding.Mesh, target: Target) -> Lowered:
    args = meshes.shard(program.args, program.specs, mesh)
    kwargs = meshes.shard(program.kwargs, None, mesh)

    def work() -> Lowered:
        # The mesh context stays, because shardings in the program may be given by axis names alone.
        with jax.set_mesh(mesh):
            traced = _trace(program, args, kwargs)
            device = target.devices()[0]
            jax_private.name_processor(device)
            with jax_private.lent_client(device.client):
                return _lower(traced, target, tuple(mesh.devices.flat))

    return run_fresh(work)


def _lower_traced(traced: Traced, target: Target, device: jax.Device | None) -> Lowered:
    """Lower a traced program for a kind of target, or for one device if lowering rules need it."""

    def work() -> Lowered:
        # The target's device must not become the default, because rules may compute constants eagerly.
        with jax_private.lent_client(device.client if device else None):
            try:
                return _lower(traced, target)
            except (RuntimeError, ValueError) as error:
                if device is None or " device" not in str(error):
                    raise
        # Pallas reads the processor that a kernel is for from JAX's default device.
        jax_private.name_processor(device)
        with jax_private.lent_client(device.client), jax.default_device(device):
            return _lower(traced, target)

    return run_fresh(work)


def _lower(traced: Traced, target: Target, devices: tuple[jax.Device, ...] = ()) -> Lowered:
    start_lowering(target.platform)
    with targets.find_occasion()(object()):
        start = perf_counter()
        stage = traced.stage.lower(lowering_platforms=(target.platform,))
        return Lowered(
            jax_private.put_module(stage, traced.stage, target.platform), traced, devices, perf_counter() - start
        )


def _trace(program: Program, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Traced:
    start_lowering("cpu")
    # Programs of other frameworks have types of 64 bits.
    types = jax.enable_x64(True) if hasattr(program.function, "is_stablehlo") else nullcontext()  # noqa: FBT003 - JAX has it so
    with targets.find_occasion()(object()), program.around_tracing(), types:
        start = perf_counter()
        stage = program.function.trace(*args, **kwargs)
        return Traced(stage, program.project, perf_counter() - start)


@cache
def start_lowering(platform: str) -> jax.stages.Lowered:
    """Lower a trivial program once per platform and return it, so that later times exclude JAX's own loading."""

    def work() -> jax.stages.Lowered:
        lowered: jax.stages.Lowered = jax.jit(lambda x: x + 1).trace(0.0).lower(lowering_platforms=(platform,))
        return lowered

    # The new thread has no mesh; under the caller's mesh, this program would be one for several devices.
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result()


def run_fresh[T](work: Callable[[], T]) -> T:
    """Call `work` in a new thread, whose stack starts there, and return its result.

    In the caller's thread, the caller's frames would become part of the lowered program's locations. Exceptions are
    raised again in the caller. The new thread has the options and meshes that `with` statements or `jax.set_mesh` set.
    """
    settings, meshes = jax_private.read_settings(), jax_private.read_meshes()
    results: list[T] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            with jax_private.entered_settings(settings, meshes), jax_private.lent_context():
                results.append(work())
        except BaseException as error:  # noqa: BLE001 - the caller gets it, whatever it is
            failed.append(error)

    thread = threading.Thread(target=run, name="xla-inspect-lowering")
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return results[0]
