"""Serialized modules, and errors for other bytes."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING

import pytest
from cases import TARGETS
from jaxlib import _hlo
from written_modules import TEXTS

from xla_inspect.analysis import parse_buffers
from xla_inspect.errors import InspectError
from xla_inspect.hlo_proto import read_hlo_proto

if TYPE_CHECKING:
    from conftest import Corpus


def serialize(name: str) -> bytes:
    return bytes(_hlo.hlo_module_from_text(TEXTS[name]).as_serialized_hlo_module_proto())


def varint(number: int) -> bytes:
    return bytes([number]) if number < 128 else bytes([number & 127 | 128]) + varint(number >> 7)


def field(number: int, value: int | bytes) -> bytes:
    """Return the bytes of a message field with a number or bytes."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def computation(*instructions: bytes, name: bytes = b"main") -> bytes:
    """Return the bytes of an `HloComputationProto` with these instructions."""
    return field(1, name) + b"".join(field(2, instruction) for instruction in instructions) + field(5, 1)


def module(*computations: bytes) -> bytes:
    """Return the bytes of an `HloModuleProto` with a computation of id 1 as its entry."""
    return field(1, b"made") + b"".join(field(3, computation) for computation in computations) + field(6, 1)


SCALAR = field(2, 11)  # the ShapeProto of f32[]
PARAMETER = field(1, b"x") + field(2, b"parameter") + field(3, SCALAR)


def test_a_module_is_read_alone_and_inside_an_hlo_proto_or_a_snapshot() -> None:
    alone = serialize("custom calls")
    within = field(1, alone)
    snapshot = field(1, within)
    module = read_hlo_proto(alone)
    assert (module.name, module.buffers) == ("written", "")
    assert read_hlo_proto(within) == read_hlo_proto(memoryview(snapshot)) == module


@pytest.mark.parametrize("target", TARGETS)
def test_the_memory_plan_matches_the_dump(corpus: Corpus, target: str) -> None:
    paths = sorted(corpus.wait(target).glob("*/*-buffer-assignment.txt"))
    for path in paths:
        proto = path.with_name(path.name.replace("-buffer-assignment.txt", ".hlo.pb"))
        plan = read_hlo_proto(proto.read_bytes()).buffers
        assert plan.rstrip("\n") == path.read_text().rstrip("\n"), path.name
        assert parse_buffers(plan).total > 0
    assert len(paths) >= 30


def test_a_module_without_a_root_or_ids_of_its_entry_is_read() -> None:
    """Builders of other projects leave out what has only one answer."""
    proto = field(1, b"made") + field(2, b"main") + field(3, computation(PARAMETER))
    assert read_hlo_proto(proto).text.splitlines()[2:] == [
        "ENTRY %main (x: f32[]) -> f32[] {",
        "  ROOT %x = f32[] parameter(0)",
        "}",
        "",
    ]


def test_a_constant_that_was_stripped_of_its_values_is_written_as_elided() -> None:
    """TensorFlow's `optimized_hlo_proto_serialized` has only the shapes of literals."""
    constant = field(1, b"c") + field(2, b"constant") + field(3, SCALAR) + field(8, field(1, SCALAR))
    assert "ROOT %c = f32[] constant({...})" in read_hlo_proto(module(computation(constant))).text


def test_an_array_of_many_rows_without_elements_is_elided() -> None:
    shape = field(2, 11) + b"".join(field(3, size) for size in (4096, 4096, 4096, 0))
    constant = field(1, b"c") + field(2, b"constant") + field(3, shape) + field(8, field(1, shape))
    assert "constant({...})" in read_hlo_proto(module(computation(constant))).text


def test_groups_of_devices_are_read_as_older_compilers_wrote_them() -> None:
    rule = field(1, 2) + field(2, 4) + field(3, 8) + field(4, 0)
    reduce = field(1, b"r") + field(2, b"all-gather") + field(3, SCALAR) + field(14, 0)
    by_rule = read_hlo_proto(module(computation(reduce + field(87, field(2, rule))))).text
    listed = read_hlo_proto(module(computation(reduce + field(49, field(1, 0) + field(1, 1))))).text
    assert "all-gather(), replica_groups=[2,4]<=[8], dimensions={0}" in by_rule
    assert "all-gather(), replica_groups={{0,1}}, dimensions={0}" in listed


GATHER = field(1, b"g") + field(2, b"all-gather") + field(3, SCALAR)


def nest(depth: int) -> bytes:
    """Return the bytes of a `ShapeProto` with `depth` tuples within each other."""
    shape = SCALAR
    for _ in range(depth):
        shape = field(2, 13) + field(4, shape)
    return shape


def burrow(depth: int) -> bytes:
    """Return the bytes of an `HloModuleProto` with `depth` nested `original_value` recovery modules."""
    inner = module(computation(PARAMETER))
    for _ in range(depth):
        entry = field(1, field(1, b"a")) + field(2, field(1, b"b")) + field(3, inner)
        inner = module(computation(PARAMETER)) + field(20, field(1, entry))
    return inner


