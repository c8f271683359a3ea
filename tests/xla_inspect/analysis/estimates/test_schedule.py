"""The walk through a schedule: loops, branches, and asynchronous operations that share the links or main memory."""

from __future__ import annotations

from xla_inspect.analysis import Count
from xla_inspect.analysis.estimates import Task, walk_schedule
from xla_inspect.hlo import parse_module

MODULE = parse_module("""HloModule m, is_scheduled=true

%body (p: f32[8]) -> f32[8] {
  %p = f32[8]{0} parameter(0)
  %early = (f32[8]{0}, f32[8]{0}, u32[]) copy-start(%p)
  %work = f32[8]{0} tanh(%p)
  ROOT %early_done = f32[8]{0} copy-done(%early)
}

%condition (q: f32[8]) -> pred[] {
  %q = f32[8]{0} parameter(0)
  ROOT %again = pred[] constant(true)
}

%short (s: f32[8]) -> f32[8] {
  %s = f32[8]{0} parameter(0)
  ROOT %sine = f32[8]{0} sine(%s)
}

%long (l: f32[8]) -> f32[8] {
  %l = f32[8]{0} parameter(0)
  ROOT %endless = f32[8]{0} while(%l), condition=%condition, body=%body
}

ENTRY %main (x: f32[8], i: pred[]) -> f32[8] {
  %x = f32[8]{0} parameter(0)
  %i = pred[] parameter(1)
  %first = (f32[8]{0}, f32[8]{0}, u32[]) copy-start(%x)
  %between = f32[8]{0} tanh(%x)
  %second = (f32[8]{0}, f32[8]{0}, u32[]) copy-start(%x)
  %loop = f32[8]{0} while(%x), condition=%condition, body=%body, backend_config={"known_trip_count":{"n":"3"}}
  %first_done = f32[8]{0} copy-done(%first)
  %second_done = f32[8]{0} copy-done(%second)
  ROOT %branch = f32[8]{0} conditional(%i, %loop, %loop), true_computation=%short, false_computation=%long
}
""")
NAMED = {instruction.name: instruction for instruction in MODULE.walk()}


def walk(**tasks: Task) -> tuple[float, dict[str, float], dict[str, float], dict[str, float], set[str]]:
    schedule = walk_schedule(Count(MODULE), {NAMED[name]: task for name, task in tasks.items()})
    parts = [
        {instruction.name: seconds for instruction, seconds in part.items() if seconds}
        for part in (schedule.busy, schedule.exposed, schedule.hidden)
    ]
    seconds = sum(parts[0].values()) + sum(parts[1].values())
    return seconds, parts[0], parts[1], parts[2], schedule.unknown


def background(seconds: float, end: str, engine: str = "links") -> Task:
    return Task(background=seconds, engines=(engine,), done=NAMED[end])


def test_a_body_counts_as_often_as_it_runs_and_once_with_an_unknown_number() -> None:
    answer = walk(work=Task(compute=2.0), early=background(5.0, "early_done"))
    # Three iterations of the loop, and one of the loop in the longer branch.
    assert answer == (4 * 5.0, {"work": 4 * 2.0}, {"early": 4 * 3.0}, {"early": 4 * 2.0}, {"endless"})


def test_all_iterations_of_a_loop_hide_a_copy_that_started_before_it() -> None:
    _, _, exposed, hidden, _ = walk(first=background(20.0, "first_done"), work=Task(compute=5.0))
    assert (exposed, hidden) == ({"first": 5.0}, {"first": 15.0})
    queue = {"first": background(7.0, "first_done"), "second": background(3.0, "second_done")}
    assert walk(**queue, work=Task(compute=5.0))[2:4] == ({}, {"first": 7.0, "second": 3.0})


def test_only_the_longest_branch_of_a_conditional_counts() -> None:
    seconds, busy, *_, unknown = walk(sine=Task(compute=9.0), work=Task(compute=2.0))
    assert (seconds, busy, unknown) == (3 * 2.0 + 9.0, {"work": 3 * 2.0, "sine": 9.0}, set())
    assert walk(sine=Task(compute=1.0), work=Task(compute=2.0))[1] == {"work": 4 * 2.0}


