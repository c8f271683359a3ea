"""What a program lets JAX trace and compile, noted while it runs: which function, called where, with what, and how long.

Nothing is looked at where JAX finds what it has compiled: only what takes long anyway takes a little longer.
"""

from __future__ import annotations

import functools
import inspect
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xla_inspect import jax_private
from xla_inspect.analysis import Compilation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from xla_inspect.analysis import Signature
    from xla_inspect.subject.noted import Noted

PHASES = {
    "/jax/core/compile/jaxpr_trace_duration": "tracing",
    "/jax/core/compile/jaxpr_to_mlir_module_duration": "lowering",
    "/jax/core/compile/backend_compile_duration": "compiling",
}
"""The events by which JAX says how long it took, and for what."""

_OWN = Path(__file__).parents[1]


class ReachedError(BaseException):
    """Raised where the function that is asked about would be compiled: the script is left there."""


@dataclass
class _Record:
    """A compilation as it comes to be."""

    function: str
    defined: str
    where: str
    own: bool
    signature: Signature | None = None
    counts: dict[str, int] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    def add(self, phase: str, seconds: float) -> None:
        self.counts[phase] = self.counts.get(phase, 0) + 1
        self.seconds[phase] = self.seconds.get(phase, 0.0) + seconds


class _State(threading.local):
    """What this thread is at.

    Attributes:
        phases: What JAX said inside of each call that is under way, the innermost last.
        last: The function of the last call that was traced, JAX's record of how it was jitted, and what was noted.
        done: When the phases of late began, and how long they took.
    """

    def __init__(self) -> None:
        self.phases: list[list[tuple[str, float]]] = []
        self.last: tuple[int, Any, _Record | None] = (0, None, None)
        self.done: list[tuple[float, float]] = []


