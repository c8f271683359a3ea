"""Grappler without oneDNN: `run.py` starts this with TF_ENABLE_ONEDNN_OPTS=0, and reads the file it writes."""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2]))

import tensorflow as tf

from peers.tensorflow import executed, layers


def main() -> None:
    """Write what is left of the layer after Grappler, with the bias added by `+` and by `bias_add`."""
    arguments = layers.arguments("layer")
    found = {
        name: executed.computing(executed.graphs(tf.function(program), arguments)[0])
        for name, program in {"x @ w + b": layers.layer, "bias_add(x @ w, b)": layers.biased}.items()
    }
    Path(sys.argv[1]).write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main()
