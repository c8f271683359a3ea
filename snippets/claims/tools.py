"""Checks of claims about flags, dumps and shells."""

from __future__ import annotations

import re
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import jax

from claims.evidence import expect, run_python
from claims.finding import Finding, cases, only
from programs import layer
from xla_inspect import targets

DUMPED = """
import os, tempfile, pathlib
import jax
folder = tempfile.mkdtemp()
{before}
os.environ["XLA_FLAGS"] = "--xla_dump_to=" + folder
jax.jit(lambda x: x * 2 + 1)(1.0)
print("files:", len(list(pathlib.Path(folder).iterdir())))
"""


def _dumped(before: str) -> int:
    """Return the number of files dumped by a program that sets the flag after `before`; -1 for any other output."""
    # `run_python` puts the exit status on the first line.
    output = re.fullmatch(r"0\nfiles: (\d+)", run_python(DUMPED.format(before=before), JAX_PLATFORMS="cpu").strip())
    return int(output[1]) if output else -1


def flags_after_import() -> Finding:
    """Return the finding on the claim that XLA_FLAGS may be set after `import jax`."""
    early, late = _dumped(""), _dumped("jax.devices()")
    expect(late == 0, "JAX silently ignores the flag after a backend has started")
    return cases(
        {
            "before a backend starts": (early > 0, f"{early} files dumped"),
            "after a backend starts": (late > 0, f"{late} files dumped"),
        }
    )


def flags_dump() -> Finding:
    """Return the finding on the claim that `--xla_dump_to` dumps to a folder."""
    number = _dumped("")
    modules = [name for name in _files() if name.endswith("_optimizations.txt")]
    expect(len(modules) > 1 and not any(name.endswith(".pb") for name in _files()), "the modules are dumped as text")
    return only(number > 0, f"{number} files for one small function")


def set_exports() -> Finding:
    """Return the finding on the claim that `set NAME=value` before a command sets a variable for the command."""
    values = {
        command: subprocess.run(  # noqa: S602 - a fixed line, and how the shell reads it is the question
            f"{command} XLA_FLAGS=--xla_dump_to=x; printenv XLA_FLAGS",
            shell=True,
            check=False,
            # A variable of this process must not reach the shell.
            env={"PATH": "/usr/bin:/bin"},
            capture_output=True,
            text=True,
        ).stdout.strip()
        for command in ("set", "export")
    }
    expect(bool(values["export"]), "`export` sets the variable")
    return only(bool(values["set"]), f"the command finds {values['set'] or 'no such variable'}")


@cache
def _files(target: str = "cpu", **options: bool) -> tuple[str, ...]:
    """Return the names of the files that a compilation dumps."""
    # The default device selects the compiler, even for hardware that is not present.
    with tempfile.TemporaryDirectory() as folder, jax.default_device(targets.find_target(target).devices()[0]):
        jax.jit(layer.layer).lower(*layer.EXAMPLE).compile({"xla_dump_to": folder, **options})
        return tuple(sorted(path.name for path in Path(folder).iterdir()))


def dump_names() -> Finding:
    """Return the finding on the claimed names `module_XXXX.before_optimizations.txt` and `...after...` of dumps."""
    names = [name for name in _files() if name.endswith("_optimizations.txt")]
    plain = [name for name in names if re.fullmatch(r"module_\d{4}\.(?:before|after)_optimizations\.txt", name)]
    patterns = [re.sub(r"module_\d+", "module_NNNN", name) for name in names]
    return only(bool(plain), f"`{'`, `'.join(patterns)}`")


def cpu_pass_record() -> Finding:
    """Return the finding on the claim that a dump for the CPU contains a record of the passes."""
    names = _files(xla_dump_module_metadata=True)
    records = [name for name in names if "metadata" in name]
    for target in ("h100", "tpu-v5e"):
        target_records = [
            name for name in _files(target, xla_dump_module_metadata=True) if name.endswith(".metadata.textproto")
        ]
        expect(len(target_records) == 1, f"a dump for {target} contains a record of the passes")
    return only(bool(records), f"none of the {len(names)} files is such a record")
