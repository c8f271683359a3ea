"""The modules of a dump, identified by file names with dots, shared numbers and missing parts."""

from __future__ import annotations

import pytest

from xla_inspect import InspectError
from xla_inspect.dumps import Files, list_modules, pick_module

HEADER = b"HloModule {}, is_scheduled=true, entry_computation_layout={()->f32[]}\n\nENTRY main {\n}\n"


def name_modules(*names: str, **texts: bytes) -> list[str]:
    content = dict.fromkeys(names, b"") | texts
    return [module.key for module in list_modules(Files.from_mapping(content))]


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["module_0001.jit_f.before_optimizations.txt"], ["module_0001.jit_f"]),
        (["module_0001.jit_f.g.before_optimizations.txt"], ["module_0001.jit_f.g"]),
        (["module_0001.cluster_1__.12.before_optimizations.txt"], ["module_0001.cluster_1__.12"]),
        (["module_0001.f__.1534.before_optimizations.txt"], ["module_0001.f__.1534"]),
        (["module_0001.f__.1534.0007.fusion.after_algsimp.before_dce.txt"], ["module_0001.f__.1534"]),
        (["module_0001.jit_f.sm_9.0a_gpu_after_optimizations.txt"], ["module_0001.jit_f"]),
        (["module_0001.jit_f.g.sm_8.0_gpu_after_optimizations.txt"], ["module_0001.jit_f.g"]),
        (["module_0001.jit_f.gfx90a:sramecc+:xnack-_gpu_after_optimizations.txt"], ["module_0001.jit_f"]),
        (["module_0001.jit_f.cl_101.after_optimizations.txt"], ["module_0001.jit_f"]),
        (["module_0001.before_optimizations.txt"], ["module_0001.unnamed"]),
        (["1712345678901234.module_0001.jit_f.cpu_after_optimizations.txt"], ["1712345678901234.module_0001.jit_f"]),
        (["rank0/module_0001.f.cpu_after_optimizations.txt"], ["rank0/module_0001.f"]),
        (["module_0001.f.before_optimizations.hlo.pb.gz"], ["module_0001.f"]),
        (
            ["module_0001.f.before_optimizations.txt", "module_0001.g.before_optimizations.txt"],
            ["module_0001.f", "module_0001.g"],
        ),
        (
            ["module_0001.f.g.before_optimizations.txt", "module_0001.f.g.kernel.1.ptx", "notes.md"],
            ["module_0001.f.g"],
        ),
        # A compiler that goes on with a copy under another number.
        (["module_0001.f.before_optimizations.txt", "module_0003.f.after_optimizations.txt"], ["module_0001.f"]),
    ],
)
def test_the_file_names_identify_the_modules(names: list[str], expected: list[str]) -> None:
    assert name_modules(*names) == expected


def test_a_module_has_its_files_with_any_dots_in_their_names() -> None:
    names = [
        "module_0007.a.b.0000.fusion.after_pipeline-start.before_x.txt",
        "module_0007.a.b.0001.fusion.after_c.d.before_e.f.txt",
        "module_0007.a.b.0001.fusion.after_c.d.before_e.f.hlo.pb",
        "module_0007.a.b.0002.fusion.after_y.html",
        "module_0007.a.b.before_optimizations.txt",
        "module_0007.a.b.cpu_after_optimizations.txt",
        "module_0007.a.b.cpu_after_optimizations-buffer-assignment.txt",
        "module_0007.a.b.cpu_after_optimizations-live-range.txt",
        "module_0007.a.b.obj-file.k.1_kernel_module.o",
        "module_0007.a.b.k.1.ir-no-opt.ll",
        "module_0007.a.b/module.mlir",
        "module_0007.metadata.textproto",
    ]
    (module,) = list_modules(Files.from_mapping(dict.fromkeys(names, b"1234")))
    assert (module.passes, module.kernels, module.target, module.bytes) == (2, 1, "cpu", 48)
    assert [*module.between] == [
        "0000.fusion.after_pipeline-start.before_x.txt",
        "0001.fusion.after_c.d.before_e.f.txt",
    ]
    assert module.before.endswith("b.before_optimizations.txt")
    assert module.after.endswith("cpu_after_optimizations.txt")
    assert module.buffers.endswith("buffer-assignment.txt")
    assert module.live_ranges.endswith("live-range.txt")
    assert {"k.1.ir-no-opt.ll", "module.mlir", "metadata.textproto"} <= {*module.files}


def test_the_text_gives_the_name_and_the_devices() -> None:
    header = b"HloModule jit__lambda_, is_scheduled=true, replica_count=2, num_partitions=4\n"
    (module,) = list_modules(Files.from_mapping({"module_0001.x.sm_7.5_gpu_after_optimizations.txt": header}))
    assert (module.name, module.devices, module.target) == ("jit__lambda_", 8, "sm_75:8")


def test_control_characters_in_names_are_escaped() -> None:
    (module,) = list_modules(Files.from_mapping({"module_0001.\x1b[31m\nf.before_optimizations.txt": b""}))
    assert module.key == r"module_0001.\x1b[31m\nf"


DUMP = list_modules(
    Files.from_mapping(
        {
            f"{place}.before_optimizations.txt": b"x" * size
            for place, size in (("module_0001.jit_f", 1), ("module_0012.jit_f", 2), ("module_0112.jit_step", 3))
        }
    )
)


@pytest.mark.parametrize("text", ["module_0112.jit_step", "jit_step", "step", "112", "0112", "module_112"])
def test_a_module_is_found_by_its_name_its_number_or_both(text: str) -> None:
    assert pick_module(DUMP, text, "dump").number == 112


