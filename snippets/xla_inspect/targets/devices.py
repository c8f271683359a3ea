"""The targets that programs are compiled for, with their devices, which need not be present."""

from __future__ import annotations

import math
import mmap
import os
import platform
import re
import signal
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xla_inspect.errors import InspectError, TargetUnavailableError
from xla_inspect.installation import install_line
from xla_inspect.targets.environment import find_version, settle
from xla_inspect.targets.platforms import PLATFORMS
from xla_inspect.targets.table import TARGETS, find_entry, read_spec

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import jax


@dataclass(frozen=True)
class Target:
    """A target of compilation.

    Attributes:
        name: The short name, with `:TOPOLOGY` if one was requested (`h100`, `h100:8`, `tpu-v5e:2x4`, `cpu:8`).
        kind: `cpu`, `gpu` or `tpu`.
        platform: JAX's name of the platform: `cpu`, `cuda`, `rocm` or `tpu`.
        title: The name of the hardware.
        topology: The devices: a count for CPU and GPU, a grid such as `2x4` for TPU.
    """

    name: str
    kind: str
    platform: str
    title: str
    topology: str

    @property
    def base(self) -> str:
        """The short name without a topology."""
        return self.name.partition(":")[0]

    @cached_property
    def versions(self) -> Mapping[str, str]:
        """The installed versions, by name, of the packages that compile for this target."""
        return {name: version for name in PLATFORMS[self.platform].packages if (version := find_version(name))}

    @property
    def obstacle(self) -> str:
        """The reason why this machine cannot compile for the target, with a remedy, or an empty string."""
        needed = PLATFORMS[self.platform]
        missing = [name for name in (*needed.packages, *needed.readers) if find_version(name) is None]
        if self.kind == "cpu":
            chosen = os.environ.get("JAX_PLATFORMS", "")
            if chosen and "cpu" not in chosen.split(","):
                # JAX starts only the listed platforms, so a list without the CPU makes even an installed CPU compiler
                # unusable.
                return f"JAX_PLATFORMS={chosen} excludes the CPU; unset it or add cpu to it"
            return f"{missing[0]} is not installed; run `{install_line()}`" if missing else ""
        machine = f"{platform.system()} {platform.machine()}"
        if (sys.platform, platform.machine()) != ("linux", "x86_64"):
            return f"its compiler exists only for Linux on x86-64, and this machine is {machine}"
        return f"{', '.join(missing)} not installed; run `{install_line(self.platform)}`" if missing else ""

    def devices(self) -> Sequence[jax.Device]:
        """Return the target's devices for compilation; only CPU devices can also run programs.

        Raises:
            TargetUnavailableError: This machine cannot compile for the target.
            InspectError: The topology does not exist, or JAX was started in a way that rules the target out.
        """
        if reason := self.obstacle:
            raise TargetUnavailableError(self.name, reason)
        # JAX chooses its platforms when its backends start, so the default must be set before the first device is
        # requested.
        settle()
        return _find_cpus(self) if self.kind == "cpu" else _find_topology(self)


def find_target(name: str) -> Target:
    """Return the target with a short name, which may include a topology (`tpu-v5e:2x4`, `h100:8`).

    Raises:
        InspectError: There is no such target (the message lists the targets), or its topology has a wrong form.
    """
    entry = find_entry(name, TARGETS)
    kind, (_, colon, topology) = entry.kind, name.partition(":")
    # The devices of a GPU host form no grid, so their topology is only a count.
    grid = topology.split("x") if kind == "tpu" else [topology]
    if colon and not all(part.isdigit() and int(part) for part in grid):
        form = "a grid such as 2x4" if kind == "tpu" else "a number of devices such as 8"
        message = f"target {name!r}: the part after the colon must be {form}, not {topology!r}"
        raise InspectError(message)
    return Target(name, kind, entry.platform, entry.device, topology or entry.topology)


def count_devices(name: str) -> int:
    """Return the number of devices in the topology of a target's name: 8 for `tpu-v5e:2x4`, and 1 for `tpu-v5e`."""
    _, _, topology = name.partition(":")
    sizes = topology.split("x")
    # A name without a topology has one empty size, which is not decimal and means a single device.
    return math.prod(map(int, sizes)) if all(map(str.isdecimal, sizes)) else 1


def available() -> dict[str, str]:
    """Return, for each target, an empty string or the reason why this machine cannot compile for it.

    JAX is not imported. If a package is missing, the reason says which one to install.
    """
    return {name: find_target(name).obstacle for name in TARGETS}


def _find_cpus(target: Target) -> Sequence[jax.Device]:
    """Return the CPU devices of the target; more than one are simulated."""
    import jax

    from xla_inspect import jax_private

    count = int(target.topology or 1)
    # The number of simulated devices is fixed when JAX starts its backends, so it can only be raised before that.
    if count > 1 and not jax_private.backends_started() and jax.config.jax_num_cpu_devices < count:
        jax_private.set_option("jax_num_cpu_devices", count)
    devices = jax.devices("cpu")
    # If JAX has already started with fewer devices, a client of its own provides them.
    return devices[:count] if len(devices) >= count else _make_cpus(count)


@cache
def _make_cpus(count: int) -> Sequence[jax.Device]:
    from xla_inspect import jax_private

    return jax_private.make_cpus(count)


