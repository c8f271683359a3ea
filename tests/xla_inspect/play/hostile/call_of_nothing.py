#: compiler, tracing, result, loading
# A custom call that no compiler knows.
import jax


def f(x):
    return jax.ffi.ffi_call("no_such_call", jax.ShapeDtypeStruct(x.shape, x.dtype))(x)
