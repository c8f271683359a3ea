"""The programs of real size: they trace, keep the structure of their state, and match their models' sizes."""

from __future__ import annotations

import importlib
import math
from typing import Any

import jax
import pytest

from common import ROOT
from xla_inspect.compilation import list_program_members

# What the models' authors or their published weights say.
PUBLISHED = {
    "gpt2": 124_439_808,
    "llama": 6_738_415_616,
    "moe": 46_702_792_704,
    "resnet": 25_557_032,
    "ssm": 129_135_360,
    "unet": 114_000_000,
    "vit": 86_567_656,
}
LARGE = 68_976_648_192
AXES = {"llama": ("fsdp", "tensor"), "moe": ("fsdp", "expert")}
PROGRAMS = {
    f"{path.stem} {name}": (path.stem, program)
    for path in sorted((ROOT / "snippets" / "scale").glob("*.py"))
    for name, program in list_program_members(importlib.import_module(f"scale.{path.stem}"), "").items()
}


def count(tree: Any) -> int:  # noqa: ANN401 - any pytree
    return sum(math.prod(leaf.shape) for leaf in jax.tree.leaves(tree))


@pytest.mark.parametrize("name", [name for name in PROGRAMS if not name.endswith("_small")])
def test_a_program_has_as_many_parameters_as_the_model_it_is_named_for(name: str) -> None:
    model, program = PROGRAMS[name]
    first = program.example[0]
    published = LARGE if name.endswith("70b") else PUBLISHED[model]
    assert count(first.get("params", first)) == pytest.approx(published, rel=0.02)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_traces_and_what_it_is_donated_comes_back_in_the_same_form(name: str) -> None:
    model, program = PROGRAMS[name]
    axes = AXES.get(model, ("data",))
    with jax.set_mesh(jax.make_mesh((1,) * len(axes), axes, (jax.sharding.AxisType.Auto,) * len(axes))):
        results = jax.eval_shape(program.function, *program.example)
    value = min(results, key=count)
    assert (value.shape, value.dtype.name) == ((), "float32")
    largest = max(results, key=count)
    expected = program.example[0]
    assert jax.tree.structure(largest) == jax.tree.structure(expected)
    assert [(leaf.shape, leaf.dtype) for leaf in jax.tree.leaves(largest)] == [
        (leaf.shape, leaf.dtype) for leaf in jax.tree.leaves(expected)
    ]


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_argument_has_a_sharding(name: str) -> None:
    _, program = PROGRAMS[name]
    is_spec = {"is_leaf": lambda leaf: isinstance(leaf, jax.sharding.PartitionSpec)}
    for spec, example in zip(program.arguments.get("specs", ()), program.example, strict=False):
        spec_leaves, shapes = jax.tree.leaves(spec, **is_spec), jax.tree.leaves(example)
        assert len(spec_leaves) == len(shapes)
        assert all(len(spec) <= len(shape.shape) for spec, shape in zip(spec_leaves, shapes, strict=True))
