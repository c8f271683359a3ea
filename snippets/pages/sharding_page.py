"""Programs, tables and checks of the page about sharding."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from pages.memory_sums_page import count_needed as measure_needed
from programs import gathered, train_step
from xla_inspect import capture
from xla_inspect.analysis import list_collectives, list_launches
from xla_inspect.hlo import INCIDENTAL
from xla_inspect.questions.collectives import find_exchanges
from xla_inspect.report import format_duration, markdown, print_computation, print_instruction

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from xla_inspect.analysis import Collective
    from xla_inspect.captured import Capture, Captures
    from xla_inspect.hlo import Computation, Module

GRIDS = {8: (2, 4), 64: (8, 8), 256: (16, 16)}
"""Numbers of TPU v5e chips, mapped to the shapes of their grids."""

HIDDEN = INCIDENTAL | {"channel_id", "use_global_device_ids"}
"""The attributes that the page's listings omit."""

CALLS = {
    "jax.lax.psum": "all-reduce",
    "jax.lax.psum_scatter": "reduce-scatter",
    "jax.lax.all_gather": "all-gather",
    "jax.lax.all_to_all": "all-to-all",
    "jax.lax.ppermute": "collective-permute",
}


def compile_gathered(target: str, **options: str | int | bool) -> Capture:
    """Compile `programs.gathered` for a mesh of eight devices of a target, with compiler options."""
    return capture(
        gathered.gathered,
        *gathered.EXAMPLE,
        target=target,
        mesh={"x": 8},
        specs=gathered.SPECS,
        options=options,
    )


def count_overlapped(capture: Capture) -> tuple[int, int]:
    """Return the number of exchanges with kernels between their start and done, and the number of all exchanges."""
    exchanges = find_exchanges("gathered", capture, {"x": 8}).exchanges
    return sum(exchange.is_overlapped for exchange in exchanges), len(exchanges)


def compile_step(chips: int, way: str) -> Capture:
    """Compile the training step for a number of TPU v5e chips."""
    grid = GRIDS[chips]
    return capture(
        train_step.train_step,
        *train_step.EXAMPLE,
        target=f"tpu-v5e:{grid[0]}x{grid[1]}",
        mesh=dict(zip("xy", grid, strict=True)) if way == "two axes" else {"x": chips},
        specs=train_step.SHARDINGS[way],
        donate_argnums=0,
    )


def show_computation(computation: Computation, attributes: Iterable[str] = ()) -> str:
    """Return a fenced HLO listing of a computation, without layouts and incidental attributes except `attributes`."""
    return markdown.fence(print_computation(computation, HIDDEN - {*attributes}, layouts=False), "hlo")


def count_annotated(module: Module) -> int:
    """Return the number of instructions in a module that have a sharding."""
    return sum("sharding" in instruction.attributes for instruction in module.walk())


def measure_sent(capture: Capture) -> int:
    """Return the least number of bytes that each device must send in all collectives of a program."""
    return sum(collective.sent_bytes for collective in list_collectives(capture.module))


def list_gathered(capture: Capture) -> set[str]:
    """Return the element types of the matrices in the program's all-gathers."""
    gathers = (instruction for instruction in capture.module.walk() if instruction.opcode == "all-gather")
    return {leaf.dtype for gather in gathers for leaf in gather.shape.leaves() if leaf.rank == 2}


def count_gathers(capture: Capture) -> int:
    """Return the number of a program's collectives of the kind `all-gather`."""
    return sum(collective.kind == "all-gather" for collective in list_collectives(capture.module))


def name_collective(kind: str, is_async: bool) -> str:  # noqa: FBT001 - a pair that is counted
    """Return the kind of a collective as code, with a mark if the collective is asynchronous."""
    return f"{markdown.code(kind)}{' async' if is_async else ''}"


def show_collectives(capture: Capture) -> str:
    """Return the number of collectives of each kind, one kind per line, as HTML."""
    counts = Counter((collective.kind, collective.is_async) for collective in list_collectives(capture.module))
    return "<br>".join(f"{count} {name_collective(*kind)}" for kind, count in sorted(counts.items()))


def find_collective(capture: Capture, kind: str) -> Collective:
    """Return the only collective of a kind, such as `all-reduce`; raise ValueError if there is not exactly one."""
    (collective,) = (collective for collective in list_collectives(capture.module) if collective.kind == kind)
    return collective


