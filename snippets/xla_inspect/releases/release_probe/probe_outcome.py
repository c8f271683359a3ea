"""Properties of lowered and compiled programs, from the interfaces of several years of JAX releases."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


def count_equations(jaxpr: Any) -> tuple[dict[str, int], dict[str, list[str]]]:
    """Return the number of occurrences of each primitive, including inner jaxprs, and the names of its parameters."""
    counts: Counter[str] = Counter()
    parameters: dict[str, set[str]] = {}
    waiting = [jaxpr]
    while waiting:
        part = waiting.pop()
        if isinstance(part, (tuple, list)):
            waiting += part
        elif hasattr(part, "eqns"):
            for equation in part.eqns:
                counts[equation.primitive.name] += 1
                parameters.setdefault(equation.primitive.name, set()).update(equation.params)
                waiting += equation.params.values()
        elif hasattr(part, "jaxpr"):
            waiting.append(part.jaxpr)
    return dict(sorted(counts.items())), {name: sorted(keys) for name, keys in sorted(parameters.items())}


def list_operations(lowered: Any) -> dict[str, list[str]]:
    """Return, by operation of the lowered module, a list: the number of occurrences as text, and attribute names."""
    counts: Counter[str] = Counter()
    attributes: dict[str, set[str]] = {}
    waiting = [lowered.compiler_ir("stablehlo").operation]
    while waiting:
        operation = waiting.pop()
        counts[operation.name] += 1
        attributes.setdefault(operation.name, set()).update(_name_attributes(operation.attributes))
        waiting += [inner.operation for region in operation.regions for block in region for inner in block]
    return {name: [str(number), *sorted(attributes[name])] for name, number in sorted(counts.items())}


def _name_attributes(attributes: Any) -> Iterator[str]:
    """Yield the names of an operation's attributes; iteration gives pairs or names, depending on the release."""
    for attribute in attributes:
        yield attribute if isinstance(attribute, str) else str(attribute.name)


def read_memory(compiled: Any) -> dict[str, int] | None:
    """Return the executable's memory statistics in bytes, or None if the release has none."""
    if compiled is None:
        return None
    try:
        stats = compiled.memory_analysis()
    except Exception:  # noqa: BLE001 - whatever a release says is what is reported
        return None
    if stats is None:
        return None
    names = {
        "arguments": "argument_size_in_bytes",
        "outputs": "output_size_in_bytes",
        "aliased": "alias_size_in_bytes",
        "temporaries": "temp_size_in_bytes",
        "code": "generated_code_size_in_bytes",
        "peak": "peak_memory_in_bytes",
    }
    return {name: int(getattr(stats, attribute)) for name, attribute in names.items() if hasattr(stats, attribute)}


def read_cost(compiled: Any) -> dict[str, float] | None:
    """Return `flops` and `transcendentals` of an executable's cost analysis, or None (as for a GPU that is absent)."""
    if compiled is None:
        return None
    try:
        costs = compiled.cost_analysis()
    except Exception:  # noqa: BLE001 - whatever a release says is what is reported
        return None
    # Releases differ: some return a list of dictionaries.
    if isinstance(costs, list):
        costs = costs[0] if costs else None
    return {name: float(costs[name]) for name in ("flops", "transcendentals") if name in costs} if costs else None
