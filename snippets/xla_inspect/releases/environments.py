"""One environment for each release of JAX, made by uv, with the compilers for GPU and TPU that belong to it.

They lie in the user's cache folder. One is made under a lock in a folder beside its own, which gets its name when
everything is there: a process that is killed leaves no half, and of two at once one makes it and the other finds it.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import shutil
import sys
import tempfile
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

from xla_inspect import folders
from xla_inspect.releases.interpreters import Interpreter, list_interpreters
from xla_inspect.releases.release_index import order
from xla_inspect.releases.uv_commands import FULL, OFFLINE, ReleaseError, find_uv, run_uv, shorten_refusal
from xla_inspect.store import Claim

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

OF_COMPILERS = re.compile(r"JAX_|XLA_(?!INSPECT)|TPU_|LIBTPU|TF_|PJRT_|CUDA_|ALLOW_MULTIPLE_LIBTPU|PYTHON(?!UTF8)")

DESCRIPTION, USED = "environment.json", "used"
"""The files of an environment that say what it is, and when it was used last."""

MAKING = ".making-"
"""How the name of a folder begins in which an environment is made."""

LIMIT = 24 << 30
"""Bytes that environments may take; those that were not used for longest go first. uv shares most of them with its own
cache, where both lie on one disk, so that they take far less than they measure."""

PATIENCE = 1800
"""Seconds to wait for another process that makes the same environment: it may have a gigabyte to fetch."""

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
    def packages(self) -> Path:
        """The folder that packages are installed in."""
        return next((self.folder / "env").glob("[Ll]ib*/python*/site-packages"), self.folder / "env/Lib/site-packages")

    @property
    def plugin(self) -> Path | None:
        """The library that compiles for NVIDIA GPUs, or None."""
        return next(iter(sorted((self.packages / "jax_plugins").glob("xla_cuda*/xla_cuda_plugin.so"))), None)


def find_python(environment: Path) -> Path:
    """Return the interpreter of a virtual environment, whatever the system."""
    return environment / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def find_store() -> Path:
    """Return the folder of environments; where nothing is to be kept, one that goes with this process."""
    cache = folders.find_cache()
    if cache is not None:
        return cache / "releases"
    if not _temporary:
        _temporary.append(tempfile.TemporaryDirectory(prefix="xla_inspect_releases_"))
    return Path(_temporary[0].name)


_temporary: list[tempfile.TemporaryDirectory[str]] = []


def list_requirements(version: str, kind: str = "cpu") -> tuple[str, ...]:
    """Return what uv installs for a release and a kind of target.

    Older releases of JAX do not say which jaxlib, NumPy and SciPy they go with, so that the newest would be taken:
    the jaxlib is the newest that is not newer than JAX, and NumPy and SciPy are of the time before they removed names.
    The CUDA toolkit's packages have no version that goes with a release of JAX: the newest that fits is taken.

    Args:
        version: The release of JAX.
        kind: `cpu`, `gpu` or `tpu`.
    """
    of_old = next((limits for before, limits in _LIMITS if order(version) < before), ())
    own = (f"jax=={version}", f"jaxlib<={version}", *of_old)
    if kind == "tpu":
        return (*own, f"jax[tpu]=={version}")
    if kind == "gpu":
        return (*own, *_list_cuda(version))
    return own


_LIMITS: Sequence[tuple[tuple[int, ...], tuple[str, ...]]] = (
    # NumPy 2 is supported from 0.4.26 on (JAX's change log), SciPy 1.13 removed scipy.linalg.tril.
    ((0, 4, 26), ("numpy<2", "scipy<1.13", "ml-dtypes<0.5")),
    ((0, 5), ("numpy<2.3", "scipy<1.16")),
)

_CUDA13 = (0, 7, 2)
"""The first release with plugins for CUDA 13."""


def _list_cuda(version: str) -> tuple[str, ...]:
    if order(version) >= _CUDA13:
        return (f"jax-cuda13-plugin=={version}", "nvidia-cuda-nvcc")
    return (f"jax-cuda12-plugin=={version}", "nvidia-cuda-nvcc-cu12")


def find_obstacle(kind: str) -> str:
    """Return why no release can be compiled for a kind of target on this machine, or an empty string."""
    if kind != "cpu" and (sys.platform, platform.machine()) != ("linux", "x86_64"):
        return f"its compiler exists for Linux on x86-64 only, and this is {platform.system()} {platform.machine()}"
    return ""


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
    _sweep(folder.parent)
    shutil.rmtree(folder, ignore_errors=True)
    making = Path(tempfile.mkdtemp(prefix=MAKING, dir=folder.parent))
    try:
        # Locked for as long as this process lives, so that another can tell what a dead one left.
        with (making / "lock").open("w", encoding="utf-8") as file:
            _lock(file)
            _try_interpreters(version, requirements, making)
        making.rename(folder)
    finally:
        shutil.rmtree(making, ignore_errors=True)


def _try_interpreters(version: str, requirements: Mapping[str, Sequence[str]], folder: Path) -> None:
    environment = folder / "env"
    refusals: list[tuple[Interpreter, str]] = []
    (_, first), *others = requirements.items()
    for interpreter in list_interpreters():
        run_uv(["venv", "--quiet", "--clear", "--relocatable", "--python", str(interpreter.path), str(environment)])
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


@contextmanager
def held(environment: Environment) -> Iterator[None]:
    """Keep an environment from being evicted by another process while it is used."""
    with (environment.folder / USED).open("a", encoding="utf-8") as file:
        _lock(file, shared=True)
        yield


def measure_store(store: Path | None = None) -> int:
    """Return the bytes that the environments of releases take, those shared with uv's cache among them."""
    return sum(_measure(folder) for folder in _list_folders(store or find_store()))


