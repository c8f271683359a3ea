"""Run an exported layer by TVM's runtime alone: `TVM_USE_RUNTIME_LIB=1 python alone.py LIBRARY`.

Prints, as JSON, whether the result is right and which of TVM's libraries the process has loaded.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2]))

import tvm
from tvm.runtime.vm import VirtualMachine

from peers import given


def main() -> None:
    """Load the library that the command line names, and run it."""
    machine = VirtualMachine(tvm.runtime.load_module(sys.argv[1]), tvm.cpu())
    result = machine["main"](*map(tvm.runtime.tensor, given.inputs("layer").values())).numpy()
    loaded = re.findall(r"/(libtvm\w*)\.so", Path("/proc/self/maps").read_text(encoding="utf-8"))
    print(json.dumps({"error_below": given.check("layer", result), "loaded": sorted(set(loaded))}))


if __name__ == "__main__":
    main()
