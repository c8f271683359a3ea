"""Every file of a compiler's dump is known and described."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from xla_inspect.dumps import strip_front
from xla_inspect.practice import compiler, device, dump_folder, models

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("target", ["cpu", "h100", "tpu-v5e"])
def test_every_file_that_a_compile_leaves_is_known(target: str, tmp_path: Path) -> None:
    compiler.dump(device.find_device(target), tmp_path, models.classify, models.PARAMS, models.X)
    files = dump_folder.list_dump_files(tmp_path)
    assert sorted(file.path.name for file in files) == sorted(
        path.name for path in tmp_path.iterdir() if path.is_file()
    )
    assert [file.path.name for file in files if file.group == "other"] == []
    assert [strip_front(file.path.name).endswith("before_optimizations.txt") for file in files][:2] == [
        True,
        False,
    ]
    assert strip_front(files[1].path.name).endswith("after_optimizations.txt")
    descriptions = [file.said for file in files if "after_algsimp." in file.path.name]
    assert descriptions
    assert all(description.startswith("after algsimp, in ") for description in descriptions)


@pytest.mark.parametrize(
    ("name", "group", "label"),
    [
        ("module_0000.jit_f.before_optimizations.txt", "start", "the compiler's input: start reading here"),
        (
            "module_0012.jit_f.0006.simplification.after_algsimp.before_dce.txt",
            "passes",
            "after algsimp, in simplification",
        ),
        (
            "module_0012.jit_f.0005.fusion.after_pipeline-start.before_x.txt",
            "passes",
            "where the pipeline fusion starts",
        ),
        ("module_0012.jit_f.cl_1.0005.a_b.after_c-d.txt", "passes", "after c-d, in a_b"),
        (
            "module_0001.metadata.textproto",
            "passes",
            "every run of a pass: its name, its time, and whether it changed the module",
        ),
        ("module_0001.jit_f.3.ptx", "code", "PTX, NVIDIA's assembly for any of its GPUs"),
        ("notes.md", "other", "nothing that this practice knows"),
    ],
)
def test_a_file_is_described_by_its_name(name: str, group: str, label: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("four", encoding="utf-8")
    description = dump_folder.describe_dump_file(tmp_path / name)
    assert (description.group, description.said, description.bytes) == (group, label, 4)
