"""The hardware that a dumped module was compiled for, determined from its files."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from xla_inspect.targets import ENTRIES, read_spec

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

UNKNOWN = "unknown"
"""The name of a target that no file identifies."""

_GENERATIONS = {
    "v2": "tpu-v2", "v3": "tpu-v3", "v4": "tpu-v4", "v4 lite": "tpu-v4i", "v5 lite": "tpu-v5e", "v5": "tpu-v5p",
    "v6 lite": "tpu-v6e", "7x": "tpu7x",
}  # fmt: skip
"""Short names of TPUs by their names in JAX's device kinds."""

_VERSIONS = {
    "JELLYFISH": "tpu-v2", "DRAGONFISH": "tpu-v3", "PUFFERFISH": "tpu-v4", "PUFFERFISH lite": "tpu-v4i",
    "VIPERFISH": "tpu-v5p", "VIPERFISH lite": "tpu-v5e", "GHOSTLITE": "tpu-v6e",
}  # fmt: skip
"""Short names of TPUs by the compiler's names of their generations."""

_PLATFORM = re.compile(r"TFRT TPU ?(7x|v\d+(?: lite)?)")
_TPU_VERSION = re.compile(r'\bversion: TPU_VERSION_(\w+)(?:\s+variant: "(\w*)")?')
_BOUNDS = re.compile(r"(chips_per_host|host)_bounds \{\s*x: (\d{1,9})\s+y: (\d{1,9})\s+(?:z: (\d{1,9})\s+)?\}")
_DEVICE = re.compile(r'(?:device_description_str|^  name): "([^"]*)"', re.MULTILINE)
_CUDA = re.compile(r"cuda_compute_capability \{\s*(?:major: (\d{1,9}))?\s*(?:minor: (\d{1,9}))?")
_ROCM = re.compile(r'gcn_arch_name: "(\w+)')
_CORES = re.compile(r"core_count: (\d{1,9})")
_MEMORY = re.compile(r"device_memory_size: ([1-9]\d{0,17})")
# XLA's description of an MI350X has an eighth less memory than the device.
_NEAR = {"cuda": 0.05, "rocm": 0.15}
_BACKEND = re.compile(r"(?:^|\.)(?:(sm_\d+\.\d+[a-z]*|gfx[^.]*?)_gpu|(cpu|gpu))_after_optimizations")
_DEVICES = (re.compile(r"\bnum_partitions=(\d{1,9})\b"), re.compile(r"\breplica_count=(\d{1,9})\b"))
_PTX = re.compile(r"^\.target (sm_\w+)", re.MULTILINE)

# These patterns match HLO text that only one compiler writes.
_MARKS = (
    (
        "tpu",
        re.compile(r"\{[\d,]*:[^}\s]*T\(\d|custom_call_target=\"tpu_|\"window_config\":|\"scoped_memory_configs\""),
    ),
    (
        "gpu",
        re.compile(
            r"__cublas|__cudnn|__triton|\"gpu_backend_config\"|wait_on_operation_queues|\"fusion_backend_config\""
        ),
    ),
    ("cpu", re.compile(r"__onednn|\"outer_dimension_partitions\"|xla_cpu|__ynn|__xnn|\"cpu_backend|ynn_fusion")),
)


def find_target(endings: Iterable[str], heads: Mapping[str, str]) -> tuple[str, str]:
    """Return the short name of the hardware that a module was compiled for, and the hardware's name in its files.

    Args:
        endings: The ends of its files' names, as `group_files` gives them.
        heads: The first bytes of the files that may identify the hardware (see `tells`), by the same names.

    Returns:
        A name from the table of targets, else one such as `sm_75`, `gfx90a`, `tpu-v3`, `gpu`; `UNKNOWN` if no file
        identifies the hardware. The title is empty if no file has one.
    """
    texts = "\n".join(text for name, text in heads.items() if tells(name))
    if match := _PLATFORM.search(texts):
        return _GENERATIONS.get(match[1], "tpu"), "TPU7x" if match[1] == "7x" else f"TPU {match[1]}"
    if match := _TPU_VERSION.search(texts):
        return _VERSIONS.get(" ".join(filter(None, match.groups())), "tpu"), ""
    description = next((text for name, text in heads.items() if name.startswith("gpu_target_config")), "")
    return _find_gpu(description) if description else (_guess_by_names([*endings], texts), "")


