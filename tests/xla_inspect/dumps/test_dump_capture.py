"""A dump gives the same answers as a capture of the program, and lists missing parts."""

from __future__ import annotations

import gzip
import re
import shutil
from dataclasses import fields
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import pytest
from jax.sharding import PartitionSpec as P
from jaxlib import _hlo

from programs import mlp
from xla_inspect import Capture, InspectError, capture
from xla_inspect.analysis import find_stage, list_held, list_launches
from xla_inspect.compilation import list_options
from xla_inspect.dumps import Files, dump_capture, list_modules, read_capture
from xla_inspect.practice import dump
from xla_inspect.questions.collectives import find_exchanges
from xla_inspect.questions.kernels import rank_launches
from xla_inspect.questions.memory import explain_memory
from xla_inspect.questions.summary import summarize
from xla_inspect.targets import find_entry, find_target

from .test_archive import pack_tar

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TARGETS = ("cpu", "h100", "tpu-v5e")


@pytest.fixture(scope="module", params=TARGETS)
def pair(
    request: pytest.FixtureRequest, all_targets: None, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Capture, Capture, Path]:
    """A capture of a program, the capture read from its dump, and the folder of the dump."""
    del all_targets
    folder = tmp_path_factory.mktemp("dump")
    target = request.param
    dump(find_target(target), folder, mlp.mlp, *mlp.EXAMPLE)
    program = capture(mlp.mlp, *mlp.EXAMPLE, target=target)
    return program, read_whole(Files.from_folder(folder)), folder


def read_whole(files: Files) -> Capture:
    module = max((module for module in list_modules(files) if module.before), key=lambda module: len(module.files))
    return read_capture(files, module)


def test_the_stages_are_those_of_a_capture(pair: tuple[Capture, Capture, Path]) -> None:
    program, restored, _ = pair
    # The practice compiles without the options by which a capture is the same on every machine.
    assert (restored.program, restored.target) == (f"jit_{program.program}", program.target)
    assert restored.before == program.before
    assert [launch.name for launch in list_launches(restored)] == [launch.name for launch in list_launches(program)]
    assert [change.name for change in restored.passes] == [change.name for change in program.passes]
    assert restored.memory.arguments == program.memory.arguments
    # Of a TPU the executable leaves out what the compiler sets aside for itself.
    assert restored.memory.temporaries - program.memory.temporaries == (512 if restored.target == "tpu-v5e" else 0)
    assert [(part.role, part.size) for part in list_held(restored)] == [
        (part.role, part.size) for part in list_held(program)
    ]
    assert [thunk.name for thunk in restored.thunks] == [thunk.name for thunk in program.thunks]


def test_a_part_missing_from_a_dump_has_a_reason(pair: tuple[Capture, Capture, Path]) -> None:
    program, restored, _ = pair
    assert not program.missing
    assert {"jaxpr", "source", "cost", "log"} <= {*restored.missing}
    assert "before" not in restored.missing
    assert all(not getattr(restored, name, "") for name in ("jaxpr", "source", "log"))
    assert Capture.from_json(restored.to_json()) == restored


def test_an_archive_of_a_dump_gives_the_same_capture(pair: tuple[Capture, Capture, Path], tmp_path: Path) -> None:
    _, restored, folder = pair
    packed = shutil.make_archive(str(tmp_path / "dump"), "gztar", folder)
    again = read_whole(Files.from_archive(packed))
    for column in fields(Capture):
        assert getattr(again, column.name) == getattr(restored, column.name), column.name


def read_without(folder: Path, *parts: str) -> Capture:
    names = [
        path.name
        for path in folder.iterdir()
        if path.is_file() and not any(re.search(part, path.name) for part in parts)
    ]
    return read_whole(Files.from_mapping({name: (folder / name).read_bytes() for name in names}))


def test_missing_parts_are_listed_and_the_rest_is_read(pair: tuple[Capture, Capture, Path]) -> None:
    _, restored, folder = pair
    bare = read_without(folder, "buffer-assignment", "live-range", r"\.\d{4}\.", "thunk_")
    assert bare.after == restored.after
    assert {"buffers", "live_ranges", "passes"} <= {*bare.missing}
    assert (bare.passes, bare.buffers) == ((), "")
    sizes = {
        role: sum(part.size for part in list_held(restored) if part.role == role) for role in ("argument", "result")
    }
    parts = [*list_held(bare)]
    assert {part.role for part in parts} == {"argument", "result"}
    assert sum(part.size for part in parts if part.role == "argument") == sizes["argument"]
    last = read_without(folder, "after_optimizations")
    assert "no optimized module in this dump; answers are about the last one between passes" in last.missing["after"]
    assert find_stage(last).name == "between passes"
    assert last.module.instruction_count() > 5


