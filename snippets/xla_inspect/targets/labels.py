"""The names of targets for readers, in full and in short, and the CSS class of their color."""

from xla_inspect.targets.table import find_entry


def title(target: str) -> str:
    """Return the usual name of a target: `TPU v5e` for `tpu-v5e`, `NVIDIA H100 x 8` for `h100:8`.

    Raises:
        InspectError: There is no such target. The other functions of this module raise it too.
    """
    return _add_topology(find_entry(target).title, target)


def short(target: str) -> str:
    """Return the name of a target without its vendor, for labels; `v5e 2x4` for a TPU with a topology."""
    name = _add_topology(find_entry(target).model, target)
    return name.removeprefix("TPU ") if ":" in target else name


def lane(target: str) -> str:
    """Return the CSS class for the color of a target: `cpu`, `gpu` or `tpu`."""
    return find_entry(target).kind


def _add_topology(name: str, target: str) -> str:
    topology = target.partition(":")[2]
    if not topology:
        return name
    return f"{name} {topology}" if lane(target) == "tpu" else f"{name} x {topology}"