def _guess_by_names(endings: Sequence[str], texts: str) -> str:
    """Return the target that the file names, or a PTX text, indicate, or `UNKNOWN`."""
    if backend := next(filter(None, map(_BACKEND.search, endings)), None):
        return backend[2] or _name_architecture(backend[1])
    if ptx := _PTX.search(texts):
        # The letters of `sm_90a` select architecture-specific instructions and not another device.
        return ptx[1].rstrip("af")
    if any(re.match(r"tpu_comp_env|after_codegen|transfer_stats", ending) for ending in endings):
        return "tpu"
    is_gpu = any(ending.startswith("thunk_sequence") or ending.endswith(".ptx") for ending in endings)
    return "gpu" if is_gpu else UNKNOWN


def tells(ending: str) -> bool:
    """Return whether a file may identify a module's hardware, judged by the end of the file's name."""
    return bool(re.match(r"(?:gpu_target_config|target_arguments|topology)\.", ending) or ending.endswith(".ptx"))


def count_devices(header: str) -> int:
    """Return the number of devices that run a module, from the first line of its text."""
    # XLA omits a count of one from the header.
    return math.prod(max(int(match[1]), 1) for form in _DEVICES if (match := form.search(header)))


def add_devices(target: str, devices: int, grid: str = "") -> str:
    """Return a target with its number of devices, such as `h100:8`, or with the grid from a TPU's files.

    A target with one device, or an unknown one, is returned as it is.
    """
    if devices <= 1 or target == UNKNOWN:
        return target
    return f"{target}:{grid if target.startswith('tpu') and grid else devices}"


def find_by_text(text: str, file: str = "") -> str:
    """Return `tpu`, `gpu` or `cpu` for an optimized module with text that only one compiler writes, or `UNKNOWN`.

    The name of the file that has the module may say more, such as `gfx950`.
    """
    target = _guess_by_names([file], "")
    return target if target != UNKNOWN else next((kind for kind, mark in _MARKS if mark.search(text)), UNKNOWN)


def find_grid(heads: Mapping[str, str]) -> str:
    """Return the grid of chips from a TPU's files, such as `2x2x2`, or an empty string."""
    texts = "\n".join(heads.values())
    bounds = {match[1]: [int(size or 1) for size in match.groups()[1:]] for match in _BOUNDS.finditer(texts)}
    if len(bounds) < len(("chips_per_host", "host")):
        return ""
    # The files give the chips of a host and the grid of hosts, and the grid of chips is their product.
    sizes = [inner * outer for inner, outer in zip(bounds["chips_per_host"], bounds["host"], strict=True)]
    return "x".join(map(str, sizes))


def _find_gpu(description: str) -> tuple[str, str]:
    device = _DEVICE.search(description)
    title = device[1] if device else ""
    architecture = _find_architecture(description)
    names = {name for name, entry in ENTRIES.items() if entry.kind == "gpu" and not entry.is_local}
    for name in sorted(names):
        spec = read_spec(name)
        # A driver may add the maker's line of products to the name, as in `AMD Instinct MI300X`.
        if _find_architecture(spec) == architecture and _is_same(spec, description, title, name):
            return name, title
    return architecture, title


def _find_architecture(description: str) -> str:
    """Return the short name of a GPU's architecture, or `gpu` if its description has none."""
    # The name of an AMD GPU may be followed by features of the device, as in `gfx90a:sramecc+`.
    if rocm := _ROCM.search(description):
        return rocm[1]
    cuda = _CUDA.search(description)
    return f"sm_{cuda[1]}{cuda[2] or 0}" if cuda and cuda[1] else "gpu"


def _is_same(spec: str, description: str, title: str, name: str) -> bool:
    """Return whether a device is the one in the table, and not a variant of it with fewer cores or less memory."""
    # Two devices may have the same compute capability, such as variants with different memory.
    if title and ENTRIES[name].model not in title:
        return False
    cores, others = _CORES.search(spec), _CORES.search(description)
    room, other_room = _MEMORY.search(spec), _MEMORY.search(description)
    if not (cores and others and room and other_room):
        return False
    return cores[1] == others[1] and abs(int(room[1]) / int(other_room[1]) - 1) < _NEAR[ENTRIES[name].platform]


def _name_architecture(backend: str) -> str:
    """Return the short name for an architecture in file names, such as `sm_9.0a` or `gfx90a:sramecc+`."""
    if backend.startswith("gfx"):
        return re.split(r"[^\w]", backend)[0]
    return re.sub(r"[a-z]+$", "", backend.replace(".", ""))
