"""The lookup of names in questions: an instruction, a line of Python, a variable, an argument."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from xla_inspect.analysis import (
    SourceLine,
    find_frame,
    fused_computations,
    read_jaxpr_lines,
    read_line,
    read_op_scope,
    show_place,
)
from xla_inspect.errors import InspectError
from xla_inspect.plural import plural
from xla_inspect.questions.why.statements import Statement, list_assigned, list_definitions
from xla_inspect.spelling import list_nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from xla_inspect.analysis import Histories
    from xla_inspect.captured import Capture
    from xla_inspect.hlo import Frame, Instruction

_LINE = re.compile(r"(?:(?P<file>[^:]*):|:)?(?P<number>\d+)(?::\d+)?")
_NEAREST = 4
_FAR = 3


@dataclass(frozen=True)
class Selection:
    """The part of a program that a question names.

    Attributes:
        what: The name, as it was typed.
        instructions: The matching instructions of the optimized module, in the order of its text.
        removed: Matching instructions that passes removed: those of a line, or the only ones that match.
        is_one: Whether the name denotes one instruction, not a line with all of its instructions.
        lines: The matching lines of Python, each a file and a number.
        statements: The statements that assign the variable, which may share a line with other statements.
    """

    what: str
    instructions: tuple[Instruction, ...]
    removed: tuple[Instruction, ...]
    is_one: bool = False
    lines: tuple[tuple[str, int], ...] = ()
    statements: tuple[Statement, ...] = ()


class Selector:
    """The lookup of names (instructions, lines, variables, operations) in one capture.

    Args:
        capture: The capture.
        lines: The line of each instruction of its optimized module.
        histories: The history of each instruction.
    """

    def __init__(self, capture: Capture, lines: Mapping[Instruction, SourceLine], histories: Histories) -> None:
        """Store the data to search."""
        self.capture, self.lines, self.histories = capture, lines, histories

    def select(self, what: str) -> Selection:
        """Return the part of the program that a word names.

        Args:
            what: `fusion.33` or `%fusion.33`, `model.py:88`, `:88` or `88`, a variable that the program's file
                assigns, a value of MLIR such as `%13`, an argument, JAX's name of an operation, a Python function, an
                opcode, or a piece of a line.

        Raises:
            InspectError: The program has no such part. The message lists the nearest names.
        """
        word = what.strip().removeprefix("%")
        if not word:
            message = "the name is empty; pass an instruction, such as fusion.3, or a line, such as model.py:12"
            raise InspectError(message)
        if places := list_definitions(self.capture.sources, what.strip()):
            selection = self._select_places(what, places)
            return selection if selection.instructions or selection.removed else self._refuse_line(what, *min(places))
        if match := _LINE.fullmatch(what.strip()):
            return self._select_line(what, match["file"] or "", int(match["number"]))
        inside = fused_computations(self.capture.module)
        matches = [instruction for instruction in self.capture.module.walk() if instruction.name == word]
        if matches:
            return Selection(
                what, (min(matches, key=lambda instruction: instruction.computation in inside),), (), is_one=True
            )
        return (
            self._select_variable(what, word)
            or self._select_argument(what, word)
            or self._select_all(what, word)
            or self._select_former(what, word)
            or (None if self._variables.get(word) else self._select_fragment(what, word))
            or self._refuse(what, word)
        )

    def list_names(self) -> tuple[str, ...]:
        """Return the names of parts of the program: scopes, then functions and variables with instructions."""
        scopes = {scope for op in self.capture.module.walk() for scope in read_op_scope(op.op_name or "")}
        functions = {frame.function.rpartition(".")[2] for frame in self._frames()}
        places = {(line.file, line.number) for line in self.lines.values()}
        variables = {
            name
            for name, statements in self._variables.items()
            if any(place in places for statement in statements for place in statement.lines)
        }
        return tuple(sorted(scopes)) + tuple(sorted((functions | variables) - scopes - {"", "<lambda>", "<module>"}))

    def _frames(self) -> Iterable[Frame]:
        chains = self.capture.frames.values()
        return (frame for chain in chains for frame in chain if frame.file in self.capture.sources)

    def _select_line(self, what: str, file: str, number: int) -> Selection:
        files = self._find_files(what, file)
        places = {(match, number) for match in files}
        selection = self._select_places(what, places)
        if selection.instructions or selection.removed or self.is_traced(places):
            return selection
        return self._refuse_line(what, files[0] if len(files) == 1 else "", number)

    def _find_files(self, what: str, file: str) -> list[str]:
        if not file:
            return [self.capture.source_file]
        path = file.replace("\\", "/").removeprefix("./")
        matches = [source for source in self.capture.sources if source == path or source.endswith(f"/{path}")]
        matches = matches or [source for source in self.capture.sources if path.endswith(f"/{source}")]
        if not matches:
            files = ", ".join(sorted(self.capture.sources)[:8])
            message = f"{what}: no instruction comes from a file {file!r}; the files of this program: {files or 'none'}"
            raise InspectError(message)
        return matches

    def _select_places(self, what: str, places: set[tuple[str, int]]) -> Selection:
        instructions = tuple(
            op
            for op in self.capture.module.walk()
            if (line := self.lines.get(op)) is not None and (line.file, line.number) in places
        )
        removed_instructions: list[Instruction] = []
        numbers = self.histories.states[0].numbers
        for original in self.list_imported(places):
            final = self.histories.finally_is(numbers[original])
            if final is None:
                removed_instructions.append(original)
            elif final not in instructions:
                instructions = (*instructions, final)
        return Selection(what, instructions, tuple(removed_instructions), lines=tuple(sorted(places)))

    def list_imported(self, places: Collection[tuple[str, int]]) -> tuple[Instruction, ...]:
        """Return the unoptimized module's instructions from lines, without parameters and constants, in its order."""
        imported = []
        for instruction in self.histories.states[0].numbers:
            frames = self.capture.frames.get(instruction.stack_frame or 0, ())
            frame = next((frame for frame in frames if frame.file in self.capture.sources), None)
            if frame and (frame.file, frame.line) in places and instruction.opcode not in {"parameter", "constant"}:
                imported.append(instruction)
        return tuple(imported)

    def find_value(self, selection: Selection, passing: Collection[str]) -> Instruction | None:
        """Return the instruction of the unoptimized module that computes the result of lines or statements, or None.

        Args:
            selection: The lines or statements.
            passing: Opcodes that only collect values or call other computations.
        """
        imported = self.list_imported(selection.lines)
        whole = [op for op in imported if op.opcode not in passing and self._is_in(op, selection.statements)]
        users = self.histories.states[0].module.users
        return next((instruction for instruction in reversed(whole) if not {*users(instruction)} & {*whole}), None)

    @cached_property
    def _variables(self) -> dict[str, list[Statement]]:
        """The statements that assign each variable of the program's files, by the variable's name."""
        variables: dict[str, list[Statement]] = {}
        for file, text in self.capture.sources.items():
            for name, statements in list_assigned(file, text).items():
                variables.setdefault(name, []).extend(statements)
        return variables

    def find_variable(self, instruction: Instruction) -> str:
        """Return the variable whose assignment contains an instruction, or an empty string if there is none."""
        if find_frame(self.capture, instruction) is None:
            return ""
        names = (name for name, own in self._variables.items() if self._is_in(instruction, own))
        return next(names, "")

    def _select_variable(self, what: str, word: str) -> Selection | None:
        """Return the instructions of the statements that assign a variable, or None if JAX traced none of them."""
        statements = tuple(self._variables.get(word, ()))
        if not statements:
            return None
        lines = self._select_places(what, {place for statement in statements for place in statement.lines})
        chosen, removed_instructions = (
            tuple(instruction for instruction in group if self._is_in(instruction, statements))
            for group in (lines.instructions, lines.removed)
        )
        if not (chosen or removed_instructions or self.is_traced(lines.lines)):
            return None
        return Selection(what, chosen, removed_instructions, lines=lines.lines, statements=statements)

    def _is_in(self, instruction: Instruction, statements: Collection[Statement]) -> bool:
        """Return whether an instruction comes from one of the statements; True without statements or a known column."""
        frame = find_frame(self.capture, instruction)
        if not statements or frame is None or frame.column < 1:
            return True
        at = frame.line, frame.column - 1
        return any(statement.file == frame.file and statement.start <= at < statement.end for statement in statements)

    def is_traced(self, places: Collection[tuple[str, int]]) -> bool:
        """Return whether the jaxpr has an equation of one of the lines."""
        return any(place in places for _, place in read_jaxpr_lines(self.capture.jaxpr_locations))

    def _select_argument(self, what: str, word: str) -> Selection | None:
        """Return the parameter whose JAX name is `word` as a selection, or None."""
        whole = (op for op in self.capture.module.walk() if op.op_name == word and op.opcode == "parameter")
        return next((Selection(what, (instruction,), (), is_one=True) for instruction in whole), None)

    def _select_all(self, what: str, word: str) -> Selection | None:
        """Return the instructions whose JAX name has `word` as a part, or whose function or opcode is `word`, or None.

        The instructions of a function include those of the functions that it calls.
        """
        chains = {
            number
            for number, chain in self.capture.frames.items()
            if any(word in {frame.function, frame.function.rpartition(".")[2]} for frame in chain)
        }
        meanings: tuple[Callable[[Instruction], bool], ...] = (
            lambda instruction: (
                word in {instruction.op_name, *(instruction.op_name or "").split("/")}
                or f"({word})" in (instruction.op_name or "")
            ),
            lambda instruction: instruction.stack_frame in chains,
            lambda instruction: instruction.opcode.removesuffix("-start") == word,
        )
        groups = (tuple(filter(is_meant, self.capture.module.walk())) for is_meant in meanings)
        return next((Selection(what, group, ()) for group in groups if group), None)

    def _select_fragment(self, what: str, word: str) -> Selection | None:
        """Return the instructions of the lines that contain a piece of text, ignoring spaces, or None."""
        piece = "".join(word.split())
        places = {
            (file, number)
            for file, text in self.capture.sources.items()
            for number, line in enumerate(text.splitlines(), 1)
            if piece in "".join(line.split())
        }
        selection = self._select_places(what, places) if len(piece) > 1 else None
        return selection if selection and (selection.instructions or selection.removed) else None

    def _select_former(self, what: str, word: str) -> Selection | None:
        """Return the final form of an instruction of an earlier state, or that instruction as removed, or None."""
        former = self.histories.find(word)
        if former is None:
            return None
        number, _ = self.histories.locate(former)
        final = self.histories.finally_is(number)
        return Selection(what, (final,) if final else (), () if final else (former,), is_one=True)

    def _refuse(self, what: str, word: str) -> Selection:
        names = {instruction.name: instruction for instruction in self.capture.module.walk()}
        assigned = self._variables
        if word in assigned:
            statement = assigned[word][0]
            place = show_place(SourceLine(statement.file, statement.start[0], ""))
            message = (
                f"no operation of {self.capture.program} comes from {place}, where {what!r} is assigned: it is "
                "a Python value, or another name for a value that another line computes"
            )
            raise InspectError(message)
        near = list_nearest(word, [*names, *assigned, *self.list_names()], _NEAREST, 0.5)
        stem = word.rpartition(".")[0] or word
        near += [name for name in names if name.rpartition(".")[0] == stem or name == stem][:_NEAREST]
        near = (
            list(dict.fromkeys(near))[:_NEAREST]
            or [instruction.name for instruction in self.capture.module.entry][-_NEAREST:]
        )
        nearest = ", ".join(
            f"{name} ({show_place(line)})" if (line := self.lines.get(names[name]) if name in names else None) else name
            for name in near
        )
        message = (
            f"{self.capture.program} has no instruction, variable or operation {what!r}; the nearest are {nearest}"
        )
        raise InspectError(message)

    def _say_line(self, file: str, number: int) -> str:
        """Return the reason why a line cannot have instructions, as the end of a message, or an empty string."""
        lines = self.capture.sources.get(file, "").splitlines()
        if not lines:
            return ""
        if not 0 < number <= len(lines):
            return f", since {file.rpartition('/')[2]} has {plural(len(lines), 'line')}"
        text = lines[number - 1].strip()
        return ", which is empty" if not text else ", which is a comment" if text.startswith("#") else ""

    def _refuse_line(self, what: str, file: str, number: int) -> Selection:
        places = sorted({(line.file, line.number) for line in self.lines.values() if not file or line.file == file})
        near = sorted(places, key=lambda place: abs(place[1] - number))[:_FAR]
        lines = [SourceLine(*place, "") for place in sorted(near)]
        nearest = "\n".join(f"  {show_place(line)}  {read_line(self.capture, line)}" for line in lines)
        message = f"no instruction of {self.capture.program} comes from {what}{self._say_line(file, number)}"
        message += f"; the nearest lines with instructions:\n{nearest}" if nearest else ""
        raise InspectError(message)