def evict_environments(store: Path, limit: int = LIMIT) -> None:
    """Remove the environments that were not used for longest, until the others take less than a limit."""
    total = 0
    for folder in sorted(_list_folders(store), key=_find_last_use, reverse=True):
        total += _measure(folder)
        if total > limit and _is_free(folder):
            # It is gone at once for who looks for it, and then bit by bit.
            gone = folder.with_name(f".gone-{folder.name}-{os.getpid()}")
            with suppress(OSError):
                folder.rename(gone)
            shutil.rmtree(gone, ignore_errors=True)


def _list_folders(store: Path) -> list[Path]:
    return [path for path in store.glob("[0-9]*") if (path / DESCRIPTION).is_file()] if store.is_dir() else []


def _find_last_use(folder: Path) -> float:
    try:
        return (folder / USED).stat().st_mtime
    except OSError:
        return 0.0


def _measure(folder: Path) -> int:
    """Return the bytes of a folder, which are counted once and then known: an environment does not change."""
    known = folder / "size"
    with suppress(OSError, ValueError):
        return int(known.read_text(encoding="utf-8"))
    total = 0
    for path in folder.rglob("*"):
        with suppress(OSError):
            total += path.lstat().st_size
    with suppress(OSError):
        known.write_text(str(total), encoding="utf-8")
    return total


def _is_free(folder: Path) -> bool:
    try:
        with (folder / USED).open("a", encoding="utf-8") as file:
            return _lock(file)
    except OSError:
        return True


def _sweep(store: Path) -> None:
    """Remove what processes left that died while they made an environment."""
    for folder in (*store.glob(f"{MAKING}*"), *store.glob(".gone-*")):
        try:
            with (folder / "lock").open("a", encoding="utf-8") as file:
                dead = _lock(file)
        except OSError:
            # A folder without its lock is one that is made just now, or is half gone.
            with suppress(OSError):
                dead = time.time() - folder.stat().st_mtime > PATIENCE
        if dead:
            shutil.rmtree(folder, ignore_errors=True)


def _lock(file: IO[str], *, shared: bool = False) -> bool:
    """Lock a file, and return whether that went. Where the system has no such lock, nobody is kept out."""
    if sys.platform == "win32":
        return True
    import fcntl

    try:
        fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
