"""The reasons for a part of a program being as it is, as plain data."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, get_args

from xla_inspect.analysis import FINAL, Stage
from xla_inspect.answers import Answer, suggest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from xla_inspect.answers import Part


type Kind = Literal[
    "apart", "together", "copy", "layout", "transpose", "collective", "matmul", "kernel", "removed", "argument"
]
"""The kinds of questions: why two things are apart or together, why one is there, and how it came to be."""


type Outcome = Literal["removes", "reduces", "keeps", "adds", "failed"]
"""The effect of a change: what was asked about is so no longer, is there less often, as often or more often; or the
program with the change does not compile."""


OUTCOMES: tuple[Outcome, ...] = get_args(Outcome.__value__)
_TWICE = re.compile(r"\b([a-z-]+) (?=\1[\w.-]*)")


@dataclass(frozen=True)
class Reason:
    """The messages of the compiler.

    Attributes:
        topic: What it is about, such as `fusion`.
        verdict: `done`, `refused`, `tried` or `noted`.
        pipeline: The pipeline that ran the pass.
        pass_name: The pass.
        instruction: What it is about, by its name at that time.
        others: Who else had a part.
        words: The compiler's own words.
        sentence: What they mean, or an empty string where nobody has written that down.
        place: Where XLA's source says it.
        kind: The key of the message among those that are known, or an empty string.
    """

    topic: str
    verdict: str
    pipeline: str
    pass_name: str
    instruction: str
    others: tuple[str, ...]
    words: str
    sentence: str
    place: str
    kind: str

    @property
    def meaning(self) -> str:
        """The plain sentence, or the compiler's own words where there is none."""
        # What is called as its opcode needs not be called so twice.
        return _TWICE.sub("", self.sentence) or f"“{self.words}”"


@dataclass(frozen=True)
class PassStep:
    """The change that one pass made to an instruction.

    Attributes:
        pipeline: The pipeline of the pass.
        pass_name: The pass; `import` where the program came with it.
        did: What it did.
    """

    pipeline: str
    pass_name: str
    did: str


@dataclass(frozen=True)
class LineOf:
    """A line of Python.

    Attributes:
        where: The file and the line, as in `model.py:12`.
        text: The line as it is written.
    """

    where: str
    text: str


@dataclass(frozen=True)
class WhyPart:
    """A launch, or an instruction of one, that an answer is about.

    Attributes:
        name: The instruction.
        opcode: Its opcode, or the kind of a fusion.
        shape: The shape of its result.
        line: Where it comes from.
        op_name: What JAX called the operation.
        equation: Its equation in the jaxpr, or an empty string.
        stablehlo: Its operation in StableHLO, or an empty string.
        kernel: The launch that computes it, or an empty string where none does.
        members: What that fuses, by line.
        memory: Where its result lies: allocation, bytes, and what shares it.
        fed_by: The launches and arguments that write what it reads.
        read_by: The launches that read it.
        followed: The instruction whose way is told: itself, or what a fusion is mostly about.
        steps: What passes did to that.
        is_left: Whether the optimized program still has it.
    """

    name: str
    opcode: str
    shape: str
    line: LineOf
    op_name: str
    equation: str
    stablehlo: str
    kernel: str
    members: tuple[str, ...]
    memory: str
    fed_by: tuple[str, ...]
    read_by: tuple[str, ...]
    followed: str
    steps: tuple[PassStep, ...]
    is_left: bool


@dataclass(frozen=True)
class Finding:
    """One reason why something is as it is.

    Attributes:
        kind: What is explained.
        names: The instructions that it is about.
        verdict: The answer in one sentence.
        pipeline: The pipeline of the pass that brought it about.
        pass_name: That pass, or an empty string where none did.
        line: The line of Python.
        notes: What else decides it, from the program itself.
        reasons: What the compiler said of it, the weightiest first.
        bytes: The bytes that it moves, or 0 where that is not what it costs.
        lines: All lines that it is about, where those are several, as of two kernels.
        rule: The rule by which a pass rewrote it, in the compiler's own notation, or an empty string.
    """

    kind: Kind
    names: tuple[str, ...]
    verdict: str
    pipeline: str
    pass_name: str
    line: LineOf
    notes: tuple[str, ...] = ()
    reasons: tuple[Reason, ...] = ()
    bytes: int = 0
    lines: tuple[LineOf, ...] = ()
    rule: str = ""


@dataclass(frozen=True)
class WhyTrial:
    """A change that was compiled.

    Attributes:
        kind: The kind of change, such as `donate`.
        change: What was changed.
        outcome: What came of it.
        effect: What was counted, before and after.
        note: What was in the way, or an empty string.
    """

    kind: str
    change: str
    outcome: Outcome
    effect: str
    note: str = ""


@dataclass(frozen=True)
class Why(Answer):
    """Why something is as it is.

    Attributes:
        program: The name of the program.
        target: The target's short name, with its grid.
        asked: What was asked about, as on the command line.
        what: What of it, as it was written.
        value: The instruction of what was asked about and where it is computed, where the first finding does not say
            it: then that is about a related instruction, such as the kernel around it.
        findings: The answers, the weightiest first.
        parts: The launches and instructions that they are about.
        trials: Changes that were compiled, those that remove it first.
        missing: What could not be known, and what to do about it.
        untried: Kinds of changes that were asked for, of which the program offers none.
        is_full: Whether all is told.
        is_tried: Whether changes of the program can be tried: not of a capture that was saved.
        stage: The stage of the module that has it.
    """

    program: str
    target: str
    asked: str
    what: str
    value: str
    findings: tuple[Finding, ...]
    parts: tuple[WhyPart, ...]
    trials: tuple[WhyTrial, ...] = ()
    missing: tuple[str, ...] = ()
    untried: tuple[str, ...] = ()
    is_full: bool = False
    is_tried: bool = True
    stage: Stage = FINAL

    @property
    def is_pair(self) -> bool:
        """True if two things were asked about."""
        return "," in self.what and self.findings[0].kind in {"apart", "together", "removed"}

    def with_trials(self, trials: Iterable[WhyTrial], untried: Iterable[str] = ()) -> Why:
        """Return the answer with what was tried, what removes it first.

        Args:
            trials: The changes that were compiled.
            untried: Kinds of changes that were asked for, of which the program offers none.
        """
        ordered = tuple(sorted(trials, key=lambda each: OUTCOMES.index(each.outcome)))
        return replace(self, trials=ordered, untried=tuple(untried))

    def tell(self) -> Iterator[Part]:
        """Yield the verdict, then what it rests on."""
        from xla_inspect.questions.why.rendering import render

        return render(self)


def suggest_why(asked: str, what: str, *options: str, is_pair: bool = False) -> str:
    """Return a command line that asks why.

    Args:
        asked: The subject with the options that are the same for each question.
        what: What of it.
        *options: Other options of the question.
        is_pair: Whether those are two things that are apart.
    """
    named = shlex.quote(what)
    # What stands behind a script are its own arguments.
    if f" {asked}".find(" run ") >= 0:
        return suggest("why", asked, *options, "--apart" if is_pair else "--what", named)
    return " ".join((suggest("why", asked), *(("--apart", named) if is_pair else (named,)), *options))
