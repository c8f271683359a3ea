"""The contents of a capture, for any function that JAX accepts."""

from __future__ import annotations

import functools
import itertools
import re
import tempfile
import threading
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import pytest

from xla_inspect import InspectError, TargetUnavailableError, capture, capture_all
from xla_inspect.analysis import list_kernels
from xla_inspect.captured import Captures, Thunk
from xla_inspect.hlo import Frame
from xla_inspect.targets import find_version

if TYPE_CHECKING:
    from xla_inspect import Capture

ROOT = Path(__file__).resolve().parents[3]
TARGETS = ("cpu", "h100", "tpu-v5e")
X = jax.ShapeDtypeStruct((4, 8), jnp.float32)

pytestmark = pytest.mark.usefixtures("all_targets")


@pytest.mark.parametrize("target", TARGETS)
def test_every_stage_is_there(layers: Captures, target: str) -> None:
    layer = layers[target]
    assert (layer.program, layer.target, layer.source_file) == ("layer", target, "snippets/programs/layer.py")
    assert layer.source == (ROOT / layer.source_file).read_text(encoding="utf-8")
    assert layer.jaxpr.startswith("{ lambda ; a:f32[64,128]")
    assert "stablehlo.dot_general" in layer.stablehlo
    assert "loc(" not in layer.stablehlo
    assert 'loc("snippets/programs/layer.py":9' in layer.stablehlo_locations
    assert layer.before.startswith("HloModule jit_layer, entry_computation_layout=")
    assert layer.after.startswith("HloModule jit_layer, is_scheduled=true")
    assert "BufferAssignment:" in layer.buffers
    assert "HloLiveRange" in layer.live_ranges
    assert (layer.memory.arguments, layer.memory.outputs) == (4 * (64 * 128 + 128 * 256 + 256), 4 * 64 * 256)
    assert layer.cost.flops >= 2 * 64 * 128 * 256
    assert "jaxlib" in layer.versions


@pytest.mark.parametrize(
    ("target", "languages"),
    [
        ("cpu", {"llvm-unoptimized": 1, "llvm": 1, "asm": 1}),
        ("h100", {"llvm-unoptimized": 2, "llvm": 2, "ptx": 2, "triton": 1}),
        ("tpu-v5e", {"hlo": 1}),
    ],
)
def test_generated_code_is_there_by_language(layers: Captures, target: str, languages: dict[str, int]) -> None:
    assert Counter(code.language for code in layers[target].code) == languages


def test_cpu_code_uses_only_the_fixed_instruction_set(layers: Captures) -> None:
    (assembly,) = (code.text for code in layers["cpu"].code if code.language == "asm")
    assert layers["cpu"].options["xla_cpu_max_isa"] == "AVX2"
    assert assembly.startswith("broadcast_maximum_fusion:\n    push         rbp\n")
    assert "vmaxps" in assembly
    assert re.findall(r"zmm|[xy]mm(?:1[6-9]|2\d|3[01])\b|\bk[0-7]\b", assembly) == []


def test_every_jump_in_assembly_has_its_label(layers: Captures) -> None:
    (assembly,) = (code.text for code in layers["cpu"].code if code.language == "asm")
    jumps = set(re.findall(r"^ +j\w+ +(\.L\d+)$", assembly, re.MULTILINE))
    assert jumps
    assert jumps == set(re.findall(r"^(\.L\d+):$", assembly, re.MULTILINE))


def test_a_gpus_thunks_have_a_grid_and_no_other_target_has_any(layers: Captures) -> None:
    assert layers["h100"].thunks == (
        Thunk("gemm_fusion_dot", "kCustomKernel", (64, 1, 1), (128, 1, 1), 8192, "gemm_fusion_dot"),
        Thunk("loop_maximum_fusion", "kCustomKernel", (128, 1, 1), (128, 1, 1), 0, "loop_maximum_fusion"),
    )
    assert (layers["cpu"].thunks, layers["tpu-v5e"].thunks) == ((), ())


def test_gpu_launches_in_a_loop_are_listed_after_the_loop() -> None:
    def grow(x: jax.Array) -> jax.Array:
        return jax.lax.while_loop(lambda y: y.sum() < 100, lambda y: y * 2, x)

    program = capture(grow, X, target="h100")
    kinds = [thunk.kind for thunk in program.thunks]
    assert kinds[kinds.index("kWhile") + 1 :] == ["kCustomKernel"] * (len(kinds) - kinds.index("kWhile") - 1)
    assert all(f"%{thunk.name} = " in program.after for thunk in program.thunks)


