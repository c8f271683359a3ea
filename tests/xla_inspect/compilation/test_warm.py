"""A cached capture: lowered once per kind of target, and loaded in parts on demand."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import pytest

from xla_inspect import capture, capture_all, targets
from xla_inspect.compilation import capture_cache, lowering

from .conftest import note

storage = import_module("xla_inspect.captured.storage")

if TYPE_CHECKING:
    from pathlib import Path

    from xla_inspect import Captures

pytestmark = pytest.mark.usefixtures("all_targets")

MATRIX = jax.ShapeDtypeStruct((4, 8), jnp.float32)
SOME = ("cpu", "h100", "h200", "tpu-v5e", "tpu-v6e")


def halve(x: jax.Array) -> jax.Array:
    return x / 2


@pytest.mark.usefixtures("folder")
def test_a_cached_program_is_traced_once_and_lowered_once_for_each_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    first = capture_all(halve, MATRIX, targets=SOME)
    calls = note(monkeypatch, lowering, "run_fresh", lambda work: work.__qualname__.partition(".<")[0])
    lowered = note(monkeypatch, lowering, "_lower_traced", lambda _, target, __: target.kind)
    loaded = note(monkeypatch, targets.Target, "devices", lambda target: target.name)
    assert capture_all(halve, MATRIX, targets=SOME) == first
    assert (lowered, loaded) == (["cpu", "gpu", "tpu"], [])
    assert calls == ["Program.traced", *["_lower_traced"] * 3]


@pytest.mark.usefixtures("folder")
def test_the_cache_reads_long_parts_when_they_are_asked_for(layers: Captures, monkeypatch: pytest.MonkeyPatch) -> None:
    capture = layers["h100"]
    capture_cache.store("k", capture)
    parts_read = note(monkeypatch, storage, "_read_part", lambda _, names: names[0])
    cached = capture_cache.load_cached("k")
    assert cached is not None
    parts = ("program", "target", "memory", "cost", "thunks", "sources", "pass_names", "instruction_counts", "files")
    assert [getattr(cached, name) for name in parts] == [getattr(capture, name) for name in parts]
    assert parts_read == []
    assert cached.retold(program="other").after == capture.after
    assert (cached.before, cached.stablehlo) == (capture.before, capture.stablehlo)
    assert parts_read == ["jaxpr"]
    assert cached == capture
    assert len(parts_read) == len(set(parts_read)) == len(storage.LATER)


@pytest.mark.parametrize("target", ["cpu", "h100", "tpu-v5e"])
def test_the_index_of_a_stored_capture_agrees_with_its_parts(layers: Captures, target: str) -> None:
    layer = layers[target]
    counts = [
        layer.unoptimized_module.instruction_count(),
        *(pass_run.module.instruction_count() for pass_run in layer.passes),
    ]
    assert layer.instruction_counts == tuple(counts)
    assert layer.pass_names == tuple(pass_run.name for pass_run in layer.passes)
    assert layer.files == ("snippets/programs/layer.py",)


def test_a_name_that_no_field_has_is_an_error(layers: Captures) -> None:
    restored = storage.unpack(storage.pack(layers["cpu"]))
    assert not hasattr(restored, "nothing")
    with pytest.raises(AttributeError, match="'Capture' object has no attribute 'nothing'"):
        getattr(restored, "nothing")  # noqa: B009 - a checker would refuse the plain form


@pytest.mark.parametrize("place", [0.0, 0.01, 0.2, 0.5, 0.8, 0.999])
def test_damage_in_any_part_is_found_at_once(layers: Captures, folder: Path, place: float) -> None:
    capture_cache.store("k", layers["tpu-v5e"])
    file = folder / "k.gz"
    data = bytearray(file.read_bytes())
    data[int(place * len(data))] ^= 0xFF
    file.write_bytes(data)
    assert capture_cache.load_cached("k") is None
    file.write_bytes(bytes(data) + b"more")
    assert capture_cache.load_cached("k") is None


@pytest.mark.usefixtures("folder")
def test_a_capture_has_the_same_identity_compiled_and_read() -> None:
    earlier, later = capture(halve, MATRIX), capture(halve, MATRIX)
    assert "identity" in earlier.__dict__
    assert later.identity == earlier.identity
    assert capture(lambda x: x / 2, MATRIX).identity != earlier.identity


def test_a_capture_changed_by_hand_has_an_identity_of_its_own(layers: Captures) -> None:
    from dataclasses import replace

    capture = layers["cpu"]
    plain, renamed, other = replace(capture), replace(capture, program="other", source=""), replace(capture, after="")
    assert plain.identity == renamed.identity
    assert len({capture.identity, plain.identity, other.identity}) == 3
