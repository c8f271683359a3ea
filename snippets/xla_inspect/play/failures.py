"""The failures of the reader's code in the form that the page expects: a kind, a message, a line and a hint."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING, Any

from xla_inspect.errors import InspectError, TargetUnavailableError

if TYPE_CHECKING:
    from pathlib import Path

LONGEST = 8000
"""The maximum number of characters of a message."""

CHAIN = 50
"""The maximum number of chained exceptions that are searched."""

_HINTS = {
    "TracerBoolConversionError": "branch with jax.lax.cond or jnp.where, or make the argument static",
    "ConcretizationTypeError": "the value is not known when the function is traced: make the argument static",
    "TracerIntegerConversionError": "the value is not known when the function is traced: make the argument static",
    "TracerArrayConversionError": "use jax.numpy in the place of numpy there: a tracer has no values",
    "NonConcreteBooleanIndexError": "use jnp.where(mask, x, 0), whose shape does not depend on values",
    "UnexpectedTracerError": "a value of one trace is kept beyond it: return it instead",
    "ModuleNotFoundError": "install it in the environment that runs xla-inspect play",
}


def make_failure(  # noqa: PLR0913 - what a failure is
    kind: str,
    message: str,
    line: int | None = None,
    *,
    column: int | None = None,
    end_line: int | None = None,
    hint: str | None = None,
) -> dict[str, Any]:
    """Return a failure as the dict that the page expects; a message of more than 8,000 characters is truncated."""
    text = message.strip() or kind
    if len(text) > LONGEST:
        text = f"{text[:LONGEST]} … ({len(text) - LONGEST:,} more characters)"
    return {"kind": kind, "message": text, "line": line, "column": column, "end_line": end_line, "hint": hint}


def describe_failure(error: BaseException, kind: str, file: Path) -> dict[str, Any]:
    """Return the failure to report for an error from the reader's code, its tracing or its compilation.

    Args:
        error: The exception.
        kind: The kind of failure, unless the type of the exception determines it.
        file: The file that holds the reader's code.
    """
    if isinstance(error, SyntaxError) and error.filename == str(file):
        # Python reports an unknown column as zero or as a negative number.
        column = error.offset if error.offset and error.offset > 0 else None
        return make_failure(
            "syntax", f"{type(error).__name__}: {error.msg}", error.lineno, column=column, end_line=error.end_lineno
        )
    line = find_failing_line(error, file)
    if isinstance(error, MemoryError):
        return make_failure("memory", f"MemoryError: {_print(error) or 'there is no more memory for this code'}", line)
    if isinstance(error, SystemExit):
        text = f"SystemExit: the code ends Python with {_print(error)[:200]!r}"
        return make_failure(kind, text, line, hint="take out what ends Python")
    if isinstance(error, TargetUnavailableError):
        return make_failure("limit", _print(error), line)
    if isinstance(error, InspectError):
        return make_failure(kind, _print(error), line)
    # The names of the base classes are searched too, because JAX's errors form a hierarchy.
    hint = next((_HINTS[base.__name__] for base in type(error).__mro__ if base.__name__ in _HINTS), None)
    return make_failure(kind, f"{type(error).__name__}: {_print(error)}", line, hint=hint)


def find_failing_line(error: BaseException, file: Path) -> int | None:
    """Return the number of the innermost line of a file in the traceback of an error or of its causes, or None."""
    name, chain = str(file), list[BaseException]()
    current: BaseException | None = error
    # The reader's code can chain exceptions in a cycle, so the search stops at an exception that it has visited.
    while current is not None and len(chain) < CHAIN and not any(current is link for link in chain):
        chain.append(current)
        current = current.__cause__ or current.__context__
    for link in chain:
        if isinstance(link, SyntaxError) and link.filename == name:
            return link.lineno
        lines = [line for frame, line in traceback.walk_tb(link.__traceback__) if frame.f_code.co_filename == name]
        if lines:
            # The innermost line of the reader's file is the last one, because tracebacks start with the outermost
            # call.
            return lines[-1]
    return None


def _print(error: BaseException) -> str:
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - an error of the reader's, which cannot even say what it is
        return ""
    # The exception class may return a subclass of `str` with methods of its own.
    return text if type(text) is str else ""
