"""The environments of releases: the pinned versions for the pinned release, and matching versions for others."""

from __future__ import annotations

import tomllib
from itertools import chain
from typing import TYPE_CHECKING

from common import ROOT
from maintaining import pin
from xla_inspect import targets
from xla_inspect.releases import (
    VERSION,
    ReleaseError,
    adapt_figures,
    list_requirements,
    make_environment,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from xla_inspect.releases import Environment

STORE = ROOT / ".cache" / "drift"

KINDS = ("cpu", "tpu", "gpu")


def list_packages(kind: str) -> Sequence[str]:
    """Return the packages that compile for a kind of target; of GPUs, only NVIDIA's are measured."""
    return targets.PLATFORMS["cuda" if kind == "gpu" else kind].packages


RECORDED = frozenset({*chain.from_iterable(map(list_packages, KINDS)), "numpy"})
"""The packages whose versions are recorded."""


def read_pins() -> dict[str, str]:
    """Return the versions of the recorded packages that this checkout pins."""
    pinned = pin.read_pins(tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8")))
    return {name: pinned[name] for name in RECORDED}


def list_pinned(version: str, libtpu: str = "") -> dict[str, str]:
    """Return the required versions of a release's packages: the pins for the pinned release, and none for another.

    The pinned release is measured with exactly the pins, so its record describes the compilers that build the pages.

    Args:
        version: The release of JAX.
        libtpu: Another version of libtpu for the release, or an empty string.
    """
    pinned = read_pins()
    versions = pinned if version == pinned["jax"] else {}
    return {**versions, "libtpu": libtpu} if libtpu else versions


def list_wanted(version: str, libtpu: str = "") -> dict[str, Sequence[str]]:
    """Return the requirements of a release, by the kind of target that needs them.

    Raises:
        ReleaseError: Another libtpu is requested with a release that is not pinned.
    """
    pinned = list_pinned(version, libtpu)
    if "jax" in pinned:
        kinds = KINDS[:2] if libtpu else KINDS
        packages = {kind: list_packages(kind) for kind in kinds}
        packages["cpu"] = (*packages["cpu"], "numpy")
        return {kind: [f"{name}=={pinned[name]}" for name in names] for kind, names in packages.items()}
    if libtpu:
        message = f"another libtpu is tried with the JAX that is pinned alone, and {version} is not"
        raise ReleaseError(message)
    return {kind: list_requirements(version, kind) for kind in KINDS}


def make(version: str, libtpu: str = "") -> Environment:
    """Return the environment of a release, installed if necessary.

    Args:
        version: The release of JAX.
        libtpu: Another version of libtpu; then no compiler for other accelerators is installed.

    Raises:
        ReleaseError: The release does not exist, or cannot be installed with a Python of this machine.
    """
    if bad := next((number for number in (version, libtpu or version) if not VERSION.fullmatch(number)), ""):
        message = f"{bad!r} is no version of {'JAX: one looks like 0.11.2' if bad == version else 'libtpu'}"
        raise ReleaseError(message)
    # Other packages of the environment are installed too, but a record only names those that make a difference.
    environment = make_environment(version, list_wanted(version, libtpu), store=STORE)
    left_out = {"gpu": "not asked for"} if libtpu else {}
    versions = {name: number for name, number in environment.versions.items() if name in RECORDED}
    return type(environment)(version, environment.folder, versions, {**environment.missing, **left_out})


def adapt_all(environment: Environment) -> dict[str, str]:
    """Return the figures of each GPU in the format of a release's plugin, by short name; none without a plugin."""
    if "gpu" in environment.missing or environment.plugin is None:
        return {}
    names = [name for name in targets.TARGETS if targets.find_entry(name).platform == "cuda"]
    return {name: adapt_figures(targets.read_spec(name), environment.plugin) for name in names}