class Watch:
    """What one program lets JAX compile.

    Args:
        only: The function at which to stop, or an empty string.
        signed: Whether it is noted what each call was called with, so that two can be compared.
    """

    def __init__(self, only: str = "", *, signed: bool = False) -> None:
        """Note nothing yet."""
        self.only = only
        self.signed = signed
        self.noted: list[Noted] = []
        self.reached: Noted | None = None
        self.inside: Noted | None = None
        self.inner: set[str] = set()
        self._records: list[_Record] = []
        self._state = _State()

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Watch all threads meanwhile. JAX must have been imported."""
        _listen()
        _active.append(self)
        try:
            with jax_private.watch_jit(self._trace, self._run):
                yield
        finally:
            _active.remove(self)

    @property
    def compilations(self) -> tuple[Compilation, ...]:
        """What was traced or compiled, in order."""
        return tuple(
            Compilation(
                each.function,
                each.defined,
                each.where,
                each.own,
                each.signature,
                each.counts.get("tracing", 0),
                each.counts.get("compiling", 0),
                *(each.seconds.get(phase, 0.0) for phase in PHASES.values()),
            )
            for each in self._records
        )

    def hear(self, phase: str, seconds: float, name: str) -> None:
        """Note what JAX says that a phase took, without the phases inside of it."""
        now, inside = time.perf_counter(), 0.0
        done = self._state.done
        while done and done[-1][0] >= now - seconds:
            inside += done.pop()[1]
        done.append((now - seconds, seconds))
        del done[:-_KEPT]
        alone = max(seconds - inside, 0.0)
        if self._state.phases:
            self._state.phases[-1].append((phase, alone))
        else:
            self._find_record(phase, name).add(phase, alone)

    def _find_record(self, phase: str, name: str) -> _Record:
        """Return what a phase belongs to that stands alone, as in `lowered.compile()`: the last of its name without."""
        bare = name.removeprefix("jit(").removesuffix(")").removeprefix("jit_")
        named = [each for each in self._records if each.function.rpartition(".")[2] == bare]
        without = [each for each in named if phase not in each.counts]
        if without or named:
            return (without or named)[-1]
        self._records.append(_Record(bare, "", find_line(), own=True))
        return self._records[-1]

    def _trace(
        self, trace: Callable[[], Any], function: Any, info: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Any:
        if not jax_private.is_outside():
            self._note_inner(function, info, args, kwargs)
            return trace()
        if self.only and matches(self.only, function) and not is_own(function):
            from xla_inspect.subject.noted import note

            self.reached = self.reached or note(function, info, args, kwargs, 0)
            raise ReachedError(self.only)
        with self._gathered() as phases:
            found = trace()
        record = None
        if phases:
            record = self._record(function, info, args, kwargs, phases)
            if not record.own:
                self._note(function, info, args, kwargs, jax_private.count_equations(found))
        self._state.last = (id(function), info, record)
        return found

    def _run(self, run: Callable[[], Any], function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        if not jax_private.is_outside():
            return run()
        identity, info, record = self._state.last
        with self._gathered() as phases:
            try:
                return run()
            finally:
                if phases and identity == id(function) and record:
                    for phase, seconds in phases:
                        record.add(phase, seconds)
                elif phases:
                    self._record(function, info, args, kwargs, phases)

    @contextmanager
    def _gathered(self) -> Iterator[list[tuple[str, float]]]:
        phases: list[tuple[str, float]] = []
        self._state.phases.append(phases)
        try:
            yield phases
        finally:
            self._state.phases.remove(phases)

    def _record(
        self,
        function: Any,
        info: Any,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        phases: list[tuple[str, float]],
    ) -> _Record:
        from xla_inspect.subject.signing import sign

        own = is_own(function)
        record = _Record(name_function(function), find_definition(open_equinox(function, args) or function), find_line(), own)
        if self.signed and not own and info is not None:
            record.signature = sign(function, info, args, kwargs)
        for phase, seconds in phases:
            record.add(phase, seconds)
        self._records.append(record)
        return record

    def _note(
        self, function: Any, info: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], equations: int
    ) -> None:
        if not self.signed:
            from xla_inspect.subject.noted import note

            self.noted.append(note(function, info, args, kwargs, equations))

    def _note_inner(self, function: Any, info: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        """Note a jitted function that is called as another is traced, as `jax.eval_shape` calls it too."""
        if self.signed or is_own(function):
            return
        name = name_function(function)
        if self.only and not self.inside and matches(self.only, function):
            from xla_inspect.subject.noted import note

            self.inside = note(function, info, args, kwargs, 0)
        self.inner.add(name)


_KEPT = 64
_EQUINOX = 3
"""How many arguments the function has that `equinox.filter_jit` jits."""

_active: list[Watch] = []


@functools.cache
def _listen() -> None:
    import jax.monitoring

    def hear(event: str, seconds: float, **about: str | int) -> None:
        if event in PHASES:
            for watch in _active:
                watch.hear(PHASES[event], seconds, str(about.get("fun_name", "")))

    jax.monitoring.register_event_duration_secs_listener(hear)


def open_equinox(function: Any, args: tuple[Any, ...]) -> Any:
    """Return the function that `equinox.filter_jit` calls, which is an argument of the one that it jits, or None."""
    if getattr(function, "__module__", "") != "equinox._jit" or len(args) != _EQUINOX:
        return None
    import jax

    try:
        leaves, tree = args[-1][0]
        found = jax.tree.unflatten(tree, leaves)
    except Exception:  # noqa: BLE001 - another release of Equinox may hold it otherwise
        return None
    return found if callable(found) else None


def name_function(function: Any) -> str:
    """Return what the reader calls a function that was jitted: `step`, `Trainer.step`, `<lambda>`."""
    function = open_wrappers(function)
    name = getattr(function, "__qualname__", None) or getattr(function, "__name__", None) or type(function).__name__
    return str(name).rpartition("<locals>.")[2]


def matches(named: str, function: Any) -> bool:
    """Return whether a reader who writes a name means a function."""
    name = name_function(function)
    return named in {name, name.rpartition(".")[2], getattr(function, "__name__", "")}


def open_wrappers(function: Any) -> Any:
    """Return the function under partial applications and wrappers."""
    for _ in range(_KEPT):
        if isinstance(function, functools.partial):
            inner = function.func
        elif getattr(function, "__module__", "") == "jax._src.pmap" and getattr(function, "__closure__", None):
            # What `jax.pmap` jits has the reader's function in one of its cells.
            cells = {name: cell.cell_contents for name, cell in _read_cells(function)}
            inner = next((value for name, value in cells.items() if name in {"fun", "f"} and callable(value)), None)
        else:
            inner = getattr(function, "__wrapped__", None) or getattr(function, "__func__", None) or _find_field(function)
        if inner is None or inner is function:
            break
        function = inner
    return function


def _read_cells(function: Any) -> list[tuple[str, Any]]:
    return [pair for pair in zip(function.__code__.co_freevars, function.__closure__, strict=True) if _is_filled(pair[1])]


def _is_filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018 - it raises where the cell is empty
    except ValueError:
        return False
    return True


def _find_field(function: Any) -> Any:
    """Return the function that an object holds which is called in its place, as those of Flax's transformations do."""
    if inspect.isroutine(function) or isinstance(function, type):
        return None
    held = getattr(function, "f", None)
    return held if callable(held) else None


