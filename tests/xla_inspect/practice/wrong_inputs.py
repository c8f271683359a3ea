"""Answers to the phases' exercises that are right only for ordinary inputs, and the expected remarks."""

from __future__ import annotations

from wrong_answers import Wrong

WRONG = (
    Wrong(
        "basics/pairwise",
        "the difference of large squares",
        """
def pairwise(xs, ys):
    squares = jnp.sum(xs**2, axis=1)[:, None] + jnp.sum(ys**2, axis=1) - 2 * xs @ ys.T
    return jnp.sqrt(jnp.maximum(squares, 0.0))
""",
        "for points far from zero: the numbers are wrong",
        "",
    ),
    Wrong(
        "jaxpr/primitives",
        "the text of the jaxpr",
        """
import re

def count(jaxpr):
    names = re.findall(r" = (\\w+)", str(jaxpr))
    return {name: names.count(name) for name in names}
""",
        "it counts in the text of the jaxpr",
        "",
    ),
    Wrong(
        "jaxpr/primitives",
        "only two names of parameters",
        """
def count(jaxpr):
    counts = {}
    for equation in jaxpr.eqns:
        counts[equation.primitive.name] = counts.get(equation.primitive.name, 0) + 1
        inner = [equation.params[name] for name in ("jaxpr", "call_jaxpr") if name in equation.params]
        for one in (*inner, *equation.params.get("branches", ())):
            for name, number in count(getattr(one, "jaxpr", one)).items():
                counts[name] = counts.get(name, 0) + number
    return counts
""",
        "these equations are in inner jaxprs",
        "",
    ),
    Wrong(
        "jaxpr/follow",
        "the text of the jaxpr",
        """
import re

def follow(jaxpr, argument):
    inputs, body = re.search(r"lambda ;(.*?)\\. let(.*) in ", str(jaxpr), re.DOTALL).groups()
    reached, names = {re.findall(r"(\\w+):", inputs)[argument]}, []
    equation = r"([\\w: \\[\\],]+) = (\\w+)(?:\\[.*?\\n? *\\])? ([^\\n]*)"
    for results, name, operands in re.findall(equation, body, re.DOTALL):
        if set(re.findall(r"\\w+", operands)) & reached:
            reached.update(re.findall(r"(\\w+):", results))
            names.append(name)
    return names
""",
        "it reads the text of the jaxpr",
        "",
    ),
    Wrong(
        "jaxpr/follow",
        "only the first result of an equation",
        """
def follow(jaxpr, argument):
    reached, names = {jaxpr.invars[argument]}, []
    for equation in jaxpr.eqns:
        if any(not isinstance(variable, core.Literal) and variable in reached for variable in equation.invars):
            reached.add(equation.outvars[0])
            names.append(equation.primitive.name)
    return names
""",
        "several results, argument 0: after 2 right names, it returns nothing more",
        "",
    ),
    Wrong(
        "hlo/one_fusion",
        "a tangent of exponentials",
        """
def alternate(x, w):
    e = jnp.exp(2 * x)
    return jnp.where(jnp.arange(4096) % 2 == 0, x * w, (e - 1) / (e + 1))
""",
        "for numbers a hundred times as large: the numbers are wrong",
        "",
    ),
    Wrong(
        "hlo/constants",
        "the rows of one list of ids",
        """
def lookup(table, ids):
    return table[::7][:32] * 8.0 + 0.0 * ids[:, None]
""",
        "with other ids: the numbers are wrong",
        "",
    ),
    Wrong(
        "transforms/hessian_vector",
        "differences of gradients",
        """
def multiply_by_hessian(x, v):
    slope = jax.grad(energy)
    return (slope(x + 0.01 * v) - slope(x - 0.01 * v)) / 0.02
""",
        "for v: numbers ten times as large: the numbers are wrong",
        "",
    ),
    Wrong(
        "transforms/hessian_vector",
        "a direction of length one",
        """
def multiply_by_hessian(x, v):
    length = jnp.linalg.norm(v)
    return length * jax.jvp(jax.grad(energy), (x,), (v / length,))[1]
""",
        "for v: zeros: the numbers are wrong",
        "",
    ),
    Wrong(
        "transforms/per_example",
        "a norm with a small number under the root",
        """
def norms(params, xs, ys):
    gradients = jax.vmap(jax.grad(loss), in_axes=(None, 0, 0))(params, xs, ys)
    return jnp.sqrt(1e-6 + sum(jnp.sum(g.reshape(len(xs), -1) ** 2, axis=1) for g in gradients))
""",
        "for numbers a hundredth as large: the numbers are wrong",
        "",
    ),
    Wrong(
        "basics/gradient",
        "a gradient that is clipped",
        """
def gradient(params, x, y):
    return jax.tree.map(lambda leaf: jnp.clip(leaf, -3.0, 3.0), jax.grad(loss)(params, x, y))
""",
        "for numbers ten times as large: the numbers are wrong",
        "",
    ),
)
