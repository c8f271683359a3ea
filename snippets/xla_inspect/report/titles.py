"""How targets are called on a page."""

_MAKERS = {"a100": "NVIDIA", "h100": "NVIDIA", "h200": "NVIDIA", "b200": "NVIDIA"}


def title(target: str) -> str:
    """Return the name that a reader knows a target by, as in `TPU v5e` for `tpu-v5e`."""
    if target in _MAKERS:
        return f"{_MAKERS[target]} {target.upper()}"
    if target.startswith("tpu"):
        return "TPU" + target.removeprefix("tpu").replace("-", " ")
    return target.upper()


def short(target: str) -> str:
    """Return the name of a target without its maker, for labels."""
    return title(target).removeprefix("NVIDIA ")


def lane(target: str) -> str:
    """Return the class that colours what belongs to a target: `cpu`, `gpu` or `tpu`."""
    if target in _MAKERS:
        return "gpu"
    return "tpu" if target.startswith("tpu") else "cpu"
