"""The answer about the collectives of a capture: lines, axes, overlapping work, and the reason for each."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from xla_inspect.analysis import (
    Stage,
    ValueFlow,
    find_frame,
    find_mesh,
    find_stage,
    is_cut_anew,
    list_collectives,
    list_unknown_work,
    model_launches,
    read_groups,
    read_pairs,
    search,
    tell_failure,
)
from xla_inspect.analysis.estimates import time_program
from xla_inspect.answers import Answer, LineTotal, explain_times, sum_scopes
from xla_inspect.questions.collectives.collective import Exchange, Meanwhile, Place
from xla_inspect.questions.collectives.collective_reasons import MOVERS, Reasons, list_carried
from xla_inspect.questions.collectives.replication import Replication, find_replication
from xla_inspect.questions.collectives.shardings import explain_constraints
from xla_inspect.questions.collectives.unpartitioned_program import name_primitive

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from xla_inspect.analysis import Collective, Launched, Mesh
    from xla_inspect.analysis.estimates import StepTime, TimedLaunch
    from xla_inspect.answers import Part
    from xla_inspect.captured import Capture
    from xla_inspect.hlo import Instruction


@dataclass(frozen=True)
class Exchanges(Answer):
    """The data that the devices of one target send each other.

    Attributes:
        program: The name of the program.
        target: The target's short name, with its grid.
        devices: The number of devices that the program runs on.
        mesh: The mesh axes and their sizes; empty if the program has no named axes.
        exchanges: The collectives, those with the most bytes first.
        error: The compiler's error message, or an empty string if it succeeded.
        stage: The stage of the module that contains the collectives.
        replication: The arguments, results and work that the devices replicate, or None if unknown.
        scopes: The bytes by scope (`text`) of the line that has at least half of them. Collectives without a line count
            as one line. Empty if no line has that share, or if it has only one scope.
        constraints: Sentences about each `with_sharding_constraint` that pads a value or has no effect.
        times: The limits of the estimated times, or an empty string without them.
    """

    program: str
    target: str
    devices: int
    mesh: tuple[tuple[str, int], ...]
    exchanges: tuple[Exchange, ...]
    error: str
    stage: Stage
    replication: Replication | None = None
    scopes: tuple[LineTotal, ...] = ()
    constraints: tuple[str, ...] = ()
    times: str = ""

    def tell(self) -> Iterator[Part]:
        """Yield the printed answer: a summary, tables of the collectives and their reasons, and overlapping work."""
        from xla_inspect.questions.collectives.rendering import render

        return render(self)


_BOOKKEEPING = 64
"""A launch with at most this many bytes and operations is too small to hide a collective."""

_WRAPPED = re.compile(r"^(?P<name>[\w.]+)\((?P<inner>.*)\)$")
_SCOPE = re.compile(r"[\w.\[\] '-]+")
_FRAMEWORK = frozenset(
    {"body", "branch", "checkpoint", "closed_call", "cond", "custom_jvp_call", "custom_vjp_call", "eval_jaxpr"}
    | {"pjit", "rematted_computation", "scan", "shard_map", "while"}
)

_TRANSFORMS = frozenset({"jit", "jvp", "pjit", "transpose", "vmap", "shard_map", "xla_call"})


def find_exchanges(program: str, capture: Capture, axes: Mapping[str, int]) -> Exchanges:
    """Return the data that the devices of a capture send each other, with lines, axes and reasons.

    Args:
        program: The name of the program.
        capture: The capture. It does not need the modules between passes.
        axes: Names and sizes of the mesh axes of the call; empty if the call has no mesh.
    """
    mesh = find_mesh(capture, axes.items())
    exchanges: list[Exchange] = []
    devices, stage, times = 1, find_stage(capture), ""
    if capture.after:
        devices = stage.devices
        finding = _Finding(capture, mesh)
        exchanges = list(finding.list_exchanges())
        times = explain_times({capture.target: finding.step}) if exchanges else ""
    # Without an optimized module, only the mesh shows the number of devices.
    elif mesh is not None:
        devices = mesh.size
    exchanges.sort(key=lambda exchange: -exchange.total_bytes)
    error = tell_failure(capture)
    # Before the final module, a later pass may still add an exchange, so devices might wrongly seem to repeat work.
    replication = find_replication(capture, mesh) if stage.is_final else None
    first = program, capture.target, devices, mesh.axes if mesh else ()
    scopes = sum_scopes(
        [(exchange.where if exchange.places else "", exchange.scope, exchange.total_bytes) for exchange in exchanges]
    )
    return Exchanges(*first, tuple(exchanges), error, stage, replication, scopes, explain_constraints(capture), times)


def answer_dump(capture: Capture, _: str) -> Exchanges:
    """Return the collectives of a module of a dump. The second argument, the command's words, is not used."""
    return find_exchanges(capture.program, capture, {})


