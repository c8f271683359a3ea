"""The displayed parts of the practice's notebooks: listings, tables, exercises, and further reading.

Each part is Markdown, which every notebook application renders. Importing this module does not import JAX.
"""

from __future__ import annotations

import ast
import re
import tomllib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from xla_inspect.analysis import print_computation
from xla_inspect.errors import InspectError
from xla_inspect.hlo import CLUTTER
from xla_inspect.plural import plural
from xla_inspect.practice.command import TEXTS
from xla_inspect.practice.marking.exercises import EXERCISES, LEVELS, check_line
from xla_inspect.practice.marking.verdict import RIGHT, read_remark
from xla_inspect.practice.phases import PHASES
from xla_inspect.report import markdown
from xla_inspect.targets import title

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from xla_inspect.captured import Capture, Captures
    from xla_inspect.practice.marking.exercises import Exercise
    from xla_inspect.practice.marking.verdict import Remark

# Comments for the type checker would only distract the reader of a listing.
_IGNORED = re.compile(r"  # (?:type: ignore|noqa).*$")

ORDINALS = ("First", "Second", "Third")
"""The ordinal numbers in the titles of hints."""


@dataclass(frozen=True)
class CellMarkdown:
    """A piece of Markdown that a notebook displays as the value of a cell.

    Attributes:
        text: The Markdown.
    """

    text: str

    def _repr_markdown_(self) -> str:
        """Return the Markdown that IPython displays."""
        return self.text


def listing(text: str, language: str = "hlo") -> CellMarkdown:
    """Return a listing with syntax highlighting, to display as the value of a cell.

    Args:
        text: The text of the listing.
        language: The name of the lexer, such as `hlo` or `jaxpr`.
    """
    return CellMarkdown(markdown.fence(text, language))


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> CellMarkdown:
    """Return a table, to display as the value of a cell.

    Args:
        header: The titles of the columns.
        rows: The cells of each row; text appears verbatim, and numbers are right-aligned.
    """
    cells = [[cell if isinstance(cell, int) else _break(str(cell)) for cell in row] for row in rows]
    numbers = [at for at in range(len(header)) if cells and all(isinstance(row[at], int) for row in cells)]
    return CellMarkdown(markdown.table([markdown.escape(name) for name in header], cells, numbers=numbers))


def _break(text: str) -> str:
    """Return escaped text in which a long name may wrap to the next line after an underscore."""
    # Names of passes and fusions are long, and a table cell cannot break them elsewhere.
    return markdown.escape(text).replace("&#95;", "&#95;<wbr>")


def sentences(lines: Iterable[str]) -> CellMarkdown:
    """Return lines of plain text as a bulleted list, to display as the value of a cell."""
    return CellMarkdown("".join(f"* {markdown.escape(line)}\n" for line in lines))


def across(captures: Captures, view: Callable[[Capture], object], header: str) -> CellMarkdown:
    """Return a table with one value per target, or the reason why this machine cannot compile for it.

    Args:
        captures: The captures of one program.
        view: The function that returns the value of a capture.
        header: The title of the column of values.
    """
    rows = [(title(name), view(capture)) for name, capture in captures.items()]
    return CellMarkdown("\n".join([table(["compiled for", header], rows).text, *_list_gaps(captures)]))


def entries(captures: Captures) -> CellMarkdown:
    """Return each target's ENTRY computation without metadata, or the reason why the target is missing."""
    parts = [
        markdown.fence(f"// {title(name)}\n{print_computation(capture.module.entry, CLUTTER)}", "hlo")
        for name, capture in captures.items()
    ]
    return CellMarkdown("\n".join([*parts, *_list_gaps(captures)]))


def _list_gaps(captures: Captures) -> list[str]:
    return [
        f'<p class="gap" data-target="{name}">{title(name)}: not compiled here: {markdown.escape(reason)}</p>\n'
        for name, reason in captures.missing.items()
    ]


def find_exercise(key: str) -> Exercise:
    """Return the exercise of a key such as `basics/mlp`.

    Raises:
        InspectError: There is no such exercise; the message lists the exercises.
    """
    by_key = {exercise.key: exercise for exercise in EXERCISES}
    if key not in by_key:
        message = f"no exercise {key!r}; there are {', '.join(by_key)}"
        raise InspectError(message)
    return by_key[key]


def read_pairs() -> dict[str, Any]:
    """Return the recorded PyTorch examples with their JAX source as the list `pair`, and PyTorch's `version`."""
    return tomllib.loads((TEXTS / "pairs.toml").read_text(encoding="utf-8"))


