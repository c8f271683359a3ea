"""Arguments in shell notation: `f32[64,128], i32[]`, each a type and a shape as HLO prints them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from xla_inspect.errors import InspectError

if TYPE_CHECKING:
    import jax

_ARGUMENT = re.compile(r"\s*(?P<dtype>[a-z]\w*)\s*\[(?P<dimensions>[\d\s,]*)\]\s*")
_NAMES = {
    "pred": "bool",
    "bf16": "bfloat16",
    "c64": "complex64",
    "c128": "complex128",
    **{f"f{bits}": f"float{bits}" for bits in (16, 32, 64)},
    **{
        f"{short}{bits}": f"{long}{bits}"
        for short, long in (("s", "int"), ("i", "int"), ("u", "uint"))
        for bits in (2, 4, 8, 16, 32, 64)
    },
}
# HLO writes `f8e4m3fn` for the type that JAX calls `float8_e4m3fn`.
_FLOAT8 = re.compile(r"f[48](e\d.*)")
_KEY = "key"


def read_shapes(text: str) -> tuple[jax.ShapeDtypeStruct, ...]:
    """Return the arguments that a text lists, each as a `jax.ShapeDtypeStruct`.

    Args:
        text: Such as `f32[64,128], i32[], key[]`; NumPy's names (`float32`) also work, and `key` is a PRNG key.

    Raises:
        InspectError: The text is not such a list, or JAX has no such type.
    """
    import jax
    import jax.numpy as jnp

    arguments: list[Any] = []
    position = 0
    while position < len(text):
        match = _ARGUMENT.match(text, position)
        if match is None:
            message = f"--args {text!r}: from character {position + 1} on, this is no shape such as f32[64,128]"
            raise InspectError(message)
        sizes = tuple(int(size) for size in match["dimensions"].split(",") if size.strip())
        if match["dtype"] == _KEY:
            arguments.append(jax.ShapeDtypeStruct(sizes, jax.eval_shape(lambda: jax.random.key(0)).dtype))
        else:
            arguments.append(jax.ShapeDtypeStruct(sizes, _find_type(match["dtype"], jnp)))
        position = match.end()
        if position < len(text):
            if text[position] != ",":
                message = f"--args {text!r}: a comma is missing at character {position + 1}"
                raise InspectError(message)
            position += 1
    return tuple(arguments)


def _find_type(name: str, jnp: Any) -> Any:
    full_name = _NAMES.get(name, name)
    if match := _FLOAT8.fullmatch(full_name):
        full_name = f"float{name[1]}_{match[1]}"
    try:
        return jnp.dtype(getattr(jnp, full_name, full_name))
    except TypeError:
        message = (
            f"--args: JAX has no type {name!r}; there are f32, bf16, f16, f64, i32, u8, pred, c64, f8e4m3fn, key, ..."
        )
        raise InspectError(message) from None
