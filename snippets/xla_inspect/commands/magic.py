"""The command in a notebook: `%%xla memory` over a cell whose last line is a call, or `%xla memory 'step(x)'`.

`%load_ext xla_inspect` makes both known. The call itself is not made.
"""

from __future__ import annotations

import ast
import shlex
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from xla_inspect.commands import command_line, command_list, question
from xla_inspect.errors import InspectError
from xla_inspect.questions import QUESTIONS
from xla_inspect.subject import Call
from xla_inspect.targets import keep_devices
from xla_inspect.terminal import print_note

if TYPE_CHECKING:
    from collections.abc import Sequence

_calls: dict[str, str] = {}
"""The last call of each function that was asked about, as text, by the function as it is written there."""


class Shown:
    """Answers as a notebook and as a terminal shows them, with commands as one types them in a cell."""

    def __init__(self, answers: list[Any]) -> None:
        """Keep the answers."""
        self.answers = answers

    def __repr__(self) -> str:
        """The answers as text."""
        return "\n\n".join(map(str, self.answers)).replace("xla-inspect ", "%xla ")

    def _repr_html_(self) -> str:
        from xla_inspect.answers import write_fragment

        return "".join(map(write_fragment, self.answers)).replace("xla-inspect ", "%xla ")


def load_ipython_extension(shell: Any) -> None:  # noqa: ANN401 - IPython's, which need not be installed
    """Make `%xla` and `%%xla` known to a notebook, as `%load_ext xla_inspect` asks for."""
    from IPython.core.magic import no_var_expand

    keep_devices()

    @no_var_expand
    def xla(line: str, cell: str | None = None) -> Shown | None:
        return run_magic(shell, line, cell)

    shell.register_magic_function(xla, "line_cell", "xla")
    if _open_bodiless not in shell.input_transformers_cleanup:
        shell.input_transformers_cleanup.append(_open_bodiless)


def _open_bodiless(lines: list[str]) -> list[str]:
    """Return `%%xla memory --help` with nothing below it as a line magic: IPython runs no cell magic without a body."""
    is_bodiless = lines and lines[0].startswith("%%xla") and not "".join(lines[1:]).strip()
    return [lines[0].removeprefix("%"), *lines[1:]] if is_bodiless else lines


def run_magic(shell: Any, line: str, cell: str | None = None) -> Shown | None:  # noqa: ANN401 - IPython's
    """Answer a question about the call in a line, or the one at the end of a cell, whose other lines are run.

    Args:
        shell: The notebook's shell.
        line: A command and its options, such as `memory --target tpu-v5e`; a line alone holds the call too.
        cell: Python whose last statement is a call.
    """
    try:
        return _answer(shell, shlex.split(line), cell)
    except InspectError as error:
        print(f"xla: {error}", file=sys.stderr)  # noqa: T201 - as a command does
    except ValueError as error:
        print(f"xla: {line}: {error}", file=sys.stderr)  # noqa: T201 - quotes that are not closed
    except SystemExit:
        # The parser has printed help, or what is wrong with the line.
        pass
    finally:
        question.CALLS.clear()
    return None


def _answer(shell: Any, words: list[str], cell: str | None) -> Shown | None:  # noqa: ANN401 - IPython's
    """Return the answers to a question about a call; print those of other commands.

    Raises:
        InspectError: The cell does not end with a call, or the question goes wrong.
    """
    file = "<cell>"
    if cell is None:
        words, call = _join_call(words)
        words = ["summary", *words] if call and words[0] == ast.unparse(call) else command_line.complete(words)
        before: list[ast.stmt] = []
    else:
        # The magic itself is the cell's first line.
        code = f"\n{shell.transform_cell(cell)}"
        file = shell.compile.cache(code, shell.execution_count, code)
        *before, call = _split_cell(ast.parse(code, file))
        command, *others = command_line.complete(words or ["summary"])
        words = [command, ast.unparse(call), *others]
    options = command_line.parse(words)
    if call is None:
        command_line.main(words)
        return None
    exec(compile(ast.Module(before, []), file, "exec"), shell.user_ns)  # noqa: S102 - it is the reader's own cell
    function, args, kwargs = (_evaluate(part, file, shell.user_ns) for part in _split_call(call))
    text = ast.unparse(call)
    _calls[ast.unparse(call.func)] = text
    question.CALLS[text] = Call(function, tuple(args), kwargs)
    if options.command in command_list.APART:
        message = f"{options.command} reads files: write the cell into one with %%writefile, and name FILE.py:FUNCTION"
        raise InspectError(message)
    if options.command not in QUESTIONS or options.json or options.html:
        command_line.run_here(words)
        return None
    _, answers, missing = question.find_answers(options)
    for reason in missing:
        print_note(reason)
    return Shown(answers)


def _join_call(words: Sequence[str]) -> tuple[list[str], ast.Call | None]:
    """Return the words of a line with the call among them as one word, and the call, where there is one."""
    for start in range(len(words)):
        for end in range(len(words), start, -1):
            text = " ".join(words[start:end])
            with suppress(SyntaxError, ValueError):
                node = ast.parse(_calls.get(text, text), mode="eval").body
                if isinstance(node, ast.Call):
                    return [*words[:start], ast.unparse(node), *words[end:]], node
    return [*words], None


def _split_cell(tree: ast.Module) -> list[Any]:
    """Return the statements of a cell before its last one, and the call that this is.

    Raises:
        InspectError: It is none.
    """
    last = tree.body[-1] if tree.body else None
    if not (isinstance(last, ast.Expr) and isinstance(last.value, ast.Call)):
        message = "the last line of the cell is the call to be asked about, such as step(params, batch)"
        raise InspectError(message)
    return [*tree.body[:-1], last.value]


def _split_call(call: ast.Call) -> tuple[ast.expr, ast.expr, ast.expr]:
    """Return expressions of a call's function, positional and keyword arguments."""
    named = ast.Dict(
        keys=[ast.Constant(keyword.arg) if keyword.arg else None for keyword in call.keywords],
        values=[keyword.value for keyword in call.keywords],
    )
    return call.func, ast.List(call.args, ast.Load()), named


def _evaluate(expression: ast.expr, file: str, names: dict[str, Any]) -> Any:  # noqa: ANN401 - whatever it is
    whole = ast.fix_missing_locations(ast.Expression(expression))
    return eval(compile(whole, file, "eval"), names)  # noqa: S307 - it is the reader's own cell
