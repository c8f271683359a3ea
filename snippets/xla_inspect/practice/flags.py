"""The validation of the reader's `XLA_FLAGS`: unknown flags, wrong values, and flags that are set too late.

XLA reads the variable once, when JAX starts, and ends the process if it does not know a flag. That is not an exception
that Python can catch, so another process reads the variable first.
"""

from __future__ import annotations

import difflib
import os
import re
import subprocess
import sys
from pathlib import Path

from xla_inspect import jax_private, targets
from xla_inspect.errors import InspectError

VARIABLE = "XLA_FLAGS"

# This reads the options that XLA takes from the environment. `jaxlib._jax` is private, so a test guards it.
_READ = "from jaxlib._jax import CompileOptions as options; read = options().SerializeAsString()"
_WITNESS = f"import sys; {_READ}; sys.stdout.buffer.write(read)"
_NAMES = "from jaxlib._jax import CompileOptions; print(*dir(CompileOptions().executable_build_options.debug_options))"

_FLAG = re.compile(r"""--?([A-Za-z_]\w*)(?:=("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\S*))?""")
_UNKNOWN = re.compile(r"Unknown flags? in XLA_FLAGS: (.*)")
_VALUE = re.compile(r"Couldn't interpret value (.*) for flag (\w+)")
_FILE = re.compile(r'Could not open file "(.*?)" to read flags')

TIMEOUT = 60
"""The time limit in seconds of the process that checks the flags; it usually takes a fifth of a second."""


def given() -> dict[str, str]:
    """Return the values of the reader's flags by name, without the flag that `xla_inspect` sets itself.

    If `XLA_FLAGS` does not start with a dash, it is the name of a file of flags, which is the rule that XLA uses.
    There are no flags if that file cannot be read.
    """
    text = os.environ.get(VARIABLE, "").strip()
    if text and not text.startswith("-"):
        try:
            # XLA reports a missing file itself, and `check` turns its report into an error with a remedy.
            text = Path(text).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            return {}
    flags = {name: value.strip("\"'") for name, value in _FLAG.findall(text)}
    # `xla_inspect` sets this flag itself at import; it is not one of the reader's flags.
    if flags.get("xla_cpu_max_isa") == targets.name_isa():
        del flags["xla_cpu_max_isa"]
    return flags


def dump_folder() -> str:
    """Return the dump folder in the reader's flags, or an empty string."""
    return given().get("xla_dump_to", "")


def check() -> None:
    """Check that XLA accepts `XLA_FLAGS`, and that this process has not read an older value of it.

    The check takes no time if the variable is not set, and a fifth of a second if it is.

    Raises:
        InspectError: XLA rejects a flag or its value, or JAX had started before the variable was set.
    """
    if not os.environ.get(VARIABLE, "").strip() or not (given() or _names_file()):
        return
    # XLA reports a wrong flag by ending the process, so a separate process parses the variable.
    witness = _run(_WITNESS)
    if complaint := _find_complaint(witness.stderr.decode(errors="replace")):
        raise InspectError(complaint)
    # Once a backend has started, this process's options differ from the witness's if the variable was set later.
    if witness.returncode == 0 and jax_private.backends_started() and witness.stdout != jax_private.read_options():
        message = (
            f"{VARIABLE} was set too late: XLA read it when JAX started, and does not read it again. "
            "Set it before Python starts; in a notebook restart the kernel, and set os.environ before JAX is imported"
        )
        raise InspectError(message)


def _names_file() -> bool:
    return not os.environ.get(VARIABLE, "-").strip().startswith("-")


def _run(program: str, **variables: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-c", program]
    environment = {**os.environ, **variables}
    return subprocess.run(command, env=environment, capture_output=True, timeout=TIMEOUT, check=False)  # noqa: S603 - ours


def _find_complaint(output: str) -> str:
    """Return an error message with a remedy for the text that XLA wrote before it ended the process, or ""."""
    if unknown := _UNKNOWN.search(output):
        flag_name = dict(_FLAG.findall(unknown[1]))
        listed = ", ".join(f"--{name}" for name in flag_name) or unknown[1].strip()
        return f"{VARIABLE} has what this XLA does not know: {listed}{_suggest(flag_name)}"
    if value := _VALUE.search(output):
        kind = "see its type in XLA's xla.proto"
        return f"{VARIABLE} gives --{value[2]} the value {value[1]!r}, which XLA cannot read; {kind}"
    if file := _FILE.search(output):
        return (
            f"{VARIABLE} is {file[1]!r}: what does not start with a dash is the name of a file of flags, "
            f"and there is no such file. Flags start with two dashes, as in {VARIABLE}=--xla_dump_to=dump"
        )
    if "Flag parsing failed" in output:
        text = os.environ.get(VARIABLE, "")
        return f"XLA cannot read {VARIABLE}={text!r}; write flags as --name=value, with spaces between them"
    return ""


def _suggest(unknown: dict[str, str]) -> str:
    """Return the end of a sentence: the known flags that resemble unknown ones, or advice if there are none."""
    # The witness must not read the wrong variable again, because XLA would end it before it prints the names.
    flag_names = _run(_NAMES, **{VARIABLE: ""}).stdout.decode(errors="replace").split()
    near = [name for flag in unknown for name in difflib.get_close_matches(flag, flag_names, 1, 0.75)]
    if near:
        return f". Did you mean {', '.join(f'--{name}' for name in near)}?"
    return ". Fix it or unset the variable: XLA would end the process"
