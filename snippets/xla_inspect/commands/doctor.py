"""`xla-inspect doctor`: what this machine can compile for, and what stands in the way of the rest."""

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
from xla_inspect.targets import PACKAGES, TARGETS, find_target, find_version
from xla_inspect.terminal import open_answer_paper

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping

    import jax

CHECKED = ("xla-inspect", "jax", "jaxlib", "jax-cuda13-plugin", "jax-cuda13-pjrt", "libtpu")
"""The packages whose requirements are held against what is installed."""

_REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)\s*(?:\[[^\]]*\])?\s*\(?(?P<bounds>[^;)]*)\)?\s*(?:;(?P<marker>.*))?")
_BOUND = re.compile(r"(?P<sign>[<>=!~]=?)\s*(?P<version>\d[\d.]*)")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the form, and whether anything is compiled."""
    parser.add_argument("--json", action="store_true", help="print it as JSON")
    parser.add_argument("--quick", action="store_true", help="compile nothing")


def run_command(options: argparse.Namespace, out: TextIO) -> int:
    """Print what there is and what is wrong, and return the exit status: 1 where something is wrong."""
    versions = {name: find_version(name) for kind in ("gpu", "tpu") for name in PACKAGES[kind]}
    installed = {name: version for name, version in versions.items() if version}
    checks, failures = [], []
    for kind, group in groupby(TARGETS, key=lambda name: find_target(name).kind):
        names = tuple(group)
        check, failure = _check(kind, names, quick=options.quick)
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
    """Yield what installed packages ask of each other and do not have.

    Args:
        installed: Package to version.
    """
    for package in CHECKED:
        if not find_version(package):
            continue
        for requirement in importlib.metadata.requires(package) or ():
            match = _REQUIREMENT.match(requirement)
            if match is None or "extra" in (match["marker"] or ""):
                continue
            version = installed.get(match["name"])
            if version and not admits(match["bounds"], version):
                asked = f"{match['name']}{match['bounds'].strip()}"
                yield Trouble(
                    f"{package} {find_version(package)} asks for {asked}, and {version} is installed",
                    f"pip install '{asked}'",
                )
    plugin, jaxlib = installed.get("jax-cuda13-plugin"), installed.get("jaxlib")
    if plugin and jaxlib and plugin.split(".")[:3] != jaxlib.split(".")[:3]:
        yield Trouble(
            f"jax-cuda13-plugin {plugin} is of another release than jaxlib {jaxlib}",
            f"pip install jax-cuda13-plugin=={jaxlib} jax-cuda13-pjrt=={jaxlib}",
        )


def admits(bounds: str, version: str) -> bool:
    """Return whether a version lies in bounds such as `>=0.11.2,<0.13`, by their numbers."""
    mine = order(version)
    for bound in _BOUND.finditer(bounds):
        other = order(bound["version"])
        length = max(len(mine), len(other))
        left, right = (numbers + (0,) * (length - len(numbers)) for numbers in (mine, other))
        holds = {
            "<": left < right,
            "<=": left <= right,
            ">": left > right,
            ">=": left >= right,
            "==": left == right,
            "!=": left != right,
            "~=": left >= right and left[: len(other) - 1] == right[: len(other) - 1],
        }
        if not holds.get(bound["sign"], True):
            return False
    return True


def find_settings(environment: Mapping[str, str]) -> Iterator[Trouble]:
    """Yield settings of the environment that keep compilers away.

    Args:
        environment: The variables.
    """
    platforms = environment.get("JAX_PLATFORMS", "")
    if platforms and "cpu" not in platforms.split(","):
        yield Trouble(
            f"JAX_PLATFORMS={platforms} leaves the CPU out, without which nothing is traced", "unset JAX_PLATFORMS"
        )
    flags = environment.get("XLA_FLAGS", "")
    if flags.strip() and not flags.strip().startswith("-"):
        yield Trouble(f"XLA_FLAGS names the file {flags}, whose flags are not seen here", "unset XLA_FLAGS")
    for flag in ("--xla_dump_to", "--xla_dump_hlo_module_re"):
        if flag in flags:
            yield Trouble(
                f"XLA_FLAGS has {flag}, which dumps beside what is compiled here and takes time", "unset XLA_FLAGS"
            )


def _check(kind: str, names: tuple[str, ...], *, quick: bool) -> tuple[TargetCheck, list[Trouble]]:
    """Return whether a kind of target can be compiled for, a small program compiled to see, and what went wrong."""
    obstacle = find_target(names[0]).obstacle
    tried = next((name for name in names if name in {"cpu", "h100", "tpu-v5e"}), names[0])
    if obstacle or quick:
        return TargetCheck(names, obstacle, "", 0.0), []
    begun = time.perf_counter()
    try:
        _compile(tried)
    except (InspectError, RuntimeError, ImportError, AttributeError) as error:
        line = install_line({"gpu": "cuda", "tpu": "tpu"}[kind]) if kind != "cpu" else install_line()
        reason = f"{type(error).__name__}: {error}".partition("\n")[0]
        return TargetCheck(names, reason, "", 0.0), [
            Trouble(f"A small program did not compile for {tried} ({reason})", line)
        ]
    return TargetCheck(names, "", tried, time.perf_counter() - begun), []


def _compile(target: str) -> None:
    """Compile a small program, whatever the cache holds."""
    import numpy as np

    from xla_inspect.compilation import capture

    # One that no cache has.
    now = time.time()

    def small(x: jax.Array) -> jax.Array:
        return x @ x + now

    capture(small, np.ones((64, 64), np.float32), target=target, passes=False)
