"""Clusters that TensorFlow makes by itself: which operations it hands to XLA, which it keeps, and why.

`run.py` starts this, with the environment variables of `FLAGS`. The reasons are in the log of the pass, on the standard
error; what was executed goes to the file that the command line names.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.append(str(Path(__file__).resolve().parents[2]))

if TYPE_CHECKING:
    from collections.abc import Callable

FLAGS = {
    "TF_XLA_FLAGS": "--tf_xla_auto_jit=2 --tf_xla_cpu_global_jit",
    "TF_CPP_VMODULE": "mark_for_compilation_pass=4,compilability_check_util=4",
    "TF_CPP_MIN_LOG_LEVEL": "0",
}
_BEGIN = "*** function: "
_KEPT = re.compile(r"\] Found uncompilable node (\S+) \(op (\w+)\): (.+)")
_TAKEN = re.compile(r"\] Assigning node (\S+) to cluster (\w+)")
_COUNT = re.compile(r"\] {4}(\w+): (\d+) instances")


def list_clusters(log: str) -> dict[str, dict[str, Any]]:
    """Return what the pass decided for each function, from its log.

    Returns:
        Function to `clusters`, the nodes of each cluster, and `kept`, which maps a node that XLA cannot take to its
        operation and the reason.
    """
    found = {}
    for part in log.split(_BEGIN)[1:]:
        name, _, lines = part.partition("\n")
        clusters: dict[str, list[str]] = {}
        for node, cluster in _TAKEN.findall(lines):
            clusters.setdefault(cluster, []).append(node)
        kept = {
            node: {"operation": operation, "why": re.sub(r" compatible with node .*", "", why)}
            for node, operation, why in _KEPT.findall(lines)
            if not operation.startswith("_Arg") and operation != "_Retval"
        }
        found[name] = {"clusters": dict(sorted(clusters.items())), "kept": kept}
    return found


def main() -> None:
    """Call programs with clustering on, and write what was executed to the file that the command line names.

    The names after it say which programs; without any, all.
    """
    import tensorflow as tf

    from peers.tensorflow import executed, layers

    tf.config.threading.set_inter_op_parallelism_threads(8)
    tf.config.threading.set_intra_op_parallelism_threads(8)
    called: dict[str, Any] = {}
    every: dict[str, tuple[Callable[..., Any], str]] = {
        **{name: (program, name) for name, program in layers.PROGRAMS.items()},
        "interrupted": (layers.interrupted, "layer"),
    }
    for name in sys.argv[2:] or every:
        program, inputs = every[name]
        arguments = layers.arguments(inputs)
        function = tf.function(program)
        sys.stderr.write(f"{_BEGIN}{name}\n")
        sys.stderr.flush()
        _, placed = executed.graphs(function, arguments)
        call = executed.watch(function, arguments, [node.name for node in placed])
        called[name] = {**call.facts(), "result": function(*arguments).numpy().tolist()}
    Path(sys.argv[1]).write_text(json.dumps(called), encoding="utf-8")


if __name__ == "__main__":
    main()
