"""The environment that JAX and the compilers must find when they are imported, and which of them are installed.

This is the one module that sets environment variables.
Importing it sets them (the reader's own settings win) and imports no JAX.
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
import sys
import tempfile
import time
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from xla_inspect import folders

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from contextlib import AbstractContextManager

GPU_PACKAGES = ("jax-cuda13-plugin", "jax-cuda13-pjrt", "nvidia-cuda-nvcc", "nvidia-nvvm")
PACKAGES: Mapping[str, tuple[str, ...]] = {
    "cpu": ("jax", "jaxlib"),
    "gpu": ("jax", "jaxlib", *GPU_PACKAGES),
    "tpu": ("jax", "jaxlib", "libtpu"),
}
"""The packages that compile for each kind of target."""

ISA = "AVX2"
"""The instruction set that CPU code is made for on x86-64: what such machines of the last decade have."""

CPUS = 8
"""How many CPU devices JAX is told to simulate, unless the reader says: as many as one host of GPUs or TPUs has."""

LOGS_KEPT = 86400
"""Seconds for which libtpu's logs are kept."""

_SIMULATED = "XLA_INSPECT_CPU_DEVICES"
"""The variable that says that this package set how many CPU devices there are."""

_NONE = "none"
"""Its value where JAX is to show the CPU devices that it has without this package."""

_changed: dict[str, tuple[str | None, str | None]] = {}
"""The variables that this package changed, each with its value before, None where it was not set, and after."""

# `xla_cpu_max_isa` as `DebugOptions` of xla.proto holds it, and the flag that sets it.
_ISA_READ = re.compile(rb"\xea\x14.([A-Z0-9_]+)", re.DOTALL)
_ISA_FLAG = "--xla_cpu_max_isa"


