"""The compilation of one program of `snippets/scale` with JAX alone: the least that a command about it has to do.

`python -m measuring.bare_scale FILE.py:NAME MESH TARGET`, with the mesh as `fsdp=8,tensor=1` or empty. Devices and
options are those that `xla_inspect` compiles with; nothing is dumped or read.
"""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xla_inspect import targets
from xla_inspect.compilation import list_program_members, pin_options
from xla_inspect.subject import load_file, read_mesh

if TYPE_CHECKING:
    from collections.abc import Sequence

    import jax


def main(words: Sequence[str]) -> int:
    """Compile a program, and return the exit status, which is 1 if the compiler fails."""
    subject, axes, target_name = words
    target = targets.find_target(target_name)
    targets.settle()
    import jax

    from xla_inspect.compilation import make_mesh

    place, _, name = subject.rpartition(":")
    program = list_program_members(load_file(Path(place)), "")[name]
    mesh = make_mesh(read_mesh(axes), target) if axes else None
    settings = dict(program.arguments)
    specs = settings.pop("specs", None)
    with jax.set_mesh(mesh) if mesh else nullcontext():
        if mesh:
            args = jax.tree.map(lambda spec, tree: put(tree, jax.NamedSharding(mesh, spec)), specs, program.example)
        else:
            args = put(program.example, jax.sharding.SingleDeviceSharding(target.devices()[0]))
        # The compiler runs without the devices, so the platform is named explicitly.
        lowered = jax.jit(program.function, **settings).trace(*args).lower(lowering_platforms=(target.platform,))
        try:
            lowered.compile(compiler_options=dict(pin_options(target)))
        except RuntimeError as error:
            print(str(error).partition("\n")[0], file=sys.stderr)
            return 1
    return 0


def put(tree: Any, sharding: jax.sharding.Sharding) -> Any:  # noqa: ANN401 - any pytree
    """Return the shapes of a pytree with a sharding."""
    import jax

    return jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=sharding), tree)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
