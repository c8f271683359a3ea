"""What is said where the reader's own code raises: what, at which of its lines, and what to do."""

from __future__ import annotations

import re
import sys
import sysconfig
import traceback
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import TYPE_CHECKING

from xla_inspect import analysis
from xla_inspect.commands.command_list import BAD_INPUT, MISSING
from xla_inspect.errors import InspectError, TargetUnavailableError
from xla_inspect.folders import shorten_path
from xla_inspect.terminal import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

_LONGEST = 400
MEND = "mend that; with --debug you see how Python came there"

OWN = "that is an error of xla-inspect and not of your code; please report it, with what --debug shows"
_COMPILERS = "the compiler says so, and not Python; with --debug you see how Python came there"
_CALLED = re.compile(r"[\w.<>]+\(\) (?:missing|takes|got) ")
"""How Python says that a function was called with other arguments than it takes, whoever called it."""

_ADVICE = {
    "JaxRuntimeError": _COMPILERS,
    "XlaRuntimeError": _COMPILERS,
    "TracerBoolConversionError": "branch with jax.lax.cond or jnp.where, or make the argument static: --static NAME",
    "ConcretizationTypeError": "the value is not known when the program is traced: make the argument static, --static",
    "TracerIntegerConversionError": "the value is not known when the program is traced: make it static, --static",
    "TracerArrayConversionError": "use jax.numpy in the place of numpy there: a tracer has no values",
    "NonConcreteBooleanIndexError": "use jnp.where(mask, x, 0), whose shape does not depend on values",
    "UnexpectedTracerError": "a value of one trace is kept beyond it: return it instead",
    "EOFError": 'nothing answers input() here; put it under `if __name__ == "__main__":`',
    "ModuleNotFoundError": "install it where xla-inspect is installed, or start xla-inspect from the project's folder",
}
"""What to do about errors that have an answer, by the name of their type."""

_HINTS = {
    r"translation rule for primitive \S+ not found": "JAX has no implementation of it there: ask about another target, "
    "or take another function",
    r"Unable to initialize backend|No jellyfish device|Unknown backend": "JAX is told to run on a platform that is not "
    "here: take jax_platforms out of the file; --target alone says what is compiled for, and needs no device",
}
"""What to do about errors that say something, by a pattern of what they say."""

_ABSENT = re.compile(
    r"operation \w*(?:cu|gpu|hip|roc|miopen)\w*\(.*\) failed"
    r"|(?:cu[A-Z]\w+|MIOpen|NCCL|(?:roc|hip)[A-Z]\w+) (?:could not be|not) (?:found|loaded)"
    r"|Unable to load (?:cu|hip|roc|MIOpen|NCCL)"
)
_LIBRARY = re.compile(r"(?:cu|roc|hip)(?:solver|dnn|blas|sparse|fft|rand)|MIOpen|NCCL", re.IGNORECASE)

ENDED = 'take out what ends Python, or put it under `if __name__ == "__main__":`'
"""Advice for a file that ends the process."""


class LeftError(BaseException):
    """Raised by `os._exit` in the process, which would otherwise end in silence."""


def find_status(error: BaseException) -> int:
    """Return the exit status of an error: whether something is missing here, or wrong with what was asked."""
    is_missing = isinstance(error, TargetUnavailableError) or _ABSENT.search(_print(error))
    return MISSING if is_missing else BAD_INPUT


def _explain_absence(place: str, text: str) -> str:
    """Return that a library of a GPU's is not on this machine, which is no fault of the line that needs it."""
    library = (_LIBRARY.findall(text) or ["a library of the GPU's"])[-1]
    said = f"{place}: needs {library}, which is not on this machine, to be compiled for a GPU: {printable(text)}"
    return f"{said}\nask about another target, such as --target cpu; or install the library with its GPU"