def test_the_fusion_log_gives_fusions_costs_and_refusals(layers: Captures) -> None:
    log = layers["h100"].fusion_log
    assert list(log) == sorted(log)
    assert "fused reduce.1 into add.7.0 as fusion.1" in log
    assert "gemm_fusion_dot stays: the producer is not fusible" in log
    assert any(re.fullmatch(r"\S+ into \S+: [\d.]+ us fused, [\d.]+ us apart", line) for line in log)
    assert (layers["cpu"].fusion_log, layers["tpu-v5e"].fusion_log) == ((), ())


def test_instructions_have_their_python_line_and_call_chain() -> None:
    from programs import transformer_block

    program = capture(transformer_block.transformer_block, *transformer_block.EXAMPLE)
    frames = re.findall(r"fusion\(.*stack_frame_id=(\d+)", program.after)
    chains = [[frame.function for frame in program.frames[int(key)]] for key in frames]
    assert ["normalize", "transformer_block"] in chains
    assert {frame.file for chain in program.frames.values() for frame in chain} == {
        "snippets/programs/transformer_block.py"
    }


def test_a_frame_has_line_and_columns(layers: Captures) -> None:
    assert layers["h100"].frames[1] == (Frame("snippets/programs/layer.py", "layer", 9, 24, 9, 29),)


@pytest.mark.parametrize("target", TARGETS)
def test_each_change_differs_from_the_state_before_it(layers: Captures, target: str) -> None:
    layer = layers[target]
    states = [layer.before, *(change.text for change in layer.passes)]
    assert all(first != second for first, second in itertools.pairwise(states))
    assert all(text.startswith("HloModule jit_layer") and "\nFileNames" not in text for text in states)


@pytest.mark.parametrize(("target", "undumped"), [("cpu", []), ("h100", []), ("tpu-v5e", ["copy-start", "copy-done"])])
def test_the_last_change_gives_the_optimized_module_except_for_later_tpu_additions(
    layers: Captures, target: str, undumped: list[str]
) -> None:
    layer = layers[target]
    names = [instruction.name for instruction in layer.module.entry]
    assert [name for name in names if f"%{name} = " not in layer.passes[-1].text] == undumped


def test_the_work_of_a_gpu_program_is_counted_by_jaxlib_and_labelled(layers: Captures) -> None:
    assert {target: layer.cost.source for target, layer in layers.items()} == {
        "cpu": "executable",
        "h100": "jaxlib HLO cost analysis",
        "tpu-v5e": "executable",
    }


def test_pytrees_and_keyword_arguments_are_accepted() -> None:
    program = capture(lambda p, *, bias: p["w"] @ p["x"] + bias, {"w": X, "x": X.update(shape=(8, 4))}, bias=1.0)
    assert "{ lambda ; a:f32[4,8] b:f32[8,4] c:f32[]. let" in program.jaxpr


@pytest.mark.parametrize("names", [{"static_argnums": 1}, {"static_argnames": "n"}])
def test_a_static_argument_is_part_of_the_program(names: dict[str, int | str]) -> None:
    def repeat(x: jax.Array, n: int) -> jax.Array:
        return jnp.concatenate([x] * n)

    arguments = {"n": 3} if "static_argnames" in names else {}
    positional = () if arguments else (3,)
    program = capture(repeat, X, *positional, **names, **arguments)  # type: ignore[arg-type]  # one or the other
    assert "f32[12,8]" in program.jaxpr


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("names", [{"donate_argnums": 0}, {"donate_argnames": "x"}])
def test_a_donated_argument_is_aliased(target: str, names: dict[str, int | str]) -> None:
    def bump(x: jax.Array) -> jax.Array:
        return x + 1

    program = capture(bump, X, target=target, **names)  # type: ignore[arg-type]  # one or the other
    assert "tf.aliasing_output = 0" in program.stablehlo
    assert "input_output_alias={ {}: (0, {}, may-alias) }" in program.before
    assert program.memory.aliased > 0