def pairs() -> CellMarkdown:
    """Return the recorded PyTorch examples next to their JAX equivalents, which are run now."""
    import jax
    import jax.numpy as jnp

    from xla_inspect.practice.prompt import Prompt

    prompt, recorded = Prompt(jax=jax, jnp=jnp), read_pairs()
    sections = []
    for pair in recorded["pair"]:
        sections += [
            f"**{pair['title'].capitalize()}.** PyTorch ({recorded['version']}, as recorded):",
            markdown.fence(pair["torch"].strip(), "pycon"),
            "JAX, run now:",
            markdown.fence(prompt.type(pair["jax"].strip()), "pycon"),
            f"{pair['said']} More: [{pair['about']}]({pair['address']}).",
        ]
    return CellMarkdown("\n\n".join(sections))


def exercise(key: str) -> None:
    """Display an exercise as on its page: task, file, hints, and the solution with the results of its check.

    Args:
        key: The exercise's key, such as `basics/mlp`.

    Raises:
        InspectError: There is no such exercise, or its solution fails the check.
    """
    # IPython is needed only in a notebook, so the commands of the practice work without it.
    from IPython.display import display

    from xla_inspect.practice.marking import sandbox_worker

    task = find_exercise(key)
    # The solution is marked while the notebook runs, so that a page never shows a solution that fails its check.
    solved = replace(task, folder=task.folder / "solutions", originals=task.folder)
    marked = sandbox_worker.examine(solved)
    if marked["verdict"] != RIGHT:
        message = f"the solution of {key} is {marked['verdict']}: {marked['remarks']}"
        raise InspectError(message)
    remarks = [read_remark(remark) for remark in marked["remarks"]]
    where = f"snippets/practice/{task.phase}/{task.name}.py"
    effort = f"About {plural(task.minutes, 'minute')}, level {task.level} of {LEVELS}."
    parts = [
        f"### {task.title.rstrip('.')} {{ #{anchor(task)} }}",
        task.task,
        markdown.fence(starter(task), "python", title=where),
        f"{effort} Mark your solution with `{check_line(task.key)}`.",
        *(
            markdown.fold(f"{number} hint", hint, kind="question")
            for number, hint in zip(ORDINALS, task.hints, strict=True)
        ),
        markdown.fold("A solution, and what the check finds in it", tell_solution(task, remarks), kind="question"),
    ]
    display(CellMarkdown("\n\n".join(parts)))  # type: ignore[no-untyped-call]  # IPython's


def anchor(exercise: Exercise) -> str:
    """Return the HTML id of an exercise on its page."""
    return f"exercise-{exercise.name.replace('_', '-')}"


def tell_solution(exercise: Exercise, remarks: Iterable[Remark] = ()) -> str:
    """Return, as Markdown, the solution of an exercise and the given remarks of its check."""
    remark_items = [
        "\n".join((f"* {remark.text}", *([f"\n{_fence_lines(remark)}"] if remark.lines else []))) for remark in remarks
    ]
    return "\n".join([markdown.fence(extract_solution(exercise), "python"), *remark_items])


def extract_solution(exercise: Exercise) -> str:
    """Return the parts of a solution that differ from the original file of the exercise."""
    # Parts that the file already has are left out, so that the listing shows only what the reader had to write.
    starter_parts = {part for part, _ in _split(starter(exercise))}
    parts = [
        (part, is_short)
        for part, is_short in _split(without_docstring(exercise.solution_text))
        if part not in starter_parts
    ]
    text = "".join(f"{part}\n" if is_short else f"\n\n{part}\n" for part, is_short in parts)
    return text.strip() + "\n"


def _split(text: str) -> Iterator[tuple[str, bool]]:
    """Yield each top-level statement with the comments above it, and whether it is neither a function nor a class."""
    lines, start = text.split("\n"), 0
    for node in ast.parse(text).body:
        part = "\n".join(lines[start : node.end_lineno]).strip("\n")
        start = node.end_lineno or start
        yield part, not isinstance(node, ast.FunctionDef | ast.ClassDef)


def _fence_lines(remark: Remark) -> str:
    """Return the lines of a remark as a listing inside a list item."""
    return markdown.indent(markdown.fence("\n".join(remark.lines), remark.language))


def starter(exercise: Exercise) -> str:
    """Return the file of an exercise without its task, which the page shows separately."""
    return without_docstring(exercise.text)


def without_docstring(text: str) -> str:
    """Return the source of a module without its docstring and the comments for the linter and type checker."""
    first = ast.parse(text).body[0]
    is_docstring = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    lines = text.split("\n")[(first.end_lineno or 0) if is_docstring else 0 :]
    return "\n".join(_IGNORED.sub("", line) for line in lines).strip() + "\n"


def references(phase: str) -> CellMarkdown:
    """Return the further reading of a phase as a list of links, to display as the value of a cell.

    Args:
        phase: Its name, such as `basics`.
    """
    return CellMarkdown(tell_references(phase))


def tell_references(phase: str) -> str:
    """Return the further reading of a phase as a Markdown list."""
    return "\n".join(f"* [{title}]({address})" for title, address in PHASES[phase].references.items()) + "\n"