def explain_user_error(error: BaseException, file: str) -> str:
    """Return what the reader's code raised, where, and in a second line what to do.

    Args:
        error: What it raised.
        file: The file or module, as the reader named it.
    """
    place = find_place(error, file)
    if isinstance(error, (SystemExit, LeftError)):
        call = f"sys.exit({error.code!r})" if isinstance(error, SystemExit) else f"os._exit({error.args[0]!r})"
        return f"{place}: {call} ends Python before the command is done\n{ENDED}"
    if isinstance(error, InspectError):
        return str(error)
    name = type(error).__name__
    lines = (error.msg if isinstance(error, SyntaxError) else _print(error)).strip().splitlines()
    text = lines[0] if lines else ""
    if _ABSENT.search(text):
        return _explain_absence(place, text)
    refusal = analysis.read_refusal(text)
    hints = [hint for pattern, hint in _HINTS.items() if re.search(pattern, text)]
    hints += filter(None, [_find_shadow(error)])
    if hints or (refusal and refusal.remedy):
        return f"{place}: {name}: {printable(text)}\n{hints[0] if hints else refusal.remedy if refusal else ''}"
    if _is_own(error):
        return f"{type(error).__name__}: {printable(_print(error)).strip()[:_LONGEST]}, asking about {file}\n{OWN}"
    return f"{place}: {name}: {printable(text)}\n{_advise(error, text, has_line=place != file)}"


def _advise(error: BaseException, text: str, *, has_line: bool) -> str:
    """Return what there is to do about an error of the reader's code, with its first line, at a line of it or at none.

    What is called at no line of the reader's is the function that is asked about.
    """
    if _CALLED.match(text) and not has_line:
        keyword = "keyword-only" in text or "unexpected keyword" in text
        given = "EXAMPLE_KWARGS, a dict in the file," if keyword else "EXAMPLE, a tuple in the file, or --args"
        return f"{given} has to hold what the function is called with"
    return next((_ADVICE[kind.__name__] for kind in type(error).__mro__ if kind.__name__ in _ADVICE), MEND)


def _is_own(error: BaseException) -> bool:
    """Return whether this package raised an error, or called what raised it in Python's own library."""
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
    return bool(outside) and outside[-1].is_relative_to(Path(__file__).parents[1])


def _find_shadow(error: BaseException) -> str:
    """Return the advice where a file of the reader's hides a package that the error names, or an empty string."""
    name = error.name if isinstance(error, ImportError) else getattr(getattr(error, "obj", None), "__name__", "")
    module = sys.modules.get(str(name or "").partition(".")[0])
    file = getattr(module, "__file__", None) or ""
    if Path(file).stem not in {*sys.stdlib_module_names, *packages_distributions()} or not _is_readers(file):
        return ""
    return f"{shorten_path(file)} hides the package {Path(file).stem!r}: give the file another name"


def _print(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - an error of the reader's, which cannot even say what it is
        return ""


def find_place(error: BaseException, file: str) -> str:
    """Return the innermost line of the reader's code that an error came through, as FILE:LINE, or the file alone.

    That is a line of the file itself where there is one, else of another that is no installed package's.
    """
    own = str(Path(file).absolute())
    if isinstance(error, SyntaxError) and error.filename:
        return f"{file if error.filename == own else shorten_path(error.filename)}:{error.lineno}"
    chain: list[BaseException] = []
    current: BaseException | None = error
    while current is not None and current not in chain:
        chain.append(current)
        current = current.__cause__ or current.__context__
    frames = [
        (frame.f_code.co_filename, line) for each in chain for frame, line in traceback.walk_tb(each.__traceback__)
    ]
    return name_place(frames, own, file)


def name_place(frames: Sequence[tuple[str, int]], own: str, file: str) -> str:
    """Return the last line of the reader's code among files with lines, preferably of one file.

    Args:
        frames: The file and the line of each frame, the innermost last.
        own: The preferred file.
        file: The reader's name for that file.
    """
    if lines := [line for name, line in frames if name == own]:
        return f"{file}:{lines[-1]}"
    readers = [(name, line) for name, line in frames if _is_readers(name)]
    return f"{shorten_path(readers[-1][0])}:{readers[-1][1]}" if readers else file


def _is_readers(name: str) -> bool:
    return Path(name).is_file() and not any(Path(name).is_relative_to(folder) for folder in _list_installed())


@cache
def _list_installed() -> tuple[Path, ...]:
    kept = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    return (*map(Path, sorted(kept)), Path(__file__).parents[1])
