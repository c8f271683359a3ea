"""Signals filtered in the frequency domain: a Fourier transform, a product, and the transform back."""

import jax
import jax.numpy as jnp


def filtered(signals: jax.Array, response: jax.Array) -> jax.Array:
    """Return each signal with its frequencies weighted by the response, f32[16,1024]."""
    return jnp.fft.irfft(jnp.fft.rfft(signals) * response, n=signals.shape[-1])


EXAMPLE = (
    jax.ShapeDtypeStruct((16, 1024), jnp.float32),
    jax.ShapeDtypeStruct((513,), jnp.float32),
)

if __name__ == "__main__":
    print(jax.make_jaxpr(filtered)(*EXAMPLE))
