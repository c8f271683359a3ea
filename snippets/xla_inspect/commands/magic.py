"""The command in a notebook: `%%xla memory` for a cell whose last line is a call, or `%xla memory 'step(x)'`.

`%load_ext xla_inspect` defines both. The call itself is compiled but not executed.
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
"""The last call of each function in a question, as text, by the text of the function."""


class Shown:
    """Answers that a notebook shows as HTML and IPython as text, with commands as typed in a cell."""

    def __init__(self, answers: list[Any]) -> None:
        """Store the answers."""
        self.answers = answers

    def __repr__(self) -> str:
        """Return the answers as text."""
        return "\n\n".join(map(str, self.answers)).replace("xla-inspect ", "%xla ")

    def _repr_html_(self) -> str:
        from xla_inspect.answers import write_fragment

        return "".join(map(write_fragment, self.answers)).replace("xla-inspect ", "%xla ")


def load_ipython_extension(shell: Any) -> None:  # noqa: ANN401 - IPython's, which need not be installed
    """Register `%xla` and `%%xla` in a notebook. `%load_ext xla_inspect` calls this function."""
    from IPython.core.magic import no_var_expand

    keep_devices()

    # IPython would otherwise replace `{x}` and `$x` in the line with the values of variables.
    @no_var_expand
    def xla(line: str, cell: str | None = None) -> Shown | None:
        return run_magic(shell, line, cell)

    shell.register_magic_function(xla, "line_cell", "xla")
    # Loading the extension again must not add the transformation a second time.
    if _open_bodiless not in shell.input_transformers_cleanup:
        shell.input_transformers_cleanup.append(_open_bodiless)


def _open_bodiless(lines: list[str]) -> list[str]:
    """Turn `%%xla memory --help` without a body into a line magic, since IPython rejects cell magics without one."""
    is_bodiless = lines and lines[0].startswith("%%xla") and not "".join(lines[1:]).strip()
    return [lines[0].removeprefix("%"), *lines[1:]] if is_bodiless else lines


def run_magic(shell: Any, line: str, cell: str | None = None) -> Shown | None:  # noqa: ANN401 - IPython's
    """Return the answers about the call in a line, or about the last line of a cell after running its other lines.

    The result is None for a command that is not a question, which prints its output, and after an error, which is
    printed too.

    Args:
        shell: The notebook's shell.
        line: A command and its options, such as `memory --target tpu-v5e`. A line magic also contains the call.
        cell: Python code whose last statement is a call, or None for a line magic.
    """
    try:
        return _answer(shell, shlex.split(line), cell)
    except InspectError as error:
        print(f"xla: {error}", file=sys.stderr)  # noqa: T201 - errors of a command go to standard error
    except ValueError as error:
        print(f"xla: {line}: {error}", file=sys.stderr)  # noqa: T201 - the line has an unclosed quote
    except SystemExit:
        # The parser has already printed the help or an error.
        pass
    finally:
        # The arguments of a call may be large arrays, so they must not stay in memory.
        question.CALLS.clear()
    return None


def _answer(shell: Any, words: list[str], cell: str | None) -> Shown | None:  # noqa: ANN401 - IPython's
    """Return the answers to a question about a call, or None after printing the output of another command.

    Raises:
        InspectError: The cell does not end with a call, or the question has no answer.
    """
    file = "<cell>"
    if cell is None:
        words, call = _join_call(words)
        # A call without a command before it is a subject of the default command.
        words = ["summary", *words] if call and words[0] == ast.unparse(call) else command_line.complete(words)
        before: list[ast.stmt] = []
    else:
        # The line with the magic is line 1 of the cell, so an empty line keeps the line numbers right.
        code = f"\n{shell.transform_cell(cell)}"
        file = shell.compile.cache(code, shell.execution_count, code)
        *before, call = _split_cell(ast.parse(code, file))
        command, *others = command_line.complete(words or ["summary"])
        words = [command, ast.unparse(call), *others]
    options = command_line.parse(words)
    # Without a call there is nothing to inspect, so the words are an ordinary command line.
    if call is None:
        command_line.main(words)
        return None
    exec(compile(ast.Module(before, []), file, "exec"), shell.user_ns)  # noqa: S102 - the user's own cell
    # The function and its arguments are evaluated one by one, since the call itself must not run.
    function, args, kwargs = (_evaluate(part, file, shell.user_ns) for part in _split_call(call))
    text = ast.unparse(call)
    # A later line may contain only the name of the function, which then means its last call.
    _calls[ast.unparse(call.func)] = text
    question.CALLS[text] = Call(function, tuple(args), kwargs)
    if options.command in command_list.APART:
        message = (
            f"{options.command} needs a file: write the cell to a file with %%writefile, and pass FILE.py:FUNCTION"
        )
        raise InspectError(message)
    # Only answers have a form for a notebook. Other output is printed.
    if options.command not in QUESTIONS or options.json or options.html:
        command_line.run_here(words)
        return None
    _, answers, missing = question.find_answers(options)
    for reason in missing:
        print_note(reason)
    return Shown(answers)


def _join_call(words: Sequence[str]) -> tuple[list[str], ast.Call | None]:
    """Return the words of a line with its call as one word, and the call, or None if there is none."""
    for start in range(len(words)):
        # The longest text that parses is the call, since its arguments may contain calls too.
        for end in range(len(words), start, -1):
            text = " ".join(words[start:end])
            # Most of these pieces of the line are not Python, so the errors are expected.
            with suppress(SyntaxError, ValueError):
                node = ast.parse(_calls.get(text, text), mode="eval").body
                if isinstance(node, ast.Call):
                    return [*words[:start], ast.unparse(node), *words[end:]], node
    return [*words], None


def _split_cell(tree: ast.Module) -> list[Any]:
    """Return the statements of a cell, with the call of the last statement in place of that statement.

    Raises:
        InspectError: The last statement is not a call.
    """
    last = tree.body[-1] if tree.body else None
    if not (isinstance(last, ast.Expr) and isinstance(last.value, ast.Call)):
        message = "the last line of the cell must be the call to inspect, such as step(params, batch)"
        raise InspectError(message)
    return [*tree.body[:-1], last.value]


def _split_call(call: ast.Call) -> tuple[ast.expr, ast.expr, ast.expr]:
    """Return the expressions of a call's function, positional arguments and keyword arguments."""
    keywords = ast.Dict(
        # A key of None stands for `**keywords`, as Python itself represents it in a dict display.
        keys=[ast.Constant(keyword.arg) if keyword.arg else None for keyword in call.keywords],
        values=[keyword.value for keyword in call.keywords],
    )
    return call.func, ast.List(call.args, ast.Load()), keywords


def _evaluate(expression: ast.expr, file: str, names: dict[str, Any]) -> Any:  # noqa: ANN401 - any Python value
    whole = ast.fix_missing_locations(ast.Expression(expression))
    return eval(compile(whole, file, "eval"), names)  # noqa: S307 - the user's own cell
