"""The messages about exceptions in the user's code: the error, its line, and the remedy."""

from __future__ import annotations

import re
import sys
import sysconfig
import traceback
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from xla_inspect import analysis, jax_private
from xla_inspect.commands.command_list import BAD_INPUT, MISSING
from xla_inspect.errors import InspectError, TargetUnavailableError
from xla_inspect.folders import shorten_path
from xla_inspect.terminal import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

_LONGEST = 400
FIX = "fix this error; --debug shows the traceback"

OWN = "this is an error in xla-inspect, not in your code; please report it with the output of --debug"
_COMPILERS = "this error comes from the compiler, not from Python; --debug shows the traceback"
_CALLED = re.compile(r"[\w.<>]+\(\) (?:missing|takes|got) ")
"""Python's message about a call with the wrong arguments."""

_ADVICE = {
    "JaxRuntimeError": _COMPILERS,
    "XlaRuntimeError": _COMPILERS,
    "TracerBoolConversionError": "branch with jax.lax.cond or jnp.where, or make the argument static: --static NAME",
    "ConcretizationTypeError": "the value is unknown during tracing; make the argument static: --static NAME",
    "TracerIntegerConversionError": "the value is unknown during tracing; make the argument static: --static NAME",
    "TracerArrayConversionError": "use jax.numpy instead of numpy there, since a tracer has no values",
    "NonConcreteBooleanIndexError": "use jnp.where(mask, x, 0), whose shape does not depend on values",
    "UnexpectedTracerError": "the code stores a value of one trace and uses it in another; return the value instead",
    "EOFError": 'input() gets no answer here; put it under `if __name__ == "__main__":`',
    "ModuleNotFoundError": "install the module next to xla-inspect, or start xla-inspect from the project's folder",
}
"""The remedies for common errors, by the name of their type."""

_HINTS = {
    r"translation rule for primitive \S+ not found": "JAX does not implement this primitive for the target; pass "
    "another target, or use another function",
    r"Unable to initialize backend|No jellyfish device|Unknown backend": "the code selects a platform that this "
    "machine does not have; remove jax_platforms from the file, since --target selects the compiler without a device",
    "requires a non-empty mesh": "no mesh is set; pass --mesh, such as --mesh data=4, which acts as jax.set_mesh",
    r"array axis (\d+) is partitioned (\d+) times, but the dimension size is (\d+)": r"JAX refuses such an argument or "
    r"result, because dimension \1 has size \3, and its mesh axes have \2 devices",
    "is incompatible with mesh_shape=": "a with_sharding_constraint does not divide a result of the program; XLA would "
    "pad a value inside the program, but JAX cannot represent the sharding of this result",
}
"""The remedies for common errors, by a pattern of the message, to whose groups a remedy may refer."""

_ABSENT = re.compile(
    r"operation \w*(?:cu|gpu|hip|roc|miopen)\w*\(.*\) failed"
    r"|(?:cu[A-Z]\w+|MIOpen|NCCL|(?:roc|hip)[A-Z]\w+) (?:could not be|not) (?:found|loaded)"
    r"|Unable to load (?:cu|hip|roc|MIOpen|NCCL)"
)
_LIBRARY = re.compile(r"(?:cu|roc|hip)(?:solver|dnn|blas|sparse|fft|rand)|MIOpen|NCCL", re.IGNORECASE)

ENDED = 'take out what ends Python, or put it under `if __name__ == "__main__":`'
"""Advice for a file that ends the process."""


class LeftError(BaseException):
    """The exception that replaces `os._exit` in the child process, which would otherwise end without a message."""


def find_status(error: BaseException) -> int:
    """Return the exit status of an error: 3 for a missing library or target, 2 for an error in the input."""
    is_missing = isinstance(error, TargetUnavailableError) or _ABSENT.search(_print(error))
    return MISSING if is_missing else BAD_INPUT


def _explain_absence(place: str, text: str) -> str:
    """Return the message about a GPU library that is missing on this machine."""
    library = (_LIBRARY.findall(text) or ["a GPU library"])[-1]
    problem = f"{place}: compiling this line for a GPU needs {library}, which this machine lacks: {printable(text)}"
    return f"{problem}\npass another target, such as --target cpu, or use a machine with the library and its GPU"


def explain_user_error(error: BaseException, file: str) -> str:
    """Return the message about an exception in the user's code: the error and its line, then the remedy.

    Args:
        error: The exception.
        file: The file or module, as it was typed.
    """
    place = find_place(error, file)
    if isinstance(error, (SystemExit, LeftError)):
        call = f"sys.exit({error.code!r})" if isinstance(error, SystemExit) else f"os._exit({error.args[0]!r})"
        return f"{place}: {call} ends Python before the command is finished\n{ENDED}"
    if isinstance(error, InspectError):
        return str(error)
    name = type(error).__name__
    # The text of a SyntaxError repeats its file and line, with which the message already begins.
    lines = (error.msg if isinstance(error, SyntaxError) else _print(error)).strip().splitlines()
    # An exception without a message has no lines.
    text = lines[0] if lines else ""
    # A missing GPU library is no error of the user's code, so it has its own message.
    if _ABSENT.search(text):
        return _explain_absence(place, text)
    refusal = analysis.read_refusal(text)
    hints = [match.expand(hint) for pattern, hint in _HINTS.items() if (match := re.search(pattern, text))]
    hints += filter(None, [_find_shadow(error)])
    if hints or (refusal and refusal.remedy):
        return f"{place}: {name}: {printable(text)}\n{hints[0] if hints else refusal.remedy if refusal else ''}"
    if _is_own(error):
        own = f"{type(error).__name__}: {printable(_print(error)).strip()[:_LONGEST]}, while inspecting {file}\n{OWN}"
        return _find_refusal(file) or own
    return f"{place}: {name}: {printable(text)}\n{_advise(error, text, has_line=place != file)}"


