"""No text links to a moved page or folder, even if a redirect exists.

No network is used. An address is found only if the table `MOVED` names it, which lists known moves.
"""

from __future__ import annotations

import pytest

from ci.addresses import ADDRESS, read_linking_texts

JAX = "https://docs.jax.dev/en/latest/"
XLA = "https://github.com/openxla/xla/blob/main/xla/"
# What an address may begin with no longer, and where its text is now. JAX says so itself, in `_superseded_pages` and
# `rediraffe_redirects` of its docs/conf.py; XLA's sources by the paths in the plugin that jax-cuda13-plugin installs.
MOVED = {
    f"{JAX}aot.html": f"{JAX}201/aot.html",
    f"{JAX}async_dispatch.html": f"{JAX}201/jit.html#jax-201-async-dispatch",
    f"{JAX}automatic-differentiation.html": f"{JAX}101/transformations.html",
    f"{JAX}automatic-vectorization.html": f"{JAX}101/transformations.html",
    f"{JAX}benchmarking.html": f"{JAX}201/profiling.html#jax-201-benchmarking",
    f"{JAX}buffer_donation.html": f"{JAX}201/jit.html#jax-201-buffer-donation",
    f"{JAX}control-flow.html": f"{JAX}201/control-flow.html",
    f"{JAX}debugging.html": f"{JAX}201/debugging.html",
    f"{JAX}export/export.html": f"{JAX}501/export.html",
    f"{JAX}export/shape_poly.html": f"{JAX}501/shape-polymorphism.html",
    f"{JAX}gpu_memory_allocation.html": f"{JAX}201/gpu-memory.html",
    f"{JAX}gradient-checkpointing.html": f"{JAX}301/remat.html",
    f"{JAX}jaxpr.html": f"{JAX}601/jaxpr.html",
    f"{JAX}jax-primitives.html": f"{JAX}601/jax-primitives.html",
    f"{JAX}jit-compilation.html": f"{JAX}201/jit.html",
    f"{JAX}key-concepts.html": f"{JAX}101/index.html",
    f"{JAX}notebooks/Distributed_arrays": f"{JAX}201/sharding.html",
    f"{JAX}notebooks/autodiff_cookbook": f"{JAX}301/cookbook.html",
    f"{JAX}notebooks/host-offloading": f"{JAX}201/memory-spaces.html",
    f"{JAX}notebooks/shard_map": f"{JAX}201/shard-map.html",
    f"{JAX}notebooks/thinking_in_jax": f"{JAX}101/index.html",
    f"{JAX}persistent_compilation_cache.html": f"{JAX}501/compilation-cache.html",
    f"{JAX}profiling.html": f"{JAX}201/profiling.html",
    f"{JAX}pytrees.html": f"{JAX}101/pytrees.html",
    f"{JAX}random-numbers.html": f"{JAX}101/random.html",
    f"{JAX}sharded-computation.html": f"{JAX}201/sharding.html",
    f"{JAX}tracing.html": f"{JAX}101/transformations.html",
    f"{JAX}xla_flags.html": f"{JAX}201/controlling-xla.html",
    "https://jax.readthedocs.io/en/": JAX,
    f"{XLA}service/gpu/transforms/": f"{XLA}backends/gpu/transforms/",
}


def find_moved(place: str, text: str) -> list[str]:
    """Return a line for each address of a text that starts with a moved address."""
    return [
        f"{place}:{text.count('\n', 0, address.start()) + 1}: {address[0]} has moved, to {now}"
        for address in ADDRESS.finditer(text)
        for old, now in MOVED.items()
        if address[0].startswith(old)
    ]


def test_no_link_leads_to_a_moved_page() -> None:
    assert [line for place, text in read_linking_texts() for line in find_moved(place, text)] == []


@pytest.mark.parametrize(("old", "now"), MOVED.items())
def test_an_address_that_has_moved_is_found_with_its_line_and_the_new_one(old: str, now: str) -> None:
    assert find_moved("page.md", f"# Title\n\nSee [there]({old}), and [here]({now}).") == [
        f"page.md:3: {old} has moved, to {now}"
    ]


def test_links_are_read_in_pages_data_code_and_phases() -> None:
    linked = {place for place, text in read_linking_texts() if JAX in text}
    assert {"docs/jaxpr.md", "docs/data/claims.toml", "snippets/xla_inspect/lexers.py", "phase jaxpr"} <= linked
