"""Arguments of the page as Python that needs JAX alone."""

from __future__ import annotations

import re

from xla_inspect.play.argument_text import SHORT, split_arguments

_SHAPE = re.compile(r"(?<![\w.\])])([a-z]\w*)\s*\[([\d\s,]*)\]")
_NAME = re.compile(r"(?:(?<=^)|(?<=,))\s*([^\W\d]\w*)\s*:")
_LONG = {short: name for name, short in SHORT.items()} | {f"s{bits}": f"int{bits}" for bits in (2, 4, 8, 16, 32, 64)}


def write_source(text: str) -> str:
    """Return a tuple of the arguments that a text lists, as Python; names outside brackets are left out."""
    shown = [_show(re.sub(r"^\s*[^\W\d]\w*\s*:", "", part)) for part in split_arguments(text)]
    return f"({', '.join(shown)},)" if shown else "()"


def _show(part: str) -> str:
    quoted = re.sub(r"(?<=[{,])\s*([^\W\d]\w*)\s*:", r"'\1':", part)
    return _SHAPE.sub(_show_shape, quoted).strip()


def _show_shape(match: re.Match[str]) -> str:
    sizes = [size.strip() for size in match[2].split(",") if size.strip()]
    shape = f"({', '.join(sizes)}{',' * (len(sizes) == 1)})"
    if match[1] == "key":
        return f"jax.ShapeDtypeStruct({shape}, jax.eval_shape(lambda: jax.random.key(0)).dtype)"
    name = _LONG.get(match[1], match[1])
    return f"jax.ShapeDtypeStruct({shape}, jnp.{'bool_' if name == 'bool' else name})"
