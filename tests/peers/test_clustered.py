"""Clusters of TensorFlow's auto-clustering, read from the log of its pass."""

from __future__ import annotations

from peers.tensorflow.clustered import list_clusters

LOG = """WARNING: something else
I0000 00:00:1.5 99 mark_for_compilation_pass.cc:1052] Assigning node before/any to cluster cluster_9
*** function: cut
I0000 00:00:1.5 99 compilability_check_util.cc:62] Found uncompilable node x (op _Arg): top level _Arg or _Retval
I0000 00:00:1.5 99 compilability_check_util.cc:62] Found uncompilable node call (op PyFunc): No registered 'PyFunc' \
OpKernel for XLA_CPU_JIT devices compatible with node {{node call}}
I0000 00:00:1.5 99 mark_for_compilation_pass.cc:1052] Assigning node late to cluster cluster_1
I0000 00:00:1.5 99 mark_for_compilation_pass.cc:1052] Assigning node early/y to cluster cluster_0
I0000 00:00:1.5 99 mark_for_compilation_pass.cc:1052] Assigning node early to cluster cluster_0
I0000 00:00:1.5 99 compilability_check_util.cc:62] Found uncompilable node r (op _Retval): top level _Arg or _Retval
*** function: whole
I0000 00:00:1.5 99 mark_for_compilation_pass.cc:664] No compilable candidates
"""


def test_each_function_has_its_clusters_in_the_order_of_the_log_and_what_was_left_out_with_the_reason() -> None:
    reason = "No registered 'PyFunc' OpKernel for XLA_CPU_JIT devices"
    assert list_clusters(LOG) == {
        "cut": {
            "clusters": {"cluster_0": ["early/y", "early"], "cluster_1": ["late"]},
            "kept": {"call": {"operation": "PyFunc", "why": reason}},
        },
        "whole": {"clusters": {}, "kept": {}},
    }
