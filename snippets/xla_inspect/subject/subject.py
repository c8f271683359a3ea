"""A program that one asks about, and its captures: compiled when a question needs them, each once."""

from __future__ import annotations

import math
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xla_inspect import targets
from xla_inspect.analysis import use_lines_of
from xla_inspect.captured import Times
from xla_inspect.compilation import begin_capture, describe_program
from xla_inspect.errors import InspectError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager

    from xla_inspect.analysis import ScriptRun
    from xla_inspect.captured import Capture
    from xla_inspect.compilation import Program
    from xla_inspect.dumps import DumpedModule


_PACKAGE = Path(__file__).parents[1]


@dataclass(frozen=True)
class Call:
    """A function and what it is called with.

    Attributes:
        function: The function.
        args: Its positional arguments: shapes, arrays, or pytrees of them.
        kwargs: Its keyword arguments.
        settings: Options of `jax.jit`, `mesh` and `specs`, as `capture` takes them.
        file: The reader's file, which lines are told of where the function is one that this package put around theirs.
    """

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    file: Path | None = None

    @property
    def devices(self) -> int:
        """How many devices its mesh, or the shardings of its arguments, spread it over."""
        if mesh := self.settings.get("mesh"):
            return math.prod(mesh.values())
        import jax

        leaves = jax.tree.leaves((self.args, dict(self.kwargs)))
        return max((getattr(getattr(leaf, "sharding", None), "num_devices", 1) for leaf in leaves), default=1)


class Subject:
    """What is asked about.

    Args:
        name: What answers call it.
        call: The function and its arguments; None for a capture that was saved.
        saved: Captures that were saved, by target.
        others: Names of what else could have been asked about, such as the other functions that a script compiles.
        options: Options of XLA that it is compiled with.
        script: What all of a script let JAX compile, where that is asked about.
        origin: What a subject without a call is.
        axes: The axes of the mesh with their sizes, of a subject without a call.
        modules: All modules of a dump, where that is asked about.
        lines_of: The package whose lines captures have, or an empty string for the reader's own.

    Attributes:
        is_timed: Whether captures say how long they took to make.
        around_tracing: Entered while the program is traced.
        failures: The errors that kept targets from being answered for, by target.
    """

    def __init__(  # noqa: PLR0913 - what any kind of subject is
        self,
        name: str,
        call: Call | None = None,
        *,
        saved: Mapping[str, Capture] | None = None,
        others: tuple[str, ...] = (),
        options: Mapping[str, str | int | bool] | None = None,
        script: ScriptRun | None = None,
        origin: str = "a capture that was saved",
        axes: Mapping[str, int] | None = None,
        modules: Sequence[DumpedModule] = (),
        lines_of: str = "",
    ) -> None:
        """Compile nothing yet."""
        self.is_timed = True
        self.around_tracing: Callable[[], AbstractContextManager[None]] = nullcontext
        self.failures: dict[str, Exception] = {}
        self.name = name
        self.call = call
        self.saved = dict(saved or {})
        self.others = others
        self.options = dict(options or {})
        self.script = script
        self.origin = origin
        self.modules = tuple(modules)
        self.lines_of = lines_of
        self.axes = dict((call.settings.get("mesh") if call else axes) or {})
        self._programs: dict[str, Program] = {}

    def name_target(self, target: str) -> str:
        """Return a target with as many devices as the program is spread over, where it names no topology itself.

        Raises:
            InspectError: There is no such target, or the table has no grid of so many devices.
        """
        if self.call is None or ":" in target or (targets.find_target(target).base == "cpu" and self.call.devices == 1):
            return target
        return targets.place(target, self.call.devices)

    def capture(  # noqa: PLR0913 - each says whether it has to hold something
        self,
        target: str,
        *,
        passes: bool = False,
        timed: bool = False,
        reasons: bool = False,
        machine: bool = False,
        code: bool = True,
        **settings: Any,
    ) -> Capture:
        """Return the capture for a target; where the compiler gives up, what it left until then, with `error`.

        Args:
            target: A short name, see `name_target`.
            passes: Whether it has to hold the module after each pass.
            timed: Whether it has to tell which passes ran, and how long each took.
            reasons: Whether it has to hold what the compiler says of its reasons.
            machine: Whether it has to hold a TPU's programs below HLO, or the machine code of a GPU's kernels.
            code: Whether it has to hold the generated code, and the places of the jaxpr.
            **settings: Options of `capture` in the place of the call's own.

        Raises:
            TargetUnavailableError: This machine cannot compile for the target.
            InspectError: No such target; arguments, mesh and target do not go together; or no line of the package.
        """
        asked = {"passes": passes, "timed": timed, "reasons": reasons, "machine": machine, "code": code}
        (made,) = use_lines_of(self.lines_of, self._capture(target, settings, asked))
        return made if self.is_timed else made.retold(times=Times())

    def capture_most(
        self, target: str, wanted: Sequence[str], **settings: Any
    ) -> tuple[Capture, dict[str, InspectError]]:
        """Return a capture that holds as much of what is wanted as can be had, and why it is without the rest.

        Args:
            target: A short name, see `name_target`.
            wanted: Parts by the names that `capture` takes; one may fail where another does not.
            **settings: As in `capture`.

        Raises:
            InspectError: As in `capture`, without any of them.
        """
        wanted = wanted if self.call else ()
        for parts in (wanted, *((name,) for name in reversed(wanted) if len(wanted) > 1)):
            try:
                made = self.capture(target, **dict.fromkeys(parts, True), **settings)
            except InspectError as error:
                refusal = error
            else:
                return made, {name: refusal for name in wanted if name not in parts}
        return self.capture(target, **settings), dict.fromkeys(wanted, refusal)

    def _capture(self, target: str, settings: dict[str, Any], asked: Mapping[str, bool]) -> Capture:
        if self.call is None:
            if target in self.saved and not settings:
                return self.saved[target]
            message = f"{self.name} holds the capture for {', '.join(self.saved)}, and not for {target}"
            raise InspectError(message)
        named = self.name_target(target)
        options = {**self.options, **settings.pop("options", {})} or None
        try:
            return begin_capture(self.program(**settings), named, options, **asked)()
        except RuntimeError as error:
            left: Capture | None = getattr(error, "capture", None)
            if left is None:
                raise
            return left

    def program(self, **settings: Any) -> Program:
        """Return the program, traced once for all targets."""
        if self.call is None:
            message = f"{self.name} is {self.origin}: there is no program to compile again"
            raise InspectError(message)
        key = repr(sorted(settings.items()))
        if key not in self._programs:
            given = {**self.call.settings, **settings, **self.call.kwargs}
            try:
                program = describe_program(self.call.function, self.call.args, given)
            except ValueError as error:
                message = f"{self.name}: {error}"
                raise InspectError(message) from error
            is_own = program.file is None or program.file.is_relative_to(_PACKAGE)
            file = self.call.file if is_own and self.call.file else program.file
            self._programs[key] = replace(
                program, name=self.name.rpartition(".")[2], file=file, around_tracing=self.around_tracing
            )
        return self._programs[key]