def find_definition(function: Any) -> str:
    """Return where a function is defined, as FILE:LINE, or an empty string."""
    code = getattr(inspect.unwrap(open_wrappers(function)), "__code__", None)
    if code is None:
        code = getattr(getattr(type(open_wrappers(function)), "__call__", None), "__code__", None)
    return f"{shorten_path(code.co_filename)}:{code.co_firstlineno}" if code else ""


def is_own(function: Any) -> bool:
    """Return whether a function is one of JAX's that it jits by itself, such as those of `jax.numpy`.

    One that a reader jits is not, though JAX defines it: that is a function under the name by which JAX offers it.
    """
    inner = open_wrappers(function)
    code = getattr(inner, "__code__", None)
    if code is None or not _is_of_jax(code.co_filename):
        return False
    if hasattr(function, "lower"):
        # Jitted already, and once more.
        return False
    module = sys.modules.get(getattr(inner, "__module__", ""))
    return getattr(module, getattr(inner, "__name__", ""), None) is not inner


@functools.cache
def _is_of_jax(file: str) -> bool:
    import jax

    return Path(file).is_relative_to(Path(jax.__file__).parent)


def find_line() -> str:
    """Return the innermost line of the reader's own that this thread is in, as FILE:LINE.

    That is one of no installed package, else of another than JAX.
    """
    frame = sys._getframe(1)  # noqa: SLF001 - documented
    of_package = ""
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith("<") and not Path(file).is_relative_to(_OWN) and not _is_of_jax(file):
            place = f"{shorten_path(file)}:{frame.f_lineno}"
            if not _is_installed(file):
                return place
            of_package = of_package or ("" if _is_standard(file) else place)
        frame = frame.f_back  # type: ignore[assignment]  # None at the end
    return of_package


@functools.cache
def _is_installed(file: str) -> bool:
    return bool({"site-packages", "dist-packages"} & {*Path(file).parts}) or _is_standard(file)


@functools.cache
def _is_standard(file: str) -> bool:
    import sysconfig

    folders = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib")}
    packages = {"site-packages", "dist-packages"} & {*Path(file).parts}
    return not packages and any(Path(file).is_relative_to(folder) for folder in folders)


def shorten_path(file: str) -> str:
    """Return a file as one names it from the working folder, or from the folder of installed packages."""
    path = Path(file)
    if path.is_relative_to(Path.cwd()):
        return str(path.relative_to(Path.cwd()))
    for folder in ("site-packages", "dist-packages"):
        if folder in path.parts:
            return str(Path(*path.parts[path.parts.index(folder) + 1 :]))
    return file
