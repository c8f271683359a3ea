"""A listener for the functions that a program makes JAX trace and compile: name, source line, arguments and duration.

Cached calls are not examined, so only calls that trace or compile become slightly slower.
"""

from __future__ import annotations

import re
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xla_inspect import jax_private, targets
from xla_inspect.analysis import Compilation
from xla_inspect.subject.function_names import (
    find_current_line,
    find_definition,
    is_own,
    matches,
    name_event,
    name_function,
    open_equinox,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from xla_inspect.analysis import Signature
    from xla_inspect.subject.recorded_jit import Noted

PHASES = {
    "/jax/core/compile/jaxpr_trace_duration": "tracing",
    "/jax/core/compile/jaxpr_to_mlir_module_duration": "lowering",
    "/jax/core/compile/backend_compile_duration": "compiling",
}
"""The phases (tracing, lowering, compiling) by the name of the JAX event that reports the duration of each."""


ANY = "*"
"""The name that selects the first function of any name."""


# A script's `except Exception` must not catch this exception.
class ReachedError(BaseException):
    """The exception that stops a script when it is about to compile the requested function."""


@dataclass
class _Call:
    """A jitted function's call in progress, with the phases and their seconds that JAX has reported so far."""

    function: Any
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    phases: list[tuple[str, float]] = field(default_factory=list)


@dataclass
class _Record:
    """A traced or compiled function: its name, its definition, the line of its call, and the phases recorded so far.

    Attributes:
        names: The names by which JAX's events refer to the function.
        own: Whether JAX itself jits the function.
        source: The name and the definition of the function as JAX records them, or an empty string.
        counts: The number of times that each phase ran; `seconds` has their total durations.
    """

    names: frozenset[str]
    function: str
    defined: str
    where: str
    own: bool
    source: str = ""
    signature: Signature | None = None
    counts: dict[str, int] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    def add(self, phase: str, seconds: float) -> None:
        self.counts[phase] = self.counts.get(phase, 0) + 1
        self.seconds[phase] = self.seconds.get(phase, 0.0) + seconds


class _State(threading.local):
    """The listener's state in one thread.

    Attributes:
        calls: The calls in progress, innermost last.
        last: The `id` of the function of the last traced call, JAX's record of its `jit` options, the record of the
            call, and `_Record.source`.
        source: The `_Record.source` of the function that is being lowered or compiled, or was last.
        done: The start times and durations of recent phases.
    """

    def __init__(self) -> None:
        self.calls: list[_Call] = []
        self.last: tuple[int, Any, _Record | None, str] = (0, None, None, "")
        self.source = ""
        self.done: list[tuple[float, float]] = []


class Watch:
    """A watch that records the functions that a program traces or compiles, and can stop the program at one of them.

    Args:
        only: The function at which to stop, or an empty string; `ANY` is the first function that is not JAX's own.
        signed: Whether to record each call's signature, to compare calls; `noted` stays empty, and nothing is stopped.
        devices: The number of CPU devices that JAX starts with.

    The attribute `noted` has the recorded calls of user functions, and `reached` the call at which the program stopped.
    """

    def __init__(self, only: str = "", *, signed: bool = False, devices: int = 1) -> None:
        """Start with no compilations."""
        self._starting = partial(jax_private.started_on_cpu, partial(targets.starting_environment, devices))
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
        """Watch all threads in this block; `ReachedError` ends it at the requested function. Import JAX before it."""
        _listen()
        # JAX would otherwise report lines of this package as sources of the user's operations.
        jax_private.hide_frames_of(str(Path(__file__).parent))
        _active.append(self)
        try:
            with self._starting(), jax_private.watch_jit(self._trace, self._run, self._note_step):
                yield
        finally:
            _active.remove(self)

    @property
    def compilations(self) -> tuple[Compilation, ...]:
        """The functions that were traced or compiled, in order, with the counts and seconds of their phases."""
        return tuple(
            Compilation(
                record.function,
                record.defined,
                record.where,
                record.own,
                record.signature,
                record.counts.get("tracing", 0),
                record.counts.get("compiling", 0),
                *(record.seconds.get(phase, 0.0) for phase in PHASES.values()),
            )
            for record in self._records
        )

    def hear(self, phase: str, seconds: float, name: str) -> None:
        """Record the duration of a phase that JAX reports, without the phases nested in it."""
        now, inside = time.perf_counter(), 0.0
        phases = self._state.done
        # JAX reports a nested phase before the phase around it, and the outer duration includes the inner one.
        while phases and phases[-1][0] >= now - seconds:
            inside += phases.pop()[1]
        phases.append((now - seconds, seconds))
        del phases[:-_KEPT]
        alone = max(seconds - inside, 0.0)
        # JAX may compile another function than the innermost called one, such as a gradient's backward pass.
        matching = (call for call in reversed(self._state.calls) if _plain(name) in _list_event_names(call.function))
        if call := next(matching, None):
            call.phases.append((phase, alone))
        else:
            self._find_record(phase, name).add(phase, alone)

    def _find_record(self, phase: str, name: str) -> _Record:
        """Return the record for a phase outside the function's call, as in `lowered.compile()`.

        This is the last record with the name, preferably of the current function and without the phase, or a new one.
        """
        candidates = [record for record in self._records if _plain(name) in record.names]
        candidates = [record for record in candidates if record.source == self._state.source] or candidates
        without = [record for record in candidates if phase not in record.counts]
        if without or candidates:
            return (without or candidates)[-1]
        bare = name.removeprefix("jit(").removesuffix(")").removeprefix("jit_")
        self._records.append(_Record(frozenset({_plain(name)}), bare, "", find_current_line(), own=True))
        return self._records[-1]

    def _trace(
        self, trace: Callable[[], Any], function: Any, info: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Any:
        with self._entered(function, args, kwargs) as call:
            traced = trace()
        source = jax_private.name_source(traced[0].params["jaxpr"])
        # JAX reports no phase for a trace that it has cached.
        record = self._record(call, info, source) if call.phases else None
        self._state.last = (id(function), info, record, source)
        if not jax_private.is_outside():
            self._note_inner(function, info, args, kwargs, traced)
            return traced
        if self.signed or is_own(function):
            return traced
        is_match = bool(self.only) and (self.only == ANY or matches(self.only, function))
        if record or is_match:
            from xla_inspect.subject.recorded_jit import note

            self.noted.append(note(function, info, args, kwargs, traced))
        if is_match:
            self.reached = self.reached or self.noted[-1]
            raise ReachedError(self.only)
        return traced

    def _run(self, run: Callable[[], Any], function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        identity, info, record, source = self._state.last
        with self._entered(function, args, kwargs) as call:
            try:
                return run()
            finally:
                # JAX traces a call before it runs it, so the phases of the run extend the record of the trace.
                if call.phases and identity == id(function) and record:
                    for phase, seconds in call.phases:
                        record.add(phase, seconds)
                elif call.phases:
                    self._record(call, info, source)

    def _note_step(self, source: str) -> None:
        self._state.source = source

    @contextmanager
    def _entered(self, function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Iterator[_Call]:
        call = _Call(function, args, kwargs)
        self._state.calls.append(call)
        try:
            yield call
        finally:
            self._state.calls.pop()

    def _record(self, call: _Call, info: Any, source: str) -> _Record:
        from xla_inspect.subject.call_signature import sign

        function, own = call.function, is_own(call.function)
        defined = find_definition(open_equinox(function, call.args) or function)
        record = _Record(
            _list_event_names(function), name_function(function), defined, find_current_line(), own, source
        )
        if self.signed and not own and info is not None:
            record.signature = sign(function, info, call.args, call.kwargs)
        for phase, seconds in call.phases:
            record.add(phase, seconds)
        self._records.append(record)
        return record

    def _note_inner(
        self, function: Any, info: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], traced: Any
    ) -> None:
        """Record a jitted function that another trace calls, and its call if it is requested; `ANY` may stop there."""
        if self.signed or is_own(function):
            return
        self.inner.add(name_function(function))
        # A function that finishes while its caller is traced is only a part of that caller.
        is_part = self.only == ANY and any(not is_own(call.function) for call in self._state.calls)
        if self.only and not is_part and not self.inside and (self.only == ANY or matches(self.only, function)):
            from xla_inspect.subject.recorded_jit import note

            self.inside = note(function, info, args, kwargs, traced)
            if self.only == ANY:
                self.reached = self.inside
                raise ReachedError(self.only)


_KEPT = 64
"""The number of recent phases to store per thread, so that nested phases can be subtracted."""

_active: list[Watch] = []


def _plain(name: str) -> str:
    # JAX releases differ in the character that replaces those that no identifier can contain.
    return re.sub(r"\W", "_", name)


def _list_event_names(function: Any) -> frozenset[str]:
    """Return the names by which JAX's events may refer to a jitted function, as `_plain` writes them."""
    name = name_event(function)
    return frozenset(map(_plain, (name, f"jit({name})", f"jit_{name}")))


@cache
def _listen() -> None:
    # The listener is registered once and stays registered, so it serves all watches.
    import jax.monitoring

    def hear(event: str, duration_secs: float, **kwargs: str | int) -> None:
        if event in PHASES:
            for watch in _active:
                watch.hear(PHASES[event], duration_secs, str(kwargs.get("fun_name", "")))

    jax.monitoring.register_event_duration_secs_listener(hear)
