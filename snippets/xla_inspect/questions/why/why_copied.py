"""The explanation of a copy or a transpose: the value that it protects, or the layout that an instruction needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xla_inspect.analysis import COPYING, ValueFlow, is_fusion, is_passed_on, search, skip_renaming
from xla_inspect.questions.why.explanation import IMPORT, Finding, LineOf
from xla_inspect.units import format_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xla_inspect.analysis import KernelParts, Launch, Step
    from xla_inspect.hlo import Instruction, Module, Shape
    from xla_inspect.questions.why.explanation import Kind, Reason
    from xla_inspect.questions.why.why_context import Evidence

MOVING = frozenset({"copy", "transpose"})
_UPDATING = frozenset({"dynamic-update-slice", "scatter"})
ASSIGNING = "memory_space_assignment"
_CONTROL = frozenset({"call", "conditional", "while"})
_SPACES = {0: "main memory", 1: "VMEM", 2: "semaphore memory", 4: "SMEM", 5: "the host's memory"}
_INSERTING = "copy-insertion"
_FORMS = {
    "dot_decomposer": "the target's dots need batch dimensions first and contract the last dimension of the left "
    "operand with the next dimension of the right operand, so ",
}
"""The purpose of transposes as the beginning of a sentence, by the pass that creates them."""
_ADDED = ("copied-read-only", "copied-for-update", "copied-for-loop", "copy-index")
_MOST = 12


def is_move(kernels: KernelParts, launch: Launch) -> bool:
    """Return whether a launch copies or transposes a value, and computes nothing."""
    if launch.opcode in MOVING:
        return True
    # A fusion that computes anything is a kernel, even if it also contains a copy.
    parts = [part for part in kernels.parts(launch) if not is_fusion(part)]
    return all(part.opcode in COPYING | MOVING for part in parts) and any(part.opcode in MOVING for part in parts)


def find_moved(evidence: Evidence, launch: Launch) -> Instruction:
    """Return the transpose or copy inside a launch, or the launched instruction if it contains none."""
    parts = evidence.kernels.parts(launch)
    transpose = next((part for part in parts if part.opcode == "transpose"), None)
    return transpose or next((part for part in parts if part.opcode == "copy"), launch.instruction)


def explain_move(evidence: Evidence, moved: Instruction, launch: Launch | None) -> Finding:
    """Return the explanation of a copy or transpose: the pass that made it, and the reason.

    Args:
        evidence: The capture.
        moved: The copy or transpose, which may be inside a fusion.
        launch: The launch that runs it, or None if it has no launch.
    """
    scheduled = launch.scheduled if launch else moved
    first = evidence.histories.find_first(moved)
    source = skip_renaming(evidence.module, find_taken(evidence.module, moved, scheduled))
    inner = _find_users(evidence, moved) if moved.computation != scheduled.computation and not moved.is_root else ()
    messages = evidence.read_decisions(
        [
            *evidence.attempts.about([moved]),
            *(message for message in evidence.attempts.about([source]) if message.topic in {"layout", "copies"}),
        ]
    )
    # If the copy is only the result of its fusion, its readers are those of the fusion.
    users = inner if any(not _is_result(user) for user in inner) else _find_users(evidence, scheduled)
    inserted = _find_inserted(messages, moved, source)
    kind, why, notes = _find_cause(evidence, moved, source, users, first, is_inserted=inserted is not None)
    # A transpose may replace a copy between layouts. Then the original copy has the requested layout.
    original = first.instruction if (moved.opcode, first.instruction.opcode) == ("transpose", "copy") else moved
    lines: tuple[LineOf, ...] = (evidence.show_line(moved),)
    if (kind == "layout" or original is not moved) and (asker := _find_asker(messages, original)):
        is_argument = source.opcode == "parameter" and source.computation == evidence.module.entry.name
        obstacle = "the caller fixes the layout of arguments" if is_argument else "it has another layout"
        instruction = evidence.histories.find(asker)
        line = evidence.show_line(instruction) if instruction is not None else LineOf("", "")
        name = f"{asker} ({line.where})" if line.where else asker
        why = f"{name} needs {evidence.name_value(source)} in the layout {_show_order(original)}, but {obstacle}"
        # The line of the instruction that requests the layout is more useful than the line of the copy.
        lines = tuple(dict.fromkeys(place for place in (line, *lines) if place.where)) or lines
    reason = inserted if kind == "copy" and inserted else _pick(messages, kind, first)
    size = find_made(moved).bytes
    what = "transpose" if moved.opcode == "transpose" else "copy"
    pass_name = first.name
    if moved.opcode == "copy-start" and any(event.source == ASSIGNING for event in evidence.capture.log):
        pass_name = ASSIGNING.replace("_", "-")
    pipeline = first.pipeline
    if inserted is not None and kind == "copy":
        pass_name, pipeline = inserted.pass_name or _INSERTING, inserted.pipeline or pipeline
    shown_pass = _INSERTING if pass_name.startswith("adding_") else pass_name
    by = "part of the original program"
    if first.deed != "imported":
        by = f"made by the pass {shown_pass}" if shown_pass else "made by an unknown pass"
    return Finding(
        kind,
        (moved.name,),
        f"{evidence.name_value(moved)} is a {what} of {format_bytes(size)}, {by}: {why}.",
        pipeline,
        pass_name or IMPORT,
        lines[0],
        notes,
        (*([reason] if reason else []), *(message for message in messages if message is not reason))[:_MOST],
        2 * size,
        lines if len(lines) > 1 else (),
    )


def _find_inserted(messages: tuple[Reason, ...], moved: Instruction, source: Instruction) -> Reason | None:
    """Return the compiler's message that copy insertion inserted a copy, or None if the log has no such message."""
    if moved.opcode != "copy":
        return None
    names = {moved.name, source.name}
    insertions = [
        message for message in messages if message.kind in _ADDED and {message.instruction, *message.others} & names
    ]
    return min(insertions, key=lambda message: _ADDED.index(message.kind), default=None)


