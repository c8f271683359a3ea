"""Trace and lower a function so that nothing of it depends on who called or from where."""

from __future__ import annotations

import inspect
import re
import threading
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax

from xla_inspect.capture import folders, meshes, private
from xla_inspect.errors import InspectError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from xla_inspect.capture.targets import Target
    from xla_inspect.hlo.frame import Frame

private.hide_frames_of(str(Path(__file__).parent))

# The place after an equation, as JAX prints it.
LOCATED = re.compile(r"# (.+?)(:\d+:\d+ \(.*\))$", re.MULTILINE)

SETTINGS = threading.RLock()
"""Held while JAX's process-wide settings differ from the reader's."""


@dataclass(frozen=True)
class Program:
    """A function that JAX can trace, with the example arguments that give its shapes.

    Attributes:
        function: The function, jitted.
        name: The name of the Python function.
        args: Positional examples; arrays are reduced to shape and dtype, so that no value can matter.
        kwargs: Keyword examples, likewise.
        file: The file that holds the function, or None where there is none.
        mesh: Axis names to sizes of the mesh that the program runs under, or None.
        specs: How each positional example is sharded over the mesh, or None (see `meshes.shard`).
    """

    function: Any
    name: str
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    file: Path | None
    mesh: Mapping[str, int] | None = None
    specs: tuple[Any, ...] | None = None

    @property
    def project(self) -> Path:
        """The folder that files are named from: the nearest project around the program's file, else its folder."""
        folder = self.file.parent if self.file else Path.cwd()
        return folders.find_project(folder) or folder

    @property
    def source_file(self) -> str:
        """The program's file as locations name it, or an empty string."""
        return re.sub(prefix_pattern(self.project), "", str(self.file)).replace("\\", "/") if self.file else ""

    @property
    def source(self) -> str:
        """The text of the program's file, or an empty string."""
        return self.file.read_text(encoding="utf-8") if self.file else ""

    def read_sources(self, frames: Mapping[int, Sequence[Frame]]) -> dict[str, str]:
        """Return the project's files that call chains name, the program's own first, each with its text."""
        named = {frame.file: None for chain in frames.values() for frame in chain}
        files = {file: self.project / file for file in sorted(named) if file != self.source_file}
        others = {file: path.read_text(encoding="utf-8") for file, path in files.items() if path.is_file()}
        return {self.source_file: self.source, **others} if self.source_file else others


PLATFORMS = {"cpu": "cpu", "gpu": "cuda", "tpu": "tpu"}
"""The kind of a target, and the platform whose lowering rules JAX uses for it."""


@dataclass(frozen=True)
class Lowered:
    """A program traced and lowered for one kind of target.

    Attributes:
        stage: JAX's own `Lowered`.
        jaxpr: The traced program as JAX prints it.
        jaxpr_locations: The same with the place in the program's files that each equation came from.
        stablehlo: The lowered program without locations.
        stablehlo_locations: The same with `loc(...)` on each operation.
    """

    stage: jax.stages.Lowered
    jaxpr: str
    jaxpr_locations: str
    stablehlo: str
    stablehlo_locations: str


