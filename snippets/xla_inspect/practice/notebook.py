"""What the notebooks of the practice show beside plain values: listings, tables, exercises, and where to read on.

Each shows as Markdown, which a notebook renders wherever it is open. Importing this module imports no JAX.
"""

from __future__ import annotations

import ast
import re
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from xla_inspect.errors import InspectError
from xla_inspect.practice.checking.exercises import EXERCISES
from xla_inspect.practice.checking.finding import RIGHT, Finding
from xla_inspect.practice.phases import PHASES
from xla_inspect.report import markdown
from xla_inspect.report.listing import NOISE, print_computation
from xla_inspect.report.titles import title

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from xla_inspect.hlo.record import Capture, Captures
    from xla_inspect.practice.checking.exercises import Exercise

# What a type checker is told, and no reader.
_IGNORED = re.compile(r"  # (?:type: ignore|noqa).*$")

# What a reader of layouts and shapes passes over.
UNREAD = NOISE | {"calls", "cross_program_prefetch_index"}

ORDINALS = ("First", "Second", "Third")


@dataclass(frozen=True)
class Shown:
    """A piece of Markdown that is the value of a cell.

    Attributes:
        text: The Markdown.
    """

    text: str

    def _repr_markdown_(self) -> str:
        """Return what IPython shows."""
        return self.text


def listing(text: str, language: str = "hlo") -> Shown:
    """Return a listing in the colours of a language.

    Args:
        text: What to show, as it is.
        language: The name of its lexer, such as `hlo` or `jaxpr`.
    """
    return Shown(markdown.fence(text, language))


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> Shown:
    """Return a table.

    Args:
        header: The titles of its columns.
        rows: Its cells; text is shown as it is, numbers to the right.
    """
    cells = [[cell if isinstance(cell, int) else _break(str(cell)) for cell in row] for row in rows]
    numbers = [at for at in range(len(header)) if cells and all(isinstance(row[at], int) for row in cells)]
    return Shown(markdown.table([markdown.escape(name) for name in header], cells, numbers=numbers))


def _break(text: str) -> str:
    """Return text as it is, such that a long name may go on in the next line where it has an underscore."""
    return markdown.escape(text).replace("&#95;", "&#95;<wbr>")


def sentences(lines: Iterable[str]) -> Shown:
    """Return lines of plain text as a list."""
    return Shown("".join(f"* {markdown.escape(line)}\n" for line in lines))


def across(captures: Captures, view: Callable[[Capture], object], header: str) -> Shown:
    """Return a table of one value per target; a target that this machine cannot compile for says why.

    Args:
        captures: The captures of one program.
        view: What to show of each.
        header: What it is called.
    """
    rows = [(title(name), view(found)) for name, found in captures.items()]
    return Shown("\n".join([table(["compiled for", header], rows).text, *_list_gaps(captures)]))


def entries(captures: Captures) -> Shown:
    """Return what each target runs: its ENTRY, without metadata; a target that is missing says why.

    Args:
        captures: The captures of one program.
    """
    parts = [
        markdown.fence(f"// {title(name)}\n{print_computation(found.module.entry, UNREAD)}", "hlo")
        for name, found in captures.items()
    ]
    return Shown("\n".join([*parts, *_list_gaps(captures)]))


def _list_gaps(captures: Captures) -> list[str]:
    return [
        f'<p class="gap" data-target="{name}">{title(name)}: not compiled here: {markdown.escape(reason)}</p>\n'
        for name, reason in captures.missing.items()
    ]


def find_exercise(key: str) -> Exercise:
    """Return the exercise of a key such as `basics/mlp`.

    Raises:
        InspectError: There is none; the message names those there are.
    """
    found = {each.key: each for each in EXERCISES}
    if key not in found:
        message = f"no exercise {key!r}; there are {', '.join(found)}"
        raise InspectError(message)
    return found[key]


@dataclass(frozen=True)
class Pair:
    """Something done in PyTorch and in JAX.

    Attributes:
        text: What it is, and PyTorch's side as it was recorded, in Markdown.
        jax: JAX's side, as it is typed.
        said: What differs, in Markdown.
    """

    text: str
    jax: str
    said: str


def list_pairs() -> list[Pair]:
    """Return what is done in PyTorch and in JAX, side by side."""
    recorded = tomllib.loads((Path(__file__).parent / "texts" / "pairs.toml").read_text(encoding="utf-8"))
    pairs = []
    for each in recorded["pair"]:
        title = f"**{each['title'].capitalize()}.** PyTorch ({recorded['version']}, as recorded):"
        shown = markdown.fence(each["torch"].strip(), "pycon")
        pairs.append(Pair(f"{title}\n\n{shown}", each["jax"].strip(), f"{each['said']} [More]({each['address']})."))
    return pairs


