# /// script
# requires-python = "==3.12.*"
# dependencies = [
#   "apache-tvm==0.27.0.post1",
#   "apache-tvm-ffi==0.1.14.post0", # with 0.1.15 the database of tuning records crashes
#   "cloudpickle==3.1.2",
#   "ml-dtypes==0.6.0",
#   "numpy==2.5.5",
#   "onnx==1.23.2",
#   "protobuf==7.36.2",
#   "psutil==7.2.2",
#   "typing-extensions==4.16.0",
# ]
# ///
"""Search for a schedule of the dense layer's kernel with MetaSchedule, and print the best one found as Python.

No build runs this: it measures, so two runs find two schedules. What it printed once stands in `schedule.py`.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2]))

from tvm.s_tir import meta_schedule

from peers.tvm.relaxing import fuse

TARGET = {"kind": "llvm", "mcpu": "x86-64-v3", "num-cores": 2}
PATIENCE = 300
"""Seconds that building or measuring candidates may take: on a busy machine TVM's own limits fail all of them."""


def main() -> None:
    """Tune, and print the trace of the fastest candidate."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=64, help="candidates to measure (default: 64)")
    kernel = fuse("layer")["fused_matmul_add_relu"].with_attr("global_symbol", "main")
    with tempfile.TemporaryDirectory() as folder:
        database = meta_schedule.tune_tir(
            mod=kernel,
            target=TARGET,
            work_dir=folder,
            max_trials_global=parser.parse_args().trials,
            num_trials_per_iter=8,
            builder=meta_schedule.builder.LocalBuilder(max_workers=2, timeout_sec=PATIENCE),
            runner=meta_schedule.runner.LocalRunner(timeout_sec=PATIENCE),
            cost_model="random",
            seed=0,
        )
    [best] = database.get_top_k(database.get_all_tuning_records()[0].workload, 1)
    print("\n".join(best.trace.as_python()))


if __name__ == "__main__":
    main()
