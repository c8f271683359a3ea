"""One environment per JAX release, created by uv, with the GPU and TPU compilers that belong to the release.

Environments are in the user's cache folder. The description is written last, so the remains of a killed process do not
count as an environment. Of two concurrent processes, one creates the environment and the other uses it.
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

from xla_inspect.releases.environment_store import DESCRIPTION, PATIENCE, USED, evict_environments, find_store, held
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
    """The installed Python environment of a JAX release.

    Attributes:
        version: The release of JAX.
        folder: The release's folder, with the environment and its description.
        versions: The versions of the packages that compile, by name.
        missing: The reasons that requested kinds of targets are not available, by kind.
    """

    version: str
    folder: Path
    versions: Mapping[str, str]
    missing: Mapping[str, str]

    @property
    def python(self) -> Path:
        """The path of the environment's Python interpreter."""
        return find_python(self.folder / "env")

    @property
    def plugin(self) -> Path | None:
        """The path of the library that compiles for NVIDIA GPUs, or None if it is not installed."""
        pattern = "jax_plugins/xla_cuda*/xla_cuda_plugin.so"
        return next(iter(sorted((self.folder / "env").glob(f"lib*/python*/site-packages/{pattern}"))), None)


def find_python(environment: Path) -> Path:
    """Return the path of the interpreter of a virtual environment, on any operating system."""
    return environment / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def make_environment(
    version: str,
    requirements: Mapping[str, Sequence[str]],
    *,
    store: Path | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Environment:
    """Return the environment of a release, and install it if necessary.

    An installation first evicts unused environments, see `evict_environments`.

    Args:
        version: The release of JAX.
        requirements: Requirements for uv, by the kind of target that needs them. The first kind must install; a later
            kind that does not is listed in `missing`, with the reason.
        store: The folder of environments, by default in the user's cache folder.
        say: Called with a message before an installation, which takes long.

    Raises:
        ReleaseError: The release cannot be installed with any Python on this machine.
    """
    store = store or find_store()
    needs = {kind: list(packages) for kind, packages in requirements.items()}
    # Other requirements need another environment, even for the same release and kinds.
    mark = hashlib.sha256(json.dumps(needs).encode()).hexdigest()[:10]
    folder = store / f"{version}-{'-'.join(needs)}-{mark}"
    if (environment := read_environment(version, folder)) is not None:
        return environment
    find_uv()
    say(f"installing JAX {version}")
    try:
        store.mkdir(parents=True, exist_ok=True)
        with Claim(folder, patience=PATIENCE):
            # Another process may have created the environment while this one waited for the lock.
            if (environment := read_environment(version, folder)) is None:
                evict_environments(store)
                _install(version, needs, folder)
                environment = read_environment(version, folder)
    except OSError as error:
        raise ReleaseError(shorten_refusal(str(error))) from error
    assert environment is not None  # noqa: S101 - asked for or made above
    return environment


def read_environment(version: str, folder: Path) -> Environment | None:
    """Return an installed environment and update its time of last use, or return None if it is missing or broken."""
    try:
        description = json.loads((folder / DESCRIPTION).read_text(encoding="utf-8"))
        (folder / USED).touch()
        environment = Environment(version, folder, description["versions"], description["missing"])
    except (OSError, ValueError, KeyError):
        return None
    return environment if environment.python.exists() else None  # its interpreter may have been removed


def _install(version: str, requirements: Mapping[str, Sequence[str]], folder: Path) -> None:
    """Delete a folder, and install a release in it with the first suitable Python on this machine.

    After a failure, the folder does not exist.

    Raises:
        ReleaseError: The release cannot be installed.
    """
    # A process that was killed may have left part of an environment.
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
        # The environment of an interpreter that did not fit is replaced.
        run_uv(["venv", "--quiet", "--clear", "--python", str(interpreter.path), str(environment)])
        python = str(find_python(environment))
        if not (refusal := install(python, first)):
            missing = {kind: refused for kind, more in others if (refused := _install_more(python, kind, more))}
            description = {"versions": list_versions(python), "missing": missing}
            (folder / DESCRIPTION).write_text(json.dumps(description), encoding="utf-8")
            return
        # Another Python would fail for the same reason unless this one does not fit the wheels.
        if not _UNFIT.search(refusal) or FULL.search(refusal) or OFFLINE.search(refusal):
            raise ReleaseError(explain_refusal(version, refusal))
        refusals.append((interpreter, refusal))
    pythons = ", ".join(str(interpreter) for interpreter, _ in refusals)
    message = f"JAX {version} has no wheels for a Python of this machine ({pythons}): {shorten_refusal(refusals[0][1])}"
    raise ReleaseError(message)


def _install_more(python: str, kind: str, requirements: Sequence[str]) -> str:
    """Install the requirements of a further kind of target; return the reason for a failure, or an empty string."""
    if obstacle := find_obstacle(kind):
        return obstacle
    refusal = install(python, requirements)
    return shorten_refusal(refusal) if refusal else ""


def install(python: str, requirements: Sequence[str]) -> str:
    """Install requirements into an environment; return uv's message if it fails, else an empty string."""
    # Building jaxlib from source takes far too long, so an installation without a wheel fails at once.
    arguments = ["pip", "install", "--quiet", "--only-binary", "jaxlib", "--python", python, *requirements]
    ended = run_uv(arguments, check=False)
    return (ended.stderr.strip() or f"uv ended with {ended.returncode}") if ended.returncode else ""


def list_versions(python: str) -> dict[str, str]:
    """Return the versions, by name, of the packages in `RECORDED` that are installed for an interpreter."""
    listed = run_uv(["pip", "list", "--quiet", "--format", "json", "--python", python]).stdout
    installed = {package["name"]: package["version"] for package in json.loads(listed)}
    return {name: installed[name] for name in RECORDED if name in installed}


def explain_refusal(version: str, refusal: str) -> str:
    """Return a sentence that explains why a release cannot be installed, from uv's message."""
    if re.search(r"no version of jax==|there is no version", refusal):
        return f"there is no release {version} of JAX"
    return f"JAX {version} does not install: {shorten_refusal(refusal)}"


def clean_environment() -> dict[str, str]:
    """Return this process's environment variables without those that JAX and the compilers read.

    Importing JAX in this process sets TPU_LIBRARY_PATH to the libtpu that is installed here, which any child process
    would then load.
    """
    return {name: value for name, value in os.environ.items() if not OF_COMPILERS.match(name)}
