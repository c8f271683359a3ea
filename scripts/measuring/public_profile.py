"""Read two profiles that others published, and write what the page on profiles quotes to docs/data/profile-public.json.

`uv run --with pyarrow python scripts/measuring/public_profile.py NSYS.zip TPU.xplane.pb`: the first is test data of
NVIDIA's JAX-Toolbox (a table of Nsight Systems, and what XLA dumped while it was recorded), the second of XProf.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import io
import lzma
import re
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import stamps
from common import ROOT
from xla_inspect.hlo_proto import MESSAGES
from xla_inspect.traces import name_op

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

OUT = ROOT / "docs" / "data" / "profile-public.json"
GPU = {
    "repository": "NVIDIA/JAX-Toolbox",
    "commit": "bcbbfa578be90bf5c1dfef2c67cf074589391eee",
    "path": ".github/workflows/nsys-jax/test_data/pax_fsdp4_4proc_proc0.zip",
    "licence": "Apache-2.0",
    "device": "NVIDIA A100-SXM4-40GB",
    "recorded": "2024-07",
}
TPU = {
    "repository": "openxla/xprof",
    "commit": "a27d00aa95eb5cc4f4e1a0fd56b4c89261685ec5",
    "path": "xprof/convert/test_xplanes/tpu_inference_2.xplane.pb",
    "licence": "Apache-2.0",
}
MODULE = "pjit__wrapped_step_fn"
TABLE = "nvtx_gpu_proj_trace/trace.parquet"
LONGEST = 12
_METADATA = {"op_name": "op_name", "file": "source_file", "line": "source_line", "shares": "deduplicated_name"}
"""The columns about an instruction's metadata, with the fields that hold them."""
_EVENT = re.compile(r"%([\w.-]+) = [^\"]+")


def main() -> None:
    """Read both profiles, and write the record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("nsys", type=Path)
    parser.add_argument("tpu", type=Path)
    paths = parser.parse_args()
    content = {
        "gpu": {**GPU, "sha256": _hash(paths.nsys), **read_nsys(paths.nsys.read_bytes())},
        "tpu": {**TPU, "events": list(read_names(paths.tpu.read_bytes()))},
    }
    versions = {source["repository"]: source["commit"][:12] for source in (GPU, TPU)}
    stamps.write_sealed(OUT, "uv run --with pyarrow python scripts/measuring/public_profile.py", versions, content)


def read_nsys(archive: bytes) -> dict[str, Any]:
    """Return the longest launches of the last step in an nsys-jax profile, each with its instruction.

    Args:
        archive: The ZIP file.

    Returns:
        `launches`, the number of launches in the step; `nanoseconds`, their total time; and `rows`: for each of the
        longest the range as Nsight prints it, the instruction, its time, and the instruction's data from the dumped
        module.
    """
    with zipfile.ZipFile(io.BytesIO(archive)) as files:
        table = importlib.import_module("pyarrow.parquet").read_table(io.BytesIO(files.read(TABLE))).to_pylist()
        (dump,) = (name for name in files.namelist() if MODULE in name and "after_optimizations.hlo.pb" in name)
        instructions = dict(read_instructions(lzma.decompress(files.read(dump))))
    step = max(
        (row for row in table if (row["Name"] or "").startswith(f"TSL:XlaModule:#hlo_module={MODULE}")),
        key=lambda row: row["Projected Start"],
    )
    # Nsight lists the ids of all surrounding ranges of an event, separated by colons.
    inside = f":{int(step['RangeId'])}:"
    rows = [
        row for row in table if inside in (row["RangeStack"] or "") and (row["Name"] or "").startswith("TSL:Thunk:")
    ]
    rows.sort(key=lambda row: -row["Projected Duration"])
    return {
        "module": MODULE,
        "launches": len(rows),
        "nanoseconds": sum(row["Projected Duration"] for row in rows),
        "rows": [record_event(row["Name"], row["Projected Duration"], instructions) for row in rows[:LONGEST]],
    }


def record_event(
    event: str, nanoseconds: int, instructions: Mapping[str, Mapping[str, str | int]]
) -> dict[str, str | int]:
    """Return a row of the record.

    Args:
        event: The name of the range.
        nanoseconds: The time of the range's kernels.
        instructions: The data of the module's instructions, by name.
    """
    op, _ = name_op(event, {})
    return {"event": event, "op": op, "nanoseconds": nanoseconds, **instructions.get(op, {})}


def read_instructions(proto: bytes) -> Iterator[tuple[str, dict[str, str | int]]]:
    """Yield each instruction of a dumped module by name, with opcode, `op_name`, file, line and shared code.

    Args:
        proto: A serialized HloProto.
    """
    for computation in MESSAGES["HloProto"](proto).hlo_module.computations:
        for instruction in computation.instructions:
            columns = {column: getattr(instruction.metadata, field) for column, field in _METADATA.items()}
            yield instruction.name, {"opcode": instruction.opcode, **columns}


def read_names(profile: bytes) -> Iterator[str]:
    """Yield the names of a TPU's events that are instructions, each once, in alphabetical order.

    They are read as text, since the numbers in the stored copy of the file are damaged.

    Args:
        profile: The file that XProf wrote.
    """
    text = profile.decode("utf-8", "replace")
    yield from sorted({match[0] for match in _EVENT.finditer(text)})


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


if __name__ == "__main__":
    main()