def test_a_jitted_function_keeps_its_own_options() -> None:
    @functools.partial(jax.jit, static_argnames="n", donate_argnums=0)
    def power(x: jax.Array, n: int) -> jax.Array:
        return x**n

    program = capture(power, X, n=3)
    assert "integer_pow[y=3]" in program.jaxpr
    assert "tf.aliasing_output" in program.stablehlo
    with pytest.raises(InspectError, match="'power' is jitted already, so static_argnums would have no effect"):
        capture(power, X, n=3, static_argnums=1)


@pytest.mark.parametrize("target", TARGETS)
def test_arrays_and_their_shapes_give_the_same_capture(target: str) -> None:
    def scale(x: jax.Array) -> jax.Array:
        return x * 2

    assert capture(scale, jnp.ones((4, 8)), target=target) == capture(scale, X, target=target)


def test_a_partial_function_has_the_name_of_the_function() -> None:
    def shift(by: float, x: jax.Array) -> jax.Array:
        return x + by

    assert capture(functools.partial(shift, 2.0), X).program == "shift"


def fail(x: jax.Array) -> jax.Array:
    raise KeyError(x.shape)


def test_an_exception_of_the_function_is_raised_unchanged() -> None:
    with pytest.raises(KeyError) as caught:
        capture(fail, X)
    assert caught.value.args == ((4, 8),)
    assert caught.traceback[-1].name == "fail"


@pytest.mark.parametrize("target", TARGETS)
def test_an_unknown_option_is_named(target: str) -> None:
    with pytest.raises(InspectError, match=f"'{target}': .*No such compile option: 'xla_nonsense'"):
        capture(jnp.sin, X, target=target, options={"xla_nonsense": True})


def test_an_object_that_is_not_callable_is_rejected() -> None:
    with pytest.raises(InspectError, match="takes a function"):
        capture(3, X)  # type: ignore[arg-type]  # that is the point


def test_options_set_by_a_with_statement_hold_as_the_function_is_traced() -> None:
    with jax.default_matmul_precision("highest"):
        assert "precision=(Precision.HIGHEST" in capture(lambda x: x @ x.T, X).jaxpr
    assert "HIGHEST" not in capture(lambda x: x @ x.T, X).jaxpr


def test_no_dump_and_no_changed_setting_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    names = ("jax_hlo_source_file_canonicalization_regex", "jax_enable_compilation_cache")
    before = [getattr(jax.config, name) for name in names]
    capture(jnp.sin, X)
    with pytest.raises(InspectError):
        capture(jnp.sin, X, options={"xla_nonsense": True})
    assert list(tmp_path.iterdir()) == []
    assert [getattr(jax.config, name) for name in names] == before


def test_captures_from_several_threads_equal_those_from_one() -> None:
    def tangent(x: jax.Array) -> jax.Array:
        return jnp.sin(x) / jnp.cos(x)

    expected = capture_all(tangent, X)
    captures: dict[str, Capture] = {}
    workers = [
        threading.Thread(target=lambda target=target: captures.update({target: capture(tangent, X, target=target)}))
        for target in TARGETS
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert captures == dict(expected)


def test_an_unavailable_target_is_a_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    installed = {name: find_version(name) for name in ("jax", "jaxlib")}
    monkeypatch.setattr("xla_inspect.targets.devices.find_version", installed.get)
    captures = capture_all(jnp.sin, X, targets=("tpu-v5e", "cpu"))
    assert (list(captures), captures.targets) == (["cpu"], ("tpu-v5e", "cpu"))
    assert captures.missing == {"tpu-v5e": "libtpu not installed; run `uv sync`"}
    assert (captures.get("tpu-v5e"), "tpu-v5e" in captures) == (None, False)
    with pytest.raises(TargetUnavailableError, match="libtpu not installed"):
        captures["tpu-v5e"]
    with pytest.raises(InspectError, match="'h100'; there are tpu-v5e, cpu"):
        captures["h100"]


def test_a_module_for_another_core_is_not_mistaken_for_the_program() -> None:
    from programs import scatter_update as program

    captured_program = capture(program.scatter_update, *program.EXAMPLE, target="tpu7x")
    assert "sparse_core" in captured_program.after
    assert {captured_program.module.name, *(pass_run.module.name for pass_run in captured_program.passes)} == {
        "jit_scatter_update"
    }
    assert captured_program.module.entry.root.shape.plain == "f32[1024,64]"
    assert len(list_kernels(captured_program)) > 1