NAN_NAME = "\N{BLACK STAR}".encode()
MANY = b"".join(field(36, 0) for _ in range(60_000))
BROKEN = {
    "nothing": (b"", "it is empty"),
    "HLO text": (b"HloModule m\n\nENTRY e {}", "it is HLO text"),
    "MLIR bytecode": (b"ML\xefR\x01", "it is MLIR bytecode"),
    "text": (b"name: 1\n" * 40, "it is text"),
    "a gzip file": (b"\x1f\x8b\x08\0\0", "it is compressed (gzip)"),
    "a profile": (field(1, field(2, b"/host:CPU") + field(3, b"\x0a\x01a")), "it is a profile (XSpace)"),
    "a graph of TensorFlow": (field(1, field(1, b"x") + field(2, b"Placeholder")), "it is a graph of TensorFlow"),
    "a record of passes": (field(1, 7) + field(5, field(1, 1) + field(2, b"algsimp")), "it is a record of passes"),
    "a field without an end": (module(computation(PARAMETER))[:-9], "ends within a field"),
    "a number without an end": (b"\x0a" + b"\xff" * 30, "a number has more than 64 bits"),
    "a length beyond the end": (b"\x1a" + b"\xff" * 9 + b"\x01", "ends within a field"),
    "modules within modules": (burrow(40), "messages nest deeper than 100 levels"),
    "modules within modules, each escaped in the next": (burrow(30), "its text would take more than"),
    "a long name of an axis, many times": (
        module(computation(GATHER + field(93, field(1, field(1, field(1, b"a" * 300))) + field(2, b"") * 99))),
        "an axis has a name of 300 characters",
    ),
    "no computation": (field(1, b"made"), "there is no computation in its 6 bytes"),
    "no entry": (field(1, b"made") + field(3, computation(PARAMETER)), "there is no entry computation among 1"),
    "an empty computation": (module(computation()), "computation 1 of 1: it has no instructions"),
    "a name that is none": (module(computation(PARAMETER, name=b"<script>")), "it has a name that text cannot hold"),
    "a name with a line break": (module(computation(PARAMETER, name=b"a\nb")), r"text cannot hold: 'a\nb'"),
    "a name beyond ASCII": (module(computation(PARAMETER, name=NAN_NAME)), r"text cannot hold: '\u2605'"),
    "two instructions with one id": (
        module(computation(PARAMETER, PARAMETER)),
        "two of its instructions have the id 0",
    ),
    "an operand that is not there": (
        module(computation(field(1, b"y") + field(2, b"negate") + field(36, 7) + field(3, SCALAR))),
        "instruction y of computation main: it refers to instruction 7, which is not there",
    ),
    "a call of nothing": (
        module(computation(field(1, b"y") + field(2, b"call") + field(38, 9) + field(3, SCALAR))),
        "it calls computation 9, which is not there",
    ),
    "shapes that nest": (module(computation(PARAMETER + field(3, nest(5000)))), "messages nest deeper than 100 levels"),
    "an array of many dimensions": (
        module(computation(field(1, b"c") + field(2, b"constant") + field(3, SCALAR + field(3, b"\x01" * 90_000)))),
        "an array has 90,000 dimensions",
    ),
    "a text far larger than its file": (
        module(computation(field(1, b"a" * 9000) + field(2, b"tuple") + field(3, SCALAR) + MANY)),
        "it names 60,000 instructions",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_invalid_bytes_are_rejected_with_their_kind_or_the_place_of_the_error(name: str) -> None:
    data, why = BROKEN[name]
    start = time.process_time()
    with pytest.raises(InspectError) as refused:
        read_hlo_proto(data)
    what, hint = str(refused.value).split("\n")
    assert why in what
    assert hint == "name a file that --xla_dump_hlo_as_proto or as_serialized_hlo_module_proto() wrote"
    assert time.process_time() - start < 2


def test_a_chain_of_asynchronous_instructions_takes_linear_time() -> None:
    updates = [
        field(1, b"u%d" % number)
        + field(2, b"async-update")
        + field(3, SCALAR)
        + field(35, number)
        + (field(36, number - 1) if number else b"")
        for number in range(20_000)
    ]
    start = time.process_time()
    read_hlo_proto(module(computation(*updates)))
    assert time.process_time() - start < 4


def test_mutated_modules_are_read_or_rejected() -> None:
    chance = random.Random(7)  # noqa: S311 - no secret
    whole = [serialize(name) for name in TEXTS]
    readable = 0
    for _ in range(1500):
        data = bytearray(chance.choice(whole))
        place = chance.randrange(len(data))
        if chance.random() < 0.7:
            data[place] ^= 1 << chance.randrange(8)
        else:
            data[place : place + chance.randrange(4)] = chance.randbytes(chance.randrange(4))
        try:
            read_hlo_proto(data)
            readable += 1
        except InspectError:
            continue
    assert 100 < readable < 1400
