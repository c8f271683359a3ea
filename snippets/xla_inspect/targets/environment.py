"""The environment variables that JAX and the compilers need at import, and the versions of their packages.

Only this module sets environment variables.
Importing it sets them, unless the user has set them already, and does not import JAX.
"""

from __future__ import annotations

import importlib.util
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

ISA = "AVX2"
"""The instruction set of CPU code on x86-64, which machines of the last decade support."""

CPUS = 8
"""The default number of CPU devices that JAX simulates, the same as on one host of GPUs or TPUs."""

LOGS_KEPT = 86400
"""The number of seconds after which libtpu's logs are deleted."""

_SIMULATED = "XLA_INSPECT_CPU_DEVICES"
"""The variable that records that this package has set the number of CPU devices."""

_NONE = "none"
"""The value of this variable if JAX should show the number of CPU devices that it has without this package."""

_changed: dict[str, tuple[str | None, str | None]] = {}
"""The variables that this package changed, each with the values before and after, or None if it was not set."""

# The field `xla_cpu_max_isa` in a serialized `DebugOptions` of xla.proto, and the flag that sets it.
_ISA_READ = re.compile(rb"\xea\x14.([A-Z0-9_]+)", re.DOTALL)
_ISA_FLAG = "--xla_cpu_max_isa"


@cache
def find_version(package: str) -> str | None:
    """Return the installed version of a package, or None."""
    # Importing this module takes a quarter of the time in which a command prints its help.
    from importlib import metadata

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


COMPILERS_FIND: Mapping[str, str] = {
    # The default backend remains the CPU. The CUDA plugin then skips its check of the versions of CUDA's libraries,
    # which would fail without these libraries and make the CUDA compiler unavailable.
    "JAX_PLATFORMS": "cpu",
    # libtpu does not query a metadata server, and finds the two values that are missing on a machine without a TPU.
    "TPU_SKIP_MDS_QUERY": "1",
    "TPU_ACCELERATOR_TYPE": "v5litepod-4",
    "TPU_WORKER_HOSTNAMES": "localhost",
    # Compilation does not use a device, so several processes may load libtpu at the same time.
    "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
}
"""The default environment of JAX and the compilers; variables that the user has set take precedence."""


def prepare() -> None:
    """Set the environment variables that JAX and libtpu read when they are loaded.

    The user's own settings take precedence, except for the CPU's instruction set, on which captures must not depend.
    """
    before = dict(os.environ)
    _set_compilers()
    _simulate_cpus()
    _hold_isa()
    # The recorded changes let `list_original` restore the user's environment for scripts and child processes.
    note_changes(before)
    if sys.modules.get("jax"):
        # The context must exist before the user's functions are compiled, because creating it makes JAX compile them
        # again.
        find_occasion()


def restart_environment(variables: Mapping[str, str]) -> None:
    """Replace this process's environment, and set the variables that JAX reads as if this module were just imported."""
    _replace(variables)
    _changed.clear()
    prepare()


def _set_compilers() -> None:
    for name, value in COMPILERS_FIND.items():
        os.environ.setdefault(name, value)
    if "TPU_LOG_DIR" not in os.environ and importlib.util.find_spec("libtpu"):
        os.environ["TPU_LOG_DIR"] = str(_make_log_folder())


def note_changes(before: Mapping[str, str]) -> None:
    """Record the variables that this package changed since the environment `before`."""
    for name in {*before, *os.environ}:
        old, new = before.get(name), os.environ.get(name)
        if old != new:
            record = _changed.get(name)
            _changed[name] = record[0] if record and record[1] == old else old, new


def list_original() -> dict[str, str]:
    """Return the environment without the changes of this package."""
    variables = dict(os.environ)
    for name, (old, new) in _changed.items():
        # A variable that code has changed since then belongs to that code and keeps its value.
        if variables.get(name) == new:
            variables.pop(name, None)
            variables.update({} if old is None else {name: old})
    return variables


@contextmanager
def original_environment() -> Iterator[None]:
    """Undo this package's environment changes within the `with` block; variables that the block sets stay set after."""
    own, before = dict(os.environ), list_original()
    _replace(before)
    try:
        yield
    finally:
        after = dict(os.environ)
        # Variables that the code set or changed are its own, so they must survive the return to this package's
        # values.
        theirs = {name: value for name, value in after.items() if before.get(name) != value}
        _replace({name: value for name, value in (own | theirs).items() if name in after or name not in before})
        prepare()


