"""The lowered form of a function that closes over a table, with JAX's option to pass such tables as arguments."""

import os
import subprocess
import sys

import jax

from programs import closed_over

OPTION = "JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS"


def hoisted() -> list[str]:
    """Return the StableHLO of `closed_over` without the option and with it, each from a new process."""
    texts = []
    for value in ("0", "1"):
        environment = {**os.environ.copy(), OPTION: value, "JAX_PLATFORMS": "cpu"}
        command = [sys.executable, "-m", "programs.hoisted", "here"]
        done = subprocess.run(  # noqa: S603 - ours
            command, env=environment, capture_output=True, text=True, check=True, encoding="utf-8"
        )
        texts.append(done.stdout)
    return texts


if __name__ == "__main__":
    if "here" in sys.argv:
        print(jax.jit(closed_over.closed_over).lower(*closed_over.EXAMPLE).as_text())
    else:
        print([len(text) for text in hoisted()])
