"""Why something in a program is as it is, found: what is asked about, and which of the explanations fits it."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - of a default
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
"""The decisions about a module that come before its kernels."""
_REWRITTEN, _FETCHING = 1.5, 4.5
_PLACING = frozenset({ASSIGNING.replace("_", "-")})
_GATHERING = frozenset({"call", "get-tuple-element", "tuple"})
_MOST_PARTS, _MOST_REMOVED, _MOST_BOUNDARIES = 6, 8, 6


class WhyFinder:
    """Answers why of one capture.

    Args:
        capture: The capture, with its passes and its reasons.
        axes: Names and sizes of the mesh as the call has it; empty where it has none.

    Attributes:
        evidence: What the answers rest on.
        axes: As above.
        stage: The stage of the capture's module.
        selector: What finds what is named.
    """

    def __init__(self, capture: Capture, axes: Mapping[str, int] | None = None) -> None:
        """Find nothing yet.

        Raises:
            InspectError: The program did not compile, or the capture holds no passes.
        """
        if not capture.after:
            where = f"{capture.program} does not compile for {title(capture.target)}"
            message = f"{where}, so nothing came of it: {tell_failure(capture)}"
            raise InspectError(message)
        stage = find_stage(capture)
        if stage.name == "before the optimizations":
            message = (
                f"{stage.join(capture.program)} on {title(capture.target)}: the compiler has decided nothing yet that "
                f"could be asked about. {stage.explain()}\nask why of a dump that has the optimized module, or of the "
                "function itself"
            )
            raise InspectError(message)
        self.stage = stage
        self.evidence = Evidence(capture)
        self.axes = dict(axes or {})
        self.selector = Selector(capture, self.evidence.lines, self.evidence.histories)

    @cached_property
    def exchanges(self) -> Sequence[Exchange]:
        """The collectives of the program."""
        return find_exchanges(self.evidence.capture.program, self.evidence.capture, self.axes).exchanges

    def explain(self, what: str) -> tuple[tuple[Finding, ...], tuple[Instruction, ...]]:
        """Return why what a word names is as it is, and the instructions that this is about.

        Raises:
            InspectError: The program has no such thing.
        """
        selection = self.selector.select(what)
        if not (selection.instructions or selection.removed):
            return (explain_untraced(self.evidence, selection),), ()
        single = chain.from_iterable(map(self._explain_instruction, selection.instructions))
        findings = list(single if selection.is_one else self._explain_many(selection))
        if not self.stage.has_launches:
            findings = [each for each in findings if each.kind in _DECIDED]
        findings += [explain_removed(self.evidence, each) for each in self._choose_removed(selection, findings)]
        if not findings:
            message = (
                f"{what!r} is no collective, copy or argument of {self.stage.join(self.evidence.capture.program)}, and "
                f"kernels are not decided there. {self.stage.explain()}"
            )
            raise InspectError(message)
        if not selection.is_one:
            rewritten = find_rewritten(self.evidence, selection, self.selector.find_value(selection, _GATHERING | IDLE))
            findings.sort(
                key=lambda each: (
                    _REWRITTEN if rewritten in each.names else _weigh(each),
                    -each.bytes,
                )
            )
        return tuple(findings), self._choose_parts(selection, findings)

    def explain_apart(self, one: str, other: str) -> tuple[tuple[Finding, ...], tuple[Instruction, ...]]:
        """Return why two things are in two kernels, or in one.

        Raises:
            InspectError: The program has no such thing, or one of the two is in no kernel.
        """
        first, second = (self.selector.select(each) for each in (one, other))
        left, right = (list_launches(self.evidence, each) for each in (first, second))
        for word, launches, selection in ((one, left, first), (other, right, second)):
            if not launches:
                if selection.removed:
                    gone = explain_removed(self.evidence, selection.removed[0])
                    return (gone,), selection.removed[:1]
                message = (
                    f"no kernel of {self.evidence.capture.program} computes {word!r}: it takes no launch of its own"
                )
                raise InspectError(message)
        parts = self.find_pair(one, other)
        if parts[0] is parts[1]:
            name = self.evidence.name_value(parts[0])
            message = f"{one!r} and {other!r} are the same thing here, {name}: ask why of one of them, without --apart"
            raise InspectError(message)
        holders = [self.evidence.kernels.holder(each) for each in parts]
        if holders[0] is not None and holders[0] is holders[1]:
            return (explain_union(self.evidence, holders[0], *parts),), (holders[0].instruction,)
        launch, neighbour = self._choose_pair(left, right)
        about = {launch: self._find_in(first, {launch}), neighbour: self._find_in(second, {neighbour})}
        finding = explain_boundary(self.evidence, launch, neighbour, about)
        others = tuple(
            explain_boundary(self.evidence, a, b)
            for a in left
            for b in right
            if a is not b and (a, b) != (launch, neighbour) and self._touch(a, b)
        )
        return (finding, *others[:_MOST_BOUNDARIES]), (launch.instruction, neighbour.instruction)

    def find_pair(self, one: str, other: str) -> tuple[Instruction, ...]:
        """Return the two instructions that two words are mostly about, or none where one of them is in no kernel."""
        selections = [self.selector.select(word) for word in (one, other)]
        left, right = ({*list_launches(self.evidence, selection)} for selection in selections)
        return tuple(self._find_in(selection, left & right) for selection in selections) if left and right else ()

    def _choose_pair(self, left: Sequence[Launch], right: Sequence[Launch]) -> tuple[Launch, Launch]:
        """Return the two launches that are asked about: those that are mostly about it, neighbours first."""
        pairs = [(a, b) for a in left for b in right if a is not b]
        return min(
            pairs,
            key=lambda pair: (left.index(pair[0]) + right.index(pair[1]), not self._touch(*pair)),
            default=(left[0], right[0]),
        )

    def _touch(self, one: Launch, other: Launch) -> bool:
        readers = self.evidence.kernels.readers
        return other in readers(one) or one in readers(other)

    def _find_in(self, selection: Selection, shared: Collection[Launch]) -> Instruction:
        """Return the instruction that a selection is mostly about, in a kernel that both have where there is one."""
        kernels = self.evidence.kernels
        own = [each for each in selection.instructions if kernels.holder(each) is not None and not is_fusion(each)]
        own = own or [each for each in selection.instructions if kernels.holder(each) is not None]
        # A matmul says more than the sum of its parts, and both more than what is done to the result.
        heavy = min((HEAVY.index(each.opcode) for each in own if each.opcode in HEAVY), default=None)
        most = own if heavy is None else [each for each in own if each.opcode == HEAVY[heavy]]
        most = [each for each in most if each.opcode not in IDLE] or most
        inside = [each for each in most if kernels.holder(each) in shared]
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
        """Yield why a kernel is apart from those around it."""
        kernels = self.evidence.kernels
        around = [
            *((each, launch) for each in kernels.feeders(launch)),
            *((launch, each) for each in kernels.readers(launch)),
        ]
        computing = [pair for pair in around if all(each.role == "kernel" for each in pair)]
        for pair in computing[:_MOST_BOUNDARIES]:
            yield explain_boundary(self.evidence, *pair)

    def _explain_many(self, selection: Selection) -> Iterator[Finding]:
        """Yield what there is to ask of a line: its collectives and copies, then how its kernels come about."""
        evidence = self.evidence
        launches = list_launches(self.evidence, selection)
        chosen = set(selection.instructions)
        exchanging = self._find_exchanging(selection)
        yield from (explain_exchange(evidence, exchange, launch) for launch, exchange in exchanging.items())
        launches = [each for each in launches if each not in exchanging]
        own = [
            each for each in launches if evidence.kernels.hero(each) in chosen or is_move(evidence.kernels, each)
        ] or launches
        for launch in own:
            if is_move(evidence.kernels, launch) or launch.role == "copy":
                yield explain_move(evidence, find_moved(evidence, launch), launch)
            else:
                yield explain_kernel(evidence, launch)
        inner = [
            each
            for each in selection.instructions
            if each.opcode in {"transpose", "copy"}
            and (holder := evidence.kernels.holder(each)) is not None
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
        """Return the launches of a selection that exchange, those too of which only what takes them is of its lines."""
        chosen = {*list_launches(self.evidence, selection)}
        found = {}
        for launch in self.evidence.kernels.launches:
            exchange = self._find_exchange(launch, launch.instruction)
            if exchange and (
                launch in chosen or {(each.file, each.line) for each in exchange.places} & {*selection.lines}
            ):
                found[launch] = exchange
        return found

    def _choose_removed(self, selection: Selection, findings: Sequence[Finding]) -> Sequence[Instruction]:
        """Return what passes removed and is worth a word: what only gathers or calls, where nothing else is left."""
        telling = [each for each in selection.removed if each.opcode not in _GATHERING]
        return (telling or ([] if findings else list(selection.removed)))[:_MOST_REMOVED]

    def _describe_value(self, what: str, findings: Sequence[Finding]) -> str:
        selection = self.selector.select(what)
        last = self.selector.find_value(selection, _GATHERING | IDLE)
        own = [each for each in (*selection.removed, *selection.instructions) if each.opcode not in IDLE]
        return describe_value(self.evidence, selection, last or next(iter(own[::-1]), None), findings)

    def _find_exchange(self, launch: Launch, instruction: Instruction) -> Exchange | None:
        names = {launch.name, launch.scheduled.name, instruction.name}
        return next((each for each in self.exchanges if each.name in names), None)

    def _choose_parts(self, selection: Selection, findings: Sequence[Finding]) -> tuple[Instruction, ...]:
        """Return the instructions to describe: those of the first finding, then the others that were named."""
        named = {each.name: each for each in (*selection.removed, *selection.instructions)}
        module = {each.name: each for each in self.evidence.module.walk()}
        found = dict.fromkeys(
            named.get(name) or module[name]
            for finding in findings
            for name in finding.names
            if name in named or name in module
        )
        return tuple(found)[:_MOST_PARTS] or selection.instructions[:1]

    def answer(
        self,
        asked: str,
        what: str,
        *,
        apart: tuple[str, str] | None = None,
        full: bool = False,
        trouble: str = "",
    ) -> Why:
        """Return why something in the program is as it is.

        Args:
            asked: What was asked about, as on the command line.
            what: What of it: an instruction, a line, a variable or what JAX calls an operation.
            apart: In its place, two of them that are asked why they are two kernels.
            full: Whether all is told.
            trouble: Why the compiler gave no reasons where they were asked for.

        Raises:
            InspectError: The program has no such thing; with what is nearest.
        """
        findings, parts = self.explain_apart(*apart) if apart else self.explain(what)
        return Why(
            program=self.evidence.capture.program,
            target=self.evidence.capture.target,
            asked=asked,
            what=",".join(apart) if apart else what,
            value="" if apart else self._describe_value(what, findings),
            findings=findings,
            parts=tuple(map(self.evidence.describe, parts)),
            stage=self.stage,
            missing=self.missing(trouble, [each.kind for each in findings[:1]]),
            is_full=full,
        )

    def missing(self, trouble: str = "", kinds: Sequence[str] = ()) -> tuple[str, ...]:
        """Return what could not be known of this capture, as `list_gaps` does."""
        return tuple(list_gaps(self.evidence, trouble, kinds))


def _weigh(finding: Finding) -> float:
    """Return where a finding about a line stands: what only fetches a value comes after what computes with it."""
    return _FETCHING if finding.pass_name in _PLACING else _ORDER.get(finding.kind, _OTHER)