def check_partitioning(captures: Captures) -> None:
    """Assert that Shardy runs before the partitioner on each target, and that each program has one all-reduce."""
    for program in captures.values():
        names = [run.name for run in program.runs]
        # On some targets, the name of the partitioning pass has a prefix.
        assert names.index("shardy-xla") < next(i for i, name in enumerate(names) if name.endswith("spmd-partitioning"))
        (collective,) = list_collectives(program.module)
        assert collective.kind == "all-reduce"
        assert collective.operand_bytes == 256 * 256 * 4
        assert program.module.num_partitions == 8


def check_triton(small: Captures, large: Capture) -> None:
    """Assert that a small all-reduce is a Triton kernel on the H100 but a large one is not, and others are in ENTRY."""
    h100 = small["h100:8"]
    kinds = {
        name: [launch.thunk.kind for launch in list_launches(program) if launch.role == "collective" and launch.thunk]
        for name, program in (("small", h100), ("large", large))
    }
    assert "all-reduce" not in h100.module.opcode_counts(entry_only=True)
    assert '"kind":"__triton_collective"' in h100.after
    assert kinds["small"] == ["kCollectiveKernel"]
    assert "__triton_collective" not in large.after
    assert "kAllReduce" in kinds["large"]
    for target in ("cpu:8", "tpu-v5e:2x4"):
        assert small[target].module.opcode_counts(entry_only=True)["all-reduce"] == 1


def check_reductions(sharded: Captures) -> None:
    """Assert the collectives that reduce the gradients on each target, and the types and bytes exchanged."""
    sharded.require()
    cpu, h100, tpu = (sharded[target] for target in ("cpu:8", "h100:8", "tpu-v5e:2x4"))
    kinds = {collective.kind for collective in list_collectives(cpu.module)}
    assert "reduce-scatter" not in kinds
    scattered, whole = find_collective(h100, "reduce-scatter"), find_collective(cpu, "all-reduce")
    assert scattered.is_async
    # An all-reduce is a reduce-scatter followed by an all-gather that sends as much.
    shares = [2 * scattered.sent_bytes / scattered.operand_bytes, whole.sent_bytes / whole.operand_bytes]
    assert abs(shares[0] - shares[1]) < 0.01
    assert "all-reduce-scatter" in {collective.kind for collective in list_collectives(tpu.module)}
    assert list_gathered(tpu) == {"bf16"}
    assert list_gathered(h100) == list_gathered(cpu) == {"f32"}
    assert measure_sent(tpu) < measure_sent(h100) < measure_sent(cpu)


def measure_shares(capture: Capture) -> Counter[str]:
    """Return the least number of bytes that a chip must send, by kind of collective."""
    bytes_by_kind: Counter[str] = Counter()
    for collective in list_collectives(capture.module):
        bytes_by_kind[collective.kind] += collective.sent_bytes
    return bytes_by_kind


def show_growth(grown: Mapping[str, Mapping[int, Capture]]) -> str:
    """Return a folded HTML table of memory, bytes sent and collectives, by sharding strategy and number of chips."""
    rows = []
    for way, row in grown.items():
        for chips, program in row.items():
            kinds = Counter(collective.kind for collective in list_collectives(program.module))
            counts = ", ".join(f"{count} {markdown.code(kind)}" for kind, count in sorted(kinds.items()))
            sizes = markdown.size(measure_needed(program)), markdown.size(measure_sent(program))
            rows.append((way, str(chips), *sizes, counts))
    header = ["strategy", "chips", "memory", "bytes sent", "collectives"]
    return markdown.fold("The numbers", markdown.cards(header, rows))


