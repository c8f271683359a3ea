"""What a program lets JAX trace and compile, noted while it runs: which function, where, with what, and how long.

Nothing is looked at where JAX finds what it has compiled: only what takes long anyway takes a little longer.
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
"""The events by which JAX says how long it took, and for what."""


ANY = "*"
"""Name for whichever function comes first."""


class ReachedError(BaseException):
    """Raised where the function that is asked about would be compiled: the script is left there."""


@dataclass
class _Call:
    """A call of a jitted function that is under way, with the phases that JAX reported for the function meanwhile."""

    function: Any
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    phases: list[tuple[str, float]] = field(default_factory=list)


@dataclass
class _Record:
    """A compilation as it comes to be.

    Attributes:
        names: The names by which JAX's events call the function.
        source: The name and the definition of the function as JAX notes them, or an empty string.
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
    """What this thread is at.

    Attributes:
        calls: The calls that are under way, the innermost last.
        last: The function of the last call that was traced, JAX's record of how it was jitted, what was noted, and
            `_Record.source`.
        source: That of the function that is lowered or compiled, or was last.
        done: When the phases of late began, and how long they took.
    """

    def __init__(self) -> None:
        self.calls: list[_Call] = []
        self.last: tuple[int, Any, _Record | None, str] = (0, None, None, "")
        self.source = ""
        self.done: list[tuple[float, float]] = []


class Watch:
    """What one program lets JAX compile.

    Args:
        only: The function at which to stop, or an empty string; `ANY` is the first that is none of JAX's own.
        signed: Whether it is noted what each call was called with, so that two can be compared.
    """

    def __init__(self, only: str = "", *, signed: bool = False, devices: int = 1) -> None:
        """Note nothing yet."""
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
        """Watch all threads meanwhile. JAX must have been imported."""
        _listen()
        jax_private.hide_frames_of(str(Path(__file__).parent))
        _active.append(self)
        try:
            with self._starting(), jax_private.watch_jit(self._trace, self._run, self._note_step):
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
        # JAX may compile another function than the innermost one that is called, such as a gradient's backward pass.
        matching = (call for call in reversed(self._state.calls) if _plain(name) in _list_event_names(call.function))
        if call := next(matching, None):
            call.phases.append((phase, alone))
        else:
            self._find_record(phase, name).add(phase, alone)

    def _find_record(self, phase: str, name: str) -> _Record:
        """Return the record of a phase outside of the function's call, as in `lowered.compile()`.

        That is the last of its name without such a phase, of the function that is lowered or compiled.
        """
        named = [record for record in self._records if _plain(name) in record.names]
        named = [record for record in named if record.source == self._state.source] or named
        without = [record for record in named if phase not in record.counts]
        if without or named:
            return (without or named)[-1]
        bare = name.removeprefix("jit(").removesuffix(")").removeprefix("jit_")
        self._records.append(_Record(frozenset({_plain(name)}), bare, "", find_current_line(), own=True))
        return self._records[-1]

    def _trace(
        self, trace: Callable[[], Any], function: Any, info: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Any:
        with self._entered(function, args, kwargs) as call:
            traced = trace()
        source = jax_private.name_source(traced[0].params["jaxpr"])
        record = self._record(call, info, source) if call.phases else None
        self._state.last = (id(function), info, record, source)
        if not jax_private.is_outside():
            self._note_inner(function, info, args, kwargs, traced)
            return traced
        if self.signed or is_own(function):
            return traced
        wanted = bool(self.only) and (self.only == ANY or matches(self.only, function))
        if record or wanted:
            from xla_inspect.subject.recorded_jit import note

            self.noted.append(note(function, info, args, kwargs, traced))
        if wanted:
            self.reached = self.reached or self.noted[-1]
            raise ReachedError(self.only)
        return traced

    def _run(self, run: Callable[[], Any], function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        identity, info, record, source = self._state.last
        with self._entered(function, args, kwargs) as call:
            try:
                return run()
            finally:
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
        """Note a jitted function that is called as another is traced, as `jax.eval_shape` calls it too."""
        if self.signed or is_own(function):
            return
        self.inner.add(name_function(function))
        # A function that is done while a caller of it is traced is only a part of that caller.
        is_part = self.only == ANY and any(not is_own(call.function) for call in self._state.calls)
        if self.only and not is_part and not self.inside and (self.only == ANY or matches(self.only, function)):
            from xla_inspect.subject.recorded_jit import note

            self.inside = note(function, info, args, kwargs, traced)
            if self.only == ANY:
                self.reached = self.inside
                raise ReachedError(self.only)


_KEPT = 64
"""How many phases of a thread are kept, to be told from those inside of them."""

_active: list[Watch] = []


def _plain(name: str) -> str:
    # Releases differ in what they write in the place of what no identifier has.
    return re.sub(r"\W", "_", name)


def _list_event_names(function: Any) -> frozenset[str]:
    """Return the names by which JAX's events may call a jitted function, as `_plain` writes them."""
    name = name_event(function)
    return frozenset(map(_plain, (name, f"jit({name})", f"jit_{name}")))


@cache
def _listen() -> None:
    import jax.monitoring

    def hear(event: str, duration_secs: float, **kwargs: str | int) -> None:
        if event in PHASES:
            for watch in _active:
                watch.hear(PHASES[event], duration_secs, str(kwargs.get("fun_name", "")))

    jax.monitoring.register_event_duration_secs_listener(hear)
