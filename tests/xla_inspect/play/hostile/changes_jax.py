#: result, loading, crash, tracing, arguments, compiler, limit
import jax

jax.jit = jax.eval_shape = jax.make_jaxpr = lambda *_, **__: "not JAX"
jax.Array = jax.ShapeDtypeStruct = int


def f(x):
    return x * 2
