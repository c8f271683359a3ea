"""The causes of a script's recompilations, with the argument and its previous value."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import jax
import pytest
from jsonschema import validate

from xla_inspect.analysis import Compilation, Difference, Leaf, ScriptRun, Signature, Value
from xla_inspect.answers import Hint, Table, describe_json, write_json
from xla_inspect.questions.recompiles.finding import Recompiles, explain_recompiles
from xla_inspect.subject import Request, read_script

if TYPE_CHECKING:
    from pathlib import Path

HEAD = """
import collections, dataclasses
from functools import partial
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P
x = np.ones((4, 2), np.float32)
"""

CASES = {
    "the last batch is smaller": (
        (
            "@jax.jit\ndef step(w, batch):\n    return w + batch['x'].sum()\n"
            "for at in range(0, 10, 4):\n    step(1.0, {'x': np.ones((10, 3), np.float32)[at:at + 4]})"
        ),
        [("shape", "batch['x']", "f32[4,3] (NumPy)", "f32[2,3] (NumPy)")],
    ),
    "a Python number, then an array": (
        "@jax.jit\ndef step(x, lr):\n    return x * lr\nstep(x, 0.1), step(x, jnp.float32(0.1))",
        [("weak type", "lr", "f32[] (Python float)", "f32[]")],
    ),
    "a result that gives way": (
        "@jax.jit\ndef step(s):\n    return s + 1\nstep(jax.jit(lambda: 1.0)()), step(jnp.zeros(()))",
        [("weak type", "s", "weak f32[]", "f32[]")],
    ),
    "none, then an array": (
        "@jax.jit\ndef step(x, mask=None):\n    return x if mask is None else x * mask\nstep(x, None), step(x, x)",
        [("structure", "mask", "None", "f32[4,2] (NumPy)")],
    ),
    "one more key": (
        "@jax.jit\ndef step(batch):\n    return batch['x']\nstep({'x': x}), step({'x': x, 'mask': x})",
        [("structure", "batch['mask']", "not given", "f32[4,2] (NumPy)")],
    ),
    "another order of keys": (
        (
            "@jax.jit\ndef step(batch):\n    return batch['x']\nordered = collections.OrderedDict\n"
            "step({'x': x, 'y': x}), step({'y': x, 'x': x}), step(ordered(x=x, y=x)), step(ordered(y=x, x=x))"
        ),
        [
            ("structure", "batch", "dict", "OrderedDict ('x', 'y')"),
            ("structure", "batch", "OrderedDict ('x', 'y')", "OrderedDict ('y', 'x')"),
        ],
    ),
    "a static argument that counts": (
        "@partial(jax.jit, static_argnums=1)\ndef step(x, n):\n    return x * n\nfor n in range(3):\n    step(x, n)",
        [("static value", "n", "0", "1"), ("static value", "n", "1", "2")],
    ),
    "a static object that is made anew": (
        (
            "class Model:\n    @partial(jax.jit, static_argnums=0)\n    def step(self, x):\n        return x\n"
            "first, second = Model(), Model()\nfirst.step(x), second.step(x)"
        ),
        [("static object", "self", "<__main__.Model>", "another that looks the same")],
    ),
    "what a container holds besides arrays": (
        (
            "@jax.tree_util.register_dataclass\n@dataclasses.dataclass\nclass State:\n    w: object\n"
            "    rate: float = dataclasses.field(metadata={'static': True})\n"
            "@jax.jit\ndef step(state):\n    return state.w * state.rate\nstep(State(x, 0.5)), step(State(x, 0.25))"
        ),
        [("static value", "state.rate", "0.5", "0.25")],
    ),
    "jit of a new function in a loop": (
        "def make():\n    def step(x):\n        return x\n    return step\nfor _ in range(2):\n    jax.jit(make())(x)",
        [("new function", "", "", "")],
    ),
    "a partial application in a loop": (
        "def step(n, x):\n    return x * n\nfor _ in range(2):\n    jax.jit(partial(step, 3))(x)",
        [("new function", "", "", "")],
    ),
    "jit of one function in a loop": ("def step(x):\n    return x\nfor _ in range(3):\n    jax.jit(step)(x)", []),
    "donated the second time": (
        "def step(x):\n    return x * 2\ny = jnp.asarray(x)\njax.jit(step)(y), jax.jit(step, donate_argnums=0)(y)",
        [("jit options", "donated", "none", "x")],
    ),
    "64 bits in between": (
        (
            "@jax.jit\ndef step(x):\n    return x * 2\nwide = x.astype(np.float64)\nstep(wide)\n"
            "with jax.enable_x64(True):\n    step(wide)"
        ),
        [("setting of JAX", "enable_x64", "False", "True")],
    ),
    "spread after the first step": (
        (
            "spread = NamedSharding(jax.make_mesh((2,), ('data',), axis_types=(AxisType.Auto,)), P('data'))\n"
            "@jax.jit\ndef step(w):\n    return jax.lax.with_sharding_constraint(w * 2, spread)\n"
            "w = jnp.asarray(x)\nfor _ in range(3):\n    w = step(w)"
        ),
        [("sharding", "w", "not placed", "P('data',) on data=2")],
    ),
    "by position, then by keyword": (
        "@jax.jit\ndef step(x, y):\n    return x + y\nstep(x, x), step(x, y=x)",
        [("keyword", "y", "by position", "by keyword")],
    ),
    "a raw key, then a typed one": (
        ("@jax.jit\ndef step(k):\n    return jax.random.bits(k)\nstep(jax.random.PRNGKey(0)), step(jax.random.key(0))"),
        [("PRNG key", "k", "u32[2]", "key<fry>[]")],
    ),
    "caches that are cleared": (
        "@jax.jit\ndef step(x):\n    return x * 2\nstep(x)\njax.clear_caches()\nstep(x)",
        [("dropped", "", "", "")],
    ),
    "shapes of a data set": (
        "@jax.jit\ndef step(x):\n    return x.sum()\nfor n in (5, 7, 5, 9, 7):\n    step(np.ones(n, np.float32))",
        [
            ("shape", "x", "f32[5] (NumPy)", "f32[7] (NumPy)"),
            ("shape", "x", "f32[7] (NumPy)", "f32[9] (NumPy)"),
        ],
    ),
    "the same each time": ("@jax.jit\ndef step(x):\n    return x\nfor _ in range(5):\n    step(x)", []),
}
"""Scripts by case, each with the reasons why its function is compiled again."""


@pytest.fixture(autouse=True)
def _started() -> None:
    """Start JAX with the same number of devices in any order of tests."""
    jax.devices()


def explain(tmp_path: Path, text: str, at_most: int | None = None) -> Recompiles:
    script = tmp_path / "script.py"
    script.write_text(HEAD + text, encoding="utf-8")
    subject = read_script(Request(("run", str(script)), whole=True))
    assert subject.script is not None
    return explain_recompiles(subject.script, at_most)


@pytest.mark.filterwarnings("ignore:Some donated buffers were not usable")
@pytest.mark.parametrize("cause", CASES)
def test_each_cause_is_reported_with_the_argument_and_its_old_value(cause: str, tmp_path: Path) -> None:
    text, expected = CASES[cause]
    answer = explain(tmp_path, text)
    function = max(answer.functions, key=lambda difference: len(difference.calls))
    differences = [call.differences[0] for call in function.calls[1:]]
    assert [
        (difference.kind, difference.argument, difference.before, difference.after) for difference in differences
    ] == expected
    # Each was compiled, or it is none to tell of.
    assert [call.compiles for call in function.calls] == [1] * len(function.calls)
    assert function.seconds > 0


def test_the_calling_line_is_in_the_users_code(tmp_path: Path) -> None:
    text = "step = jax.jit(lambda x: x)\ndef call(x):\n    return step(x)\ncall(x)\ncall(x[:2])\n"
    (function,) = explain(tmp_path, text).functions
    line = HEAD.count("\n") + 3
    assert [call.where for call in function.calls] == [f"{tmp_path / 'script.py'}:{line}"] * 2
    assert function.defined == f"{tmp_path / 'script.py'}:{HEAD.count(chr(10)) + 1}"


def test_an_unjitted_jax_loop_is_reported(tmp_path: Path) -> None:
    text = "for _ in range(3):\n    jax.lax.scan(lambda c, y: (c + y, c), 0.0, jnp.ones(10))\n"
    answer = explain(tmp_path, text)
    assert {name: count for compilation in answer.own for name, count in compilation.operations.items()}["scan"] == 3
    assert any("scan at" in part and "compiled 3 times" in part for part in answer.tell() if isinstance(part, str))


def test_compilations_inside_of_a_trace_count_once(tmp_path: Path) -> None:
    text = (
        "@jax.jit\ndef step(x):\n    with jax.ensure_compile_time_eval():\n        a = jnp.sort(jnp.arange(64.0))\n"
        "    return x * a.sum()\nstep(x)"
    )
    answer = explain(tmp_path, text)
    assert answer.own_compiles > 0
    assert answer.seconds < answer.script_seconds


def test_the_times_match_jaxs_report(tmp_path: Path) -> None:
    (function,) = explain(tmp_path, "jax.jit(lambda x: jnp.sort(x) @ x.T)(x)").functions
    (call,) = function.calls
    assert min(call.tracing_seconds, call.lowering_seconds, call.compiling_seconds) > 0
    assert call.traces == call.compiles == 1


def run_of(*calls: tuple[str, Signature | None, float]) -> ScriptRun:
    compilations = [
        Compilation(name, "a.py:1" if signature else "", "a.py:9", not signature, signature, 1, 1, 0.1, 0.2, seconds)
        for name, signature, seconds in calls
    ]
    return ScriptRun("a.py", 20.0, tuple(compilations))


def batch(size: int, **statics: str) -> Signature:
    return Signature({"x": Leaf((size, 8), "f32")}, statics={name: Value(text) for name, text in statics.items()})


def test_the_first_sentence_has_the_count_the_time_and_the_cause() -> None:
    answer = explain_recompiles(run_of(("step", batch(32), 3.0), ("step", batch(31), 2.7), ("sin", None, 0.7)))
    assert next(answer.tell()) == (
        "2 compilations of 1 function and 1 JAX operation outside of jit took 7.3 s of the 20.0 s of a.py on this "
        "machine. 1 recompilation took 3.0 s, of step because of x (shape)."
    )


def test_calls_with_equal_differences_are_one_row() -> None:
    steps = [("step", batch(32, at=str(at)), 1.0) for at in range(40)]
    *_, table, _ = explain_recompiles(run_of(*steps)).tell()
    assert isinstance(table, Table)
    assert table.rows == (("step", "39", "50.7 s", "a.py:9: at: static value 0 -> 1, ... -> 39"),)


def test_without_times_no_times_are_shown() -> None:
    run = run_of(("step", batch(32), 3.0), ("step", batch(31), 2.7), ("scan", None, 0.7), ("scan", None, 0.7))
    parts = list(explain_recompiles(run, is_timed=False).tell())
    assert parts[0] == (
        "2 compilations of 1 function and 2 JAX operations outside of jit in a.py. There was 1 recompilation, "
        "of step because of x (shape)."
    )
    tables = [part for part in parts if isinstance(part, Table)]
    assert [table.columns for table in tables] == [
        ("function", "traced", "compiled"),
        ("function", "calls", "line and difference"),
    ]
    assert [part.text.partition(":")[0] for part in parts if isinstance(part, Hint)] == ["Remedy for shape"]


def test_the_nearest_earlier_call_is_the_one_that_is_compared() -> None:
    run = run_of(("step", batch(32, at="1"), 1.0), ("step", batch(8, at="2"), 1.0), ("step", batch(32, at="2"), 1.0))
    (function,) = explain_recompiles(run).functions
    assert [call.nearest for call in function.calls] == [None, 0, 1]
    assert function.calls[2].differences == (Difference("shape", "x", "f32[8,8]", "f32[32,8]"),)


def test_long_values_are_cut_to_where_they_differ() -> None:
    texts = [f"Config({', '.join(f'width_{at}={at * scale}' for at in range(20))}, last={scale})" for scale in (1, 1)]
    texts[1] = texts[1].replace("width_17=17", "width_17=3")
    run = run_of(*(("step", batch(32, config=text), 1.0) for text in texts))
    (difference,) = explain_recompiles(run).functions[0].calls[1].differences
    assert difference.before.startswith("…width_17=17, width_18")
    assert difference.after.startswith("…width_17=3, width_18")


@pytest.mark.parametrize(("at_most", "holds"), [(None, True), (2, True), (1, False)])
def test_a_limit_of_compilations_passes_or_fails(at_most: int | None, holds: bool) -> None:  # noqa: FBT001 - what is tested
    run = run_of(("step", batch(32), 1.0), ("step", batch(31), 1.0))
    answer = explain_recompiles(run, at_most)
    assert answer.holds == holds
    assert ("Compiled more than 1 time: step 2 times" in str(next(answer.tell()))) == (not holds)


def test_the_answer_is_json_of_its_schema(tmp_path: Path) -> None:
    answer = explain(tmp_path, "@jax.jit\ndef step(x):\n    return x\nstep(x), step(x[:2])\njnp.ones(91)")
    record = json.loads(write_json(answer))
    validate(record, describe_json(Recompiles))
    assert record["functions"][0]["calls"][1]["differences"][0]["kind"] == "shape"