def _find_asker(messages: tuple[Reason, ...], moved: Instruction) -> str:
    """Return the name of the instruction for which layout assignment made a copy, according to the log, or ''."""
    order = _show_order(moved)
    for message in messages:
        if message.kind == "copied-for-layout" and message.others and order[:-1] in message.words:
            return message.others[0]
    return ""


def _show_order(moved: Instruction) -> str:
    layout = find_made(moved).layout
    return "{" + ",".join(map(str, layout.minor_to_major if layout else ())) + "}"


def find_made(moved: Instruction) -> Shape:
    """Return the shape of a copy's result, which for the tuple of a copy-start is the first element."""
    return moved.shape.elements[0] if moved.shape.elements else moved.shape


def _pick(messages: tuple[Reason, ...], kind: Kind, first: Step) -> Reason | None:
    """Return the first explained message on the topic, preferably by the pass that created the copy, or None."""
    topics = {"copy": {"copies"}, "layout": {"layout"}, "transpose": {"layout", "matmul", "simplification"}}.get(
        kind, set()
    )
    explained = [
        message for message in messages if message.topic in topics and message.verdict != "tried" and message.sentence
    ]
    own = [message for message in explained if message.pass_name == first.name]
    return next(iter(own or explained), None)


def find_taken(module: Module, moved: Instruction, scheduled: Instruction) -> Instruction:
    """Return the operand of a copy or transpose, outside of the fusion around it."""
    operands = module.operands(moved)
    value = operands[0] if operands else moved
    if moved.computation != scheduled.computation and value.opcode == "parameter":
        outer = module.operands(scheduled)
        number = value.parameter_number or 0
        return outer[number] if number < len(outer) else value
    return value


def _find_users(evidence: Evidence, scheduled: Instruction) -> tuple[Instruction, ...]:
    """Return the users of a copy, looking through instructions that rename, collect or copy it again."""

    def list_next(value: Instruction) -> Iterator[Instruction]:
        for user in evidence.module.users(value):
            if user.opcode == "call":
                parameters = evidence.module.called(user)[0].parameters
                pairs = zip(parameters, user.operands, strict=False)
                yield from (parameter for parameter, name in pairs if name == value.name)
            elif is_passed_on(user) and not user.is_root:
                yield user

    users = (user for value in search([scheduled], list_next) for user in evidence.module.users(value))
    return tuple(
        dict.fromkeys(user for user in users if user.is_root or not (is_passed_on(user) or user.opcode == "call"))
    )


