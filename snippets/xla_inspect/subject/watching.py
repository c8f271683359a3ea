"""What a program lets JAX trace and compile, noted while it runs: which function, where, with what, and how long.

Nothing is looked at where JAX finds what it has compiled: only what takes long anyway takes a little longer.
"""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xla_inspect import jax_private
from xla_inspect.analysis import Compilation
from xla_inspect.subject.naming import find_definition, find_line, is_own, matches, name_function, open_equinox

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
        jax_private.hide_frames_of(str(Path(__file__).parent))
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
            found = trace()
            self._note_inner(function, info, args, kwargs, found)
            return found
        with self._gathered() as phases:
            found = trace()
        record = self._record(function, info, args, kwargs, phases) if phases else None
        self._state.last = (id(function), info, record)
        if self.signed or is_own(function):
            return found
        wanted = bool(self.only) and matches(self.only, function)
        if record or wanted:
            from xla_inspect.subject.noted import note

            self.noted.append(note(function, info, args, kwargs, found))
        if wanted:
            self.reached = self.reached or self.noted[-1]
            raise ReachedError(self.only)
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
        record = _Record(
            name_function(function), find_definition(open_equinox(function, args) or function), find_line(), own
        )
        if self.signed and not own and info is not None:
            record.signature = sign(function, info, args, kwargs)
        for phase, seconds in phases:
            record.add(phase, seconds)
        self._records.append(record)
        return record

    def _note_inner(
        self, function: Any, info: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], traced: Any
    ) -> None:
        """Note a jitted function that is called as another is traced, as `jax.eval_shape` calls it too."""
        if self.signed or is_own(function):
            return
        self.inner.add(name_function(function))
        if self.only and not self.inside and matches(self.only, function):
            from xla_inspect.subject.noted import note

            self.inside = note(function, info, args, kwargs, traced)


_KEPT = 64
"""How many phases of a thread are kept, to be told from those inside of them."""

_active: list[Watch] = []


@cache
def _listen() -> None:
    import jax.monitoring

    def hear(event: str, duration_secs: float, **kwargs: str | int) -> None:
        if event in PHASES:
            for watch in _active:
                watch.hear(PHASES[event], duration_secs, str(kwargs.get("fun_name", "")))

    jax.monitoring.register_event_duration_secs_listener(hear)
