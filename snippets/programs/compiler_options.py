"""XLA's reactions to options of one function: a pass that does not exist, and an option that does not exist."""

import jax
import jax.numpy as jnp

OPTIONS: dict[str, str | bool] = {"xla_disable_hlo_passes": "no-such-pass", "xla_no_such_option": True}


def compiler_options() -> dict[str, str]:
    """Return for each option the result of a function compiled with it, as text, or the first line of its error."""
    said = {}
    for name, value in OPTIONS.items():
        function = jax.jit(lambda x: x + 1, compiler_options={name: value})
        try:
            said[name] = str(function(jnp.zeros(2)))
        except jax.errors.JaxRuntimeError as error:
            said[name] = str(error).splitlines()[0]
    return said


if __name__ == "__main__":
    print(compiler_options())
