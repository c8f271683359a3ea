"""A program has one StableHLO text, is lowered once per kind of target, and is compiled unchanged."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import pytest
from jax.experimental import pallas

from programs import gallery
from xla_inspect import capture_all, targets
from xla_inspect.compilation import lowering

from .conftest import note

if TYPE_CHECKING:
    from xla_inspect.compilation.program_stages import Lowered

pytestmark = pytest.mark.usefixtures("all_targets")

KINDS = {"cpu": ("cpu",), "gpu": ("h100", "b200"), "tpu": ("tpu-v5e", "tpu-v6e")}
PIECES = {name: piece for name, piece in gallery.PROGRAMS.items() if not piece.arguments}
VECTOR = jax.ShapeDtypeStruct((8, 128), jnp.float32)


def describe(name: str) -> lowering.Program:
    return lowering.describe_call(PIECES[name].function, PIECES[name].example, {}, {})


def lower(program: lowering.Program, target: str) -> Lowered:
    with lowering.held_settings(program.project):
        return lowering.lower(program, targets.find_target(target))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", PIECES)
def test_a_program_is_lowered_for_its_kind_as_for_a_device_and_again_as_the_first_time(name: str, kind: str) -> None:
    """Its lines are the same too, although JAX keeps a trace with the lines of the first request."""
    targets.settle()
    program, again = describe(name), describe(name)
    for_kind = lower(program, KINDS[kind][0])
    with lowering.held_settings(again.project):
        chosen = targets.find_target(KINDS[kind][0])
        for_device = lowering._lower_traced(again.traced, chosen, chosen.devices()[0])  # noqa: SLF001 - to compare with
    assert for_kind.stablehlo_locations == for_device.stablehlo_locations
    assert (for_kind.jaxpr, for_kind.jaxpr_locations) == (for_device.jaxpr, for_device.jaxpr_locations)


def first(x: jax.Array) -> jax.Array:
    return jax.lax.scan(lambda carry, row: (carry * row, carry), x[0], x)[1]


def second(x: jax.Array) -> jax.Array:
    return jax.lax.scan(lambda carry, row: (carry * row, carry), x[0], x)[1]


def test_a_function_traced_earlier_by_another_keeps_the_lines_of_its_own_call() -> None:
    jax.jit(first).lower(VECTOR)
    described = [lowering.describe_call(function, (VECTOR,), {}, {}) for function in (first, second)]
    texts = [lower(program, "cpu").stablehlo_locations for program in described]
    assert [("first" in text, "second" in text) for text in texts] == [(True, False), (False, True)]


ONCE = """
import logging, sys
import jax
from xla_inspect import capture

double = jax.jit(lambda x: x * 2)
double(1.0)
capture(jax.jit(lambda x: x * 3), 1.0)
for name in [name for name in sys.modules if name.split(".")[0] == "xla_inspect"]:
    del sys.modules[name]
from xla_inspect import capture
capture(double, 1.0)
jax.config.update("jax_log_compiles", True)
double(1.0)
"""


def test_a_capture_does_not_make_the_users_function_compile_again() -> None:
    """This holds even if the package is imported again, as by `mkdocs serve` when one of its files is saved."""
    result = subprocess.run([sys.executable, "-c", ONCE], check=True, capture_output=True, text=True)
    assert [line for line in result.stderr.splitlines() if "ompiling" in line] == []


@pytest.mark.parametrize("kind", ["gpu", "tpu"])
def test_a_shared_lowering_compiles_as_one_made_for_each_target(kind: str) -> None:
    program = describe("softmax")
    once = lower(program, KINDS[kind][0])
    before = once.stablehlo_locations
    for name in KINDS[kind]:
        target = targets.find_target(name)
        alone = lower(describe("softmax"), name)
        options = {"xla_gpu_autotune_level": 0} if kind == "gpu" else {}
        texts = [lowered_program.place(target).compile(options).as_text() for lowered_program in (once, alone)]
        assert texts[0] == texts[1]
    assert once.stage.as_text(debug_info=True) == before


def test_a_lowering_rule_gets_the_client_of_each_target(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pallas lowers a kernel differently for each TPU generation, so such a program is lowered for each."""

    def double(x: jax.Array) -> jax.Array:
        def body(ref: jax.Ref, write: jax.Ref) -> None:
            write[...] = ref[...] * 2

        return pallas.pallas_call(body, out_shape=VECTOR)(x)  # type: ignore[no-any-return]  # JAX leaves it untyped

    lowered = note(monkeypatch, lowering, "_lower_traced", lambda _, target, device: f"{target.name} {bool(device)}")
    captures = capture_all(double, VECTOR, targets=KINDS["tpu"])
    assert all("tpu_custom_call" in capture.stablehlo for capture in captures.values())
    assert lowered == ["tpu-v5e False", "tpu-v5e True", "tpu-v6e True"]