def test_modules_above_the_limit_are_listed_and_the_rest_is_read(
    pair: tuple[Capture, Capture, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, restored, folder = pair
    monkeypatch.setattr(dump_capture, "MOST_PASSES", 5000)
    less = read_whole(Files.from_folder(folder))
    assert (less.passes, less.is_stepped, less.after) == ((), False, restored.after)
    assert less.missing["passes"].endswith("and no more than 5,000 are read")


def test_invalid_files_are_listed_with_the_reason(pair: tuple[Capture, Capture, Path]) -> None:
    _, _, folder = pair
    content = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    broken = {name: data[: len(data) // 2] if "-assignment.txt" in name else data for name, data in content.items()}
    assert "buffers" in read_whole(Files.from_mapping(broken)).missing
    binary = {name: b"\0\1\2" if "live-range" in name else data for name, data in content.items()}
    assert "holds no text" in read_whole(Files.from_mapping(binary)).missing["files"]


def test_lines_in_metadata_are_used_without_frame_tables() -> None:
    text = (
        b"HloModule f, is_scheduled=true\n\nENTRY %main (x: f32[4]) -> f32[4] {\n  %x = f32[4]{0} parameter(0)\n"
        b"  ROOT %n = f32[4]{0} negate(%x), "
        b'metadata={op_name="jit(f)/neg" source_file="/home/me/m.py" source_line=7}\n}\n'
    )
    files = Files.from_mapping({"f.hlo": text})
    restored = read_capture(files, list_modules(files)[0])
    frame = restored.frames[restored.module.entry.root.stack_frame or 0][0]
    assert (frame.file, frame.line, [*restored.sources]) == ("/home/me/m.py", 7, ["/home/me/m.py"])


def test_a_module_without_files_is_an_error() -> None:
    files = Files.from_mapping({"module_0001.f.cpu_after_optimizations.txt": b"\0\0"})
    with pytest.raises(InspectError, match=r"module_0001.f: .* holds no text"):
        read_capture(files, list_modules(files)[0])


def ring(state: jax.Array, weights: jax.Array) -> jax.Array:
    """Return sums over devices, computed in a loop that stores the result of each iteration."""
    turn = jax.shard_map(
        lambda part, whole: jax.lax.psum(jnp.tanh(part @ whole), "d"), in_specs=(P("d"), P()), out_specs=P()
    )

    def trip(carry: jax.Array, bias: jax.Array) -> tuple[jax.Array, jax.Array]:
        return carry + jnp.tile(turn(carry, weights), (4, 1)) * bias, jnp.sum(carry)

    last, sums = jax.lax.scan(trip, state, jnp.arange(5.0))
    return last * jnp.max(sums)


@pytest.mark.parametrize("target", ["cpu:4", "h100:4", "tpu-v5e:2x2"])
def test_inline_tuple_elements_do_not_change_an_answer(
    all_targets: None, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    del all_targets
    monkeypatch.setenv("XLA_INSPECT_CACHE", "off")
    shapes = [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in ((64, 32), (32, 32))]

    def answer(options: Callable[..., dict[str, bool | str]]) -> list[str]:
        monkeypatch.setattr("xla_inspect.compilation.dump_compile.list_options", options)
        program = capture(ring, *shapes, target=target, mesh={"d": 4})
        answers = (
            summarize("f", [program], ""),
            explain_memory(program, ""),
            rank_launches(program, "", shown=99),
            find_exchanges("f", program, {"d": 4}),
        )
        lines = "\n".join(map(str, answers)).splitlines()
        return [line for line in lines if "compile time" not in line]

    # As XLA dumps where nobody asks for anything else.
    compact = answer(lambda *given, **named: {**list_options(*given, **named), "xla_dump_compact_gte": True})
    assert compact == answer(list_options)


@pytest.mark.parametrize("flags", [{}, {"xla_dump_hlo_as_text": True, "xla_dump_hlo_pass_re": "fusion"}])
def test_a_dump_made_by_jax_alone_is_read(flags: dict[str, bool | str], tmp_path: Path) -> None:
    options = {"xla_dump_to": str(tmp_path), **flags}
    for number in range(2):
        function = jax.jit(lambda x, number=number: jnp.tanh(x @ x) + number)
        function.lower(jax.ShapeDtypeStruct((8, 8), jnp.float32)).compile(compiler_options=options)
    modules = list_modules(Files.from_folder(tmp_path))
    assert [module.name for module in modules] == ["jit__lambda", "jit__lambda"]
    restored = read_capture(Files.from_folder(tmp_path), modules[1])
    assert (restored.target, bool(restored.passes)) == ("cpu", bool(flags))
    assert len(list_launches(restored)) > 0


OLD_PLAN = """BufferAssignment:
allocation 0: size 16, parameter 0, shape |f32[4]| at ShapeIndex {}:
 value: <0 x @0> (size=16,offset=0): f32[4]{0}
allocation 1: size 16, output shape is |f32[4]|, maybe-live-out:
 value: <1 n @0> (size=16,offset=0): f32[4]{0}

Total bytes used: 32 (32B)

Used values:
<0 x @0>
 positions:
  x
 uses:
  n, operand 0
 from instruction: %x = f32[4]{0} parameter(0)


HloLiveRange (max 2):
  InstructionSequence:
    0:x
    1:n
  BufferLiveRange:
    x{}:0-3
    n{}:1-3
  Live ranges at 1 (peak):
    x: 16 bytes
    n: 16 bytes
"""


def test_a_plan_and_live_ranges_in_one_file_are_read_as_xla_wrote_them_until_2025() -> None:
    text = (
        b"HloModule f, is_scheduled=true\n\nENTRY main (x: f32[4]) -> f32[4] {\n  x = f32[4]{0} parameter(0)\n"
        b"  ROOT n = f32[4]{0} negate(x)\n}\n"
    )
    front = "module_0001.f.cpu_after_optimizations"
    files = Files.from_mapping({f"{front}.txt": text, f"{front}-buffer-assignment.txt": OLD_PLAN.encode()})
    restored = read_capture(files, list_modules(files)[0])
    assert not {"buffers", "live_ranges"} & {*restored.missing}
    assert [(part.role, part.size, part.name) for part in list_held(restored)] == [
        ("argument", 16, "x"),
        ("result", 16, "n"),
    ]
    assert (restored.memory.arguments, restored.memory.outputs) == (16, 16)


@pytest.mark.parametrize(
    ("files", "target", "title"),
    [
        ({"gpu_target_config.pbtxt": 'gpu_device_info {\n  rocm_compute_capability {\n    gcn_arch_name: "gfx942:x+"\n'
          '  }\n  name: "AMD Instinct MI300X"\n}'}, "gfx942", "AMD GPU (gfx942)"),
        ({"gpu_target_config.pbtxt": "gpu_device_info {\n  cuda_compute_capability {\n    major: 7\n    minor: 5\n  }"},
         "sm_75", "NVIDIA GPU (sm_75)"),
        ({"target_arguments.txt": "tpu_topology_args {\n  version: TPU_VERSION_DRAGONFISH\n}"}, "tpu-v3", "TPU v3"),
        ({"target_arguments.txt": 'tpu_topology_args {\n  version: TPU_VERSION_VIPERFISH\n  variant: "lite"\n}'},
         "tpu-v5e", "TPU v5e"),
        ({}, "unknown", "unknown hardware"),
    ],
)  # fmt: skip
def test_unknown_hardware_has_the_name_in_its_files(files: dict[str, str], target: str, title: str) -> None:
    text = "HloModule f, is_scheduled=true\n\nENTRY e (x: f32[4]) -> f32[4] {\n  ROOT x = f32[4]{0} parameter(0)\n}\n"
    content = {f"module_0001.f.{name}": data.encode() for name, data in files.items()}
    content["module_0001.f.after_optimizations.txt"] = text.encode()
    mapped_files = Files.from_mapping(content)
    capture = read_capture(mapped_files, list_modules(mapped_files)[0])
    assert (capture.target, find_entry(capture.target).title) == (target, title)
    assert str(explain_memory(capture, "")).startswith(f"f on {title} needs 32 B per device for arguments and results")
    assert title in str(summarize("f", [capture], ""))


STEPS = "HloModule f\n\nENTRY e {{\n  ROOT c = f32[] constant({})\n}}\n"


@pytest.mark.parametrize("form", ["a mapping", "an archive"])
def test_a_change_is_attributed_to_both_passes_if_the_file_between_is_unreadable(form: str) -> None:
    texts = {"before_optimizations": 1, "0001.p.after_fusion.before_dce": None, "0002.p.after_dce.before_cse": 3}
    texts |= {"0003.p.after_cse.before_end": 4, "cpu_after_optimizations": 4}
    content = {
        f"module_0001.f.{name}.txt": b"\0" if value is None else STEPS.format(value).encode()
        for name, value in texts.items()
    }
    files = Files.from_mapping(content) if form == "a mapping" else Files.from_archive(gzip.compress(pack_tar(content)))
    assert read_whole(files).pass_names == ("fusion or dce", "cse")


@pytest.mark.parametrize("ending", ["hlo", "txt", "bin", "pb"])
@pytest.mark.parametrize("kind", ["text", "proto", "compressed text", "compressed proto"])
def test_a_file_is_read_by_its_content_and_not_its_name(ending: str, kind: str) -> None:
    text = STEPS.format(1)
    proto = bytes(_hlo.hlo_module_from_text(text).as_serialized_hlo_module_proto())
    data = text.encode() if "text" in kind else proto
    files = Files.from_mapping({f"m.{ending}": gzip.compress(data) if "compressed" in kind else data})
    (module,) = list_modules(files)
    assert "constant(1)" in read_capture(files, module).after
