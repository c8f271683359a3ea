"""The compilers' log as events: each message with the pass that was running."""

from __future__ import annotations

import pytest

from xla_inspect.compilation.log_lines import drop_states, read_log

HEAD = "I1122 10:11:12.131415   {thread} {where}] {text}"
SOURCES = frozenset({"instruction_fusion", "algebraic_simplifier"})


def write(*messages: tuple[str, str], thread: int = 7) -> str:
    return "\n".join(HEAD.format(thread=thread, where=where, text=text) for where, text in messages)


def begin(name: str) -> tuple[str, str]:
    return "hlo_pass_pipeline.cc:211", f"  HLO pass {name}"


def end(name: str) -> tuple[str, str]:
    return "hlo_pass_pipeline.cc:206", f"HLO pass: {name} time: 8 us (8 us) (cumulative: 17 us, max: 8 us, #called: 3)"


def pipeline(name: str, module: str = "jit_f") -> tuple[str, str]:
    return "hlo_pass_pipeline.cc:303", f"Running HLO pass pipeline on module {module}: {name}"


def say(text: str, where: str = "instruction_fusion.cc:691") -> tuple[str, str]:
    return where, text


def test_a_message_belongs_to_the_running_pass_and_its_pipeline() -> None:
    log = write(
        pipeline("fusion"), begin("dce"), end("dce"), begin("priority-fusion"), say("no"), end("priority-fusion")
    )
    (event,) = read_log(log, SOURCES)
    assert (event.run, event.pipeline, event.name, event.module) == (1, "fusion", "priority-fusion", "jit_f")
    assert (event.source, event.line, event.text) == ("instruction_fusion", 691, "no")


def test_a_nested_pipeline_ends_with_its_pass() -> None:
    log = write(
        pipeline("outer"), begin("inner"), pipeline("inner"), begin("algsimp"), say("one"), end("algsimp"),
        end("inner"), begin("dce"), say("two"), end("dce"),
    )  # fmt: skip
    events = [(event.pipeline, event.name, event.text) for event in read_log(log, SOURCES)]
    assert events == [("inner", "algsimp", "one"), ("outer", "dce", "two")]


def test_each_thread_runs_its_own_passes() -> None:
    mine = [pipeline("a", "jit_f"), begin("algsimp"), say("mine"), end("algsimp")]
    other = [pipeline("b", "jit_g"), begin("dce"), say("other"), end("dce")]
    pairs = zip(write(*mine, thread=1).splitlines(), write(*other, thread=2).splitlines(), strict=True)
    log = "\n".join(line for pair in pairs for line in pair)
    modules = {event.text: event.module for event in read_log(log, SOURCES)}
    assert modules == {"mine": "jit_f", "other": "jit_g"}


def test_messages_outside_of_passes_come_last_and_in_order() -> None:
    log = write(say("b"), say("a"), pipeline("p"), begin("dce"), say("c"), end("dce"))
    assert [(event.run, event.text) for event in read_log(log, SOURCES)] == [(0, "c"), (-1, "b"), (-1, "a")]


def test_messages_of_several_threads_outside_of_passes_are_sorted() -> None:
    log = "\n".join((write(say("b"), thread=1), write(say("a"), thread=2)))
    assert [event.text for event in read_log(log, SOURCES)] == ["a", "b"]


def test_messages_of_emitters_are_sorted_even_from_one_thread() -> None:
    log = write(say("b", "llo_schedulers.cc:1"), say("a", "llo_schedulers.cc:1"))
    assert [event.text for event in read_log(log, frozenset({"llo_schedulers"}))] == ["a", "b"]


def test_a_message_of_several_lines_is_one() -> None:
    log = write(pipeline("p"), begin("dce"), say("because:\n  one\n  two"), say("next"), end("dce"))
    assert [event.text for event in read_log(log, SOURCES)] == ["because:\n  one\n  two", "next"]


