"""One environment for each release of JAX, made by uv, with the compilers for GPU and TPU that belong to it.

They lie in the user's cache folder. An environment counts when its description is there, which is written last: what a
killed process leaves is no environment, and of two processes one makes it and the other finds it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xla_inspect.releases.environment_store import (
    DESCRIPTION,
    PATIENCE,
    USED,
    evict_environments,
    find_store,
    held,
)
from xla_inspect.releases.interpreters import Interpreter, list_interpreters
from xla_inspect.releases.release_requirements import find_obstacle
from xla_inspect.releases.uv_commands import FULL, OFFLINE, ReleaseError, find_uv, run_uv, shorten_refusal
from xla_inspect.store import Claim

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

OF_COMPILERS = re.compile(r"JAX_|XLA_(?!INSPECT)|TPU_|LIBTPU|TF_|PJRT_|CUDA_|ALLOW_MULTIPLE_LIBTPU|PYTHON(?!UTF8)")

RECORDED = (
    *("jax", "jaxlib", "libtpu", "numpy", "scipy", "ml-dtypes"),
    *("jax-cuda13-plugin", "jax-cuda13-pjrt", "jax-cuda12-plugin", "jax-cuda12-pjrt"),
    *("nvidia-cuda-nvcc", "nvidia-nvvm", "nvidia-cuda-nvcc-cu12"),
)

_UNFIT = re.compile(
    r"Python ABI tag|Python version|platform tag|implementation tag|cannot be used|requires-python|no wheels",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Environment:
    """Where a release is installed.

    Attributes:
        version: The release of JAX.
        folder: Everything of the release: the environment, and what says what it is.
        versions: The packages that compile, name to version.
        missing: The kinds of targets that were asked for and cannot be compiled for, with the reason.
    """

    version: str
    folder: Path
    versions: Mapping[str, str]
    missing: Mapping[str, str]

    @property
    def python(self) -> Path:
        """The interpreter."""
        return find_python(self.folder / "env")

    @property
    def plugin(self) -> Path | None:
        """The library that compiles for NVIDIA GPUs, or None."""
        named = "jax_plugins/xla_cuda*/xla_cuda_plugin.so"
        return next(iter(sorted((self.folder / "env").glob(f"lib*/python*/site-packages/{named}"))), None)


def find_python(environment: Path) -> Path:
    """Return the interpreter of a virtual environment, whatever the system."""
    return environment / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def make_environment(
    version: str,
    requirements: Mapping[str, Sequence[str]],
    *,
    store: Path | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Environment:
    """Return the environment of a release, installed unless it is already.

    Args:
        version: The release of JAX.
        requirements: What uv installs, by the kind of target that takes it. The first has to install; a further one
            that does not is missing, with the reason.
        store: Where environments lie, by default in the user's cache folder.
        say: Hears of an installation, which takes long.

    Raises:
        ReleaseError: It does not install under any Python of this machine, or not at all.
    """
    store = store or find_store()
    wanted = {kind: list(each) for kind, each in requirements.items()}
    mark = hashlib.sha256(json.dumps(wanted).encode()).hexdigest()[:10]
    folder = store / f"{version}-{'-'.join(wanted)}-{mark}"
    if (known := read_environment(version, folder)) is not None:
        return known
    find_uv()
    say(f"installing JAX {version}")
    try:
        store.mkdir(parents=True, exist_ok=True)
        with Claim(folder, patience=PATIENCE):
            if (known := read_environment(version, folder)) is None:
                evict_environments(store)
                _install(version, wanted, folder)
                known = read_environment(version, folder)
    except OSError as error:
        raise ReleaseError(shorten_refusal(str(error))) from error
    assert known is not None  # noqa: S101 - asked for or made above
    return known


def read_environment(version: str, folder: Path) -> Environment | None:
    """Return an environment that is there, counted as used now, or None."""
    try:
        known = json.loads((folder / DESCRIPTION).read_text(encoding="utf-8"))
        (folder / USED).touch()
        found = Environment(version, folder, known["versions"], known["missing"])
    except (OSError, ValueError, KeyError):
        return None
    return found if found.python.exists() else None  # its interpreter may have been removed


def _install(version: str, requirements: Mapping[str, Sequence[str]], folder: Path) -> None:
    """Install a release under the first Python of this machine that it fits, into a folder that is whole or not there.

    Raises:
        ReleaseError: It does not install.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    try:
        with held(folder):
            _try_interpreters(version, requirements, folder)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _try_interpreters(version: str, requirements: Mapping[str, Sequence[str]], folder: Path) -> None:
    environment = folder / "env"
    refusals: list[tuple[Interpreter, str]] = []
    (_, first), *others = requirements.items()
    for interpreter in list_interpreters():
        run_uv(["venv", "--quiet", "--clear", "--python", str(interpreter.path), str(environment)])
        python = str(find_python(environment))
        if not (refusal := install(python, first)):
            missing = {kind: refused for kind, more in others if (refused := _install_more(python, kind, more))}
            description = {"versions": list_versions(python), "missing": missing}
            (folder / DESCRIPTION).write_text(json.dumps(description), encoding="utf-8")
            return
        if not _UNFIT.search(refusal) or FULL.search(refusal) or OFFLINE.search(refusal):
            raise ReleaseError(explain_refusal(version, refusal))
        refusals.append((interpreter, refusal))
    pythons = ", ".join(str(interpreter) for interpreter, _ in refusals)
    message = f"JAX {version} has no wheels for a Python of this machine ({pythons}): {shorten_refusal(refusals[0][1])}"
    raise ReleaseError(message)


def _install_more(python: str, kind: str, requirements: Sequence[str]) -> str:
    """Install what a further kind of target takes; return why that cannot be, or an empty string."""
    if obstacle := find_obstacle(kind):
        return obstacle
    refusal = install(python, requirements)
    return shorten_refusal(refusal) if refusal else ""


def install(python: str, requirements: Sequence[str]) -> str:
    """Install requirements into an environment; return what uv said where it could not, else an empty string."""
    arguments = ["pip", "install", "--quiet", "--only-binary", "jaxlib", "--python", python, *requirements]
    ended = run_uv(arguments, check=False)
    return (ended.stderr.strip() or f"uv ended with {ended.returncode}") if ended.returncode else ""


def list_versions(python: str) -> dict[str, str]:
    """Return the versions of the packages that records name, as an environment has them."""
    listed = run_uv(["pip", "list", "--quiet", "--format", "json", "--python", python]).stdout
    installed = {package["name"]: package["version"] for package in json.loads(listed)}
    return {name: installed[name] for name in RECORDED if name in installed}


def explain_refusal(version: str, refusal: str) -> str:
    """Return in words why a release could not be installed."""
    if re.search(r"no version of jax==|there is no version", refusal):
        return f"there is no release {version} of JAX"
    return f"JAX {version} does not install: {shorten_refusal(refusal)}"


def clean_environment() -> dict[str, str]:
    """Return the environment for a process of a release, without what JAX and the compilers read.

    Importing JAX in this process points TPU_LIBRARY_PATH at the libtpu that is installed here, and any process started
    later would load that one.
    """
    return {name: value for name, value in os.environ.items() if not OF_COMPILERS.match(name)}