def test_forty_nested_conditionals_are_not_walked_twice_at_each_level() -> None:
    levels = [
        f"""%level{number} (p{number}: f32[8], c{number}: pred[]) -> f32[8] {{
  %p{number} = f32[8]{{0}} parameter(0)
  %c{number} = pred[] parameter(1)
  %work{number} = f32[8]{{0}} tanh(%p{number})
  ROOT %next{number} = f32[8]{{0}} conditional(%c{number}, %work{number}, %work{number}), """
        f"""true_computation=%level{number + 1}, false_computation=%end
}}
"""
        for number in reversed(range(40))
    ]
    text = "".join(
        [
            "HloModule m, is_scheduled=true\n",
            "%end (e: f32[8]) -> f32[8] {\n  ROOT %e = f32[8]{0} parameter(0)\n}\n",
            "%level40 (d: f32[8]) -> f32[8] {\n  ROOT %d = f32[8]{0} parameter(0)\n}\n",
            *levels[:-1],
            f"ENTRY {levels[-1]}",
        ]
    )
    module = parse_module(text)
    tasks = {one: Task(compute=1.0) for one in module.walk() if one.opcode == "tanh"}
    assert sum(walk_schedule(Count(module), tasks).busy.values()) == 40.0


def test_one_transfer_after_the_other_uses_the_links_but_a_copy_does_not_wait_for_them() -> None:
    both = {"first": background(4.0, "first_done"), "second": background(3.0, "second_done")}
    assert walk(**both)[2] == {"first": 4.0, "second": 3.0}
    assert walk(**{**both, "second": background(3.0, "second_done", "memory")})[0] == 4.0


def test_a_wait_counts_for_the_transfer_that_runs_and_only_work_hides_one() -> None:
    # The core works until 3 and then waits for `second`, but the links carry `first` until 10.
    first = Task(background=10.0, engines=("links",), done=NAMED["branch"])
    answer = walk(first=first, second=background(2.0, "second_done"), between=Task(compute=3.0))
    assert answer[:4] == (12.0, {"between": 3.0}, {"first": 7.0, "second": 2.0}, {"first": 3.0})


def test_the_wait_for_a_queue_counts_once_for_each_of_its_transfers_and_for_no_other() -> None:
    queue = {"first": background(10.0, "branch"), "second": background(2.0, "loop")}
    # The operation between them uses the links too, or main memory, or both are needed for the second one.
    assert walk(**queue, between=background(3.0, "first_done"))[2] == {"first": 10.0, "between": 3.0, "second": 2.0}
    assert walk(**queue, between=background(5.0, "first_done", "memory"))[2] == {"first": 10.0, "second": 2.0}
    queue["second"] = Task(background=2.0, engines=("links", "memory"), done=NAMED["loop"])
    exposed = walk(**queue, between=background(5.0, "first_done", "memory"))[2].values()
    assert (sum(exposed), min(exposed) > 0) == (12.0, True)
    assert walk(p=background(3.0, "early_done"), early=background(2.0, "work"))[2] == {"p": 4 * 3.0, "early": 4 * 2.0}


def test_work_that_uses_main_memory_delays_a_copy_behind_another_one() -> None:
    copies = {"first": background(4.0, "first_done", "memory"), "second": background(2.0, "second_done", "memory")}
    exposed = [walk(**copies, between=Task(compute=6.0, memory=used))[2] for used in (0.0, 5.0)]
    # Main memory moves the bytes of the first copy, then those of the work, and then those of the other copy.
    assert exposed == [{"second": 2.0}, {"second": 5.0}]


def test_the_end_of_a_computation_waits_for_an_operation_that_nothing_else_waits_for() -> None:
    assert walk(first=background(4.0, "work"))[2] == {"first": 4.0}
    assert walk(first=Task(background=4.0, engines=("links",)), loop=Task())[2] == {"first": 4.0}
