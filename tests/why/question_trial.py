"""The forty questions as data, with functions that detect an effect in a capture and try a change that removes it.

A table `[[question]]` of `questions.toml` or `held.toml` has the fields of `Question`, in these forms and no other.

What a question is about (`what`):

* `{ line = "..." }`: a line of Python, by its text without indentation.
* `{ apart = ["...", "..."] }`: two lines, which are asked about together.
* `{ instruction = { opcode = "copy", shape = "f32[4]", where = "fused" } }`: the instructions of the optimized module
  that `Pattern` finds. A name, which changes from release to release, is never given.

How its effect is seen (`effect`):

* `{ opcode = "copy", shape = "f32[4]", where = "top", at_least = 1 }`: so many instructions are found, as by `Pattern`.
* `{ apart = ["gather", "tanh"] }`: both opcodes occur, and no kernel holds both. It is removed where one does.
* `{ apart = "lines" }`: the same of the two lines of `what`, each of which has instructions in some kernel.
* `{ moving_kernels = 2 }`: so many kernels do nothing but move data.

What removes it (`removed_by`), each a table with `change` and what it takes:

* `donate` with `arguments`, numbers.
* `without-pass` with `pass`: the pass is named to the option `xla_disable_hlo_passes`.
* `no-barrier`: `jax.lax.optimization_barrier` hands its operand on.
* `layout` with `argument`, `order` and perhaps `result`: the argument lies in that order of its dimensions, the most
  major first, and so does the result.
* `batch` with `args`: other sizes.
* `precision` with `args`: other types.
* `target` with `target`.
* `sharding` with `specs`: how each argument lies on the mesh, as `data,None,x+y`; empty for one that is replicated.
* `flag` with `flag`, `NAME=VALUE`.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import pytest
from jax.experimental.layout import Format, Layout
from jax.sharding import PartitionSpec

from xla_inspect.analysis import find_lines, list_launches
from xla_inspect.compilation import PINNED
from xla_inspect.subject import Request, Subject, read_flags, read_function
from xla_inspect.targets import find_target

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from xla_inspect.captured import Capture
    from xla_inspect.hlo import Instruction, Module

FOLDER = Path(__file__).resolve().parent
KINDS = ("not fused", "copies", "layouts", "collectives")
DISABLE = "xla_disable_hlo_passes"
MOVING = {"bitcast", "constant", "copy", "parameter", "reshape", "transpose", "tuple", "get-tuple-element"}
"""Opcodes of a kernel that only moves data: at least one of them is a copy or a transpose."""
QUIET = {"bitcast", "constant", "get-tuple-element", "parameter", "tuple"}
"""Opcodes that do not count as work of a line."""


@dataclass(frozen=True)
class Pattern:
    """A pattern that selects instructions of a module.

    Attributes:
        opcode: Their opcode; of an asynchronous one that of its start, without the suffix.
        shape: The shape of their result, without its layout; any where it is empty.
        where: `top` for those that stand in no fusion, `fused` for those that do, `any` for both.
    """

    opcode: str
    shape: str = ""
    where: str = "top"

    def find(self, module: Module) -> list[Instruction]:
        """Return the matching instructions."""
        fused = _list_fused(module)
        return [
            instruction
            for instruction in module.walk()
            if instruction.opcode.removesuffix("-start") == self.opcode
            and (not self.shape or str(instruction.shape).partition("{")[0] == self.shape)
            and (self.where == "any" or (instruction.computation in fused) == (self.where == "fused"))
        ]


@dataclass(frozen=True)
class Question:
    """A user's question and its answer.

    Attributes:
        name: A short sentence about the program.
        kind: One of `KINDS`.
        issue: The public issue that the program is made from.
        asks: The question in the reader's words.
        file: A file of `programs/`.
        function: The function, or the name of one of the file's PROGRAMS.
        args: The arguments as `--args` takes them; empty for one of PROGRAMS, which brings its own.
        options: Other options of the command line: `target`, and perhaps `donate`.
        what: The table that names the subject of the question, in the forms listed above.
        effect: The table that describes its visible effect, in the forms listed above.
        passes: The passes that caused the effect, or rejected what the reader expects: any is a right answer.
        lines: The lines of Python that the effect comes from, by their text: any is a right answer.
        removed_by: The changes that remove the effect, each of which was tried.
        why: What really happens, in a sentence.
        is_held: Whether it is kept out while the command is built.
    """

    name: str
    kind: str
    issue: str
    asks: str
    file: str
    function: str
    args: str
    options: Mapping[str, Any]
    what: Mapping[str, Any]
    effect: Mapping[str, Any]
    passes: tuple[str, ...]
    lines: tuple[str, ...]
    removed_by: tuple[Mapping[str, Any], ...]
    why: str
    is_held: bool = field(default=False)

    @property
    def path(self) -> Path:
        """The file of the program."""
        return FOLDER / "programs" / self.file

    @property
    def target(self) -> str:
        """The target that the question is about."""
        return str(self.options["target"])

    @property
    def request(self) -> Request:
        """The command line's request for the question's program."""
        donate = tuple(self.options.get("donate", ()))
        return Request((f"{self.path}:{self.function}",), args=self.args, donate=donate)

    def capture(self) -> Capture:
        """Return the capture that the question is about, with the module after each pass."""
        return read_function(self.request).capture(self.target, passes=True, timed=True)

    def capture_changed(self, change: Mapping[str, Any]) -> Capture:
        """Return the capture of the program with one of the changes of `removed_by`."""
        request, target, settings = self.request, self.target, dict[str, Any]()
        match change:
            case {"change": "donate", "arguments": numbers}:
                request = replace(request, donate=tuple(map(str, numbers)))
            case {"change": "without-pass", "pass": name}:
                # What is switched off for the capture's own sake, as on each machine, stays so.
                pinned = PINNED[find_target(target).kind].get(DISABLE)
                settings["options"] = {DISABLE: ",".join(map(str, filter(None, (pinned, name))))}
            case {"change": "flag", "flag": flag}:
                settings["options"] = read_flags([flag])
            case {"change": "batch" | "precision", "args": args}:
                request = replace(request, args=args)
            case {"change": "target", "target": target}:
                pass
            case {"change": "sharding", "specs": specs}:
                settings["specs"] = tuple(map(read_spec, specs))
            case {"change": "layout"}:
                return _lay_out(read_function(request), change).capture(target, **settings)
            case {"change": "no-barrier"}:
                with pytest.MonkeyPatch.context() as patch:
                    patch.setattr(jax.lax, "optimization_barrier", lambda operand: operand)
                    return read_function(request).capture(target)
            case _:
                message = f"no such change: {change}"
                raise ValueError(message)
        return read_function(request).capture(target, **settings)

    def shows(self, capture: Capture) -> bool:
        """Return whether a capture of the program has the effect."""
        match self.effect:
            case {"opcode": _, "at_least": int(least)}:
                pattern = {name: value for name, value in self.effect.items() if name != "at_least"}
                return len(Pattern(**pattern).find(capture.module)) >= least
            case {"moving_kernels": int(least)}:
                opcodes = [{instruction.opcode for instruction in kernel} for kernel in list_work(capture)]
                return (
                    sum(
                        wanted_opcode <= MOVING and bool(wanted_opcode & {"copy", "transpose"})
                        for wanted_opcode in opcodes
                    )
                    >= least
                )
        targets, parts = self._find_parts(capture)
        return not self.lacks(capture) and all(any(instruction in part for part in parts) for instruction in targets)

    def lacks(self, capture: Capture) -> bool:
        """Return whether a capture of the program is without the effect: what was apart is in one kernel."""
        if "apart" not in self.effect:
            return not self.shows(capture)
        targets, parts = self._find_parts(capture)
        return any(part.issuperset(targets) for part in parts)

    def _find_parts(self, capture: Capture) -> tuple[list[Any], list[set[Any]]]:
        """Return the lines or opcodes that should be in one kernel, and those that each kernel has."""
        if self.effect["apart"] != "lines":
            return list(self.effect["apart"]), [
                {instruction.opcode for instruction in kernel} for kernel in list_work(capture)
            ]
        lines = find_lines(capture, capture.module)
        parts = [
            {
                lines[instruction].number
                for instruction in kernel
                if instruction in lines and instruction.opcode not in QUIET
            }
            for kernel in list_work(capture)
        ]
        return [self.find_line(text) for text in self.what["apart"]], list[set[Any]](parts)

    def find_line(self, text: str) -> int:
        """Return the number of the only line of the program's function that equals a text, without indentation.

        Raises:
            ValueError: There is no such line, or more than one.
        """
        lines = self.path.read_text(encoding="utf-8").splitlines()
        start = next(at for at, line in enumerate(lines) if line.startswith(f"def {self.function}("))
        stop = next((at for at, line in enumerate(lines) if at > start and line.startswith("def ")), len(lines))
        line_numbers = [at + 1 for at in range(start, stop) if lines[at].strip() == text]
        if len(line_numbers) != 1:
            message = f"{self.file}: {len(line_numbers)} lines of {self.function} read {text!r}"
            raise ValueError(message)
        return line_numbers[0]


def read_questions() -> Iterator[Question]:
    """Yield the forty questions, the held-out ones last."""
    for name, is_held in (("questions.toml", False), ("held.toml", True)):
        for table in tomllib.loads((FOLDER / name).read_text(encoding="utf-8"))["question"]:
            lists = {"passes": "pass", "lines": "lines", "removed_by": "removed_by"}
            parts: dict[str, Any] = {name: tuple(table.pop(key)) for name, key in lists.items()}
            yield Question(**table, **parts, is_held=is_held)


def list_work(capture: Capture) -> list[list[Instruction]]:
    """Return the instructions of each kernel of a program, copies included."""
    module = capture.module
    launched = [module.instruction(launch.name) for launch in list_launches(capture)]
    return [list(_open_kernel(module, item)) for item in launched]


def read_spec(text: str) -> PartitionSpec:
    """Return the partition spec that a text such as `data,None,x+y` describes."""
    parts = [part.split("+") for part in text.split(",") if part]
    return PartitionSpec(*(None if part == ["None"] else tuple(part) if part[1:] else part[0] for part in parts))


def _open_kernel(module: Module, instruction: Instruction) -> Iterator[Instruction]:
    """Yield the instructions of a kernel: the instruction itself, or those inside its fusion."""
    inside = [module.computation(name) for part in ("calls", "async") for name in instruction.calls.get(part, ())]
    if not inside:
        yield instruction
    for computation in inside:
        for member in computation:
            yield from _open_kernel(module, member)


@cache
def _list_fused(module: Module) -> frozenset[str]:
    """Return the names of the computations of fusions and of their nested computations."""
    return frozenset(
        name for instruction in module.walk() if instruction.opcode == "fusion" for name in instruction.called
    )


def _lay_out(subject: Subject, change: Mapping[str, Any]) -> Subject:
    """Return a program with another layout for one argument, and optionally for its result."""
    call = subject.call
    assert call is not None
    device = jax.sharding.SingleDeviceSharding(jax.devices("cpu")[0])
    layouts: list[Format | None] = [None] * len(call.args)
    layouts[change["argument"]] = Format(Layout(tuple(change["order"])), device)
    result: dict[str, Any] = (
        {"out_shardings": Format(Layout(tuple(change["result"])), device)} if "result" in change else {}
    )
    function = jax.jit(call.function, in_shardings=tuple(layouts), **result)
    return Subject(subject.name, replace(call, function=function))
