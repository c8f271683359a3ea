"""The measurements of a program under several releases of JAX, and the changes between them, as plain data."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xla_inspect.answers import Answer
from xla_inspect.units import shorten

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xla_inspect.answers import Part


_LONGEST = 60


@dataclass(frozen=True)
class ReleaseRow:
    """A program under one release. A field is None if the release does not provide its value.

    Attributes:
        release: The release of JAX.
        failed: The reason why the release could not be measured, or an empty string.
        place: The line of the user's file that failed to load or trace, or an empty string.
        versions: The versions of the packages that compiled it, by name.
        temporary_bytes: The bytes that the executable reserves for temporaries.
        copies_in_loops: The number of copies in loops and branches.
        kernels: The number of kernels.
        collectives: The number of exchanges between devices.
        code: A hash of four characters of the generated code, without names.
        numbers: A hash of eight characters of the results on random inputs, if it was requested.
        code_instructions: The number of instructions in the generated code.
        code_loops: The number of loops in the generated code.
        deepest_loops: The greatest depth of nested loops.
        compile_seconds: The processor time of the compilation on this machine, or the limit if it took longer.
        run_seconds: The median run time on this machine's CPU, if it was requested.
        notes: Further remarks.
    """

    release: str
    failed: str = ""
    place: str = ""
    versions: Mapping[str, str] | None = None
    temporary_bytes: int | None = None
    copies_in_loops: int | None = None
    kernels: int | None = None
    collectives: int | None = None
    code: str | None = None
    numbers: str | None = None
    code_instructions: int | None = None
    code_loops: int | None = None
    deepest_loops: int | None = None
    compile_seconds: float | None = None
    run_seconds: float | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class ReleaseChange:
    """The releases between which the answer to one question changes.

    Attributes:
        question: The question, such as `kernels` or `memory`.
        before: The older release.
        after: The newer one.
        between: Releases between the two that could not be measured.
        old: The answer of `before`, as text.
        new: The answer of `after`, as text.
        stage: The stage from which the compilations differ: `lowering` (JAX passes another program to the compiler),
            `pass`, `scheduling` (the order of instructions), `below HLO` (the memory plan, the generated code or a
            library) or `unknown`.
        old_pass: The pass of the older compilation after which the modules never match again, or an empty string.
        new_pass: The corresponding pass of the newer compilation.
        blamed: The one of these two passes that causes the change, or an empty string.
        maker: The pass of the newer compilation that creates the subject of the question, or an empty string.
        pipeline: The pipeline of `maker`, or of `new_pass`.
        place: `file:line` of Python, or an empty string.
        line: The source text of this line.
        what: The largest changes, as text.
        slower: The passes that take longer, as text, if the question is about compile time.
        hlo_diff: A unified diff of the optimized modules, without names of values.
        code_diff: A unified diff of the generated code, without names of values.
    """

    question: str
    before: str
    after: str
    between: tuple[str, ...]
    old: str
    new: str
    stage: str = "unknown"
    old_pass: str = ""
    new_pass: str = ""
    blamed: str = ""
    maker: str = ""
    pipeline: str = ""
    place: str = ""
    line: str = ""
    what: tuple[str, ...] = ()
    slower: tuple[str, ...] = ()
    hlo_diff: str = ""
    code_diff: str = ""

    @property
    def cause(self) -> str:
        """A phrase for the cause: the pass, or the stage from which the compilations differ."""
        # The pass that creates the subject of the question explains more than the first pass that differs.
        if self.stage == "pass" or self.maker:
            return f"pass {self.maker or self.blamed}"
        return {"lowering": "different lowering in JAX", "unknown": "unknown cause"}.get(self.stage, self.stage)

    def tell(self) -> str:
        """Return the change and its cause in a few sentences."""
        first = f"The answer to `{self.question}` is {self.old} in JAX {self.before}"
        sentences = [f"{first} and {self.new} in JAX {self.after}."]
        if self.between:
            sentences.append(f"Releases between them that could not be measured: {', '.join(self.between)}.")
        sentences += [_STAGES[self.stage]] if self.stage != "pass" else [self._tell_pass()]
        # For the stage `pass`, the sentence about the pass already names the maker.
        if self.maker and self.stage != "pass":
            sentences.append(f"The pass `{self.maker}` creates the new {self.question}.")
        if self.place:
            sentences.append(f"The line is {self.place}{f', `{shorten(self.line, _LONGEST)}`' if self.line else ''}.")
        if self.what:
            sentences.append(f"{'; '.join(self.what)}.")
        if self.slower:
            sentences.append(f"Slower passes: {'; '.join(self.slower)}.")
        return " ".join(sentences)

    def _tell_pass(self) -> str:
        pair = f"`{self.blamed}`"
        if self.old_pass and self.new_pass and self.old_pass != self.new_pass:
            pair = f"`{self.old_pass}` in {self.before} and `{self.new_pass}` in {self.after}"
        compared = "results" if self.question == "numbers" else "modules"
        sentence = f"The {compared} of the two releases differ from {pair} on."
        if self.blamed == self.old_pass != self.new_pass:
            sentence = f"{sentence} In JAX {self.after}, `{self.old_pass}` does not change the {compared}."
        if self.maker and self.maker != self.blamed:
            sentence = f"{sentence} The pass `{self.maker}` creates the new {self.question}."
        return sentence


_STAGES = {
    "lowering": "The modules differ already before the first pass: JAX passes another program to the compiler.",
    "scheduling": "The optimized modules differ only in the order of instructions, so the scheduler is the cause.",
    "below HLO": "The optimized modules are the same, so the cause is below HLO: the memory plan, the generated code "
    "or a library.",
    "unknown": "The modules of these releases cannot be compared pass by pass.",
}


@dataclass(frozen=True)
class ReleaseHistory(Answer):
    """A program under a range of releases.

    Attributes:
        program: The name of the program.
        target: The target's short name, with its grid.
        asked: The subject and options, as on the command line.
        first: The oldest release.
        last: The newest release.
        questions: The questions that were answered for each release.
        rows: The measurements, the oldest release first.
        not_measured: Releases that did not have to be measured.
        changes: The releases between which answers change, the oldest first.
        installed_bytes: The disk space of the releases' environments, including files that uv's cache shares.
        repeated: The questions whose answers also differ between other measured releases than those in `changes`.
    """

    program: str
    target: str
    asked: str
    first: str
    last: str
    questions: tuple[str, ...]
    rows: tuple[ReleaseRow, ...]
    not_measured: tuple[str, ...]
    changes: tuple[ReleaseChange, ...]
    installed_bytes: int = 0
    repeated: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """True if no answer changed."""
        return not self.changes

    def tell(self) -> Iterator[Part]:
        """Yield the printed answer: a summary, a table of the releases, and the cause of each change."""
        from xla_inspect.questions.since.rendering import render

        return render(self)
