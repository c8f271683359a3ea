"""The questions in a notebook: `%%xla memory --target h100` over a cell whose last line is the call asked about.

`%load_ext xla_inspect` makes it known. The call itself is not made.
"""

from __future__ import annotations

import ast
import shlex
import sys
from typing import TYPE_CHECKING, Any

from xla_inspect.commands import command_line, question
from xla_inspect.errors import InspectError
from xla_inspect.subject import Call, Subject

if TYPE_CHECKING:
    from collections.abc import Mapping


class Shown:
    """Answers as a notebook and as a terminal shows them."""

    def __init__(self, answers: list[Any]) -> None:
        """Keep the answers."""
        self.answers = answers

    def __repr__(self) -> str:
        """The answers as text."""
        return "\n\n".join(map(str, self.answers))

    def _repr_html_(self) -> str:
        from xla_inspect.answers import write_fragment

        return "".join(map(write_fragment, self.answers))


def register(shell: Any) -> None:  # noqa: ANN401 - IPython's, which need not be installed
    """Make `%%xla` known to a notebook."""
    shell.register_magic_function(lambda line, cell: run_cell(shell, line, cell), "cell", "xla")


def run_cell(shell: Any, line: str, cell: str) -> Shown | None:  # noqa: ANN401 - IPython's
    """Run a cell but for the call at its end, and answer a question about that.

    Args:
        shell: The notebook's shell.
        line: The question and its options, such as `memory --target tpu-v5e`; the summary where it is empty.
        cell: Python whose last statement is a call.
    """
    try:
        return Shown(answer_cell(line, cell, shell.user_ns))
    except InspectError as error:
        print(f"%%xla: {error}", file=sys.stderr)  # noqa: T201 - as a command does
    except SystemExit:
        # What argparse had to say of the line, it has said.
        pass
    return None


def answer_cell(line: str, cell: str, names: dict[str, Any]) -> list[Any]:
    """Return the answers of a question about the call at the end of a cell.

    Args:
        line: As in `run_cell`.
        cell: As in `run_cell`.
        names: The notebook's variables, which the rest of the cell may change.

    Raises:
        InspectError: The cell does not end with a call, or the question goes wrong.
    """
    tree = ast.parse(cell)
    last = tree.body[-1] if tree.body else None
    if not (isinstance(last, ast.Expr) and isinstance(last.value, ast.Call)):
        message = "the last line of the cell is the call to be asked about, such as step(params, batch)"
        raise InspectError(message)
    words = command_line.complete([*shlex.split(line)] or ["summary"])
    if words[0] not in command_line.QUESTIONS:
        message = f"there is no question {words[0]!r}, only {', '.join(command_line.QUESTIONS)}"
        raise InspectError(message)
    options = command_line.parse([words[0], "cell", *words[1:]])
    exec(compile(ast.Module(tree.body[:-1], []), "<cell>", "exec"), names)  # noqa: S102 - it is the reader's own cell
    function, args, kwargs = (_evaluate(part, names) for part in _split(last.value))
    settings: Mapping[str, Any] = {"mesh": dict(mesh)} if (mesh := question.read_request(options).mesh) else {}
    subject = Subject(getattr(function, "__name__", "call"), Call(function, tuple(args), kwargs, settings))
    module = command_line.load(words[0])
    targets, _ = question.choose_targets(module.USUAL, subject, options.target)
    return list(module.ask(subject, targets, options))


def _split(call: ast.Call) -> tuple[ast.expr, ast.expr, ast.expr]:
    """Return expressions of a call's function, positional and keyword arguments."""
    named = ast.Dict(
        keys=[ast.Constant(keyword.arg) if keyword.arg else None for keyword in call.keywords],
        values=[keyword.value for keyword in call.keywords],
    )
    return call.func, ast.List(call.args, ast.Load()), named


def _evaluate(expression: ast.expr, names: dict[str, Any]) -> Any:  # noqa: ANN401 - whatever it is
    whole = ast.fix_missing_locations(ast.Expression(expression))
    return eval(compile(whole, "<cell>", "eval"), names)  # noqa: S307 - it is the reader's own cell
