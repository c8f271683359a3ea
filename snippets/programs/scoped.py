"""An MLP whose two layers have names of their own, which profiles and HLO repeat."""

import jax
import jax.numpy as jnp


def scoped(x: jax.Array, up: jax.Array, down: jax.Array) -> jax.Array:
    """Return a two-layer MLP of x, f32[256,512], by weights f32[512,2048] and f32[2048,512]."""
    with jax.named_scope("widen"):
        hidden = jax.nn.gelu(x @ up)
    with jax.named_scope("narrow"):
        return hidden @ down


EXAMPLE = (
    jax.ShapeDtypeStruct((256, 512), jnp.float32),
    jax.ShapeDtypeStruct((512, 2048), jnp.float32),
    jax.ShapeDtypeStruct((2048, 512), jnp.float32),
)

if __name__ == "__main__":
    print(jax.make_jaxpr(scoped)(*EXAMPLE))
