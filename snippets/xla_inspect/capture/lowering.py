"""Trace and lower a function so that nothing of it depends on who called or from where."""

from __future__ import annotations

import inspect
import re
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax

from xla_inspect.capture import folders, private
from xla_inspect.errors import InspectError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from xla_inspect.capture.targets import Target

private.hide_frames_of(str(Path(__file__).parent))

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
        source_file: The file that holds the function, relative to the project, or an empty string.
        source: The text of that file, or an empty string.
    """

    function: Any
    name: str
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    source_file: str
    source: str


@dataclass(frozen=True)
class Lowered:
    """A program traced and lowered for one target.

    Attributes:
        stage: JAX's own `Lowered`, ready to compile.
        jaxpr: The traced program as JAX prints it.
        stablehlo: The lowered program without locations.
        stablehlo_locations: The same with `loc(...)` on each operation.
    """

    stage: jax.stages.Lowered
    jaxpr: str
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
    file, text = find_source(fn)
    shapes, named = jax.tree.map(abstract, (tuple(args), dict(kwargs)))
    return Program(function, name_of(fn), shapes, named, file, text)


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


def find_source(fn: Callable[..., Any]) -> tuple[str, str]:
    """Return the project-relative file of a function and its text; both empty where there is none."""
    while hasattr(fn, "func"):
        fn = fn.func
    try:
        file = inspect.getsourcefile(inspect.unwrap(fn)) or ""
        text = Path(file).read_text(encoding="utf-8") if file else ""
    except (TypeError, OSError):
        return "", ""
    return re.sub(prefix_pattern(), "", str(Path(file).resolve())) if text else "", text


def prefix_pattern() -> str:
    """Return the pattern of what is dropped from the front of a source file's path.

    A library's file keeps its path below `site-packages`, a project's its path below the project, any other its name.
    """
    project = folders.find_project() or Path.cwd()
    return rf"^(?:.*/(?:site|dist)-packages/|{re.escape(project.as_posix())}/|.*[/\\])"


@contextmanager
def settled() -> Iterator[None]:
    """Hold JAX's process-wide settings as a capture needs them, and give the reader's back."""
    wanted = {
        "jax_hlo_source_file_canonicalization_regex": prefix_pattern(),
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


def lower(program: Program, target: Target) -> Lowered:
    """Trace and lower a program for the first device of a target, or for those its examples are sharded over.

    The work is done in a fresh thread, whose stack starts at the program: otherwise the frames of whoever called
    would be part of the lowered program's locations. What the program raises is raised here, unchanged.

    Raises:
        InspectError: A `with` statement around the call sets JAX options, which do not reach another thread.
    """
    device = target.devices()[0]
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
            with jax.default_device(device):
                traced = program.function.trace(*program.args, **program.kwargs)
                stage = traced.lower()
                plain = stage.as_text()
                located = stage.as_text(debug_info=True)
            outcome.append(Lowered(stage, str(traced.jaxpr), plain, located))
        except BaseException as error:  # noqa: BLE001 - the caller gets it, whatever it is
            outcome.append(error)

    thread = threading.Thread(target=work, name="xla-inspect-lowering")
    thread.start()
    thread.join()
    if isinstance(outcome[0], BaseException):
        raise outcome[0]
    return outcome[0]
