"""Claims about flags, dumps, shells and packages."""

from __future__ import annotations

import importlib.metadata
import re
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import jax

from claims.evidence import run_python
from claims.finding import Finding, cases, only
from programs import layer

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
    """Return how many files a program dumps that sets the flag after `before`."""
    found = re.search(r"files: (\d+)", run_python(DUMPED.format(before=before), JAX_PLATFORMS="cpu"))
    return int(found[1]) if found else -1


def flags_after_import() -> Finding:
    """XLA_FLAGS may be set after `import jax`."""
    early, late = _dumped(""), _dumped("jax.devices()")
    return cases(
        {
            "before a backend has started": (early > 0, f"{early} files dumped"),
            "after it has": (late > 0, f"{late} files dumped"),
        }
    )


def flags_dump() -> Finding:
    """`--xla_dump_to` dumps to a folder."""
    number = _dumped("")
    return only(number > 0, f"{number} files for one small function")


def set_exports() -> Finding:
    """`set NAME=value` before a command sets a variable for it."""
    told = subprocess.run(  # noqa: S602 - a fixed line, and how the shell reads it is the question
        "set XLA_FLAGS=--xla_dump_to=x; printenv XLA_FLAGS",  # noqa: S607 - likewise
        shell=True,
        check=False,
        env={"PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
    ).stdout.strip()
    return only(bool(told), f"the command sees {told or 'no such variable'}")


@cache
def _files(**options: bool) -> tuple[str, ...]:
    """Return the names of the files that a compile for this CPU dumps."""
    with tempfile.TemporaryDirectory() as folder:
        jax.jit(layer.layer).lower(*layer.EXAMPLE).compile({"xla_dump_to": folder, **options})
        return tuple(sorted(path.name for path in Path(folder).iterdir()))


def dump_names() -> Finding:
    """Dumps are called `module_XXXX.before_optimizations.txt` and `module_XXXX.after_optimizations.txt`."""
    names = [name for name in _files() if name.endswith("_optimizations.txt")]
    plain = [name for name in names if re.fullmatch(r"module_\d{4}\.(?:before|after)_optimizations\.txt", name)]
    shown = [re.sub(r"module_\d+", "module_NNNN", name) for name in names]
    return only(bool(plain), f"`{'`, `'.join(shown)}`")


def cpu_pass_record() -> Finding:
    """A dump of a compile for the CPU holds a record of the passes."""
    names = _files(xla_dump_module_metadata=True)
    found = [name for name in names if "metadata" in name]
    return only(bool(found), f"of {len(names)} files none is one")


def gpu_extra() -> Finding:
    """The extra of JAX for NVIDIA GPUs is `cuda12`."""
    extras = importlib.metadata.metadata("jax").get_all("Provides-Extra") or []
    found = [name for name in extras if re.fullmatch(r"cuda\d*", name)]
    return only("cuda12" in found, f"there are `{'`, `'.join(found)}`")


def python_version(major: int, minor: int) -> Finding:
    """JAX needs this Python or a newer one."""
    required = importlib.metadata.metadata("jax")["Requires-Python"]
    return only(required == f">={major}.{minor}", f"the installed release asks for Python {required}")


def old_documentation() -> Finding:
    """The documentation of JAX is at jax.readthedocs.io."""
    described = importlib.metadata.metadata("jax").json.get("description", "")
    hosts = sorted(set(re.findall(r"https?://([\w.]*(?:readthedocs|jax)[\w.]*)", str(described))))
    return only("jax.readthedocs.io" in hosts, f"the package links to {', '.join(hosts) or 'neither'}")
