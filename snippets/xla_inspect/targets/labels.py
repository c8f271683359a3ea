"""How targets are called on a page."""

from xla_inspect.targets.table import find_entry


def title(target: str) -> str:
    """Return the name that a reader knows a target by: `TPU v5e` for `tpu-v5e`, `NVIDIA H100 x 8` for `h100:8`.

    Raises:
        InspectError: There is no such target; so do the others here.
    """
    return _add_topology(find_entry(target).title, target)


def short(target: str) -> str:
    """Return the name of a target without its maker, for labels; a TPU's with a topology is `v5e 2x4`."""
    name = _add_topology(find_entry(target).model, target)
    return name.removeprefix("TPU ") if ":" in target else name


def lane(target: str) -> str:
    """Return the class that colours what belongs to a target: `cpu`, `gpu` or `tpu`."""
    return find_entry(target).kind


def _add_topology(name: str, target: str) -> str:
    topology = target.partition(":")[2]
    if not topology:
        return name
    return f"{name} {topology}" if lane(target) == "tpu" else f"{name} x {topology}"