def describe(
    fn: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], jit_options: Mapping[str, Any]
) -> Program:
    """Return the program of a function and its examples.

    Raises:
        InspectError: `fn` is not callable, or it is jitted already and jit options were given besides.
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
    shapes, named = jax.tree.map(abstract, (tuple(args), dict(kwargs)))
    return Program(function, name_of(fn), shapes, named, find_file(fn))


def abstract(leaf: Any) -> Any:  # noqa: ANN401 - a leaf is whatever the reader passed
    """Return the shape and dtype of an array, and anything else as it is."""
    if isinstance(leaf, jax.ShapeDtypeStruct) or not (hasattr(leaf, "shape") and hasattr(leaf, "dtype")):
        return leaf
    kept = getattr(leaf, "sharding", None)
    sharding = kept if isinstance(kept, jax.sharding.NamedSharding) else None
    return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=sharding, weak_type=getattr(leaf, "weak_type", False))


def name_of(fn: Callable[..., Any]) -> str:
    """Return the name of the Python function under any wrappers and partial applications."""
    while not hasattr(fn, "__name__") and hasattr(fn, "func"):
        fn = fn.func
    return getattr(fn, "__name__", type(fn).__name__)


def find_file(fn: Callable[..., Any]) -> Path | None:
    """Return the file that holds a function, or None where there is none on disk."""
    while hasattr(fn, "func"):
        fn = fn.func
    try:
        file = Path(inspect.getsourcefile(inspect.unwrap(fn)) or "")
    except TypeError:
        return None
    return file.absolute() if file.is_file() else None


def prefix_pattern(project: Path) -> str:
    """Return the pattern of what is dropped from the front of a source file's path.

    A library's file keeps its path below `site-packages`, a project's its path below the project, any other its name.
    """
    root = r"[/\\]".join(map(re.escape, str(project).rstrip("/\\").replace("\\", "/").split("/")))
    return rf"^(?:.*[/\\](?:site|dist)-packages[/\\]|{root}[/\\]|.*[/\\])"


def _name_file(project: Path, mark: re.Match[str]) -> str:
    """Return the mark of an equation with its file named as everywhere else."""
    return f"# {re.sub(prefix_pattern(project), '', mark[1])}{mark[2]}"


@contextmanager
def settled(project: Path) -> Iterator[None]:
    """Hold JAX's process-wide settings as a capture needs them, and give the reader's back.

    Args:
        project: The folder that source files are named from.
    """
    wanted = {
        "jax_hlo_source_file_canonicalization_regex": prefix_pattern(project),
        # A compile that JAX finds in its persistent cache writes no dumps.
        "jax_enable_compilation_cache": False,
    }
    with SETTINGS:
        before = {name: getattr(jax.config, name) for name in wanted}
        try:
            for name, value in wanted.items():
                private.set_option(name, value)
            yield
        finally:
            for name, value in before.items():
                private.set_option(name, value)


def lower(program: Program, target: Target, *, to_compile: bool) -> Lowered:
    """Trace and lower a program for a target, under the program's mesh of the target's devices where it has one.

    The work is done in a fresh thread, whose stack starts at the program: otherwise the frames of whoever called
    would be part of the lowered program's locations. What the program raises is raised here, unchanged.

    Args:
        program: The program.
        target: The target, whose first device it is lowered for unless the examples are sharded over several.
        to_compile: Lower for the target's devices, which loads its compiler. Without it the text is the same, and
            what there is to read is had in a few milliseconds.

    Raises:
        InspectError: A `with` statement around the call sets JAX options, which do not reach another thread; or mesh,
            specs, examples and target do not go together.
    """
    mesh = meshes.make_mesh(program.mesh, target) if program.mesh else None
    args = meshes.shard(program.args, program.specs, mesh) if mesh else program.args
    sharded = mesh or any(getattr(leaf, "sharding", None) for leaf in jax.tree.leaves((args, program.kwargs)))
    device = target.devices()[0] if to_compile else None
    settings = private.thread_settings()
    outcome: list[Lowered | BaseException] = []

    def work() -> None:
        try:
            if private.thread_settings() != settings:
                message = (
                    "a `with` statement around capture() sets options of JAX, which the compile would not see; "
                    "move it into the program, or use jax.config.update"
                )
                raise InspectError(message)  # noqa: TRY301 - it crosses threads with all others
            # With a mesh the context stays: shardings in the program may be given by axis names alone.
            with jax.set_mesh(mesh) if mesh else nullcontext():
                traced = program.function.trace(*args, **program.kwargs)
                if sharded:
                    stage = traced.lower()
                elif device is None:
                    stage = traced.lower(lowering_platforms=(PLATFORMS[target.kind],))
                else:
                    with jax.default_device(device):
                        stage = traced.lower()
            located = LOCATED.sub(partial(_name_file, program.project), traced.jaxpr.pretty_print(source_info=True))
            texts = str(traced.jaxpr), located, stage.as_text(), stage.as_text(debug_info=True)
            outcome.append(Lowered(stage, *texts))
        except BaseException as error:  # noqa: BLE001 - the caller gets it, whatever it is
            outcome.append(error)

    thread = threading.Thread(target=work, name="xla-inspect-lowering")
    thread.start()
    thread.join()
    if isinstance(outcome[0], BaseException):
        raise outcome[0]
    return outcome[0]