def test_an_ambiguous_or_unknown_name_is_reported_with_the_available_ones() -> None:
    with pytest.raises(InspectError) as several:
        pick_module(DUMP, "jit_f", "dump")
    assert str(several.value).splitlines() == [
        "2 modules are called jit_f in dump; name one of them, the largest first:",
        "  dump:module_0012.jit_f",
        "  dump:module_0001.jit_f",
    ]
    with pytest.raises(InspectError, match="3 modules in dump; name one"):
        pick_module(DUMP, "", "dump")
    with pytest.raises(InspectError, match=r"no module 'jit_stop' in dump; there .* module_0112.jit_step"):
        pick_module(DUMP, "jit_stop", "dump")


def test_other_files_contain_one_or_several_modules() -> None:
    two = b"[graph]\nHloModule a, is_scheduled=true\n\nENTRY x {\n}\n\nHloModule b\n\nENTRY y {\n}\n"
    modules = list_modules(
        Files.from_mapping({"saved.txt": two, "dir/one.hlo": b"HloModule c\n", "notes.md": b"HloModule"})
    )
    assert [(module.key, module.part, module.after) for module in modules] == [
        ("a", 0, "saved.txt"),
        ("b", 1, "saved.txt"),
        ("dir/c", 0, "dir/one.hlo"),
    ]


def test_a_text_in_utf_16_is_read() -> None:
    files = Files.from_mapping({"a.txt": "HloModule m\n\nENTRY e {\n}\n".encode("utf-16")})
    assert [module.key for module in list_modules(files)] == ["m"]
    assert files.read("a.txt").startswith(b"HloModule")


def test_a_module_in_the_table_of_another_one_is_a_part_of_it() -> None:
    table = '{\n  {"x"} : {"y"},\n  "\n    HloModule inner\n\n    ENTRY %e () -> f32[] {\n    }\n\n  "\n}\n'
    text = f"HloModule outer, origin_recovery_table={table}\n\nENTRY %main (p: f32[]) -> f32[] {{\n}}\n"
    assert [module.key for module in list_modules(Files.from_mapping({"a.txt": text.encode()}))] == ["outer"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({}, "holds no file"),
        ({"a.md": b"", "b.md": b""}, "holds 2 files, and none that XLA dumped"),
        ({"a.txt": b""}, "is empty"),
        ({"a.mlir": b""}, "is empty"),
        ({"a.bin": bytes(range(256))}, "is a binary file of an unknown kind"),
        ({"a.txt": b"some words\n"}, "is a text without an HLO module"),
        (
            {"a.tflite": bytes(9)},
            "is a TFLite model, which XLA cannot compile; pass the original model instead, as FILE.py:MODEL",
        ),
        (
            {"a.onnx": b"\x08\x07"},
            "is an ONNX model; convert it to StableHLO with torch-mlir, or pass the original model",
        ),
        ({"a.pt2": b"PK"}, "is a program of torch.export; load it with torch.export.load in a Python file, and pass"),
        ({"a.keras": b"PK"}, "is a Keras model; load it with keras.saving.load_model in a Python file, and pass"),
        ({"a.ptx": b"// words"}, "is code that XLA generated; pass the function instead, as FILE.py:FUNCTION"),
        ({"a.pb.txt": b"hlo_module {\n  name: 'f'"}, "is an HloProto as text; write the module with as_text()"),
        ({"a.dot": b"digraph G {\n}\n"}, "is a graph in DOT, not HLO; --xla_dump_hlo_as_text writes HLO"),
    ],
)
def test_a_file_without_a_module_is_identified(content: dict[str, bytes], message: str) -> None:
    with pytest.raises(InspectError) as caught:
        list_modules(Files.from_mapping(content))
    assert message in str(caught.value)
    assert "readable inputs: folders of --xla_dump_to" in str(caught.value)


MLIR = b"module @jit_f {\n  func.func public @main() {"
NEXT_TO = {"a b.mlir": MLIR, "notes.txt": b"words\n"}
TRACE = b'{"displayTimeUnit": "ns", "traceEvents": []}'


@pytest.mark.parametrize(
    ("content", "place", "command"),
    [
        ({"a b.mlir": MLIR}, "", "xla-inspect summary 'a b.mlir'"),
        ({"-a.mlir": MLIR}, "", "xla-inspect summary ./-a.mlir"),
        ({f"{name}.txt": b"words\n" for name in "abc"} | {"z.mlir": MLIR}, "", "xla-inspect summary z.mlir"),
        (NEXT_TO, "runs/", "xla-inspect summary 'runs/a b.mlir'"),
        (NEXT_TO, "runs.zip:", "xla-inspect summary 'runs.zip:a b.mlir'"),
        ({"a.mlir": MLIR}, "a.mlir.gz:", "xla-inspect summary a.mlir.gz"),
        ({"saved_model.pb": b"", "variables/a": b""}, "net/", "xla-inspect summary net"),
        ({"net/saved_model.pb": b"\x08\x01", "net/variables/a": b""}, "runs.zip:", "xla-inspect summary net"),
        ({"it's.json": TRACE}, "", """xla-inspect kernels FILE.py:FUNCTION --trace 'it'"'"'s.json'"""),
        ({"t.json": TRACE}, "t.json.gz:", "xla-inspect kernels FILE.py:FUNCTION --trace t.json.gz"),
        ({"nsys.csv": b"Start (ns),Duration (ns),Name\n"}, "", "kernels FILE.py:FUNCTION --trace nsys.csv"),
    ],
)
def test_the_command_for_a_file_that_needs_a_compiler_names_its_path(
    content: dict[str, bytes], place: str, command: str
) -> None:
    with pytest.raises(InspectError) as caught:
        list_modules(Files.from_mapping(content, place=place))
    assert any(line.endswith(command) for line in str(caught.value).splitlines())
