"""The targets that programs are compiled for, and the environment that JAX must find when it is imported.

This is the one module that sets environment variables.
Importing it sets them (the reader's own settings win) and imports no JAX.
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sys
import tempfile
import time
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from xla_inspect.capture import folders
from xla_inspect.errors import InspectError, TargetUnavailableError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import jax

SPECS = Path(__file__).parent / "gpu_specs"

GPU_PACKAGES = ("jax-cuda13-plugin", "jax-cuda13-pjrt", "nvidia-cuda-nvcc", "nvidia-nvvm")
PACKAGES: Mapping[str, tuple[str, ...]] = {
    "cpu": ("jax", "jaxlib"),
    "gpu": ("jax", "jaxlib", *GPU_PACKAGES),
    "tpu": ("jax", "jaxlib", "libtpu"),
}

# Short name -> the kind of hardware, the name that the compiler knows it by, and what one device of it is called.
# A TPU's default topology is the smallest that its compiler takes for one host.
KINDS: Mapping[str, tuple[str, str, str]] = {
    "cpu": ("cpu", "", "CPU"),
    "a100": ("gpu", "1", "NVIDIA A100 80 GB SXM"),
    "h100": ("gpu", "1", "NVIDIA H100 80 GB SXM"),
    "h200": ("gpu", "1", "NVIDIA H200 141 GB"),
    "b200": ("gpu", "1", "NVIDIA B200"),
    "tpu-v4": ("tpu", "2x2x1", "TPU v4"),
    "tpu-v5e": ("tpu", "2x2", "TPU v5e"),
    "tpu-v5p": ("tpu", "2x2x1", "TPU v5p"),
    "tpu-v6e": ("tpu", "2x2", "TPU v6e"),
    "tpu7x": ("tpu", "2x2x1", "TPU7x"),
}
TARGETS = tuple(KINDS)

ISA = "AVX2"
"""The instruction set that CPU code is made for on x86-64: what such machines of the last decade have."""

CPUS = 8
"""How many CPU devices JAX is told to simulate, unless the reader says: as many as one host of GPUs or TPUs has."""

LOGS_KEPT = 86400
"""Seconds for which libtpu's logs are kept."""

_isa_held = False


@dataclass(frozen=True)
class Target:
    """What a program is compiled for.

    Attributes:
        name: The short name, with `:TOPOLOGY` where one was asked for (`h100`, `h100:8`, `tpu-v5e:2x4`, `cpu:8`).
        kind: `cpu`, `gpu` or `tpu`.
        title: What the hardware is called.
        topology: The devices: a count for CPU and GPU, a grid such as `2x4` for TPU.
    """

    name: str
    kind: str
    title: str
    topology: str

    @property
    def base(self) -> str:
        """The short name without a topology."""
        return self.name.partition(":")[0]

    @cached_property
    def versions(self) -> Mapping[str, str]:
        """The packages that compile for this target, name to installed version."""
        return {name: version for name in PACKAGES[self.kind] if (version := find_version(name))}

    @property
    def obstacle(self) -> str:
        """Why this machine cannot compile for this target and what to do about it, or an empty string."""
        missing = [name for name in PACKAGES[self.kind] if find_version(name) is None]
        if self.kind == "cpu":
            chosen = os.environ.get("JAX_PLATFORMS", "")
            if chosen and "cpu" not in chosen.split(","):
                return f"JAX_PLATFORMS={chosen} leaves the CPU out; unset it or add cpu to it"
            return f"{missing[0]} is not installed; run `uv sync`" if missing else ""
        machine = f"{platform.system()} {platform.machine()}"
        if (sys.platform, platform.machine()) != ("linux", "x86_64"):
            return f"its compiler exists for Linux on x86-64 only, and this is {machine}"
        return f"{', '.join(missing)} not installed; run `uv sync --group accelerators`" if missing else ""

    def devices(self) -> Sequence[jax.Device]:
        """Return the target's devices, to compile for and not to run on (a CPU's devices do run).

        Raises:
            TargetUnavailableError: This machine cannot compile for the target.
            InspectError: The topology does not exist, or JAX was started in a way that rules the target out.
        """
        if reason := self.obstacle:
            raise TargetUnavailableError(self.name, reason)
        settle()
        return _find_cpus(self) if self.kind == "cpu" else _find_topology(self)


def find(name: str) -> Target:
    """Return the target of a short name, which may carry a topology (`tpu-v5e:2x4`, `h100:8`).

    Raises:
        InspectError: There is no such target; the message lists those that there are.
    """
    base, colon, topology = name.partition(":")
    if base not in KINDS:
        message = f"no target is named {name!r}; the targets are {', '.join(TARGETS)}"
        raise InspectError(message)
    kind, default, title = KINDS[base]
    grid = topology.split("x") if kind == "tpu" else [topology]
    if colon and not all(part.isdigit() and int(part) for part in grid):
        form = "a grid such as 2x4" if kind == "tpu" else "a number of devices such as 8"
        message = f"target {name!r}: after the colon stands {form}, not {topology!r}"
        raise InspectError(message)
    return Target(name, kind, title, topology or default)