def _find_cause(  # noqa: PLR0913 - the copy, its neighbors and its origin
    evidence: Evidence,
    moved: Instruction,
    source: Instruction,
    users: tuple[Instruction, ...],
    first: Step,
    *,
    is_inserted: bool,
) -> tuple[Kind, str, tuple[str, ...]]:
    """Return the kind of explanation for a copy, the reason for the copy, and further notes."""
    before, after = source.shape.layout, find_made(moved).layout
    inner = evidence.module.operands(moved)
    if inner and moved.opcode == "copy":
        before = inner[0].shape.layout or before
    reading = ", ".join("the result" if _is_result(user) else evidence.name_value(user) for user in users[:2])
    reading = reading or "the result"
    if moved.opcode == "transpose":
        return "transpose", *_explain_transpose(moved, first, reading)
    if before and after and before.minor_to_major != after.minor_to_major:
        return "layout", *_explain_layout(evidence, source, users, (before.minor_to_major, after.minor_to_major))
    if (
        before
        and after
        and before.memory_space != after.memory_space
        and not is_inserted
        and "copies" not in first.name
        and "copy-insertion" not in first.name
    ):
        places = [_SPACES.get(shape.memory_space, f"memory space {shape.memory_space}") for shape in (before, after)]
        return "copy", f"it moves {evidence.name_value(source)} from {places[0]} to {places[1]} for {reading}", ()
    return "copy", *_explain_protection(evidence, moved, source, users, first)


def _is_result(user: Instruction) -> bool:
    """Return whether a user of a value only returns it as a result."""
    return user.is_root and is_passed_on(user)


def _explain_transpose(moved: Instruction, first: Step, reading: str) -> tuple[str, tuple[str, ...]]:
    order = moved.attributes.get("dimensions", "")
    primitive = (moved.op_name or "").rpartition("/")[2]
    if first.deed == "imported":
        origin = f"the program requests it ({primitive})" if primitive else "the program requests it"
        if primitive and not primitive.startswith("transpose"):
            origin = f"JAX adds it for {primitive}"
        note = f"It permutes the dimensions in the order {order}."
        return f"{origin}, and no pass could replace it with a layout of {reading}", (note,)
    replaced = ", ".join(instruction.name for instruction in first.instead)
    of = f", replacing {replaced}" if replaced else ""
    form = _FORMS.get(first.name, "")
    return f"{form}it permutes the dimensions in the order {order} for {reading}{of}", ()


def _explain_layout(
    evidence: Evidence,
    source: Instruction,
    users: tuple[Instruction, ...],
    orders: tuple[tuple[int, ...], tuple[int, ...]],
) -> tuple[str, tuple[str, ...]]:
    actual, requested = ("{" + ",".join(map(str, order)) + "}" for order in orders)
    value = evidence.name_value(source)
    is_argument = source.opcode == "parameter" and source.computation == evidence.module.entry.name
    fixed = "whose layout the caller fixes, " if is_argument else ""
    is_result = all(_is_result(user) for user in users)
    if is_result:
        why = f"{value} has the layout {actual}, but the result needs the layout {requested}, which the caller fixes"
    else:
        readers = " and ".join(evidence.name_kind(user) for user in users[:2])
        verb = "need" if len(users) > 1 else "needs"
        why = f"{value} has the layout {actual}, {fixed}but {readers} {verb} {requested}"
    note = "The caller fixes the layouts of arguments and results, unless jax.experimental.layout lets XLA choose them."
    return why, ((note,) if is_argument or is_result else ())


