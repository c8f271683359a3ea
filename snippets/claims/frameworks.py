"""Checks of claims about TensorFlow and PyTorch, which read the recorded runs in `snippets/peers`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from claims.evidence import expect
from claims.finding import Finding, cases, only
from peers import records
from xla_inspect.plural import plural

if TYPE_CHECKING:
    from collections.abc import Iterable

_KERNEL = re.compile(r"No registered '(\w+)' OpKernel for XLA")
CLUSTER = "_XlaRun"
"""The TensorFlow operation that runs the compiled code of a cluster."""


def _runs_clusters(operations: Iterable[str]) -> bool:
    return CLUSTER in operations


def tensorflow_can_use_xla() -> Finding:
    """Return the finding, from a recorded run, on the claim that TensorFlow compiles with XLA on request."""
    tensorflow = records.read("tensorflow")
    plain, launches = tensorflow.kernels["layer"], tensorflow.facts["jit"]["layer"]["launches"]
    expect(not _runs_clusters(plain), "a plain `tf.function` runs no cluster")
    return only(bool(launches), f"recorded: `jit_compile=True` launches `{'`, `'.join(launches)}`")


def pytorch_is_eager() -> Finding:
    """Return the finding, from recorded runs, on the claim that PyTorch runs operation by operation by default."""
    torch = records.read("torch")
    eager, compiled = torch.facts["eager"]["layer"], torch.kernels["layer"]
    evidence = f"recorded: a plain call runs `{'`, `'.join(eager)}`; `torch.compile` runs `{'`, `'.join(compiled)}`"
    return only(len(eager) > len(compiled), evidence)


def ways_to_xla() -> Finding:
    """Return the finding, from recorded runs, on three claimed ways from TensorFlow to XLA, a case for each."""
    facts = records.read("tensorflow").facts
    launches = facts["jit"]["layer"]["launches"]
    clusters = facts["auto"]["interrupted"]["operations"].count(CLUSTER)
    files = [name for name in facts["ahead_of_time"]["bytes"] if name.endswith(".o")]
    return cases(
        {
            "jit_compile=True": (bool(launches), f"recorded: {plural(len(launches), 'launch', 'launches')}"),
            "auto-clustering": (clusters > 0, f"recorded: TensorFlow runs {plural(clusters, 'cluster')}"),
            "tfcompile": (bool(files), f"recorded: `tfcompile` writes `{files[0]}`"),
        }
    )


def auto_clustering() -> Finding:
    """Return the finding, from recorded runs, on the claim that a variable makes TensorFlow compile all functions."""
    facts = records.read("tensorflow").facts
    before, after = facts["grappler"]["gelu"], facts["auto"]["gelu"]["operations"]
    expect(not _runs_clusters(before), "no cluster runs without the flag")
    unmarked = _runs_clusters(after) and _runs_clusters(facts["auto"]["interrupted"]["operations"])
    return only(unmarked, f"recorded: GELU without a mark runs `{'`, `'.join(after)}`")


def python_call_is_refused() -> Finding:
    """Return the finding, from recorded runs, on the claim that XLA cannot compile TensorFlow's calls into Python."""
    tensorflow = records.read("tensorflow")
    refused = _KERNEL.search(tensorflow.texts["refused/py_function"])
    left_out = {node["operation"] for node in tensorflow.facts["clusters"]["interrupted"]["kept"].values()}
    expect("EagerPyFunc" in left_out, "auto-clustering leaves it to the executor")
    return only(refused is not None, f"recorded: XLA has no kernel for `{refused[1]}`" if refused else "compiled")