def _find_refusal(file: str) -> str:
    """Return the message about a file of HLO text that the installed XLA's parser refuses, or an empty string."""
    path = Path(file)
    text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
    if not text.lstrip().startswith("HloModule "):
        return ""
    try:
        jax_private.parse_hlo(text)
    except RuntimeError as error:
        if match := re.search(r"was parsing (\d+):(\d+): error: (.*)", str(error)):
            line, column, reason = match.groups()
            advice = "the installed XLA cannot parse this text; correct it, or copy it again from its source"
            return f"{file}: line {line}, column {column}: {reason}\n{advice}"
    return ""


def _advise(error: BaseException, text: str, *, has_line: bool) -> str:
    """Return the remedy for an error in the user's code; every error has one.

    A call with wrong arguments that comes from no line of the user is the call of the inspected function itself.
    """
    if _CALLED.match(text) and not has_line:
        keyword = "keyword-only" in text or "unexpected keyword" in text
        source = (
            "EXAMPLE_KWARGS or ARGUMENTS, a dict in the file," if keyword else "EXAMPLE, a tuple in the file, or --args"
        )
        return f"{source} must have the arguments of the function"
    # A subclass of a listed error has the same remedy.
    return next((_ADVICE[kind.__name__] for kind in type(error).__mro__ if kind.__name__ in _ADVICE), FIX)


def _is_own(error: BaseException) -> bool:
    """Return whether this package raised an error, directly or through Python's standard library."""
    # Calls of this package raise these two errors, but the user's file or arguments cause them.
    if isinstance(error, SyntaxError) or _CALLED.match(_print(error)):
        return False
    library = Path(sysconfig.get_path("stdlib"))
    packages = {Path(sysconfig.get_path(name)) for name in ("purelib", "platlib")}
    files = [Path(frame.f_code.co_filename) for frame, _ in traceback.walk_tb(error.__traceback__)]
    outside = [
        file
        for file in files
        if any(file.is_relative_to(folder) for folder in packages)
        or not (file.is_relative_to(library) or str(file).startswith("<"))
    ]
    # Python's library may raise an error because of a call from this package, so the innermost other frame decides.
    return bool(outside) and outside[-1].is_relative_to(Path(__file__).parents[1])


def _find_shadow(error: BaseException) -> str:
    """Return the remedy if one of the user's files shadows a package in the error, or an empty string."""
    name = error.name if isinstance(error, ImportError) else getattr(getattr(error, "obj", None), "__name__", "")
    module = sys.modules.get(str(name or "").partition(".")[0])
    # Only errors need this module, whose import takes a quarter of the start of a command.
    from importlib.metadata import packages_distributions

    # A built-in module and a namespace package have no file.
    file = getattr(module, "__file__", None) or ""
    # A file of the user shadows a package only if it has the name of an installed one.
    if Path(file).stem not in {*sys.stdlib_module_names, *packages_distributions()} or not _is_readers(file):
        return ""
    return f"{shorten_path(file)} shadows the package {Path(file).stem!r}; rename the file"


def _print(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - the user's exception class may itself be broken
        return ""


def find_place(error: BaseException, file: str) -> str:
    """Return the innermost line of the user's code in an error's traceback, as FILE:LINE, or only the file.

    A line of the file itself is preferred to a line of another file outside of installed packages.
    """
    own = str(Path(file).absolute())
    # The traceback of a SyntaxError ends at the import, not at the faulty line.
    if isinstance(error, SyntaxError) and error.filename:
        return f"{file if error.filename == own else shorten_path(error.filename)}:{error.lineno}"
    chain: list[BaseException] = []
    current: BaseException | None = error
    # The causes of an exception may form a cycle.
    while current is not None and current not in chain:
        chain.append(current)
        current = current.__cause__ or current.__context__
    frames = [
        (frame.f_code.co_filename, line)
        for exception in chain
        for frame, line in traceback.walk_tb(exception.__traceback__)
    ]
    return name_place(frames, own, file)


def name_place(frames: Sequence[tuple[str, int]], own: str, file: str) -> str:
    """Return the last line of the user's code among frames, preferably of one file, as FILE:LINE, or only that file.

    Args:
        frames: The file and the line of each frame, the innermost last.
        own: The path of the preferred file.
        file: The name of that file, as it was typed.
    """
    if lines := [line for name, line in frames if name == own]:
        return f"{file}:{lines[-1]}"
    readers = [(name, line) for name, line in frames if _is_readers(name)]
    return f"{shorten_path(readers[-1][0])}:{readers[-1][1]}" if readers else file


def _is_readers(name: str) -> bool:
    # Code from `exec` has a file name such as `<string>`, which is no file.
    return Path(name).is_file() and not any(Path(name).is_relative_to(folder) for folder in _list_installed())


@cache
def _list_installed() -> tuple[Path, ...]:
    folders = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    return (*map(Path, sorted(folders)), Path(__file__).parents[1])
