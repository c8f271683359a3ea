"""A custom pass that caps the result of a relu, called by the compilers for CPU, H100 and TPU."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from typing import Any

PLATFORMS = {"cpu": "cpu", "h100": "cuda", "tpu-v5e": "tpu"}
"""JAX's name for the platform of each target."""
RELU = re.compile(r"^( +)(ROOT )?(%\S+) = (\S+) maximum\((.*)$", re.MULTILINE)


def cap_relu(serialized: bytes) -> bytes | None:
    """Return module `jit_layer`, serialized, with every maximum capped at 6; None for others or without a maximum.

    Args:
        serialized: The bytes of the HloModuleProto that the compiler passes in.
    """
    from jaxlib import _hlo  # type: ignore[attr-defined]  # it has no stub

    text = _hlo.HloModule.from_serialized_hlo_module_proto(serialized).to_string()
    capped = RELU.sub(
        r"\1%six = f32[] constant(6)\n\1%sixes = \4 broadcast(%six), dimensions={}\n"
        r"\1\3 = \4 maximum(\5\n\1\2%capped = \4 minimum(\3, %sixes)",
        text,
    )
    if not text.startswith("HloModule jit_layer") or capped == text:
        return None
    return bytes(_hlo.hlo_module_from_text(capped).as_serialized_hlo_module_proto())


def strip_tables(text: str) -> str:
    """Return a module without the tables of its files and lines, which depend on the machine.

    Args:
        text: The module, as XLA prints it.
    """
    return re.sub(r"\n\nFileNames\n.*?\n\n\n", "\n\n", text, flags=re.DOTALL)


def own_pass() -> dict[str, Any]:
    """Return the modules of the dense layer before and after the pass on each target, and the outcomes of the traps.

    Each target has a separate process, because a registered pass runs for every compilation of its process.

    Returns:
        For each target `before` and `after`, the module that the pass received and the optimized module, and `names`,
        the names of all modules that it received; for the CPU also `largest`; under `traps` the outcome of each trap.
    """
    return {name: _run_child(name) for name in (*PLATFORMS, "traps")}


def _run_child(name: str) -> Any:  # noqa: ANN401 - what JSON held
    environment = {**os.environ.copy(), "TPU_SKIP_MDS_QUERY": "1"}
    command = [sys.executable, "-m", "programs.own_pass", name]
    process = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, encoding="utf-8")  # noqa: S603 - ours
    if process.returncode:
        raise RuntimeError(process.stderr[-2000:])
    return json.loads(process.stdout.splitlines()[-1])


def _compile(target: str) -> dict[str, Any]:
    import jax
    from jax.extend import xla

    from programs import layer
    from xla_inspect import targets

    (device, *_) = targets.find_target(target).devices()
    texts: list[str] = []

    def run_pass(serialized: bytes) -> bytes | None:
        from jaxlib import _hlo  # type: ignore[attr-defined]  # it has no stub

        texts.append(_hlo.HloModule.from_serialized_hlo_module_proto(serialized).to_string())
        return cap_relu(serialized)

    xla.register_hlo_module_transformation(run_pass, name="cap-relu", platforms=PLATFORMS[target])
    with jax.default_device(device):
        compiled = jax.jit(layer.layer).lower(*layer.EXAMPLE).compile()
    made: dict[str, Any] = {
        "names": [text.split()[1].rstrip(",") for text in texts],
        "before": strip_tables(next(text for text in texts if "jit_layer" in text[:40])),
        "after": strip_tables(compiled.as_text() or ""),
    }
    if target == "cpu":
        import jax.numpy as jnp

        arrays = [jnp.full(each.shape, 0.5, each.dtype) for each in layer.EXAMPLE]
        made["largest"] = [float(jnp.max(layer.layer(*arrays))), float(jnp.max(compiled(*arrays)))]
    return made


def _try_traps() -> dict[str, Any]:
    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax.extend import xla
    from jaxlib import _hlo  # type: ignore[attr-defined]  # it has no stub

    from programs import layer, persistent
    from xla_inspect import targets

    targets.settle()
    arrays = [jnp.full(each.shape, 0.5, each.dtype) for each in layer.EXAMPLE]
    found: dict[str, Any] = {}

    def largest(step: Any) -> float:  # noqa: ANN401 - a jitted function
        return float(jnp.max(step(*arrays)))

    jitted = jax.jit(layer.layer)
    largest(jitted)
    xla.register_hlo_module_transformation(cap_relu, name="cap-relu", platforms="cpu")
    found["a function that was compiled before"] = largest(jitted)
    jax.clear_caches()
    found["the same after jax.clear_caches()"] = largest(jax.jit(layer.layer))
    xla.clear_hlo_module_transformation("cap-relu", platforms="cpu")
    with persistent.fresh_cache():
        jax.clear_caches()
        largest(jax.jit(layer.layer))
        xla.register_hlo_module_transformation(cap_relu, name="cap-relu", platforms="cpu")
        jax.clear_caches()
        found["an executable from the persistent cache"] = largest(jax.jit(layer.layer))
        xla.clear_hlo_module_transformation("cap-relu", platforms="cpu")
    table = np.cos(np.arange(4096, dtype=np.float32))
    texts: list[str] = []

    def look(serialized: bytes) -> None:
        texts.append(_hlo.HloModule.from_serialized_hlo_module_proto(serialized).to_string())

    def fail(_: bytes) -> bytes:
        message = "no such luck"
        raise ValueError(message)

    for name, callback in (("look", look), ("fail", fail)):
        xla.register_hlo_module_transformation(callback, name=name, platforms="cpu")
        try:
            jax.jit(lambda x: x * table).lower(table).compile()
        except Exception as error:  # noqa: BLE001 - whatever it is is what is shown
            found["an exception in the pass"] = f"{type(error).__name__}: {str(error).strip().splitlines()[-1]}"
        else:
            found[f"{name} ended"] = True
        xla.clear_hlo_module_transformation(name, platforms="cpu")
    found["a large constant in the text"] = next(
        (line.strip() for text in texts for line in text.splitlines() if "constant(" in line), ""
    )
    return found


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(_try_traps() if sys.argv[1] == "traps" else _compile(sys.argv[1])))
    else:
        print(own_pass()["cpu"]["after"])
