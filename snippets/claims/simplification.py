"""Checks of claims about simplification, in float32, and in int32 where the type matters."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from chapters import known_inputs
from claims.evidence import expect, pass_names, program, rewrite
from claims.finding import Case, Finding, by_target, cases, only
from claims.reading_hlo import parser_error
from programs import batch_norm
from xla_inspect import Capture, capture, capture_all

TYPES = ("float32", "int32")
BATCH_NORM = re.compile(r"BatchNorm(?:Inference|Training|Grad)Op|batch_norm_(?:inference|training|grad)")


def _happens(name: str, by: str) -> Finding:
    """Return the finding, by target, on a rewrite for floats, and assert that the pass `by` makes it."""
    makers = {fate.by for fate in rewrite(name, "float32").values() if fate.happened}
    expect(makers == {by}, f"{', '.join(sorted(makers)) or 'no pass'} makes the rewrite {name}, not {by}")
    return _in_type(name, "float32")


def _who(by: str) -> str:
    return {"import": "the import of StableHLO"}.get(by, by if by in {"JAX", "Python"} else f"`{by}`")


def _in_type(name: str, dtype: str) -> Finding:
    """Return the finding, by target, on the claim that a rewrite happens in one element type."""
    return Finding(
        {
            target: Case(fate.happened, f"done by {_who(fate.by)}" if fate.happened else "the operation remains")
            for target, fate in rewrite(name, dtype).items()
        }
    )


def _integers_only(name: str) -> Finding:
    """Return the finding, by target, on a rewrite for integers and, as the claim implies, for floats."""
    floats = rewrite(name, "float32")
    unchanged = [target for target, fate in floats.items() if not fate.happened]
    finding = _in_type(name, "int32").but(
        not unchanged, f"in float32, {len(unchanged)} of {len(floats)} targets keep the operation"
    )
    integers = [target for target, fate in rewrite(name, "int32").items() if not fate.happened]
    return finding.compared("targets that keep it", 0, {"int32": len(integers), "float32": len(unchanged)})


def neutral_product_and_sum() -> Finding:
    """Return the finding on the claim that x * 1 + 0 becomes x."""
    # The addition of 0 would turn a negative zero into a positive one, so the sign shows whether it remains.
    keeps_sign = np.signbit(jax.jit(lambda x: x * 1 + 0)(np.float32(-0.0)))
    expect(bool(keeps_sign), "a negative zero keeps its sign")
    return _happens("x * 1 + 0 → x", "import")


def adding_zero() -> Finding:
    """Return the finding on the claim that x + 0 becomes x."""
    return _happens("x + 0 → x", "import")


def multiplying_by_one() -> Finding:
    """Return the finding on the claim that x * 1 becomes x."""
    return _happens("x * 1 → x", "import")


def multiplying_by_zero() -> Finding:
    """Return the finding on the claim that x * 0 becomes 0."""
    return _integers_only("x * 0 → 0")


def subtracting_itself() -> Finding:
    """Return the finding on the claim that x - x becomes 0."""
    return _integers_only("x - x → 0")


def product_of_constants() -> Finding:
    """Return the finding on the claim that 2 * 3 * x becomes 6 * x, and so does 2 * (3 * x)."""
    other = rewrite("2 * (3 * x) → 6 * x", "float32")
    # Python itself multiplies 2 and 3 before JAX sees the product.
    makers = {fate.by for fate in rewrite("2 * 3 * x → 6 * x", "float32").values()}
    return _in_type("2 * 3 * x → 6 * x", "float32").but(
        makers != {"Python"} and all(fate.happened for fate in other.values()),
        f"{', '.join(sorted(makers))} multiplied the numbers; "
        "`2 * (3 * x)` becomes one multiplication on "
        f"{sum(fate.happened for fate in other.values())} of {len(other)} targets",
    )


def known_values() -> Finding:
    """Return the finding on the claim that the compiler evaluates operations whose inputs are known."""
    makers = {fate.by for fate in rewrite("x * (full(2) * full(3)) → x * 6", "float32").values()}
    expect(makers == {"import"}, f"{', '.join(sorted(makers))} computes the product")
    outcomes = {}
    for name, (function, _, needed) in known_inputs.CASES.items():
        modules = [one.module for one in capture_all(function, *known_inputs.EXAMPLE).values()]
        # The one operation that needs the argument is no remainder.
        counts = [module.opcode_counts() - Counter({needed: 1}) for module in modules]
        remaining = set().union(*counts) - known_inputs.IDLE
        evidence = f"not evaluated: `{'`, `'.join(sorted(remaining))}`" if remaining else "evaluated at compile time"
        outcomes[name] = (not remaining, evidence)
    opcodes = capture(known_inputs.factored_sum, *known_inputs.EXAMPLE, target="tpu-v5e").module.opcode_counts()
    outcomes["the sum of 3 and 5, TPU v5e"] = (not opcodes["add"], "the `add` in `x * (3 + 5)` remains")
    return cases(outcomes)


def shared_sum() -> Finding:
    """Return the finding on the claim that a repeated sum is computed once, and two multiplications by it remain."""
    outcomes = {}
    for dtype in TYPES:
        shared = rewrite("(a + b) * c + (a + b) * d → t * c + t * d", dtype)
        factored = rewrite("t * c + t * d → t * (c + d)", dtype)
        makers = {fate.by for fate in shared.values()} | {fate.by for fate in factored.values() if fate.happened}
        expect(makers == {"cse", "algsimp"}, f"{', '.join(sorted(makers))} merge the additions and the multiplications")
        for target, fate in shared.items():
            holds = fate.happened and not factored[target].happened
            last = f"; then {_who(factored[target].by)} leaves one multiplication" if factored[target].happened else ""
            outcomes[f"{target}, {dtype}"] = Case(holds, f"{_who(fate.by)} removes one addition{last}")
    return Finding(outcomes)


def unary_maximum() -> Finding:
    """Return the finding on the claim that the parser accepts max(relu(x))."""
    error = parser_error("HloModule m\nENTRY e {\n  x = f32[4] parameter(0)\n  ROOT r = f32[4] maximum(x)\n}")
    targets = [target for target, fate in rewrite("relu(relu(x)) → relu(x)", "float32").items() if fate.happened]
    expect(0 < len(targets) < len(rewrite("relu(relu(x)) → relu(x)", "float32")), "some targets remove a second relu")
    twice = f"; {len(targets)} of 3 targets remove a second relu"
    return only(not error, f"the parser reports: {error}{twice}")


def transposing_twice() -> Finding:
    """Return the finding on the claim that two transposes that cancel are removed."""
    return _happens("x.T.T → x", "import")


def reshaping_twice() -> Finding:
    """Return the finding on the claim that two reshapes become one."""
    return _happens("two reshapes → one", "import")


def sum_of_broadcasts() -> Finding:
    """Return the finding on the claim that the sum of two broadcast scalars becomes the broadcast of their sum."""
    return _happens("broadcast(s) + broadcast(t) → broadcast(s + t)", "algsimp")


def product_with_identity() -> Finding:
    """Return the finding on the claim that a matmul with the identity matrix is removed."""
    return _in_type("x @ identity → x", "float32")


def slice_of_concatenation() -> Finding:
    """Return the finding on the claim that the first part of two concatenated arrays becomes the first array."""
    return _happens("concatenate([x, y])[:len(x)] → x", "import")


def dead_code() -> Finding:
    """Return the finding on the claim that XLA removes unused operations, including those of a JAX function."""
    makers = {fate.by for fate in rewrite("an unused matmul → nothing", "float32").values()}

    def look(capture: Capture) -> tuple[bool, str]:
        runs = pass_names(capture).count("dce")
        return runs > 0, f"`dce` runs {runs} times"

    return by_target(program("layer"), look).but("JAX" not in makers, f"{', '.join(makers)} removes the unused matmul")


def batch_norm_decomposed() -> Finding:
    """Return the finding on the claim that a pass decomposes batch normalization and, implicitly, that JAX emits it."""

    def look(capture: Capture) -> tuple[bool, str]:
        before = capture.unoptimized_module.opcode_counts()["batch-norm-inference"]
        after = capture.module.opcode_counts()["batch-norm-inference"]
        expands = any(step.name == "batchnorm_expander" for step in capture.passes)
        return before == 1 and after == 0 and expands, "`batchnorm_expander` expands it" if expands else "not expanded"

    captures = capture_all(batch_norm.batch_norm, *batch_norm.EXAMPLE)
    emitted = jax.jit(jax.nn.standardize).lower(jax.ShapeDtypeStruct((8, 16), jnp.float32)).as_text()
    return by_target(captures, look).but(
        "batch_norm" in emitted or bool(_lowers_batch_norm()),
        "`jax.nn.standardize` lowers to sums and quotients; no JAX function emits the operation",
    )


def _lowers_batch_norm() -> list[str]:
    """Return the files of JAX that emit a StableHLO operation for batch normalization."""
    # No number of calls could show that JAX never emits the operation, so its source is searched.
    files = Path(jax.__file__).parent.rglob("*.py")
    return [path.name for path in files if BATCH_NORM.search(path.read_text(encoding="utf-8"))]


def folding_seen_in_dump() -> Finding:
    """Return the finding on the claim that a dump shows the passes for fusion, layouts and constant folding."""

    def look(capture: Capture) -> tuple[bool, str]:
        names = set(pass_names(capture))
        expected = {"layout-assignment", "constant_folding"}
        fuses = [name for name in names if name in {"fusion", "priority-fusion", "tpu_fusion"}]
        return expected <= names and bool(fuses), f"`{'`, `'.join([*sorted(expected), *fuses])}` run"

    gelus = program("gelu")
    folded = [target for target, c in gelus.items() if any(step.name == "constant_folding" for step in c.passes)]
    return by_target(gelus, look).but(
        bool(folded), f"on {len(gelus) - len(folded)} targets, no pass shows the folding of the square root in GELU"
    )


def square_root_of_two() -> Finding:
    """Return the finding on the claim that the square root of a constant is folded."""

    def look(capture: Capture) -> tuple[bool, str]:
        there = "stablehlo.sqrt" in capture.stablehlo
        folded = "sqrt" not in capture.unoptimized_module.opcode_counts()
        divides = [any(i.opcode == "divide" for i in step.module.walk()) for step in capture.passes]
        steps = zip(capture.passes, divides, strict=True)
        by = next((step.name for step, has_division in steps if not has_division), "no pass")
        expect(by == "algsimp", f"{by} removes the division by it")
        literals = [i.literal for i in capture.module.walk() if i.opcode == "constant" and i.literal]
        return there and folded, f"folded at import; the remaining constants are {', '.join(dict.fromkeys(literals))}"

    return by_target(program("gelu"), look)