@cache
def _find_topology(target: Target) -> Sequence[jax.Device]:
    """Return the devices of a topology, which need not be present."""
    spec = read_spec(target.base) if target.kind == "gpu" else ""
    try:
        try:
            return _ask_topology(target, spec)
        except RuntimeError as error:
            # An older compiler does not know all fields of the description of a GPU.
            reduced_spec = drop_unknown(spec, target.platform) if "GpuTargetConfigProto" in str(error) else spec
            if reduced_spec == spec:
                raise
            return _ask_topology(target, reduced_spec)
    except NotImplementedError as error:
        message = (
            f"target {target.name!r}: JAX was started without its compiler ({error}). "
            "Import xla_inspect before anything uses JAX, or set JAX_PLATFORMS=cpu before Python starts"
        )
        raise InspectError(message) from error
    except RuntimeError as error:
        message = f"target {target.name!r}: the compiler rejects this topology: {error}"
        raise InspectError(message) from error


def _ask_topology(target: Target, spec: str) -> Sequence[jax.Device]:
    from jax.experimental import topologies

    name, platform_name, arguments = describe_topology(target, spec)
    if target.platform == "rocm":
        return _ask_rocm(name, arguments)
    before = signal.getsignal(signal.SIGTERM)
    devices: Sequence[jax.Device] = topologies.get_topology_desc(name, platform_name, **arguments).devices
    if before is not None and threading.current_thread() is threading.main_thread():
        # libtpu installs a handler that prints a stack trace on SIGTERM, which a notebook sends to stop its kernel.
        signal.signal(signal.SIGTERM, before)
    return devices


def _ask_rocm(name: str, arguments: Mapping[str, Any]) -> Sequence[jax.Device]:
    from xla_inspect import jax_private
    from xla_inspect.targets import rocm_libraries

    plugin = find_plugin("rocm")
    assert plugin  # noqa: S101 - a target without it has an obstacle
    try:
        rocm_libraries.load_libraries(plugin)
    except OSError as error:
        message = f"target {name!r}: the system does not load its compiler ({error}); if code may not run in the folder"
        message += " of XLA_INSPECT_CACHE, choose another"
        raise InspectError(message) from error
    devices: Sequence[jax.Device] = jax_private.describe_devices("rocm", plugin, name, arguments)
    return devices


def name_rocm_call(crashed: int | None = None) -> str:
    """Return the last function that was called of a library that stands in for ROCm's, or an empty string if none was.

    Args:
        crashed: The number of a process that crashed, by default this process.
    """
    from xla_inspect.targets import rocm_libraries

    return rocm_libraries.name_call(find_plugin("rocm"), crashed)


def forget_rocm_calls() -> None:
    """Forget the calls of libraries that stand in for ROCm's until now."""
    from xla_inspect.targets import rocm_libraries

    rocm_libraries.forget_calls()


def drop_unknown(spec: str, platform_name: str) -> str:
    """Return a GPU's description without the fields that the compiler of the installed plugin does not know.

    Args:
        spec: The description, as `read_spec` returns it; it is returned unchanged if no plugin is installed.
        platform_name: JAX's name of the GPU's platform.
    """
    # Without the plugin's library there is nothing to search for names, so no field can be called unknown.
    if find_plugin(platform_name) is None:
        return spec
    return _FIELD.sub(lambda match: match[0] if knows_gpu_option(match["name"], platform_name) else "", spec)


_FIELD = re.compile(r"^ *(?P<name>\w+): .*\n", re.MULTILINE)


@cache
def knows_gpu_option(name: str, platform_name: str) -> bool:
    """Return whether a GPU plugin has an XLA option, which is the case if its library contains the name.

    Args:
        name: The name of the option.
        platform_name: JAX's name of the plugin's platform; if the plugin is not installed, the result is False.
    """
    # The plugin cannot list its options, but its library contains the name of each option as text.
    path = find_plugin(platform_name)
    if path is None:
        return False
    # The library has hundreds of megabytes, so it is searched in place and not read into memory.
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as code:
        return code.find(name.encode()) >= 0


def find_plugin(platform_name: str) -> Path | None:
    """Return the library of the installed plugin for a platform of GPUs, or None if it is not installed."""
    from importlib import metadata

    entry = PLATFORMS[platform_name]
    package = next(name for name in entry.packages if name.endswith("-pjrt"))
    with suppress(metadata.PackageNotFoundError):
        path = Path(str(metadata.distribution(package).locate_file(entry.plugin)))
        return path if path.is_file() else None
    return None


def describe_topology(target: Target, spec: str = "") -> tuple[str, str, Mapping[str, Any]]:
    """Return the arguments of `jax.experimental.topologies.get_topology_desc`: name, platform and keyword arguments.

    Args:
        target: A target of GPUs or TPUs.
        spec: The description of a GPU, in the text form that its compiler reads.
    """
    if target.kind == "gpu":
        # The topology has the form partitions x hosts x devices per host.
        return target.base, target.platform, {"target_config": spec, "topology": f"1x1x{target.topology}"}
    return f"{target.base.removeprefix('tpu-')}:{target.topology}", "tpu", find_entry(target.base).chip
