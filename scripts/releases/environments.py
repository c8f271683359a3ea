"""One environment for each release of JAX, made by uv, with the compilers for GPU and TPU that belong to it."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from common import ROOT
from maintaining import pin
from xla_inspect import targets

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

STORE = ROOT / ".cache" / "drift"

PYTHON = "3.12"
OF_COMPILERS = re.compile(r"JAX_|XLA_|TPU_|LIBTPU|TF_|PJRT_|CUDA_|ALLOW_MULTIPLE_LIBTPU|PYTHON(?!UTF8)")

VERSION = re.compile(r"\d+(?:\.\d+)+(?:(?:a|b|rc)\d+)?")

# What a kind of target takes besides `jax==VERSION`, for a release other than the pinned one. The CUDA toolkit's own
# packages have no version that goes with a release of JAX: the newest that fits is taken, and recorded.
EXTRAS: Mapping[str, tuple[str, ...]] = {
    "tpu": ("jax[tpu]=={version}",),
    "gpu": ("jax-cuda13-plugin=={version}", "nvidia-cuda-nvcc"),
}
RECORDED = (
    "jax",
    "jaxlib",
    "libtpu",
    "jax-cuda13-plugin",
    "jax-cuda13-pjrt",
    "nvidia-cuda-nvcc",
    "nvidia-nvvm",
    "numpy",
)


class ReleaseError(Exception):
    """A release that cannot be measured; the message says which, why and what to do."""


@dataclass(frozen=True)
class Environment:
    """Where a release is installed.

    Attributes:
        version: The release of JAX.
        folder: Everything of the release: the environment, and what the compiles left.
        versions: The packages that compile, name to version.
        missing: The kinds of targets that cannot be compiled for, with the reason.
    """

    version: str
    folder: Path
    versions: Mapping[str, str]
    missing: Mapping[str, str]

    @property
    def python(self) -> Path:
        """The interpreter."""
        return find_interpreter(self.folder / "env")

    def module(self, name: str) -> list[str]:
        """Return the command that runs a module of this folder under the release, and finds nothing else of ours."""
        setup = f"sys.path.insert(0, {str(ROOT / 'scripts')!r})"
        run = f"import runpy, sys; {setup}; runpy.run_module({name!r}, run_name='__main__', alter_sys=True)"
        return [str(self.python), "-I", "-c", run]

    @property
    def packages(self) -> Path:
        """The folder that packages are installed in."""
        return next((self.folder / "env").glob("[Ll]ib*/python*/site-packages"), self.folder / "env/Lib/site-packages")


def find_interpreter(environment: Path) -> Path:
    """Return the interpreter of a virtual environment, whatever the system."""
    return environment / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def read_pins() -> dict[str, str]:
    """Return the versions of the packages that records name, as this checkout pins them."""
    pinned = pin.read_pins(tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8")))
    return {name: pinned[name] for name in RECORDED}


def list_pinned(version: str, libtpu: str = "") -> dict[str, str]:
    """Return the versions that a release is to have: the pins for the pinned release, and none for another.

    The pinned release is measured with exactly the pins: its record is then of the compilers that make the pages.

    Args:
        version: The release of JAX.
        libtpu: Another version of libtpu for it, where one is asked for.
    """
    pinned = read_pins()
    versions = pinned if version == pinned["jax"] else {}
    return {**versions, "libtpu": libtpu} if libtpu else versions


def list_requirements(version: str, libtpu: str = "") -> dict[str, list[str]]:
    """Return the requirements of a release, by the kind of target that takes them.

    Raises:
        ReleaseError: Another libtpu is asked for with a release that is not pinned.
    """
    pinned = list_pinned(version, libtpu)
    if "jax" in pinned:
        kinds = ("cpu", "tpu") if libtpu else ("cpu", *EXTRAS)
        packages = {kind: targets.PACKAGES[kind] for kind in kinds}
        packages["cpu"] = (*packages["cpu"], "numpy")
        return {kind: [f"{name}=={pinned[name]}" for name in names] for kind, names in packages.items()}
    if libtpu:
        message = f"another libtpu is tried with the JAX that is pinned alone, and {version} is not"
        raise ReleaseError(message)
    extras = {
        kind: [requirement.format(version=version) for requirement in requirements]
        for kind, requirements in EXTRAS.items()
    }
    return {
        "cpu": [f"jax=={version}"],
        **{kind: [f"jax=={version}", *requirements] for kind, requirements in extras.items()},
    }


def make(version: str, libtpu: str = "", *, store: Path = STORE) -> Environment:
    """Return the environment of a release, installed unless it is already.

    Args:
        version: The release of JAX.
        libtpu: Another version of libtpu than the release's; then no other accelerator's compiler is installed.
        store: Where environments lie.

    Raises:
        ReleaseError: There is no such release, or it does not install under this Python.
    """
    if bad := next((number for number in (version, libtpu or version) if not VERSION.fullmatch(number)), ""):
        message = f"{bad!r} is no version of {'JAX: one looks like 0.11.2' if bad == version else 'libtpu'}"
        raise ReleaseError(message)
    requirements = list_requirements(version, libtpu)
    folder = locate(version, libtpu, store=store)
    described = folder / "environment.json"
    if described.exists():
        known = json.loads(described.read_text(encoding="utf-8"))
        if known.get("wanted") == requirements:
            return Environment(version, folder, known["versions"], known["missing"])
        # What its compilers left is of other compilers than those that are wanted now.
        shutil.rmtree(folder)
    environment = folder / "env"
    _run(["venv", "--quiet", "--clear", "--python", sys.executable, str(environment)])
    python = str(find_interpreter(environment))
    if refusal := install(python, requirements["cpu"]):
        shutil.rmtree(folder, ignore_errors=True)
        raise ReleaseError(explain(version, refusal))
    missing = {}
    for kind in EXTRAS:
        if kind not in requirements:
            missing[kind] = "not asked for"
        elif (sys.platform, platform.machine()) != ("linux", "x86_64"):
            missing[kind] = "its compiler exists for Linux on x86-64 only"
        elif refusal := install(python, requirements[kind]):
            missing[kind] = shorten(refusal)
    listed = _run(["pip", "list", "--quiet", "--format", "json", "--python", python]).stdout
    installed = {package["name"]: package["version"] for package in json.loads(listed)}
    versions = {name: installed[name] for name in RECORDED if name in installed}
    description = {"wanted": requirements, "versions": versions, "missing": missing}
    described.write_text(json.dumps(description), encoding="utf-8")
    return Environment(version, folder, versions, missing)


def locate(version: str, libtpu: str = "", *, store: Path = STORE) -> Path:
    """Return the folder of a release."""
    return store / (f"{version}-libtpu-{libtpu}" if libtpu else version)


def find_plugin(environment: Environment) -> Path:
    """Return the library that compiles for NVIDIA GPUs."""
    return environment.packages / "jax_plugins" / "xla_cuda13" / "xla_cuda_plugin.so"


def clean_environment() -> dict[str, str]:
    """Return the environment for a process of a release, without what JAX and the compilers read.

    Importing JAX in this process points TPU_LIBRARY_PATH at the libtpu that is installed here, and any process started
    later would load that one.
    """
    return {name: value for name, value in os.environ.items() if not OF_COMPILERS.match(name)}


def install(python: str, requirements: Iterable[str]) -> str:
    """Install requirements into an environment; return what uv said where it could not, else an empty string."""
    ended = _run(["pip", "install", "--quiet", "--python", python, *requirements], check=False)
    return (ended.stderr.strip() or f"uv ended with {ended.returncode}") if ended.returncode else ""


def explain(version: str, refusal: str) -> str:
    """Return in words which release could not be installed, why, and what to do."""
    if re.search(r"no version of jax==|there is no version", refusal):
        message = f"there is no release {version} of JAX"
        try:
            return f"{message}; the newest is {find_newest()}. `scripts/drift` takes released versions"
        except ReleaseError:
            return message
    return f"JAX {version} does not install on Python {PYTHON}: {shorten(refusal)}"


def shorten(text: str) -> str:
    """Return what uv said in one line, without the drawing around it and without the addresses of registries."""
    words = re.sub(r"[^\x00-\x7f]|\bhint:", "", text)  # the drawing around it
    return re.sub(r"\s+", " ", re.sub(r"`?https?://\S+", "the registry", words)).strip()[:300]


def find_newest() -> str:
    """Return the newest release of JAX that this Python can install.

    Raises:
        ReleaseError: uv could not find out.
    """
    command = [
        "pip",
        "compile",
        "--quiet",
        "--no-deps",
        "--no-header",
        "--no-annotate",
        "--python-version",
        PYTHON,
        "-",
    ]
    ended = _run(command, stdin="jax\n", check=False)
    match = re.search(r"^jax==(\S+)", ended.stdout, re.MULTILINE)
    if ended.returncode or not match:
        message = f"uv cannot tell the newest release of JAX: {shorten(ended.stderr) or 'it names none'}"
        raise ReleaseError(message)
    return match[1]


def _run(arguments: list[str], *, stdin: str = "", check: bool = True) -> subprocess.CompletedProcess[str]:
    """Run uv where it finds no project, whose pins would hold for what it installs.

    Raises:
        ReleaseError: uv is not there, or failed and `check` is set.
    """
    uv = os.environ.get("UV", "uv")
    with tempfile.TemporaryDirectory() as folder:
        try:
            ended = subprocess.run(
                [uv, *arguments], cwd=folder, input=stdin, capture_output=True, text=True, check=False, encoding="utf-8"
            )
        except OSError as error:
            message = f"{uv} does not run ({error}); `scripts/drift` finds or fetches it"
            raise ReleaseError(message) from error
    if check and ended.returncode:
        message = f"uv {' '.join(arguments[:2])} failed: {shorten(ended.stderr)}"
        raise ReleaseError(message)
    return ended
