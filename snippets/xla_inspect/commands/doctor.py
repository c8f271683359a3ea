"""The command `xla-inspect doctor`, which prints this machine's available targets, obstacles and problems."""

from __future__ import annotations

import importlib.metadata
import os
import re
import time
from itertools import groupby
from typing import TYPE_CHECKING, TextIO

from xla_inspect.answers import print_answer, write_json
from xla_inspect.commands.diagnosis import Diagnosis, TargetCheck, Trouble
from xla_inspect.errors import InspectError
from xla_inspect.folders import find_cache
from xla_inspect.installation import install_line
from xla_inspect.releases import order
from xla_inspect.targets import PLATFORMS, TARGETS, find_target, find_version
from xla_inspect.terminal import open_answer_paper

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping

    import jax

CHECKED = ("xla-inspect", "jax", "jaxlib", "jax-cuda13-plugin", "jax-cuda13-pjrt", "jax-rocm7-pjrt", "libtpu")
"""The packages whose requirements are compared with the installed versions."""

PLUGINS = {"jax-cuda13-plugin": ("jax-cuda13-plugin", "jax-cuda13-pjrt"), "jax-rocm7-pjrt": ("jax-rocm7-pjrt",)}
"""The plugins that must be of jaxlib's release, each with the packages to install for another."""

_REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)\s*(?:\[[^\]]*\])?\s*\(?(?P<bounds>[^;)]*)\)?\s*(?:;(?P<marker>.*))?")
_BOUND = re.compile(r"(?P<sign>[<>=!~]=?)\s*(?P<version>\d[\d.]*)")


def run_command(options: argparse.Namespace, out: TextIO) -> int:
    """Print the available targets and the problems, and return the exit status: 1 if there is a problem."""
    versions = {name: find_version(name) for platform in PLATFORMS.values() for name in platform.packages}
    installed = {name: version for name, version in versions.items() if version}
    checks, failures = [], []
    # `groupby` needs the targets of one platform next to each other, which is their order in `TARGETS`.
    for platform, group in groupby(TARGETS, key=lambda name: find_target(name).platform):
        names = tuple(group)
        check, failure = _check(platform, names, quick=options.quick)
        checks.append(check)
        failures += failure
    cache = find_cache()
    sizes = [path.stat().st_size for path in cache.glob("*") if path.is_file()] if cache and cache.is_dir() else []
    diagnosis = Diagnosis(
        versions=installed,
        targets=tuple(checks),
        troubles=(*find_mismatches(installed), *find_settings(os.environ), *failures),
        cache=str(cache or ""),
        cache_bytes=sum(sizes),
    )
    if options.json:
        out.write(write_json(diagnosis) + "\n")
    else:
        print_answer(diagnosis, open_answer_paper(out))
    return 0 if diagnosis.holds else 1


def find_mismatches(installed: Mapping[str, str]) -> Iterator[Trouble]:
    """Yield a problem for each conflict between the requirements and the versions of installed packages."""
    for package in CHECKED:
        if not find_version(package):
            continue
        for requirement in importlib.metadata.requires(package) or ():
            match = _REQUIREMENT.match(requirement)
            # The requirements of an extra apply only if the extra is installed, which the metadata does not record.
            if match is None or "extra" in (match["marker"] or ""):
                continue
            version = installed.get(match["name"])
            if version and not admits(match["bounds"], version):
                required = f"{match['name']}{match['bounds'].strip()}"
                yield Trouble(
                    f"{package} {find_version(package)} requires {required}, but version {version} is installed",
                    f"pip install '{required}'",
                )
    jaxlib = installed.get("jaxlib", "")
    for plugin, packages in PLUGINS.items():
        version = installed.get(plugin)
        if version and jaxlib and version.split(".")[:3] != jaxlib.split(".")[:3]:
            release = ".".join(jaxlib.split(".")[:3])
            yield Trouble(
                f"{plugin} {version} and jaxlib {jaxlib} are different releases",
                f"pip install {' '.join(f"'{name}=={release}.*'" for name in packages)}",
            )


def admits(bounds: str, version: str) -> bool:
    """Return whether a version satisfies bounds such as `>=0.11.2,<0.13`, comparing their numbers."""
    mine = order(version)
    for bound in _BOUND.finditer(bounds):
        other = order(bound["version"])
        length = max(len(mine), len(other))
        # Versions of different lengths are padded with zeros, so that 0.11 equals 0.11.0.
        installed, required = (numbers + (0,) * (length - len(numbers)) for numbers in (mine, other))
        holds = {
            "<": installed < required,
            "<=": installed <= required,
            ">": installed > required,
            ">=": installed >= required,
            "==": installed == required,
            "!=": installed != required,
            "~=": installed >= required and installed[: len(other) - 1] == required[: len(other) - 1],
        }
        # An unknown sign, such as `===`, is treated as satisfied.
        if not holds.get(bound["sign"], True):
            return False
    return True


def find_settings(environment: Mapping[str, str]) -> Iterator[Trouble]:
    """Yield a problem for each environment variable that prevents or slows down compilations."""
    platforms = environment.get("JAX_PLATFORMS", "")
    # An empty variable leaves the choice of the platform to JAX, which always includes the CPU.
    if platforms and "cpu" not in platforms.split(","):
        yield Trouble(f"JAX_PLATFORMS={platforms} excludes the CPU, which JAX needs for tracing", "unset JAX_PLATFORMS")
    flags = environment.get("XLA_FLAGS", "")
    if flags.strip() and not flags.strip().startswith("-"):
        yield Trouble(f"XLA_FLAGS names the file {flags}, which xla-inspect does not read", "unset XLA_FLAGS")
    for flag in ("--xla_dump_to", "--xla_dump_hlo_module_re"):
        if flag in flags:
            yield Trouble(
                f"XLA_FLAGS has {flag}, so each compilation also writes a dump, which takes time", "unset XLA_FLAGS"
            )


def _check(platform: str, names: tuple[str, ...], *, quick: bool) -> tuple[TargetCheck, list[Trouble]]:
    """Return the availability of a platform's targets and any problems; unless `quick`, compile a small program."""
    obstacle = find_target(names[0]).obstacle
    # One target of each platform is enough, since all of its targets share the same compiler library.
    target = next((name for name in names if name in {"cpu", "h100", "mi300x", "tpu-v5e"}), names[0])
    if obstacle or quick:
        return TargetCheck(names, obstacle, "", 0.0), []
    start = time.perf_counter()
    try:
        _compile(target)
    # An incompatible plugin may fail in any of these ways, also while it is imported.
    except (InspectError, RuntimeError, ImportError, AttributeError) as error:
        line = install_line() if platform == "cpu" else install_line(platform)
        reason = f"{type(error).__name__}: {error}".partition("\n")[0]
        return TargetCheck(names, reason, "", 0.0), [
            Trouble(f"A small program did not compile for {target} ({reason})", line)
        ]
    return TargetCheck(names, "", target, time.perf_counter() - start), []


def _compile(target: str) -> None:
    """Compile a small program for a target; no cache has it, since it contains the current time."""
    import numpy as np

    from xla_inspect.compilation import capture

    # The time makes the program different from every cached one.
    now = time.time()

    def small(x: jax.Array) -> jax.Array:
        return x @ x + now

    capture(small, np.ones((64, 64), np.float32), target=target, passes=False)
