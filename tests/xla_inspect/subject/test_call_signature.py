"""The description of a call of a jitted function."""

from __future__ import annotations

import dataclasses
import gc
import sys
import types
import weakref

import jax
import jax.numpy as jnp

from xla_inspect.subject.call_signature import sign

_INFO = types.SimpleNamespace(static_argnums=(), static_argnames=())


class _Settings:
    """A value that a user's class stores next to its arrays."""


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class _Model:
    weights: jax.Array
    settings: _Settings = dataclasses.field(metadata={"static": True})


def test_a_signature_keeps_no_sharding_and_no_static_field_alive() -> None:
    mesh = jax.make_mesh((1,), ("data",), devices=jax.devices("cpu")[:1])
    sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("data"))
    model = _Model(jax.device_put(jnp.ones(4), sharding), _Settings())
    references = sys.getrefcount(sharding)
    signature = sign(jnp.sin, _INFO, (model,), {})
    assert "data=1" in signature.leaves["argument [0].weights"].sharding
    assert sys.getrefcount(sharding) == references
    settings = weakref.ref(model.settings)
    del model
    gc.collect()
    assert settings() is None


def test_equal_functions_share_a_number_and_others_have_their_own() -> None:
    @dataclasses.dataclass(frozen=True)
    class Adder:
        amount: int

        def __call__(self, x: jax.Array) -> jax.Array:
            return x + self.amount

    numbers = [sign(Adder(amount), _INFO, (), {}).function for amount in (1, 2)]
    adder = Adder(1)
    assert sign(adder, _INFO, (), {}).function == sign(Adder(1), _INFO, (), {}).function
    assert len({*numbers, sign(adder, _INFO, (), {}).function}) == len(numbers) + 1, "numbers are used again"
