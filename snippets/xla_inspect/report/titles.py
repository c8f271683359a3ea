"""How targets are called on a page."""

_MAKERS = {"a100": "NVIDIA", "h100": "NVIDIA", "h200": "NVIDIA", "b200": "NVIDIA"}


def title(target: str) -> str:
    """Return the name that a reader knows a target by: `TPU v5e` for `tpu-v5e`, `NVIDIA H100 x 8` for `h100:8`."""
    base, _, topology = target.partition(":")
    if base.startswith("tpu"):
        return f"TPU{base.removeprefix('tpu').replace('-', ' ')} {topology}".rstrip()
    name = f"{_MAKERS[base]} {base.upper()}" if base in _MAKERS else base.upper()
    return f"{name} x {topology}" if topology else name


def short(target: str) -> str:
    """Return the name of a target without its maker, for labels; a TPU's with a topology is `v5e 2x4`."""
    name = title(target).removeprefix("NVIDIA ")
    return name.removeprefix("TPU ") if ":" in target else name


def lane(target: str) -> str:
    """Return the class that colours what belongs to a target: `cpu`, `gpu` or `tpu`."""
    if target.partition(":")[0] in _MAKERS:
        return "gpu"
    return "tpu" if target.startswith("tpu") else "cpu"
