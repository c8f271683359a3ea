"""Partition specs on the command line: the arguments and results that they shard, by name, number and path."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax
import pytest
from jax.sharding import PartitionSpec as P

from xla_inspect.budgets import Fingerprint
from xla_inspect.errors import InspectError
from xla_inspect.subject import Request, list_trials, read_function

if TYPE_CHECKING:
    from pathlib import Path

    from xla_inspect.subject import Subject

TEXT = """
import jax, jax.numpy as jnp
from jax.sharding import PartitionSpec as P
f32 = jnp.float32
EXAMPLE = (
    {"w": jnp.zeros((8, 16)), "b": jnp.zeros(16), "deep": [jnp.zeros((16, 4))]},
    jax.ShapeDtypeStruct((32, 8), f32),
)
def model(params, x):
    h = jnp.tanh(x @ params["w"] + params["b"])
    return h, {"logits": h @ params["deep"][0]}
def total(params, x, *, scale): return jnp.sum(x) * scale
def swapped(x, w): return x @ w
jitted = jax.jit(model)
"""
MATRICES = "f32[16,8], f32[8,4]"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / f"sharded{abs(hash(tmp_path)) % 10**9}.py"
    path.write_text(TEXT, encoding="utf-8")
    return path


def read(word: str, *in_spec: str, **options: object) -> Subject:
    mesh = {"data": 4, "model": 2}
    return read_function(Request((word,), in_spec=in_spec, **{"mesh": mesh, **options}))  # type: ignore[arg-type]


def list_specs(subject: Subject) -> list[P | None]:
    """Return the spec of each array of the call, in the order of `jax.tree.leaves`."""
    assert subject.call is not None
    leaves = jax.tree.leaves((subject.call.args, dict(subject.call.kwargs)))
    return [getattr(getattr(leaf, "sharding", None), "spec", None) for leaf in leaves]


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["x=P('data', None)"], [P("data", None), None]),
        (["1=PartitionSpec('data')"], [None, P("data")]),
        (["x=jax.P(model)"], [P("model"), None]),
        (["w=P()"], [None, P()]),
        (["P('data'), P(None, 'model')"], [P("data"), P(None, "model")]),
        (["P('data')", "P(None, 'model')"], [P("data"), P(None, "model")]),
        ([" x = P((data, 'model')) "], [P(("data", "model")), None]),
        (["x=P('data')", "x=P('model')"], [P("model"), None]),
    ],
)
def test_a_spec_names_an_argument_or_counts_the_arguments(
    texts: list[str], expected: list[P | None], file: Path
) -> None:
    assert list_specs(read(f"{file}:swapped", *texts, args=MATRICES)) == expected


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        # The leaves are params['b'], params['deep'][0], params['w'] and x.
        (["params=P(None, 'model')"], [None, P(None, "model"), P(None, "model"), None]),
        (["params=P('model')"], [P("model"), P("model"), P("model"), None]),
        (["params.w=P('data')"], [None, None, P("data"), None]),
        (["params['deep'][0]=P('data')"], [None, P("data"), None, None]),
        (["params.deep=P('data')", "0.w=P()"], [None, P("data"), P(), None]),
        (["params.w=P()", "params=P(None, 'model')"], [None, P(None, "model"), P(), None]),
    ],
)
def test_a_spec_of_a_pytree_shards_the_arrays_that_it_fits(
    texts: list[str], expected: list[P | None], file: Path
) -> None:
    assert list_specs(read(f"{file}:model", *texts)) == expected


def test_a_keyword_argument_has_a_spec(file: Path) -> None:
    file.write_text(f"{TEXT}EXAMPLE_KWARGS = {{'scale': jnp.zeros(4)}}\n", encoding="utf-8")
    assert list_specs(read(f"{file}:total", "scale=P('data')"))[-1] == P("data")


def test_the_specs_of_the_file_remain_for_other_arguments(file: Path) -> None:
    text = TEXT.replace("def swapped", 'ARGUMENTS = {"mesh": {"data": 4}, "specs": (P("data"), P())}\ndef swapped')
    file.write_text(text, encoding="utf-8")
    subject = read(f"{file}:swapped", "w=P(None, 'data')", args=MATRICES, mesh={})
    assert list_specs(subject) == [P("data"), P(None, "data")]
    assert "f32[4,8]" in subject.capture("cpu").after


def test_the_names_of_arguments_survive_a_gradient_and_a_batch(file: Path) -> None:
    subject = read(f"{file}:swapped", "w=P('model')", args=MATRICES, grad=True, vmap=6)
    assert list_specs(subject) == [None, P("model")]
    assert subject.capture("cpu").module.num_partitions == 8


def test_the_program_has_the_shardings_of_its_arguments_and_results(file: Path) -> None:
    subject = read(f"{file}:swapped", "x=P('data')", args="f32[16,8], f32[8,8]", out_spec=("P('data')",), donate=("x",))
    capture = subject.capture("cpu")
    assert capture.stablehlo.count('sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>') == 2
    assert capture.memory.aliased == 128
    assert capture.module.entry.root.shape.plain == "f32[4,8]"
    assert read(f"{file}:swapped", args="f32[16,8], f32[8,8]").capture("cpu").identity != capture.identity


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("P('data')", (P("data"), {"logits": P("data")})),
        ("0=P('data')", (P("data"), {"logits": None})),
        ("1.logits=P(None, 'model')", (None, {"logits": P(None, "model")})),
        ("P('data'), P('model')", (P("data"), {"logits": P("model")})),
    ],
)
def test_a_spec_shards_all_results_or_one(text: str, expected: object, file: Path) -> None:
    subject = read(f"{file}:model", out_spec=(text,))
    assert subject.call is not None
    shardings = subject.call.settings["out_shardings"]
    assert jax.tree.map(lambda sharding: sharding.spec, shardings) == expected


def test_a_result_of_a_jitted_function_is_not_sharded_again(file: Path) -> None:
    with pytest.raises(InspectError, match="no effect on a function that is jitted already"):
        read(f"{file}:jitted", out_spec=("P()",))


def test_an_unknown_array_of_an_argument_gets_the_list_of_its_arrays(file: Path) -> None:
    with pytest.raises(InspectError, match=r"there is no 'params.v', only params.b, params.deep.0, params.w$"):
        read(f"{file}:model", "params.v=P()")


def test_an_error_in_the_code_is_not_an_error_of_a_spec(file: Path) -> None:
    with pytest.raises(TypeError, match="dot_general"):
        read(f"{file}:swapped", args="f32[16,8], f32[9,4]", out_spec=("P()",))


def test_other_shardings_and_donations_of_sharded_arguments_are_tried(file: Path) -> None:
    subject = read(f"{file}:swapped", "x=P('data')", args="f32[16,16], f32[16,16]", out_spec=("P()",))
    trials = [*list_trials(subject, ("sharding", "donate"), subject.capture("cpu"))]
    assert [trial.change for trial in trials] == [
        "donate argument 0",
        "argument 0 as P() in the place of P('data')",
        "argument 0 as P(None, 'data') in the place of P('data')",
    ]
    assert trials[-1].capture("cpu").module.num_partitions == 8


def test_another_spec_is_another_way_to_call_the_program(file: Path) -> None:
    calls = [
        Fingerprint.of(subject.capture("cpu"), subject.call).call
        for subject in (
            read(f"{file}:swapped", text, args=MATRICES, out_spec=out)
            for text, out in (("x=P()", ()), ("x=P('data')", ()), ("x=P()", ("P()",)), ("x=P()", ("P('data')",)))
        )
    ]
    assert len({*calls}) == 4