def available() -> dict[str, str]:
    """Return each target's short name with an empty string, or with why this machine cannot compile for it.

    Imports no JAX. The reason says what to install, where something can be installed.
    """
    return {name: find(name).obstacle for name in TARGETS}


@cache
def find_version(package: str) -> str | None:
    """Return the installed version of a package, or None."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def read_spec(base: str) -> str:
    """Return the device figures of a GPU in the text form that the compiler takes (GpuTargetConfigProto).

    They are XLA's own, as the pinned plugin embeds them (xla/backends/gpu/target_config/specs, Apache-2.0).
    """
    return (SPECS / f"{base}.txtpb").read_text(encoding="utf-8")


def prepare() -> None:
    """Set the environment that JAX and libtpu read when they are loaded.

    The reader's own settings win, but for the CPU's instruction set: what a capture holds must not depend on it.
    """
    defaults = {
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
    for name, value in defaults.items():
        os.environ.setdefault(name, value)
    if "TPU_LOG_DIR" not in os.environ and find_version("libtpu"):
        os.environ["TPU_LOG_DIR"] = str(_make_log_folder())
    _simulate_cpus()
    _hold_isa()


def _simulate_cpus() -> None:
    """Let the CPU stand for several devices: JAX reads how many when it is imported, and uses it when it starts.

    A program for one device compiles to the same (tests/capture/test_independence.py).
    """
    if "xla_force_host_platform_device_count" in os.environ.get("XLA_FLAGS", ""):
        # JAX refuses to be told twice.
        return
    os.environ.setdefault("JAX_NUM_CPU_DEVICES", str(CPUS))
    if sys.modules.get("jax") and not _backends_started():
        import jax

        from xla_inspect.capture import private

        if jax.config.jax_num_cpu_devices < 1:
            private.set_option("jax_num_cpu_devices", int(os.environ["JAX_NUM_CPU_DEVICES"]))


def _hold_isa() -> None:
    """Hold the CPU compiler to one instruction set: it reads the flag when JAX starts its backends, and never again."""
    global _isa_held  # noqa: PLW0603 - what was done to this process's environment
    flags = os.environ.get("XLA_FLAGS", "")
    # Flags that do not start with a dash are the name of a file that holds them.
    if _isa_held or _backends_started() or not (flags.strip() or "-").startswith("-"):
        return
    if platform.machine().lower() in {"x86_64", "amd64"}:
        others = [flag for flag in flags.split() if not flag.startswith("--xla_cpu_max_isa")]
        os.environ["XLA_FLAGS"] = " ".join([*others, f"--xla_cpu_max_isa={ISA}"])
        _isa_held = True


def _backends_started() -> bool:
    """Return whether JAX has started its backends, without importing it."""
    if "jax._src.xla_bridge" not in sys.modules:
        return False
    from xla_inspect.capture import private

    return private.backends_started()


def name_isa() -> str:
    """Return the instruction set that CPU code is made for, or `host` where JAX had started before this module."""
    return ISA if _isa_held else "host"


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


@cache
def settle() -> None:
    """Import JAX and see that it compiles for the CPU by default, even when it was imported before this module."""
    prepare()
    import jax

    from xla_inspect.capture import private

    if jax.config.jax_platforms is None and not private.backends_started():
        private.set_option("jax_platforms", os.environ["JAX_PLATFORMS"])


def _find_cpus(target: Target) -> Sequence[jax.Device]:
    """Return as many CPU devices as the target asks for, simulated where it asks for more than one."""
    import jax

    from xla_inspect.capture import private

    count = int(target.topology or 1)
    if count > 1 and not private.backends_started() and jax.config.jax_num_cpu_devices < count:
        private.set_option("jax_num_cpu_devices", count)
    found = jax.devices("cpu")
    if len(found) < count:
        message = (
            f"target {target.name!r}: JAX has already started with {len(found)} CPU device(s); "
            f"set JAX_NUM_CPU_DEVICES={count} before Python starts"
        )
        raise InspectError(message)
    return found[:count]


@cache
def _find_topology(target: Target) -> Sequence[jax.Device]:
    """Return the devices of a topology that need not be present."""
    from jax.experimental import topologies

    try:
        if target.kind == "gpu":
            # Partitions x hosts x devices of one host.
            spec, grid = read_spec(target.base), f"1x1x{target.topology}"
            found = topologies.get_topology_desc(target.base, "cuda", target_config=spec, topology=grid)
        else:
            found = topologies.get_topology_desc(f"{target.base.removeprefix('tpu-')}:{target.topology}", "tpu")
    except NotImplementedError as error:
        message = (
            f"target {target.name!r}: JAX was started without its compiler ({error}). "
            "Import xla_inspect before anything uses JAX, or set JAX_PLATFORMS=cpu before Python starts"
        )
        raise InspectError(message) from error
    except RuntimeError as error:
        message = f"target {target.name!r}: the compiler refuses this topology: {error}"
        raise InspectError(message) from error
    return found.devices


prepare()
