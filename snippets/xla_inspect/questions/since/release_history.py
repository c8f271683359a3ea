"""A program under several releases of JAX, as plain data."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - the schema is read off the annotations
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
    """A program under one release; what the release cannot tell is None.

    Attributes:
        release: The release of JAX.
        failed: Why there is nothing to compare, or an empty string.
        place: The line of the reader's file that did not load or trace, or an empty string.
        versions: The packages that compiled it, name to version.
        temporary_bytes: What the executable sets aside for temporaries.
        copies_in_loops: How many copies run in a loop or a branch.
        kernels: How many kernels there are.
        collectives: How many exchanges between devices.
        code: Four letters that name the generated code, the same where it is the same but for names.
        code_instructions: How many instructions it has.
        code_loops: How many loops it has.
        deepest_loops: How many of them lie in each other at most.
        compile_seconds: What the compile took of this machine's processor, or the limit where it took longer.
        run_seconds: The median of what it takes to run on this machine's CPU, where that was asked for.
        notes: What else is to be said.
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
        question: What was asked about, such as `kernels` or `memory`.
        before: The last release that answers as the oldest does.
        after: The first that does not.
        between: Releases between the two that could not be measured.
        old: The answer of the first, as text.
        new: The answer of the second.
        stage: Where the two compiles part: `lowering` (JAX gives the compiler another program), `pass`, `scheduling`
            (the order of instructions), `below HLO` (the plan of memory, the generated code or a library) or `unknown`.
        old_pass: The pass of the older compile after which the modules differ for good, or an empty string.
        new_pass: The same of the newer.
        blamed: Which of the two is to blame, or an empty string.
        maker: The pass of the newer compile that makes what was asked about, or an empty string.
        pipeline: The pipeline of `maker`, or of `new_pass`.
        place: `file:line` of Python, or an empty string.
        line: What stands there.
        what: What came or went, most of it first, as text.
        slower: The passes that take longer, as text, where the time of the compile was asked about.
        hlo_diff: The optimized modules compared, names of values left out, as a unified diff.
        code_diff: The generated code compared, likewise.
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
        """The pass that is to blame, or at which stage the compiles part."""
        if self.stage == "pass" or self.maker:
            return f"pass {self.maker or self.blamed}"
        return {"lowering": "JAX lowers it otherwise", "unknown": "unknown"}.get(self.stage, self.stage)

    def tell(self) -> str:
        """Return it in a few sentences."""
        told = [f"`{self.question}`: {self.old} up to {self.before}, {self.new} from {self.after} on."]
        if self.between:
            told.append(f"What lies between could not be measured: {', '.join(self.between)}.")
        told += [_STAGES[self.stage]] if self.stage != "pass" else [self._tell_pass()]
        if self.maker and self.stage != "pass":
            told.append(f"What was asked about is made by the pass `{self.maker}`.")
        if self.place:
            told.append(f"The line is {self.place}{f', `{shorten(self.line, _LONGEST)}`' if self.line else ''}.")
        if self.what:
            told.append(f"{'; '.join(self.what)}.")
        if self.slower:
            told.append(f"Longer than before: {'; '.join(self.slower)}.")
        return " ".join(told)

    def _tell_pass(self) -> str:
        pair = f"`{self.blamed}`"
        if self.old_pass and self.new_pass and self.old_pass != self.new_pass:
            pair = f"`{self.old_pass}` in {self.before} and `{self.new_pass}` in {self.after}"
        said = f"The modules differ for good from here on: after {pair}."
        if self.blamed == self.old_pass != self.new_pass:
            said = f"{said} {self.after} has no `{self.old_pass}` that changes the module."
        if self.maker and self.maker != self.blamed:
            said = f"{said} What was asked about is made by `{self.maker}`."
        return said


_STAGES = {
    "lowering": "The modules differ before the first pass already, and never meet: JAX gives the compiler another "
    "program.",
    "scheduling": "The optimized modules are the same but for the order of their instructions: it is the scheduler.",
    "below HLO": "The optimized modules are the same: it is below HLO, in the plan of memory, the generated code or a "
    "library.",
    "unknown": "The modules of these releases cannot be compared pass by pass.",
}


@dataclass(frozen=True)
class ReleaseHistory(Answer):
    """A program under the releases between two.

    Attributes:
        program: The name of the program.
        target: The target's short name, with its grid.
        asked: What was asked about, as on the command line.
        first: The oldest release.
        last: The newest.
        questions: What was asked of each release.
        rows: What was measured, the oldest release first.
        not_measured: Releases that did not have to be measured.
        changes: Where answers change, the oldest release first.
        installed_bytes: What the environments of releases take on disk, what uv's cache shares with them among it.
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

    @property
    def holds(self) -> bool:
        """True if nothing changed."""
        return not self.changes

    def tell(self) -> Iterator[Part]:
        """Yield the sentence, the releases, and what changed where."""
        from xla_inspect.questions.since.rendering import render

        return render(self)
