"""The data classes of the answer about a compiler decision, and the command line that asks for it."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, get_args

from xla_inspect.analysis import FINAL, Stage
from xla_inspect.analysis.estimates import Estimate  # noqa: TC001 - the schema is read off the annotations
from xla_inspect.answers import Answer, suggest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from xla_inspect.answers import Part


type Kind = Literal[
    "apart", "together", "copy", "layout", "transpose", "collective", "matmul", "kernel", "removed", "argument"
]
"""The kinds of explanations: separate or fused kernels, and the reason for or origin of one instruction."""


type Outcome = Literal["removes", "reduces", "keeps", "adds", "failed"]
"""The effect of a change: it removes the subject of the question (for two kernels, their separation or fusion), reduces
its number, keeps it, or adds more; or the changed program does not compile."""


IMPORT = "import"
"""The name in place of a pass for instructions of the original program."""

OUTCOMES: tuple[Outcome, ...] = get_args(Outcome.__value__)
_TWICE = re.compile(r"\b([a-z-]+) (?=\1[\w.-]*)")


@dataclass(frozen=True)
class Reason:
    """A message of the compiler about a decision.

    Attributes:
        topic: The topic, such as `fusion`.
        verdict: `done`, `refused`, `tried` or `noted`.
        pipeline: The pipeline that ran the pass.
        pass_name: The pass.
        instruction: The instruction, by its name at that time.
        others: Other instructions in the message.
        words: The text of the message.
        sentence: An explanation of the message, or an empty string if there is none.
        place: The place of the message in XLA's source.
        kind: The key in the table of explained messages, or an empty string.
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
        """The explanation of the message, or the message in quotes if there is none."""
        # "the reduce reduce.3" repeats the opcode, so one of the two words is removed.
        return _TWICE.sub("", self.sentence) or f"“{self.words}”"


@dataclass(frozen=True)
class PassStep:
    """The change that one pass made to an instruction.

    Attributes:
        pipeline: The pipeline of the pass.
        pass_name: The pass; `import` if the instruction is part of the original program, `?` if it is unknown.
        did: A description of the change.
    """

    pipeline: str
    pass_name: str
    did: str


@dataclass(frozen=True)
class LineOf:
    """A line of Python.

    Attributes:
        where: The file and the line, as in `model.py:12`.
        text: The source text of the line.
    """

    where: str
    text: str


@dataclass(frozen=True)
class WhyPart:
    """A launch, or an instruction of a launch, in an answer.

    Attributes:
        name: The instruction.
        opcode: Its opcode, or the kind of a fusion.
        shape: The shape of its result.
        line: Its line of Python.
        op_name: JAX's name of the operation.
        equation: Its equation in the jaxpr, or an empty string.
        stablehlo: Its operation in StableHLO, or an empty string.
        kernel: The launch that computes it, or an empty string if none does.
        members: The operations that this launch fuses, by line.
        memory: The memory of its result: the allocation, its bytes, and the values that share it.
        fed_by: The launches and arguments that produce its inputs.
        read_by: The launches that read it.
        followed: The instruction whose history is shown: itself, or the main instruction of a fusion.
        steps: The changes that passes made to this instruction.
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
    """One explanation of a compiler decision.

    Attributes:
        kind: The kind of explanation.
        names: The instructions that it is about.
        verdict: The answer in one sentence.
        pipeline: The pipeline of the responsible pass.
        pass_name: The responsible pass, or an empty string if there is none.
        line: The line of Python.
        notes: Further facts of the program that influence the decision.
        reasons: The compiler's messages about it, the most important first.
        bytes: The bytes by which findings are ranked: those that a copy, a collective or a value between two kernels
            moves, or those of a kernel's result; otherwise 0.
        lines: All its lines if there are several, such as those of two kernels.
        rule: The rewrite rule of the pass, in the compiler's notation, or an empty string.
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
    """A change that was compiled to see its effect.

    Attributes:
        kind: The kind of change, such as `donate`.
        change: The change.
        outcome: The effect on the subject of the question, one of `OUTCOMES`.
        effect: The counts before and after the change.
        note: The error message, or an empty string.
        time: The estimated time of the changed program in seconds, or None.
    """

    kind: str
    change: str
    outcome: Outcome
    effect: str
    note: str = ""
    time: Estimate | None = None


@dataclass(frozen=True)
class Why(Answer):
    """The answer to a question about a compiler decision.

    Attributes:
        program: The name of the program.
        target: The target's short name, with its grid.
        asked: The subject and options, as on the command line.
        what: The part of the program in the question, as it was typed.
        value: The instruction of this part and the kernel that computes it, if the first finding is about a related
            instruction, such as the kernel around it; otherwise an empty string.
        findings: The explanations, the most important first.
        parts: The launches and instructions in the explanations.
        trials: Changes that were compiled, those that remove the subject of the question first.
        missing: Information that is not available, and how to get it.
        untried: Requested kinds of changes that do not apply to the program.
        is_full: Whether the answer shows everything that is known.
        is_tried: Whether changes can be compiled, which needs more than a saved capture.
        stage: The stage of the module.
        time: With `trials`, the estimated time of the unchanged program, or None.
        times: With `trials`, the limits of the estimated times, or an empty string without them.
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
    time: Estimate | None = None
    times: str = ""

    @property
    def is_pair(self) -> bool:
        """True if the question is about two parts of the program."""
        # The words of a single part may also contain a comma.
        return "," in self.what and self.findings[0].kind in {"apart", "together", "removed"}

    def with_trials(self, trials: Iterable[WhyTrial], untried: Iterable[str] = ()) -> Why:
        """Return the answer with compiled changes, the most effective first.

        Args:
            trials: The changes that were compiled.
            untried: Requested kinds of changes that do not apply to the program.
        """
        ordered = tuple(sorted(trials, key=lambda trial: OUTCOMES.index(trial.outcome)))
        return replace(self, trials=ordered, untried=tuple(untried))

    def tell(self) -> Iterator[Part]:
        """Yield the printed answer: the verdict, then the evidence, the tried changes and next commands."""
        from xla_inspect.questions.why.rendering import render

        return render(self)


def suggest_why(command_words: str, what: str, *options: str, is_pair: bool = False) -> str:
    """Return a command line for a question about a compiler decision.

    Args:
        command_words: The subject and the options that all questions share.
        what: The part of the program to ask about.
        *options: Other options of the question.
        is_pair: Whether `what` names two parts that are separate kernels.
    """
    word = shlex.quote(what)
    # The words after a script are the script's own arguments, so the options have to come first.
    if f" {command_words}".find(" run ") >= 0:
        return suggest("why", command_words, *options, "--apart" if is_pair else "--what", word)
    return " ".join((suggest("why", command_words), *(("--apart", word) if is_pair else (word,)), *options))
