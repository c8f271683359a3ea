"""A converter of the arguments that a reader types into the playground to Python code that needs only JAX."""

from __future__ import annotations

import ast

from xla_inspect.play.argument_text import SHORT, parse_arguments, read_key, read_shape

_LONG = {short: name for name, short in SHORT.items()} | {f"s{bits}": f"int{bits}" for bits in (2, 4, 8, 16, 32, 64)}


def write_source(text: str) -> str:
    """Return the Python source of a tuple with the arguments in a text, without the names of the arguments."""
    parts = [_Source().visit(node) for _, node in parse_arguments(text)]
    return ast.unparse(ast.Tuple(parts, ast.Load()))


class _Source(ast.NodeTransformer):
    """A transformer that replaces each shape by a call that creates it, and each key of a mapping by a string."""

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        shape = read_shape(node)
        if shape is None:
            return node
        name, sizes = _LONG.get(shape[0], shape[0]), tuple(shape[1])
        kind = "jax.eval_shape(lambda: jax.random.key(0)).dtype" if name == "key" else f"jnp.{name}"
        kind = "jnp.bool_" if name == "bool" else kind
        return ast.parse(f"jax.ShapeDtypeStruct({sizes}, {kind})", mode="eval").body

    def visit_Dict(self, node: ast.Dict) -> ast.expr:
        keys: list[ast.expr | None] = [ast.Constant(read_key(key)) for key in node.keys]
        return ast.Dict(keys, [self.visit(value) for value in node.values])
