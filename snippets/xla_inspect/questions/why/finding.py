"""The search for explanations of compiler decisions: the part in the question, and the explanations that apply."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING

from xla_inspect.analysis import HEAVY, find_stage, is_fusion, tell_failure
from xla_inspect.errors import InspectError
from xla_inspect.hlo import IDLE
from xla_inspect.questions.collectives import find_exchanges
from xla_inspect.questions.why.asked_value import describe_value, find_rewritten, list_launches
from xla_inspect.questions.why.explanation import Finding, Why
from xla_inspect.questions.why.name_lookup import Selection, Selector
from xla_inspect.questions.why.why_context import Evidence
from xla_inspect.questions.why.why_copied import ASSIGNING, explain_move, find_moved, is_move
from xla_inspect.questions.why.why_kernel import explain_kernel, explain_union
from xla_inspect.questions.why.why_no_launch import (
    explain_argument,
    explain_exchange,
    explain_idle,
    explain_inside,
    explain_untraced,
)
from xla_inspect.questions.why.why_not_fused import explain_boundary
from xla_inspect.questions.why.why_removed import explain_removed
from xla_inspect.questions.why.why_unknown import list_gaps
from xla_inspect.targets import title

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from xla_inspect.analysis import Launch
    from xla_inspect.captured import Capture
    from xla_inspect.hlo import Instruction
    from xla_inspect.questions.collectives import Exchange

_ORDER = {"collective": 0, "copy": 1, "layout": 1, "transpose": 1, "apart": 2, "matmul": 3, "removed": 5, "argument": 6}
_OTHER = 4
_DECIDED = frozenset({"collective", "copy", "layout", "transpose", "argument"})
"""The kinds of explanations that do not need kernels, so they also apply to unfinished modules."""
_REWRITTEN, _FETCHING = 1.5, 4.5
_PLACING = frozenset({ASSIGNING.replace("_", "-")})
_GATHERING = frozenset({"call", "get-tuple-element", "tuple"})
_MOST_PARTS, _MOST_REMOVED, _MOST_BOUNDARIES = 6, 8, 6


class WhyFinder:
    """A finder of explanations for the compiler decisions of one capture.

    Args:
        capture: The capture, with its passes and its compiler messages.
        axes: Names and sizes of the mesh axes of the call; empty if the call has no mesh.

    Attributes:
        evidence: The data behind the explanations.
        axes: Names and sizes of the mesh axes.
        stage: The stage of the capture's module.
        selector: The lookup of names in questions.
    """

    def __init__(self, capture: Capture, axes: Mapping[str, int] | None = None) -> None:
        """Prepare the search; each part of the evidence is computed when it is first needed.

        Raises:
            InspectError: The program does not compile, or the capture has no module that passes changed.
        """
        if not capture.after:
            message = f"{capture.program} does not compile for {title(capture.target)}: {tell_failure(capture)}"
            raise InspectError(message)
        stage = find_stage(capture)
        if stage.name == "before the optimizations":
            message = (
                f"{stage.join(capture.program)} on {title(capture.target)}: the compiler has made no decisions yet. "
                f"{stage.explain()}\npass a dump that has the optimized module, or the function itself"
            )
            raise InspectError(message)
        self.stage = stage
        self.evidence = Evidence(capture)
        self.axes = dict(axes or {})
        self.selector = Selector(capture, self.evidence.lines, self.evidence.histories)

    @cached_property
    def exchanges(self) -> Sequence[Exchange]:
        """The collectives of the program, as the question `collectives` describes them."""
        return find_exchanges(self.evidence.capture.program, self.evidence.capture, self.axes).exchanges

    def explain(self, what: str) -> tuple[tuple[Finding, ...], tuple[Instruction, ...]]:
        """Return the explanations for the part of the program that a word names, and the instructions to describe.

        Raises:
            InspectError: The program has no such part, or no explanation applies to its unfinished module.
        """
        selection = self.selector.select(what)
        if not (selection.instructions or selection.removed):
            return (explain_untraced(self.evidence, selection),), ()
        single = chain.from_iterable(map(self._explain_instruction, selection.instructions))
        findings = list(single if selection.is_one else self._explain_many(selection))
        if not self.stage.has_launches:
            findings = [finding for finding in findings if finding.kind in _DECIDED]
        findings += [explain_removed(self.evidence, op) for op in self._choose_removed(selection, findings)]
        if not findings:
            message = (
                f"{what!r} is not a collective, copy or argument of {self.stage.join(self.evidence.capture.program)}, "
                f"and its kernels are not determined yet. {self.stage.explain()}"
            )
            raise InspectError(message)
        if not selection.is_one:
            rewritten = find_rewritten(self.evidence, selection, self.selector.find_value(selection, _GATHERING | IDLE))
            findings.sort(
                key=lambda finding: (
                    _REWRITTEN if rewritten in finding.names else _weigh(finding),
                    -finding.bytes,
                )
            )
        return tuple(findings), self._choose_parts(selection, findings)

    def explain_apart(self, one: str, other: str) -> tuple[tuple[Finding, ...], tuple[Instruction, ...]]:
        """Return the explanations why two parts are in two kernels, or in one, and the instructions to describe.

        If passes removed a part, so that no kernel computes it, only its removal is explained.

        Raises:
            InspectError: The program lacks a part, no kernel computes one, or both are the same value.
        """
        first, second = (self.selector.select(name) for name in (one, other))
        ones, others = (list_launches(self.evidence, selection) for selection in (first, second))
        for word, launches, selection in ((one, ones, first), (other, others, second)):
            if not launches:
                if selection.removed:
                    removal = explain_removed(self.evidence, selection.removed[0])
                    return (removal,), selection.removed[:1]
                message = f"no kernel of {self.evidence.capture.program} computes {word!r}: it has no launch of its own"
                raise InspectError(message)
        parts = self.find_pair(one, other)
        if parts[0] is parts[1]:
            name = self.evidence.name_value(parts[0])
            message = f"{one!r} and {other!r} are the same value, {name}; ask about one of them, without --apart"
            raise InspectError(message)
        holders = [self.evidence.kernels.holder(instruction) for instruction in parts]
        if holders[0] is not None and holders[0] is holders[1]:
            return (explain_union(self.evidence, holders[0], *parts),), (holders[0].instruction,)
        launch, neighbour = self._choose_pair(ones, others)
        about = {launch: self._find_in(first, {launch}), neighbour: self._find_in(second, {neighbour})}
        finding = explain_boundary(self.evidence, launch, neighbour, about)
        boundaries = tuple(
            explain_boundary(self.evidence, a, b)
            for a in ones
            for b in others
            if a is not b and (a, b) != (launch, neighbour) and self._touch(a, b)
        )
        return (finding, *boundaries[:_MOST_BOUNDARIES]), (launch.instruction, neighbour.instruction)

    def find_pair(self, one: str, other: str) -> tuple[Instruction, ...]:
        """Return the main instruction of each of two named parts, or an empty tuple if one of them has no kernel."""
        selections = [self.selector.select(word) for word in (one, other)]
        ones, others = ({*list_launches(self.evidence, selection)} for selection in selections)
        return tuple(self._find_in(selection, ones & others) for selection in selections) if ones and others else ()

    def _choose_pair(self, ones: Sequence[Launch], others: Sequence[Launch]) -> tuple[Launch, Launch]:
        """Return one launch of each selection: the ones that compute the most of it, and adjacent ones if possible."""
        pairs = [(a, b) for a in ones for b in others if a is not b]
        return min(
            pairs,
            key=lambda pair: (ones.index(pair[0]) + others.index(pair[1]), not self._touch(*pair)),
            default=(ones[0], others[0]),
        )

    def _touch(self, one: Launch, other: Launch) -> bool:
        readers = self.evidence.kernels.readers
        return other in readers(one) or one in readers(other)

    def _find_in(self, selection: Selection, shared: Collection[Launch]) -> Instruction:
        """Return the main instruction of a selection, in one of the shared kernels if possible."""
        kernels = self.evidence.kernels
        own = [op for op in selection.instructions if kernels.holder(op) is not None and not is_fusion(op)]
        own = own or [instruction for instruction in selection.instructions if kernels.holder(instruction) is not None]
        heavy = min(
            (HEAVY.index(instruction.opcode) for instruction in own if instruction.opcode in HEAVY), default=None
        )
        most = own if heavy is None else [instruction for instruction in own if instruction.opcode == HEAVY[heavy]]
        most = [instruction for instruction in most if instruction.opcode not in IDLE] or most
        inside = [instruction for instruction in most if kernels.holder(instruction) in shared]
        chosen = inside or most
        return chosen[-1] if chosen else list_launches(self.evidence, selection)[0].instruction

    def _explain_instruction(self, instruction: Instruction) -> Iterator[Finding]:
        evidence = self.evidence
        launch = evidence.kernels.holder(instruction)
        if instruction.opcode == "parameter" and instruction.computation == evidence.module.entry.name:
            yield explain_argument(self.evidence, instruction)
            return
        if launch is None:
            yield explain_idle(self.evidence, instruction)
            return
        if exchange := self._find_exchange(launch, instruction):
            yield explain_exchange(self.evidence, exchange, launch)
            return
        is_whole = instruction in {launch.instruction, launch.scheduled}
        if not is_whole and instruction.opcode not in {"copy", "transpose"}:
            yield explain_inside(self.evidence, instruction)
        if instruction.opcode in {"copy", "transpose"} or is_move(evidence.kernels, launch):
            moved = instruction if instruction.opcode in {"copy", "transpose"} else find_moved(evidence, launch)
            yield explain_move(evidence, moved, launch)
        if is_whole and not is_move(evidence.kernels, launch):
            yield explain_kernel(evidence, launch)
            inner = [part for part in evidence.kernels.parts(launch) if part.opcode == "transpose"]
            yield from (explain_move(evidence, part, launch) for part in inner[:1])
        if is_whole:
            yield from self._explain_neighbours(launch)

    def _explain_neighbours(self, launch: Launch) -> Iterator[Finding]:
        """Yield an explanation for each neighbor of a kernel, why the two are not fused; at most six."""
        kernels = self.evidence.kernels
        around = [
            *((neighbor, launch) for neighbor in kernels.feeders(launch)),
            *((launch, neighbor) for neighbor in kernels.readers(launch)),
        ]
        computing = [pair for pair in around if all(launch.role == "kernel" for launch in pair)]
        for pair in computing[:_MOST_BOUNDARIES]:
            yield explain_boundary(self.evidence, *pair)

    def _explain_many(self, selection: Selection) -> Iterator[Finding]:
        """Yield the explanations for several instructions: collectives, copies, kernels and separate kernels."""
        evidence = self.evidence
        launches = list_launches(self.evidence, selection)
        chosen = set(selection.instructions)
        exchanging = self._find_exchanging(selection)
        yield from (explain_exchange(evidence, exchange, launch) for launch, exchange in exchanging.items())
        launches = [launch for launch in launches if launch not in exchanging]
        own = [
            launch
            for launch in launches
            if evidence.kernels.hero(launch) in chosen or is_move(evidence.kernels, launch)
        ] or launches
        for launch in own:
            if is_move(evidence.kernels, launch) or launch.role == "copy":
                yield explain_move(evidence, find_moved(evidence, launch), launch)
            else:
                yield explain_kernel(evidence, launch)
        inner = [
            op
            for op in selection.instructions
            if op.opcode in {"transpose", "copy"}
            and (holder := evidence.kernels.holder(op)) is not None
            and not is_move(evidence.kernels, holder)
        ]
        for moved in inner[:_MOST_BOUNDARIES]:
            yield explain_move(evidence, moved, evidence.kernels.holder(moved))
        pairs = {
            frozenset((one.scheduled, other.scheduled)): (one, other)
            for one in own
            for other in evidence.kernels.readers(one)
            if one.role == other.role == "kernel"
            and not is_move(evidence.kernels, one)
            and not is_move(evidence.kernels, other)
        }
        for one, other in list(pairs.values())[:_MOST_BOUNDARIES]:
            yield explain_boundary(evidence, one, other)
        if not launches:
            for instruction in selection.instructions[:1]:
                yield explain_idle(self.evidence, instruction)

    def _find_exchanging(self, selection: Selection) -> dict[Launch, Exchange]:
        """Return the collectives of a selection by launch, including those that come from its lines."""
        chosen = {*list_launches(self.evidence, selection)}
        exchanging = {}
        for launch in self.evidence.kernels.launches:
            exchange = self._find_exchange(launch, launch.instruction)
            if exchange and (
                launch in chosen or {(place.file, place.line) for place in exchange.places} & {*selection.lines}
            ):
                exchanging[launch] = exchange
        return exchanging

    def _choose_removed(self, selection: Selection, findings: Sequence[Finding]) -> Sequence[Instruction]:
        """Return the removed instructions to explain. Calls and tuples count only if there is nothing else."""
        computing = [instruction for instruction in selection.removed if instruction.opcode not in _GATHERING]
        return (computing or ([] if findings else list(selection.removed)))[:_MOST_REMOVED]

    def _describe_value(self, what: str, findings: Sequence[Finding]) -> str:
        selection = self.selector.select(what)
        last = self.selector.find_value(selection, _GATHERING | IDLE)
        own = [op for op in (*selection.removed, *selection.instructions) if op.opcode not in IDLE]
        return describe_value(self.evidence, selection, last or next(iter(own[::-1]), None), findings)

    def _find_exchange(self, launch: Launch, instruction: Instruction) -> Exchange | None:
        names = {launch.name, launch.scheduled.name, instruction.name}
        return next((exchange for exchange in self.exchanges if exchange.name in names), None)

    def _choose_parts(self, selection: Selection, findings: Sequence[Finding]) -> tuple[Instruction, ...]:
        """Return the instructions to describe: those of the first finding, then those of the others."""
        selected = {instruction.name: instruction for instruction in (*selection.removed, *selection.instructions)}
        module = {instruction.name: instruction for instruction in self.evidence.module.walk()}
        parts = dict.fromkeys(
            selected.get(name) or module[name]
            for finding in findings
            for name in finding.names
            if name in selected or name in module
        )
        return tuple(parts)[:_MOST_PARTS] or selection.instructions[:1]

    def answer(
        self,
        command_words: str,
        what: str,
        *,
        apart: tuple[str, str] | None = None,
        full: bool = False,
        trouble: str = "",
    ) -> Why:
        """Return the answer about a part of the program: explanations, the value, instructions and missing facts.

        Args:
            command_words: The subject and options, as on the command line.
            what: The part: an instruction, a line, a variable, or JAX's name of an operation.
            apart: Two parts instead of `what`, to explain why they are two kernels.
            full: Whether the answer shows everything that is known.
            trouble: The reason why requested compiler messages are missing.

        Raises:
            InspectError: The program has no such part. The message lists the nearest names.
        """
        findings, parts = self.explain_apart(*apart) if apart else self.explain(what)
        return Why(
            program=self.evidence.capture.program,
            target=self.evidence.capture.target,
            asked=command_words,
            what=",".join(apart) if apart else what,
            value="" if apart else self._describe_value(what, findings),
            findings=findings,
            parts=tuple(map(self.evidence.describe, parts)),
            stage=self.stage,
            missing=self.missing(trouble, [finding.kind for finding in findings[:1]]),
            is_full=full,
        )

    def missing(self, trouble: str = "", kinds: Sequence[str] = ()) -> tuple[str, ...]:
        """Return sentences about the information that this capture lacks, as `list_gaps` yields them."""
        return tuple(list_gaps(self.evidence, trouble, kinds))


def _weigh(finding: Finding) -> float:
    """Return a finding's rank, lowest first: collective, copy, apart, matmul, kernel, prefetch, removal, argument."""
    return _FETCHING if finding.pass_name in _PLACING else _ORDER.get(finding.kind, _OTHER)
