"""Claims about TensorFlow and PyTorch, decided by the records of runs that `snippets/peers` holds."""

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
"""The operation of TensorFlow that runs what XLA compiled of a cluster."""


def _runs_clusters(operations: Iterable[str]) -> bool:
    return CLUSTER in operations


def tensorflow_can_use_xla() -> Finding:
    """TensorFlow compiles a function by XLA where it is asked to."""
    tensorflow = records.read("tensorflow")
    plain, compiled = tensorflow.kernels["layer"], tensorflow.facts["jit"]["layer"]["launches"]
    expect(not _runs_clusters(plain), "a plain `tf.function` runs no cluster")
    return only(bool(compiled), f"recorded: `jit_compile=True` launches `{'`, `'.join(compiled)}`")


def ways_to_xla() -> Finding:
    """A function gets to XLA by `jit_compile=True`, by auto-clustering and by `tfcompile`."""
    facts = records.read("tensorflow").facts
    launches = facts["jit"]["layer"]["launches"]
    clusters = facts["auto"]["interrupted"]["operations"].count(CLUSTER)
    files = [name for name in facts["ahead_of_time"]["bytes"] if name.endswith(".o")]
    return cases(
        {
            "jit_compile=True": (bool(launches), f"recorded: {plural(len(launches), 'launch', 'launches')}"),
            "auto-clustering": (clusters > 0, f"recorded: {plural(clusters, 'cluster')} run"),
            "tfcompile": (bool(files), f"recorded: it writes `{files[0]}`"),
        }
    )


def auto_clustering() -> Finding:
    """A flag of the environment makes TensorFlow compile functions that nobody marked."""
    facts = records.read("tensorflow").facts
    before, after = facts["grappler"]["gelu"], facts["auto"]["gelu"]["operations"]
    expect(not _runs_clusters(before), "without the flag no cluster runs")
    unmarked = _runs_clusters(after) and _runs_clusters(facts["auto"]["interrupted"]["operations"])
    return only(unmarked, f"recorded: GELU without a mark runs `{'`, `'.join(after)}`")


def python_call_is_refused() -> Finding:
    """A call back into Python has no form that XLA compiles."""
    tensorflow = records.read("tensorflow")
    refused = _KERNEL.search(tensorflow.texts["refused/py_function"])
    left_out = {node["operation"] for node in tensorflow.facts["clusters"]["interrupted"]["kept"].values()}
    expect("EagerPyFunc" in left_out, "auto-clustering leaves it to the executor")
    return only(refused is not None, f"recorded: no kernel `{refused[1]}` for XLA" if refused else "compiled")