def _explain_protection(
    evidence: Evidence, moved: Instruction, source: Instruction, users: tuple[Instruction, ...], first: Step
) -> tuple[str, tuple[str, ...]]:
    """Return a clause about the value that a copy protects and what would overwrite it, and notes on arguments."""
    if first.deed == "imported":
        return "the program requests it", ()
    flow = ValueFlow(evidence.module)
    origin = flow.find_origin(source)
    value = _name_source(evidence, flow, source, origin)
    notes = tuple(_list_argument_notes(evidence, origin))
    others = [user for user in evidence.module.users(source) if user is not moved and user not in users]
    writers = [user for user in users if _updates(evidence, user)]
    readers = [
        user for user in (*others, *users) if user not in writers and user.opcode not in _CONTROL and not user.is_root
    ]
    readers = [user for user in readers if user.opcode not in {"tuple", "copy"}]
    names = list(dict.fromkeys(evidence.name_value(user) for user in readers))[:2]
    reading = f"{' and '.join(names)} also {'reads' if len(names) == 1 else 'read'} it" if names else ""
    detail = reading or _say_kept(evidence, origin)
    caller = flow.callers.get(moved.computation)
    if writers:
        why = f"{evidence.name_value(writers[0])} writes in place, but {value} must be preserved"
    elif overwriting := [user for user in others if _updates(evidence, user)]:
        why = f"it preserves {value}, which {evidence.name_value(overwriting[0])} overwrites"
        later = " and ".join(evidence.name_value(user) for user in users[:2])
        detail = f"{later} {'read' if len(users) > 1 else 'reads'} it later" if users else ""
    elif loop := next((user for user in users if user.opcode == "while"), None):
        why = f"the loop {loop.name} updates its carry in place, and the initial carry is {value}"
    elif caller is not None and caller.opcode == "while" and any(user.is_root for user in users):
        why = f"the loop {caller.name} needs {value} in another buffer for its next iteration"
        detail = reading or "the iteration may still read the old value when it writes the new one"
    elif moved.is_root or not users or any(user.is_root for user in users):
        why = f"a result needs its own buffer and cannot share that of {value}"
        detail = _say_result(evidence, origin) or reading
    else:
        why = f"{evidence.name_kind(users[0])} cannot use {value} in place"
    return f"{why}: {detail}" if detail else why, notes


def _name_source(evidence: Evidence, flow: ValueFlow, source: Instruction, origin: Instruction) -> str:
    """Return the name of a copied value: an argument, the carry of a loop, or the instruction that computes it."""
    caller = flow.callers.get(origin.computation)
    if origin.opcode == "parameter" and caller is not None and caller.opcode == "while":
        return f"the carry of the loop {caller.name}"
    if origin.opcode == "while":
        return f"the result of the loop {origin.name}"
    if origin.opcode == "parameter" or source.opcode == "get-tuple-element":
        return evidence.name_value(origin)
    return evidence.name_value(source)


def _updates(evidence: Evidence, user: Instruction) -> bool:
    """Return whether an instruction may write its result over an operand."""
    if "output_to_operand_aliasing" in user.attributes:
        return True
    launch = evidence.kernels.holder(user)
    parts = evidence.kernels.parts(launch) if launch else (user,)
    return any(part.opcode in _UPDATING for part in parts)


def _say_kept(evidence: Evidence, origin: Instruction) -> str:
    if origin.opcode in {"constant", "iota"}:
        return "a constant cannot be overwritten"
    if origin.opcode == "parameter" and origin.computation == evidence.module.entry.name:
        number = origin.parameter_number or 0
        if number not in evidence.donated | evidence.offered:
            return "it is not donated, so the caller may still use it"
        if number in evidence.donated:
            return "another result reuses its memory"
    return ""


def _say_result(evidence: Evidence, origin: Instruction) -> str:
    if origin.opcode == "parameter" and origin.computation == evidence.module.entry.name:
        if (origin.parameter_number or 0) not in evidence.donated:
            return f"{evidence.name_value(origin)} is returned unchanged, and it is not donated"
        return "another result already reuses its memory"
    if origin.opcode in {"constant", "iota"}:
        return "it is a constant of the program"
    return ""


def _list_argument_notes(evidence: Evidence, origin: Instruction) -> Iterator[str]:
    if origin.opcode != "parameter" or origin.computation != evidence.module.entry.name:
        return
    number = origin.parameter_number or 0
    if number in evidence.offered:
        yield f"The argument {origin.op_name or origin.name} is donated, but no result has its shape and layout."
    elif number not in evidence.donated:
        yield f"The argument {origin.op_name or origin.name} is not donated."
