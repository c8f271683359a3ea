"""The cause of a broken bound, from recorded fingerprints of program, files, call and compiler."""

from __future__ import annotations

from dataclasses import replace

import jax
import jax.numpy as jnp
import pytest
from jax.sharding import PartitionSpec as P

from xla_inspect import capture
from xla_inspect.budgets.fingerprint import Fingerprint
from xla_inspect.errors import InspectError
from xla_inspect.subject import Call

KEPT = Fingerprint({"jax": "0.11.2"}, {"xla_a": "1"}, "program", {"train.py": "files"}, "call", {"optax": "0.2.6"})
NEWER = {"jax": "0.12.0"}


@pytest.mark.parametrize(
    ("change", "blame", "message"),
    [
        ({}, "nothing", "Neither your program nor the compiler changed since the record (jax 0.11.2)."),
        ({"program": "another", "sources": {"train.py": "edited"}}, "code", "the compiler did not: train.py."),
        ({"program": "another", "call": "another"}, "code", "the compiler did not: how it is called."),
        ({"program": "another", "libraries": {"optax": "0.2.7"}}, "code", "optax 0.2.6 -> 0.2.7."),
        ({"options": {"xla_a": "2"}}, "code", "the options xla_a 1 -> 2."),
        ({"program": "another"}, "code", "something outside your files"),
        ({"versions": NEWER}, "compiler", "your program did not: jax 0.11.2 -> 0.12.0."),
        ({"versions": NEWER, "sources": {"train.py": "edited"}}, "compiler", "your program did not"),
        ({"versions": NEWER, "program": "another"}, "compiler", "your files did not: jax 0.11.2 -> 0.12.0."),
        (
            {"versions": NEWER, "program": "another", "sources": {"train.py": "edited"}},
            "both",
            "Both your program and the compiler changed",
        ),
        ({"versions": NEWER, "program": "another", "sources": {"more.py": "new"}}, "compiler", "your files did not"),
        ({"versions": NEWER, "program": "another", "call": "another"}, "both", "how it is called; and jax 0.11.2"),
    ],
)
def test_the_part_that_changed_since_a_record_is_named(change: dict[str, object], blame: str, message: str) -> None:
    now = replace(KEPT, **change)
    assert KEPT.blame(now) == blame
    assert message in KEPT.tell(now)


def test_a_fingerprint_depends_on_the_computation_and_not_on_the_name() -> None:
    shape = jax.ShapeDtypeStruct((8,), jnp.float32)
    one, same = (Fingerprint.of(capture(f, shape, passes=False), None) for f in (lambda x: x + 1, lambda y: y + 1))
    other = Fingerprint.of(capture(lambda x: x + 2, shape, passes=False), None)
    assert (one.program == same.program, one.program == other.program) == (True, False)
    assert [name.rpartition("/")[2] for name in one.sources] == ["test_fingerprint.py"]
    assert one.versions["jax"] == jax.__version__


def test_a_fingerprint_depends_on_shapes_donation_and_specs() -> None:
    shape = jax.ShapeDtypeStruct((8,), jnp.float32)
    program = capture(jnp.tanh, shape, passes=False)
    calls = [
        Call(jnp.tanh, (shape,)),
        Call(jnp.tanh, (jax.ShapeDtypeStruct((9,), jnp.float32),)),
        Call(jnp.tanh, (shape,), settings={"donate_argnums": (0,)}),
        Call(jnp.tanh, (shape,), settings={"mesh": {"data": 2}, "specs": (P("data"),)}),
        Call(jnp.tanh, (shape,), settings={"mesh": {"data": 2}, "specs": (P(None),)}),
    ]
    assert len({Fingerprint.of(program, call).call for call in calls}) == len(calls)
    assert Fingerprint.of(program, calls[-1]).call == Fingerprint.of(program, calls[-1]).call


def test_a_fingerprint_round_trips_and_other_text_is_rejected() -> None:
    assert Fingerprint.read(KEPT.to_json(), "file") == KEPT
    for data in ({}, None, {**KEPT.to_json(), "more": ""}, {**KEPT.to_json(), "versions": 3}):
        with pytest.raises(InspectError, match="file has no fingerprint"):
            Fingerprint.read(data, "file")