@cache
def find_version(package: str) -> str | None:
    """Return the installed version of a package, or None."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


COMPILERS_FIND: Mapping[str, str] = {
    # The default backend stays the CPU. The CUDA plugin then skips its check for drivers,
    # which would otherwise fail and take the CUDA compiler with it.
    "JAX_PLATFORMS": "cpu",
    # libtpu asks no metadata server, and finds the two facts it would complain about on a machine without a TPU.
    "TPU_SKIP_MDS_QUERY": "1",
    "TPU_ACCELERATOR_TYPE": "v5litepod-4",
    "TPU_WORKER_HOSTNAMES": "localhost",
    # Compiling holds no device, so several processes may do it at once.
    "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
}
"""What JAX and the compilers find in their environment, unless the reader says otherwise."""


def prepare() -> None:
    """Set the environment that JAX and libtpu read when they are loaded.

    The reader's own settings win, but for the CPU's instruction set: what a capture holds must not depend on it.
    """
    before = dict(os.environ)
    _set_compilers()
    _simulate_cpus()
    _hold_isa()
    note_changes(before)
    if sys.modules.get("jax"):
        find_occasion()


def _set_compilers() -> None:
    for name, value in COMPILERS_FIND.items():
        os.environ.setdefault(name, value)
    if "TPU_LOG_DIR" not in os.environ and find_version("libtpu"):
        os.environ["TPU_LOG_DIR"] = str(_make_log_folder())


def note_changes(before: Mapping[str, str]) -> None:
    """Note the variables that this package changed, by what they were before."""
    for name in {*before, *os.environ}:
        old, new = before.get(name), os.environ.get(name)
        if old != new:
            known = _changed.get(name)
            _changed[name] = known[0] if known and known[1] == old else old, new


def list_original() -> dict[str, str]:
    """Return the environment without what this package changed in it."""
    variables = dict(os.environ)
    for name, (old, new) in _changed.items():
        if variables.get(name) == new:
            variables.pop(name, None)
            variables.update({} if old is None else {name: old})
    return variables


@contextmanager
def original_environment() -> Iterator[None]:
    """Let code find the environment without what this package changed in it, and keep what the code sets."""
    own, before = dict(os.environ), list_original()
    _replace(before)
    try:
        yield
    finally:
        after = dict(os.environ)
        theirs = {name: value for name, value in after.items() if before.get(name) != value}
        _replace({name: value for name, value in (own | theirs).items() if name in after or name not in before})
        prepare()


@contextmanager
def starting_environment(devices: int) -> Iterator[None]:
    """Let JAX start its backends with what the compilers need, beside what a script set.

    Args:
        devices: How many CPU devices there are, unless the script or the reader says.
    """
    before = dict(os.environ)
    _set_compilers()
    flags, told = os.environ.get("XLA_FLAGS", ""), "xla_force_host_platform_device_count"
    if devices > 1 and told not in flags and "JAX_NUM_CPU_DEVICES" not in os.environ:
        os.environ["XLA_FLAGS"] = f"{flags} --{told}={devices}"
    _hold_isa()
    try:
        yield
    finally:
        _replace(before)


def _replace(variables: Mapping[str, str]) -> None:
    for name in {*os.environ} - {*variables}:
        del os.environ[name]
    os.environ.update(variables)


def _simulate_cpus() -> None:
    """Let the CPU stand for several devices: JAX reads how many when it is imported, and uses it when it starts.

    A program for one device compiles to the same (tests/xla_inspect/compilation/test_independence.py).
    """
    if "xla_force_host_platform_device_count" in os.environ.get("XLA_FLAGS", "") or os.environ.get(_SIMULATED) == _NONE:
        # JAX refuses to be told twice.
        return
    if "JAX_NUM_CPU_DEVICES" not in os.environ:
        # Marked, so that it can be told from what the reader says: this package's other processes find it too.
        os.environ["JAX_NUM_CPU_DEVICES"] = os.environ[_SIMULATED] = str(CPUS)
    if sys.modules.get("jax") and not _backends_started():
        import jax

        from xla_inspect import jax_private

        if jax.config.jax_num_cpu_devices < 1:
            jax_private.set_option("jax_num_cpu_devices", int(os.environ["JAX_NUM_CPU_DEVICES"]))


def keep_devices() -> None:
    """Let JAX show as many CPU devices as without this package, in a notebook, which shows them to its reader."""
    if not _backends_started() and os.environ.get(_SIMULATED) not in {None, _NONE}:
        del os.environ["JAX_NUM_CPU_DEVICES"]
        os.environ[_SIMULATED] = _NONE
        if "jax" in sys.modules:
            from xla_inspect import jax_private

            jax_private.set_option("jax_num_cpu_devices", -1)
            settle()


def _hold_isa() -> None:
    """Hold the CPU compiler to one instruction set: it reads the flag when JAX starts its backends, and never again."""
    flags = os.environ.get("XLA_FLAGS", "")
    # Flags that do not start with a dash are the name of a file that holds them.
    if _backends_started() or not (flags.strip() or "-").startswith("-"):
        return
    if platform.machine().lower() in {"x86_64", "amd64"}:
        others = [flag for flag in flags.split() if not flag.startswith(_ISA_FLAG)]
        os.environ["XLA_FLAGS"] = " ".join([*others, f"{_ISA_FLAG}={ISA}"])


def _backends_started() -> bool:
    """Return whether JAX has started its backends, without importing it."""
    if "jax._src.xla_bridge" not in sys.modules:
        return False
    from xla_inspect import jax_private

    return jax_private.backends_started()


def name_isa() -> str:
    """Return the instruction set that CPU code is made for, or `host` where it is whichever this machine has.

    It is what XLA has read once JAX has started, and else what the environment says that it will read: a module that is
    imported anew knows as much as one that saw the start.
    """
    if _backends_started():
        from xla_inspect import jax_private

        read = _ISA_READ.search(jax_private.read_options())
        return read[1].decode() if read else "host"
    held = [flag.partition("=")[2] for flag in os.environ.get("XLA_FLAGS", "").split() if flag.startswith(_ISA_FLAG)]
    return held[-1] if held else "host"


def _make_log_folder() -> Path:
    """Return a folder for libtpu's logs, in the cache where that can be written, without those of yesterday."""
    parent = folders.find_cache()
    logs = (parent / "tpu_logs").absolute() if parent else Path(tempfile.gettempdir()) / "xla_inspect_tpu_logs"
    try:
        logs.mkdir(parents=True, exist_ok=True)
        for log in logs.iterdir():
            if time.time() - log.lstat().st_mtime > LOGS_KEPT:
                log.unlink(missing_ok=True)
    except OSError:
        return logs if logs.is_dir() else Path(tempfile.gettempdir())
    return logs


def find_occasion() -> Callable[[object], AbstractContextManager[None]]:
    """Return the context of JAX whose value tells one lowering from the next.

    JAX keeps what it traced, with the lines of whoever asked first, for as long as the value stays the same.
    There is one such context in a process, made early and kept with JAX itself: a new one lets JAX compile again what
    it compiled before, the reader's own functions too.
    """
    import jax

    name = "_xla_inspect_occasion"
    if not hasattr(jax, name):
        setattr(jax, name, jax.make_user_context())
    occasion: Callable[[object], AbstractContextManager[None]] = getattr(jax, name)
    return occasion


@cache
def settle() -> None:
    """Import JAX and see that it compiles for the CPU by default, even when it was imported before this module."""
    import jax

    prepare()

    from xla_inspect import jax_private

    if jax.config.jax_platforms is None and not jax_private.backends_started():
        jax_private.set_option("jax_platforms", os.environ["JAX_PLATFORMS"])


prepare()
