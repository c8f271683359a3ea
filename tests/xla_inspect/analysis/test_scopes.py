"""Scopes of a name stack without the parts that JAX adds."""

import pytest

from xla_inspect.analysis.scopes import join_alike, name_part, read_op_scope, read_scope


@pytest.mark.parametrize(
    ("stack", "scopes"),
    [
        ("", ()),
        ("Encoder/dropout", ("Encoder", "dropout")),
        ("jit(step)/transpose(jvp(Encoder))/mlp", ("Encoder", "mlp")),
        ("jit(step)/jvp(Encoder/mlp)/vmap()", ("Encoder", "mlp")),
        ("jit(f)/while/body/closed_call/layer/checkpoint/rematted_computation/mlp", ("layer", "mlp")),
        ("jit(f)/cond/branch_1_fun/left", ("left",)),
        ("jit(f)/attention/bqhd,bkhd->bhqk", ("attention",)),
        ("jit(outer)/jit(inner)", ()),
    ],
)
def test_scopes_are_read_without_transformations(stack: str, scopes: tuple[str, ...]) -> None:
    assert read_scope(stack) == scopes


def test_the_last_part_of_an_operations_name_is_its_primitive() -> None:
    assert read_op_scope("jit(f)/mlp/dot_general") == ("mlp",)
    assert read_op_scope("dot_general") == ()


def test_a_part_without_scope_is_called_by_its_function() -> None:
    assert name_part(("a", "b", "c"), "f", 2) == "a/b"
    assert name_part((), "Model.step", 2) == "step()"
    assert name_part((), "step.<locals>.<lambda>", 2) == "step.<lambda>()"
    assert name_part((), "", 2) == ""


def test_parts_that_differ_in_numbers_alone_are_joined_and_a_single_one_keeps_its_name() -> None:
    assert join_alike(["block_0/mlp", "block_11/mlp", "block_3/attention", "head"]) == {
        "block_0/mlp": "block_*/mlp",
        "block_11/mlp": "block_*/mlp",
        "block_3/attention": "block_3/attention",
        "head": "head",
    }
