#: result, tracing, compiler
# None of this may be seen by the next edit.
import jax

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_disable_jit", True)
jax.config.update("jax_default_matmul_precision", "highest")
jax.config.update("jax_numpy_dtype_promotion", "strict")


def f(x):
    return x
