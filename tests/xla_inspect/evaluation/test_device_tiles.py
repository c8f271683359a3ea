"""Arrays are cut and joined as JAX divides them among devices."""

from __future__ import annotations

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding

from xla_inspect.evaluation import Tiling, read_tiling, split_shardings
from xla_inspect.evaluation.device_tiles import list_groups
from xla_inspect.targets import find_target

P = jax.P
X = np.arange(16 * 24).reshape(16, 24)
DEVICES = 8


def make_mesh(sizes: tuple[int, ...], order: list[int] | None = None) -> Mesh:
    devices = find_target("cpu:8").devices()
    return Mesh(np.array([devices[at] for at in order or range(DEVICES)]).reshape(sizes), tuple("abc"[: len(sizes)]))


def assert_cut_as_by_jax(text: str, sharding: NamedSharding) -> None:
    """Check the tiles of a sharding's text, whose device numbers are those of the target."""
    tiling = read_tiling(text, X.ndim, DEVICES)
    assert tiling is not None, text
    indices = sharding.devices_indices_map(X.shape)
    tiles = tiling.cut(X)
    for device, tile in zip(find_target("cpu:8").devices(), tiles, strict=True):
        np.testing.assert_array_equal(tile, X[indices[device]], err_msg=text)
    whole, others = tiling.join(tiles, X.shape)
    np.testing.assert_array_equal(whole, X)
    assert others == ()


@pytest.mark.parametrize("spec", [P(), P("a"), P("b"), P("a", "b"), P("b", "a"), P(("b", "a")), P(None, ("a", "b"))])
def test_a_sharding_of_jax_is_cut_as_jax_cuts_it_in_both_notations(spec: jax.P) -> None:
    sharding = NamedSharding(make_mesh((2, 4)), spec)
    example = jax.ShapeDtypeStruct(X.shape, jnp.float32)
    text = jax.jit(lambda x: x, in_shardings=sharding).lower(example).compiler_ir("hlo").as_hlo_text()
    match = re.search(r" sharding=(\{[^{}]*\})", text)
    assert match
    assert_cut_as_by_jax(match[1], sharding)
    axes = [part if isinstance(part, tuple) else (part,) * (part is not None) for part in (*spec, None, None)[:2]]
    names = ", ".join(f"{{{', '.join(map(repr, dimension))}}}" for dimension in axes)
    assert_cut_as_by_jax(f"{{mesh['a'=2,'b'=4], [{names}]}}", sharding)


def test_listed_devices_and_parts_of_axes_are_followed() -> None:
    order = [4, 5, 6, 7, 3, 2, 1, 0]
    listed = NamedSharding(make_mesh((2, 4), order), P("b", "a"))
    ids = ",".join(map(str, order))
    assert_cut_as_by_jax(f"{{mesh['a'=2,'b'=4], device_ids=({ids}), [{{'b'}}, {{'a'}}]}}", listed)
    assert_cut_as_by_jax("{devices=[4,2]4,3,5,2,6,1,7,0}", listed)
    parts = NamedSharding(make_mesh((2, 2, 2)), P("c", "b"))
    assert_cut_as_by_jax("{mesh['a'=2,'x'=4], [{'x':(2)2}, {'x':(1)2, ?}], replicated={'a'}}", parts)


def test_an_uneven_array_is_padded_and_joined_without_padding() -> None:
    tiling = read_tiling("{devices=[4,2]<=[8]}", 2, DEVICES)
    assert tiling is not None
    array = np.arange(5 * 3, dtype=np.float32).reshape(5, 3) + 1
    tiles = tiling.cut(array)
    assert {tile.shape for tile in tiles} == {(2, 2)} == {tiling.shrink(array.shape)}
    np.testing.assert_array_equal(tiles[5], [[15, 0], [0, 0]])
    np.testing.assert_array_equal(tiling.join(tiles, array.shape)[0], array)


def test_a_device_with_other_values_of_a_replicated_array_is_named() -> None:
    tiling = read_tiling("{devices=[2,1,4]<=[8] last_tile_dim_replicate}", 2, DEVICES)
    assert tiling is not None
    tiles = tiling.cut(X)
    tiles[7] = tiles[7] + 1
    whole, others = tiling.join(tiles, X.shape)
    assert others == (7,)
    np.testing.assert_array_equal(whole, X)


@pytest.mark.parametrize("text", ["{maximal device=3}", "{single_device[device_id=3]}"])
def test_the_values_of_an_array_on_one_device_come_from_there(text: str) -> None:
    tiling = read_tiling(text, 2, DEVICES)
    assert tiling is not None
    whole, others = tiling.join([X + device for device in range(DEVICES)], X.shape)
    np.testing.assert_array_equal(whole, X + 3)
    assert others == ()


@pytest.mark.parametrize(
    "text",
    [
        "{manual}",
        "{unknown}",
        "{devices=[2,2]<=[4]}",
        "{devices=[8]<=[8]}",
        "{devices=[2,1,4]<=[8] last_tile_dims={unreduced}}",
        "{mesh['a'=2,'b'=4], [{'a'}, {}], unreduced={'b'}}",
        "{mesh['a'=4], [{'a'}, {}]}",
        "{maximal device=8}",
    ],
)
def test_a_sharding_that_is_not_understood_has_no_tiling(text: str) -> None:
    assert read_tiling(text, 2, DEVICES) is None


def test_the_elements_of_a_tuple_have_their_own_shardings() -> None:
    text = "{{mesh['a'=4], [{'a'}, {}]}, /*index=1*/{replicated}, {devices=[4]<=[4]}}"
    assert split_shardings(text, 3) == ["{mesh['a'=4], [{'a'}, {}]}", "{replicated}", "{devices=[4]<=[4]}"]
    assert split_shardings("{replicated}", 2) == ["{replicated}"] * 2
    assert read_tiling("", 1, 2) == Tiling((1,), ((0,), (0,)))


def test_groups_along_axes_of_a_mesh_become_lists_of_devices() -> None:
    assert list_groups("mesh['a'=2,'b'=2] {'b'}") == "{{0,1},{2,3}}"
    assert list_groups("mesh['a'=2,'b'=2] {'a'}") == "{{0,2},{1,3}}"
    assert list_groups("mesh['a'=2,'b'=2] {'b','a'}") == "{{0,2,1,3}}"
    assert list_groups("mesh['a'=2,'b'=2], device_ids=(3,2,1,0) {'a'}") == "{{3,1},{2,0}}"
    assert list_groups("[2,2]<=[4]") == "[2,2]<=[4]"