def check_growth(grown: Mapping[str, Mapping[int, Capture]]) -> None:
    """Assert that each strategy's memory and bytes sent change with the number of chips as the page states."""
    memory = {way: [measure_needed(program) for program in row.values()] for way, row in grown.items()}
    bytes_sent = {way: [measure_sent(program) for program in row.values()] for way, row in grown.items()}
    assert memory["data"][-1] > 0.95 * memory["data"][0]
    assert bytes_sent["data"] == sorted(bytes_sent["data"])
    assert bytes_sent["data"][-1] < 1.2 * bytes_sent["data"][0]
    assert memory["tensor"][-1] < 0.75 * memory["tensor"][0]
    assert bytes_sent["tensor"][-1] < 1.2 * bytes_sent["tensor"][0]
    assert memory["fully sharded"][-1] < 0.7 * memory["fully sharded"][0]
    assert bytes_sent["fully sharded"][-1] > bytes_sent["data"][1]
    assert "all-gather" not in measure_shares(grown["fully sharded"][64])
    assert {collective.group for collective in list_collectives(grown["two axes"][256].module)} == {16}
    for way in ("data", "tensor", "fully sharded"):
        assert bytes_sent["two axes"][-1] < bytes_sent[way][-1]


def list_overlap(captures: Mapping[str, Capture]) -> list[tuple[str, str, str, str]]:
    """Return a row of text for each schedule: label, exchanges overlapped by kernels, time, and temporary memory.

    The time is the longest of the least times that the kernels during each exchange need, or an empty text.
    """
    rows = []
    for label, schedule in captures.items():
        exchanges = find_exchanges("gathered", schedule, {"x": 8}).exchanges
        between = [exchange.meanwhile for exchange in exchanges if exchange.is_overlapped]
        times = [kernels.least_seconds or 0 for kernels in between if kernels]
        hidden, total = count_overlapped(schedule)
        time = format_duration(max(times)) if any(times) else ""
        rows.append((label, f"{hidden} of {total}", time, markdown.size(schedule.memory.temporaries)))
    return rows


def show_between(capture: Capture, start: str, end: str) -> str:
    """Return a fenced listing of ENTRY from the instruction `start` to the instruction `end`, a collective's done."""
    names = [instruction.name for instruction in capture.module.entry]
    between = capture.module.entry.instructions[names.index(start) : names.index(end) + 1]
    hidden = HIDDEN | {"output_to_operand_aliasing"}
    # Instructions that launch nothing would only make the listing longer.
    lines = (
        print_instruction(instruction, hidden, layouts=False)
        for instruction in between
        if instruction.opcode not in {"get-tuple-element", "bitcast", "constant"}
    )
    return markdown.fence("\n".join(lines), "hlo")


def list_started(capture: Capture) -> Iterator[str]:
    """Yield the opcode of each start; for an `async-start`, yield the opcodes of the computation that it wraps."""
    for instruction in capture.module.walk():
        if instruction.opcode == "async-start":
            # An `async-start` wraps its operation in a computation.
            instructions = (inner for computation in capture.module.called(instruction) for inner in computation)
            yield from (inner.opcode for inner in instructions if inner.opcode != "parameter")
        elif instruction.opcode.endswith("-start"):
            yield instruction.opcode


def check_synchronous(captures: Iterable[Capture]) -> None:
    """Assert that no collective of the CPU's programs has a start and a done."""
    for program in captures:
        collectives = list_collectives(program.module)
        # Without any collective, the next checks would always pass.
        assert collectives
        assert not any(collective.is_async for collective in collectives)
        assert not any(opcode.endswith(("-start", "-done")) for opcode in program.module.opcode_counts())


def check_gathers(module: Module) -> None:
    """Assert that the TPU gathers `w2` in three instructions of one channel, the second in the fusion of the layer."""
    gathers = [
        instruction
        for instruction in module.walk()
        if instruction.opcode == "all-gather" and instruction.shape.dimensions == (1024, 256)
    ]
    assert len(gathers) == 3
    assert len({gather.attributes["channel_id"] for gather in gathers}) == 1
    around = [{other.opcode for other in module.computation(gather.computation)} for gather in gathers]
    assert ["convolution" in opcodes for opcodes in around] == [False, True, False]


def check_rematerialization(ways: Mapping[str, Captures]) -> None:
    """Assert that resharding by both axes sends half the bytes, and that only direct resharding gathers the matrix."""
    direct, both = ways["directly"], ways["by both axes"]
    direct.require()
    for target in direct:
        assert 2 * measure_sent(both[target]) == measure_sent(direct[target])
        whole = [
            any(
                instruction.opcode == "all-gather"
                and (64, 64) in {leaf.dimensions for leaf in instruction.shape.leaves()}
                for instruction in program[target].module.walk()
            )
            for program in (direct, both)
        ]
        assert whole == [True, False]