@contextmanager
def starting_environment(devices: int) -> Iterator[None]:
    """Set the variables that the compilers need within the `with` block, in which JAX starts its backends.

    All environment variables have their earlier values again after the block.

    Args:
        devices: The number of CPU devices, unless the script or the user has set it.
    """
    before = dict(os.environ)
    _set_compilers()
    flags, device_flag = os.environ.get("XLA_FLAGS", ""), "xla_force_host_platform_device_count"
    if devices > 1 and device_flag not in flags and "JAX_NUM_CPU_DEVICES" not in os.environ:
        os.environ["XLA_FLAGS"] = f"{flags} --{device_flag}={devices}"
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
    """Let the CPU simulate several devices: JAX reads their number at import, and uses it when its backends start.

    The compilation of a program for one device does not change
    (tests/xla_inspect/compilation/test_independence.py).
    """
    if "xla_force_host_platform_device_count" in os.environ.get("XLA_FLAGS", "") or os.environ.get(_SIMULATED) == _NONE:
        # JAX raises an error if the number is set in two ways.
        return
    if "JAX_NUM_CPU_DEVICES" not in os.environ:
        # The mark distinguishes this value from one that the user has set, also in child processes.
        os.environ["JAX_NUM_CPU_DEVICES"] = os.environ[_SIMULATED] = str(CPUS)
    if sys.modules.get("jax") and not _backends_started():
        import jax

        from xla_inspect import jax_private

        if jax.config.jax_num_cpu_devices < 1:
            jax_private.set_option("jax_num_cpu_devices", int(os.environ["JAX_NUM_CPU_DEVICES"]))


def keep_devices() -> None:
    """If JAX has not started, let it show as many CPU devices as without this package, for notebooks that list them."""
    if not _backends_started() and os.environ.get(_SIMULATED) not in {None, _NONE}:
        del os.environ["JAX_NUM_CPU_DEVICES"]
        os.environ[_SIMULATED] = _NONE
        if "jax" in sys.modules:
            from xla_inspect import jax_private

            jax_private.set_option("jax_num_cpu_devices", -1)
            settle()


def _hold_isa() -> None:
    """Add the flag for AVX2 code to `XLA_FLAGS` on x86-64, unless JAX has started or the variable names a file."""
    flags = os.environ.get("XLA_FLAGS", "")
    # If the value does not start with a dash, it is the name of a file with flags.
    if _backends_started() or not (flags.strip() or "-").startswith("-"):
        return
    if platform.machine().lower() in {"x86_64", "amd64"}:
        # XLA accepts a repeated flag, so an older value is removed to keep the variable unambiguous.
        others = [flag for flag in flags.split() if not flag.startswith(_ISA_FLAG)]
        os.environ["XLA_FLAGS"] = " ".join([*others, f"{_ISA_FLAG}={ISA}"])


def _backends_started() -> bool:
    """Return whether JAX has started its backends, without importing JAX."""
    if "jax._src.xla_bridge" not in sys.modules:
        return False
    from xla_inspect import jax_private

    return jax_private.backends_started()


def name_isa() -> str:
    """Return the instruction set of CPU code, or `host` if it is that of the current machine.

    If JAX has started, the result is the value that XLA has read; otherwise it is the value that XLA will read from
    the environment.
    """
    if _backends_started():
        from xla_inspect import jax_private

        match = _ISA_READ.search(jax_private.read_options())
        return match[1].decode() if match else "host"
    values = [flag.partition("=")[2] for flag in os.environ.get("XLA_FLAGS", "").split() if flag.startswith(_ISA_FLAG)]
    # If a flag is repeated, XLA uses its last value.
    return values[-1] if values else "host"


def _make_log_folder() -> Path:
    """Return a folder for libtpu's logs, in the cache if that is writable, after deleting logs older than a day."""
    parent = folders.find_cache()
    logs = (parent / "tpu_logs").absolute() if parent else Path(tempfile.gettempdir()) / "xla_inspect_tpu_logs"
    try:
        logs.mkdir(parents=True, exist_ok=True)
        for log in logs.iterdir():
            # Another process may still write into a recent log, so only logs of earlier days are deleted.
            if time.time() - log.lstat().st_mtime > LOGS_KEPT:
                log.unlink(missing_ok=True)
    except OSError:
        # The folder may be read-only, or another process may delete the same logs; neither must stop the import.
        return logs if logs.is_dir() else Path(tempfile.gettempdir())
    return logs


def find_occasion() -> Callable[[object], AbstractContextManager[None]]:
    """Return a function that enters a JAX context with a value, which distinguishes one lowering from the next.

    While the value stays the same, JAX reuses a trace together with the source lines of its first caller. There is one
    such context in a process, created early and stored on the jax module, because a new context makes JAX compile all
    functions again, including the user's own.
    """
    import jax

    name = "_xla_inspect_occasion"
    if not hasattr(jax, name):
        setattr(jax, name, jax.make_user_context())
    occasion: Callable[[object], AbstractContextManager[None]] = getattr(jax, name)
    return occasion


@cache
def settle() -> None:
    """Import JAX and make the CPU its default platform, unless JAX has started or the user has chosen a platform."""
    import jax

    prepare()

    from xla_inspect import jax_private

    if jax.config.jax_platforms is None and not jax_private.backends_started():
        jax_private.set_option("jax_platforms", os.environ["JAX_PLATFORMS"])


prepare()