def pairs() -> Shown:
    """Return what is done in PyTorch, as recorded, and in JAX, run now."""
    import jax
    import jax.numpy as jnp

    from xla_inspect.practice.session import Session

    session = Session(jax=jax, jnp=jnp)
    found = [
        f"{pair.text}\n\nJAX, run now:\n\n{markdown.fence(session.type(pair.jax), 'pycon')}\n\n{pair.said}"
        for pair in list_pairs()
    ]
    return Shown("\n\n".join(found))


def exercise(key: str) -> None:
    """Show an exercise as its page does: task, file, hints, and the solution with what the check finds in it.

    Args:
        key: Such as `basics/mlp`.

    Raises:
        InspectError: There is no such exercise, or its solution is not right.
    """
    from IPython.display import display

    from xla_inspect.practice.checking import worker

    each = find_exercise(key)
    solved = replace(each, folder=each.folder / "solutions")
    marked = worker.mark(solved)
    if marked["verdict"] != RIGHT:
        message = f"the solution of {key} is {marked['verdict']}: {marked['findings']}"
        raise InspectError(message)
    found = [Finding(**{**finding, "lines": tuple(finding["lines"])}) for finding in marked["findings"]]
    where = f"snippets/practice/{each.phase}/{each.name}.py"
    parts = [
        f"### {each.title.rstrip('.')} {{ #{anchor(each)} }}",
        each.task,
        markdown.fence(starter(each), "python", title=where),
        f"To have it marked: `uv run python -m xla_inspect.main --check {each.phase}`.",
        *(
            markdown.fold(f"{number} hint", hint, kind="question")
            for number, hint in zip(ORDINALS, each.hints, strict=True)
        ),
        markdown.fold("A solution, and what the check finds in it", tell_solution(each, found), kind="question"),
    ]
    display(Shown("\n\n".join(parts)))  # type: ignore[no-untyped-call]  # IPython's


def anchor(each: Exercise) -> str:
    """Return the id of an exercise on its page."""
    return f"exercise-{each.name.replace('_', '-')}"


def tell_solution(each: Exercise, found: Iterable[Finding] = ()) -> str:
    """Return a solution in Markdown, and what the check finds in it."""
    said = [
        "\n".join((f"* {finding.text}", *([f"\n{_fence_lines(finding)}"] if finding.lines else [])))
        for finding in found
    ]
    return "\n".join([markdown.fence(written(each), "python"), *said])


def written(each: Exercise) -> str:
    """Return the parts of a solution that differ from the file of the exercise: what was written."""
    given = {part for part, _ in _split(starter(each))}
    parts = [(part, is_short) for part, is_short in _split(without_docstring(each.solution_text)) if part not in given]
    text = "".join(f"{part}\n" if is_short else f"\n\n{part}\n" for part, is_short in parts)
    return text.strip() + "\n"


def _split(text: str) -> Iterator[tuple[str, bool]]:
    """Yield each statement of a module with the comments and decorators above it, and whether it is a line or two."""
    lines, start = text.split("\n"), 0
    for node in ast.parse(text).body:
        part = "\n".join(lines[start : node.end_lineno]).strip("\n")
        start = node.end_lineno or start
        yield part, not isinstance(node, ast.FunctionDef | ast.ClassDef)


def _fence_lines(finding: Finding) -> str:
    """Return the lines of a finding as a listing inside an item of a list."""
    return markdown.indent(markdown.fence("\n".join(finding.lines), finding.language))


def starter(each: Exercise) -> str:
    """Return the file of an exercise without its task and its hints, which stand beside it on the page."""
    tree, lines = ast.parse(each.text), each.text.split("\n")
    gone = [node for node in tree.body if _is_hints(node)]
    dropped = {at for node in gone for at in range(node.lineno - 1, (node.end_lineno or node.lineno))}
    return without_docstring("\n".join(line for at, line in enumerate(lines) if at not in dropped))


def without_docstring(text: str) -> str:
    """Return the text of a module without what it says of itself at its top."""
    first = ast.parse(text).body[0]
    is_docstring = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    lines = text.split("\n")[(first.end_lineno or 0) if is_docstring else 0 :]
    return "\n".join(_IGNORED.sub("", line) for line in lines).strip() + "\n"


def _is_hints(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assign) and any(isinstance(it, ast.Name) and it.id == "HINTS" for it in node.targets)


def references(phase: str) -> Shown:
    """Return where to read on after a phase.

    Args:
        phase: Its name, such as `basics`.
    """
    return Shown(tell_references(phase))


def tell_references(phase: str) -> str:
    """Return where to read on after a phase, as a list in Markdown."""
    return "\n".join(f"* [{each.title}]({each.address})" for each in PHASES[phase].references) + "\n"
