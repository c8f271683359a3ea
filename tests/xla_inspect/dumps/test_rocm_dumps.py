"""Dumps of AMD GPUs: the hardware, and the names of the libraries that they call."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from xla_inspect.dumps import Files, list_modules, read_capture
from xla_inspect.questions.kernels import rank_launches

if TYPE_CHECKING:
    from xla_inspect import Capture

# The driver of a real device reports other sizes and features than XLA's own descriptions have.
CONFIG = """gpu_device_info {{
  core_count: {cores}
  memory_bandwidth: 2662400000000
  device_memory_size: {memory}
  rocm_compute_capability {{
    gcn_arch_name: "{name}:sramecc+:xnack-"
  }}
  name: "{title}"
}}
platform_name: "ROCM"
device_description_str: "{title}"
"""
LIBRARY = """HloModule jit_f, is_scheduled=true, num_partitions=DEVICES

ENTRY %main (x: f32[64,64], y: f32[64,64]) -> f32[64,64] {
  %x = f32[64,64]{1,0} parameter(0)
  %y = f32[64,64]{1,0} parameter(1)
  %call = (f32[64,64]{1,0}, s8[64]{0}) custom-call(%x, %y), custom_call_target="__cublas$lt$matmul"
  ROOT %z = f32[64,64]{1,0} get-tuple-element(%call), index=0
}
"""


def read_rocm(config: str = "", *, devices: int = 1, name: str = "gfx942") -> Capture:
    """Return the capture of a module for an AMD GPU, whose architecture is in the file's name."""
    front = "module_0001.jit_f"
    content = {f"{front}.{name}_gpu_after_optimizations.txt": LIBRARY.replace("DEVICES", str(devices)).encode()}
    if config:
        content[f"{front}.gpu_target_config.pbtxt"] = config.encode()
    files = Files.from_mapping(content)
    return read_capture(files, list_modules(files)[0])


@pytest.mark.parametrize(
    ("name", "title", "cores", "memory", "target"),
    [
        ("gfx942", "AMD Instinct MI300X", 304, 206141652992, "mi300x"),
        ("gfx942", "MI300X", 304, 206158430208, "mi300x"),
        ("gfx942", "AMD Instinct MI325X", 304, 274877906944, "gfx942"),
        ("gfx942", "AMD Instinct MI300A", 228, 137438953472, "gfx942"),
        ("gfx90a", "AMD Instinct MI250X / MI250", 110, 68702699520, "mi250"),
        ("gfx90a", "AMD Instinct MI210", 104, 68702699520, "gfx90a"),
        ("gfx950", "AMD Instinct MI350X", 256, 309220868096, "mi350x"),
        ("gfx950", "AMD Instinct MI355X", 256, 309220868096, "gfx950"),
        ("gfx950", "MI350X", 256, 270566162432, "mi350x"),
        ("gfx1100", "AMD Radeon RX 7900 XTX", 48, 25753026560, "gfx1100"),
    ],
)
def test_a_device_in_the_table_is_told_from_others_of_its_architecture(
    name: str, title: str, cores: int, memory: int, target: str
) -> None:
    config = CONFIG.format(name=name, title=title, cores=cores, memory=memory)
    assert read_rocm(config, name=name).target == target
    assert read_rocm(config, name=name, devices=8).target == f"{target}:8"


def test_without_a_description_the_name_of_the_file_gives_the_architecture() -> None:
    assert read_rocm().target == "gfx942"
    # Some people keep only the end of the file's name.
    files = Files.from_mapping({"gfx950_gpu_after_optimizations.txt": LIBRARY.replace("DEVICES", "8").encode()})
    [module] = list_modules(files)
    assert read_capture(files, module).target == "gfx950:8"


def test_a_library_call_has_the_name_of_amds_library() -> None:
    capture = read_rocm()
    assert "__cublas$lt$matmul (hipBLASLt)" in str(rank_launches(capture))
