"""The program that a question is about, and its captures, each compiled once when a question needs it."""

from __future__ import annotations

import math
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xla_inspect import targets
from xla_inspect.analysis import use_lines_of
from xla_inspect.captured import Times
from xla_inspect.compilation import JIT_OPTIONS, begin_capture, describe_program
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
    """A function and the arguments of one call.

    Attributes:
        function: The function.
        args: Its positional arguments: shapes, arrays, or pytrees of them.
        kwargs: Its keyword arguments.
        settings: Options of `jax.jit` for static and donated arguments, `mesh` and `specs`, as in `capture`.
        file: The user's file, for source lines if the function is a wrapper by this package.
    """

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    file: Path | None = None

    @property
    def mesh(self) -> Any:
        """Its mesh as an abstract one of JAX, which has no devices; without axes if there is no mesh."""
        import jax

        axes = self.settings.get("mesh") or {}
        return jax.sharding.AbstractMesh(tuple(axes.values()), tuple(axes), (jax.sharding.AxisType.Auto,) * len(axes))

    def place_specs(self) -> Call:
        """Return the call with the shardings of its option `specs` on its arguments, without that option."""
        from xla_inspect.compilation import shard  # it imports JAX

        settings = dict(self.settings)
        specs = settings.pop("specs", None)
        return self if specs is None else replace(self, args=shard(self.args, specs, self.mesh), settings=settings)

    @property
    def devices(self) -> int:
        """The number of devices of its mesh, or else the largest number in its arguments' shardings, at least 1."""
        if mesh := self.settings.get("mesh"):
            return math.prod(mesh.values())
        import jax

        leaves = jax.tree.leaves((self.args, dict(self.kwargs)))
        return max((getattr(getattr(leaf, "sharding", None), "num_devices", 1) for leaf in leaves), default=1)


class Subject:
    """The program, dump or script that a question is about.

    Args:
        name: The name in answers.
        call: The function and its arguments; None for a saved capture, a dump or a whole script.
        saved: Saved captures by target.
        others: Names of alternative subjects, such as the other functions that a script compiles.
        options: Options of XLA to compile with.
        script: All compilations of a script, if the question is about the whole script.
        origin: A description of a subject without a call.
        axes: The mesh axes and their sizes, for a subject without a call.
        modules: All modules of a dump, if the question is about the whole dump.
        lines_of: The package whose source lines captures report, or an empty string for the user's own.

    Attributes:
        is_timed: Whether captures include the durations of the compile.
        around_tracing: A function that returns a context manager to enter while the program is traced.
        failures: The errors that prevented an answer, by target.
        profile: The profile that holds the program and the times of its launches, or None.
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
        """Store the arguments without compiling."""
        self.is_timed = True
        self.profile: Path | None = None
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
        """Return the name of a target with as many devices as the program uses, such as `h100:8`.

        A name with a topology is returned unchanged, as is any name if the subject is a saved capture or a dump.

        Raises:
            InspectError: There is no such target, or the table has no grid with so many devices.
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
        """Return the capture for a target; if the compiler failed, the partial capture with `error` set.

        Args:
            target: A short name, see `name_target`.
            passes: Whether the capture must have the module after each pass.
            timed: Whether the capture must list the passes that ran and their durations.
            reasons: Whether the capture must have the compiler's log of its decisions.
            machine: Whether the capture must have a TPU's programs below HLO, or a GPU's machine code.
            code: Whether the capture must have the generated code and the jaxpr's source locations.
            **settings: Options of `capture` that override the call's own.

        Raises:
            TargetUnavailableError: This machine cannot compile for the target.
            InspectError: The target does not exist; the arguments, mesh and target contradict each other; or no source
                line of the package is in the program.
        """
        parts = {"passes": passes, "timed": timed, "reasons": reasons, "machine": machine, "code": code}
        (result,) = use_lines_of(self.lines_of, self._capture(target, settings, parts))
        return result if self.is_timed else result.retold(times=Times())

    def capture_most(
        self, target: str, contents: Sequence[str], **settings: Any
    ) -> tuple[Capture, dict[str, InspectError]]:
        """Return a capture with all requested parts, else with one of them, else with none, and why parts are missing.

        The reasons are errors by the name of the part. A saved capture is returned as it is, with no reasons.

        Args:
            target: A short name, see `name_target`.
            contents: Parts, named as the arguments of `capture`. If all together fail, each is tried alone, last first.
            **settings: As in `capture`.

        Raises:
            InspectError: The capture fails even without any of the parts.
        """
        # A saved capture cannot get further parts.
        contents = contents if self.call else ()
        for parts in (contents, *((name,) for name in reversed(contents) if len(contents) > 1)):
            try:
                result = self.capture(target, **dict.fromkeys(parts, True), **settings)
            except InspectError as error:
                refusal = error
            else:
                return result, {name: refusal for name in contents if name not in parts}
        return self.capture(target, **settings), dict.fromkeys(contents, refusal)

    def _capture(self, target: str, settings: dict[str, Any], parts: Mapping[str, bool]) -> Capture:
        if self.call is None:
            if target in self.saved and not settings:
                return self.saved[target]
            message = f"{self.name} has a capture for {', '.join(self.saved)} only, not for {target}"
            raise InspectError(message)
        device_target = self.name_target(target)
        options = {**self.options, **settings.pop("options", {})} or None
        try:
            return begin_capture(self.program(**settings), device_target, options, **parts)()
        except RuntimeError as error:
            partial_capture: Capture | None = getattr(error, "capture", None)
            if partial_capture is None:
                raise
            return partial_capture

    def program(self, **settings: Any) -> Program:
        """Return the program to compile, made once for each combination of settings and shared by all targets.

        Raises:
            InspectError: The subject has no call, or its arguments contradict each other.
        """
        if self.call is None:
            message = f"{self.name} is {self.origin}: there is no program to compile again"
            raise InspectError(message)
        # Settings may be dictionaries, which cannot be keys themselves.
        key = repr(sorted(settings.items()))
        if key not in self._programs:
            arguments = {**self.call.settings, **settings, **self.call.kwargs}
            shardings = arguments.pop("out_shardings", None)
            try:
                program = describe_program(self.call.function, self.call.args, arguments)
            except ValueError as error:
                message = f"{self.name}: {error}"
                raise InspectError(message) from error
            if shardings is not None:
                import jax

                options = {name: arguments[name] for name in JIT_OPTIONS if name in arguments}
                jitted = jax.jit(self.call.function, out_shardings=shardings, **options)
                program = replace(program, function=jitted)
            is_own = program.file is None or program.file.is_relative_to(_PACKAGE)
            file = self.call.file if is_own else program.file
            self._programs[key] = replace(
                program, name=self.name.rpartition(".")[2], file=file, around_tracing=self.around_tracing
            )
        return self._programs[key]