def test_messages_of_other_source_files_are_left_out() -> None:
    log = write(pipeline("p"), begin("dce"), say("Current working directory /home", "b295d63588a.cc:882"), end("dce"))
    assert read_log(log, SOURCES) == ()


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("Not allowed at: third_party/tpu/fusion.cc:50", "Not allowed at: third_party/tpu/fusion.cc:50"),
        ("looked in /home/x/lib/a.so", "looked in a.so"),
        ("Removing instruction 0x55c602c299d0 add.1", "Removing instruction 0x... add.1"),
        ('%a = f32[2]{0} add(%b), metadata={op_name="f/add" stack_frame_id=2}', "%a = f32[2]{0} add(%b)"),
        (
            '%a = f32[2]{0} fusion(%b), backend_config={"a":{"b":[1]}} because no',
            "%a = f32[2]{0} fusion(%b) because no",
        ),
        ("with goo.gle/debugproto  \nconfig {\n  kind:  1 }", "with config { kind: 1 }"),
        ("window: go/debugstr   \nsize: 1", "window: size: 1"),
        ("For computation: main, module jit_f(4648)", "For computation: main, module jit_f"),
        ("no tiles\n=== Source Location Trace: === \nxla/a.cc:12\n, so a loop", "no tiles , so a loop"),
    ],
)
def test_messages_contain_no_trace_of_the_machine_or_process(message: str, expected: str) -> None:
    (event,) = read_log(write(pipeline("p"), begin("dce"), say(message), end("dce")), SOURCES)
    assert event.text == expected


@pytest.mark.parametrize("time", ["12 us", "3.5 ms", "4.61 s"])
def test_timing_messages_are_left_out(time: str) -> None:
    assert read_log(write(pipeline("p"), begin("dce"), say(f"Run time: {time} ({time})"), end("dce")), SOURCES) == ()


def test_failed_attempts_have_a_deterministic_order() -> None:
    one = [say("Pre-considering\n producer=a"), say("no: a")]
    two = [say("Pre-considering\n producer=b"), say("no: b")]
    lines = [say("Pre-considering\n producer=c"), say("created new fusion: c")]
    orders = [[*lines, *two, *one], [*lines, *one, *two]]
    first, second = (read_log(write(pipeline("p"), begin("fusion"), *order), SOURCES) for order in orders)
    assert first == second
    assert [event.text.splitlines()[-1] for event in first[1::2]] == ["created new fusion: c", "no: a", "no: b"]


@pytest.mark.parametrize(
    "first",
    ["HloModule jit_f", "module changed HloModule jit_f", "CopyRemover:", "LayoutConstraints for computation main.1"],
)
def test_messages_that_print_whole_states_are_left_out(first: str) -> None:
    lines = [say(text, "algebraic_simplifier.cc:109") for text in ("before:", first, "ENTRY %main {", "}")]
    log = write(pipeline("p"), begin("algsimp"), *lines, say("trying", "algebraic_simplifier.cc:942"), end("algsimp"))
    assert [event.text for event in read_log(log, SOURCES)] == ["trying"]


def test_a_truncated_log_keeps_its_complete_messages() -> None:
    assert read_log("", SOURCES) == ()
    assert read_log("Traceback (most recent call last):\n  File", SOURCES) == ()
    cut = write(pipeline("p"), begin("dce"), say("whole"), say("cut"))[:-2]
    assert [event.text for event in read_log(cut, SOURCES)] == ["whole", "c"]


def test_only_the_first_line_of_whole_states_is_written() -> None:
    lines = [say(text, "copy_removal.cc:1336") for text in ("CopyRemover:", "  Buffer", "    <3 add>\n      more")]
    log = write(say("one"), *lines, *lines, say("two", "copy_removal.cc:9")).encode().splitlines(keepends=True)
    kept_lines = [line.decode().partition("] ")[2].strip() for line in drop_states(log)]
    assert kept_lines == ["one", "CopyRemover:", "CopyRemover:", "two"]


def test_messages_of_helper_threads_belong_to_their_pass() -> None:
    """The thread that writes a message differs from run to run, so the events must not depend on it."""
    sources = frozenset({"support"})
    start = write(pipeline("fusion"), begin("priority-fusion"), thread=1)
    words = (say("yes: b", "support.cc:1"), say("yes: a", "support.cc:1"))
    ended = write(end("priority-fusion"), thread=1)
    helped = read_log("\n".join((start, write(words[0], thread=2), write(words[1], thread=3), ended)), sources)
    alone = read_log("\n".join((start, write(*words, thread=1), ended)), sources)
    assert helped == alone
    assert [(event.name, event.text) for event in helped] == [
        ("priority-fusion", "yes: a"),
        ("priority-fusion", "yes: b"),
    ]
