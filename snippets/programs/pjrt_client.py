"""StableHLO text compiled and run through a PJRT client: no tracing, no `jax.jit`."""

from __future__ import annotations

import jax
import numpy as np
from jax.extend.backend import get_backend
from jaxlib import _jax, xla_client

from programs import gelu


def pjrt_client(text: str, *arguments: np.ndarray) -> list[np.ndarray]:
    """Return the results of a StableHLO module's `main`, run on the first device of the default client."""
    client = get_backend()
    device = client.local_devices()[0]
    executable = client.compile_and_load(text, _jax.DeviceList((device,)), xla_client.CompileOptions())
    inputs = [jax.device_put(argument, device) for argument in arguments]
    return [np.asarray(result) for result in executable.execute(inputs)]


if __name__ == "__main__":
    module = jax.jit(gelu.gelu).lower(*gelu.EXAMPLE).as_text()
    print(pjrt_client(module, np.linspace(-3, 3, 32, dtype=np.float32).reshape(4, 8)))