class _Finding:
    """A search for the collectives of one capture."""

    def __init__(self, capture: Capture, mesh: Mesh | None) -> None:
        self.capture, self.mesh = capture, mesh
        self.flow = ValueFlow(capture.module)
        self.reasons = Reasons(capture, mesh, self.flow)

    @cached_property
    def launched(self) -> dict[Instruction, Launched]:
        """The launches with their work, by their instruction in the schedule."""
        return {launch.launch.scheduled: launch for launch in model_launches(self.capture)}

    @cached_property
    def devices(self) -> int:
        """The number of devices of the program."""
        return find_stage(self.capture).devices

    @cached_property
    def step(self) -> StepTime | None:
        """The estimated time of the program, or None without an estimate of each collective."""
        step = time_program(self.capture)
        return None if step is None or step.unknown_collectives else step

    @cached_property
    def timed(self) -> dict[Instruction, TimedLaunch]:
        """The estimated times of the launches, as above."""
        return {one.launched.launch.scheduled: one for one in self.step.launches} if self.step else {}

    def list_exchanges(self) -> Iterator[Exchange]:
        """Yield the exchanges in the module's order."""
        for collective in list_collectives(self.capture.module):
            yield self._describe(collective)

    def _describe(self, collective: Collective) -> Exchange:
        instruction = collective.instruction
        count = self.devices
        groups = read_groups(instruction.attributes.get("replica_groups", ""), count)
        pairs = read_pairs(instruction)
        axes: tuple[str, ...] = ()
        # A mesh of another size does not describe this module, so its axes cannot name the groups.
        if self.mesh is not None and self.mesh.size == count:
            axes = self.mesh.name_pairs(pairs) if pairs else self.mesh.name_axes(groups) if groups else ()
        # A permutation has pairs instead of groups, so its group is the size of the mesh along its axes.
        group = self._count_along(axes) if pairs and axes else collective.group
        is_asked = self.reasons.is_asked(collective)
        # The users of an asynchronous collective read the result of its end, not of its start.
        result = collective.done if collective.is_async else instruction
        uses = [use for use, _ in self.flow.find_uses(result)]
        rematerializes = is_asked is False and is_cut_anew(self.flow, collective)
        places, inferred = self._find_places(collective, [] if rematerializes else uses)
        primitive = name_primitive(instruction) or name_primitive(collective.scheduled)
        timed = self.timed.get(collective.scheduled)
        fixed_reasons = {True: primitive, None: ""}
        return Exchange(
            name=collective.scheduled.name if collective.is_async else collective.name,
            kind=collective.kind,
            shapes=tuple(
                operand.shape.plain for operand in self.capture.module.operands(instruction) if operand.shape.is_array
            ),
            operand_bytes=collective.operand_bytes,
            sent_bytes=replace(collective, group=group).sent_bytes,
            group=group,
            axes=axes,
            is_all=group == count,
            devices=groups[0] if groups and not pairs else (),
            runs=collective.runs,
            assumed_runs=collective.assumed_runs,
            loops=tuple(loop.name for loop in collective.within),
            places=places,
            scope=_name_scope(instruction.op_name or collective.scheduled.op_name or ""),
            inferred=inferred,
            is_asked=is_asked,
            reason=fixed_reasons[is_asked]
            if is_asked in fixed_reasons
            else self.reasons.explain(collective, axes, uses),
            arguments=() if is_asked else self.reasons.name_arguments(collective),
            is_async=collective.is_async,
            meanwhile=self._find_meanwhile(collective),
            is_rematerialized=rematerializes,
            groups=groups if groups and not pairs else (),
            pairs=pairs,
            time=timed.total if timed else None,
            hidden_seconds=timed.hidden if timed else 0.0,
        )

    def _count_along(self, axes: Sequence[str]) -> int:
        sizes = dict(self.mesh.axes) if self.mesh else {}
        return math.prod(sizes[axis] for axis in axes)

    def _find_places(self, collective: Collective, uses: Sequence[Instruction]) -> tuple[tuple[Place, ...], str]:
        """Return the lines of a collective, and a phrase for the instructions they come from if its own has none."""
        # The metadata may be on the start, on the end or on the collective inside them.
        own = [step for step in (collective.instruction, collective.scheduled, collective.done) if self._locate(step)]
        if collective.kind == "all-gather" and (not own or name_primitive(own[0]) in MOVERS):
            # The line that slices stacked weights or converts their type says less than the line that uses the result.
            use_places = self._collect(self._locate(use) for use in uses)
            if use_places:
                return use_places, "" if own else "the operations that use it"
        operands = list_carried(self.capture.module, collective.instruction)
        # A combined collective exchanges the values of several lines, but its own metadata has only one of them.
        if (len(operands) > 1 and collective.kind != "all-to-all") or not own:
            above = self._collect(self._search(operand, upwards=True) for operand in operands)
            if above and (not own or len(above) > 1):
                return above, "" if own else "its operands"
        if own:
            return self._collect([self._locate(own[0])]), ""
        below = self._collect([self._search(collective.done, upwards=False)])
        return below, "the operations that use it" if below else ""

    def _search(self, value: Instruction, *, upwards: bool) -> Place | None:
        """Return the nearest line among the instructions that a value depends on, or among those that use it."""
        if not self.capture.frames:
            # Without any line in the module, each search would visit the whole module.
            return None
        reached = search([value], self._list_above if upwards else self.capture.module.users)
        return next(filter(None, map(self._locate, reached)), None)

    def _list_above(self, value: Instruction) -> Iterable[Instruction]:
        module = self.capture.module
        # A parameter has no operands, so the search continues at the value that a caller or a tuple passes.
        if value.opcode in {"parameter", "get-tuple-element"}:
            origin = self.flow.find_origin(value)
            return (origin,) if origin is not value else ()
        inside = (
            [computation.root for computation in module.called(value)]
            if value.opcode in {"fusion", "async-start"}
            else []
        )
        return (*inside, *module.operands(value))

    def _locate(self, instruction: Instruction) -> Place | None:
        frame = find_frame(self.capture, instruction)
        if frame is None:
            return None
        lines = self.capture.sources.get(frame.file, "").splitlines()
        text = lines[frame.line - 1].strip() if 0 < frame.line <= len(lines) else ""
        return Place(frame.file, frame.line, text)

    def _collect(self, places: Iterable[Place | None]) -> tuple[Place, ...]:
        return tuple(dict.fromkeys(place for place in places if place))

    def _find_meanwhile(self, collective: Collective) -> Meanwhile | None:
        """Return the work scheduled between start and done; None if not asynchronous, or in different computations."""
        if not collective.is_async or collective.done is collective.scheduled:
            return None
        order = self.capture.module.computation(collective.scheduled.computation).instructions
        # The schedule orders only the instructions of one computation.
        if collective.done.computation != collective.scheduled.computation:
            return None
        between = order[order.index(collective.scheduled) + 1 : order.index(collective.done)]
        work = [self.launched[instruction] for instruction in between if instruction in self.launched]
        kernels = [launch for launch in work if launch.launch.role == "kernel" and _is_work(launch)]
        times = [launch.bound.seconds for launch in kernels if launch.bound]
        # The estimates count all runs of a launch, which has as many as the collective next to it.
        seconds = [
            one.total.likely / max(1, launch.launch.assumed_runs)
            for launch in kernels
            if (one := self.timed.get(launch.launch.scheduled))
        ]
        return Meanwhile(
            kernels=len(kernels),
            flops=sum(launch.work.flops for launch in kernels),
            unknown_work=list_unknown_work(kernels),
            moved_bytes=sum(launch.bytes for launch in kernels),
            # If one kernel has no published peak rates, the sum of the others would be too small.
            least_seconds=sum(times) if len(times) == len(kernels) and kernels else None,
            seconds=sum(seconds) if len(seconds) == len(kernels) and kernels else None,
        )


def _is_work(launched: Launched) -> bool:
    """Return whether a launch has over 64 bytes and operations together, unlike one for a loop counter or an index."""
    return launched.bytes + launched.on_chip + launched.work.flops > _BOOKKEEPING


def _name_scope(op_name: str) -> str:
    """Return the program's own named scopes around an operation, without those of JAX and its transformations."""
    scopes: list[str] = []
    backward = False
    # The last part of the name is the primitive itself, not a scope.
    for part in op_name.partition(":")[0].split("/")[:-1]:
        backward |= part.startswith("transpose(")
        name = part
        while match := _WRAPPED.match(name):
            # jit(name) is a function, and jvp(name) a scope that is differentiated.
            name = "" if match["name"] in {"jit", "pjit"} else match["inner"]
        if _SCOPE.fullmatch(name) and name not in _FRAMEWORK and name not in _TRANSFORMS:
            scopes.append(name)
    return "/".join((*scopes, *(["backward"] if backward else [])))
