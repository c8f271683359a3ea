"""Why a copy or a transpose is there: what it protects, or who asked for which layout."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xla_inspect.analysis import COPYING, ValueFlow, is_fusion, is_passed_on, search, skip_renaming
from xla_inspect.questions.why.explanation import Finding, LineOf
from xla_inspect.questions.why.why_context import IMPORT
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
    "dot_decomposer": "the target's dots have batch dimensions first and contract the last of one operand with the "
    "next of the other, so ",
}
"""The aim of each pass that makes transposes."""
_ADDED = ("copied-read-only", "copied-for-update", "copied-for-loop", "copy-index")
_MOST = 12


def is_move(kernels: KernelParts, launch: Launch) -> bool:
    """Return whether a launch does nothing but copy or transpose."""
    if launch.opcode in MOVING:
        return True
    parts = [part for part in kernels.parts(launch) if not is_fusion(part)]
    return all(part.opcode in COPYING | MOVING for part in parts) and any(part.opcode in MOVING for part in parts)


def find_moved(evidence: Evidence, launch: Launch) -> Instruction:
    """Return the copy or transpose of a launch."""
    parts = evidence.kernels.parts(launch)
    found = next((part for part in parts if part.opcode == "transpose"), None)
    return found or next((part for part in parts if part.opcode == "copy"), launch.instruction)


def explain_move(evidence: Evidence, moved: Instruction, launch: Launch | None) -> Finding:
    """Return why a copy or transpose is there.

    Args:
        evidence: The capture.
        moved: The copy or transpose, which a fusion may hold.
        launch: What runs it, or None where it has no launch.
    """
    scheduled = launch.scheduled if launch else moved
    made = evidence.histories.find_first(moved)
    source = _find_source(evidence, moved, scheduled)
    inner = _find_users(evidence, moved) if moved.computation != scheduled.computation and not moved.is_root else ()
    said = evidence.read_decisions(
        [
            *evidence.attempts.about([moved]),
            *(each for each in evidence.attempts.about([source]) if each.topic in {"layout", "copies"}),
        ]
    )
    # What only hands it on as the result of its fusion is read where that is.
    users = inner if any(not _is_result(user) for user in inner) else _find_users(evidence, scheduled)
    inserted = _find_inserted(said, moved, source)
    kind, why, notes = _find_cause(evidence, moved, source, users, made, is_inserted=inserted is not None)
    # Where a transpose was a copy between layouts, that copy has the layout which was asked for.
    laid = made.instruction if (moved.opcode, made.instruction.opcode) == ("transpose", "copy") else moved
    lines: tuple[LineOf, ...] = (evidence.show_line(moved),)
    if (kind == "layout" or laid is not moved) and (asker := _find_asker(said, laid)):
        is_argument = source.opcode == "parameter" and source.computation == evidence.module.entry.name
        held = "the caller fixes how arguments lie" if is_argument else "it does not lie so"
        found = evidence.histories.find(asker)
        line = evidence.show_line(found) if found is not None else LineOf("", "")
        asked = f"{asker} ({line.where})" if line.where else asker
        why = f"{asked} wants {evidence.name_value(source)} as {_show_order(laid)}, and {held}"
        # Whoever asked is what to look at.
        lines = tuple(dict.fromkeys(each for each in (line, *lines) if each.where)) or lines
    reason = inserted if kind == "copy" and inserted else _pick(said, kind, made)
    size = find_made(moved).bytes
    what = "transposes" if moved.opcode == "transpose" else "copies"
    passed = made.name
    if moved.opcode == "copy-start" and any(event.source == ASSIGNING for event in evidence.capture.log):
        # What fetches values is decided after all passes, and is no pass of its own.
        passed = ASSIGNING.replace("_", "-")
    pipeline = made.pipeline
    if inserted is not None and kind == "copy":
        # What no dump stands between is taken for another pass's: the log knows better.
        passed, pipeline = inserted.pass_name or _INSERTING, inserted.pipeline or pipeline
    # What copy insertion does in several rounds is dumped round by round.
    named = _INSERTING if passed.startswith("adding_") else passed
    by = "which the program came with" if made.deed == "imported" else f"made by the pass {named or '(not known)'}"
    return Finding(
        kind,
        (moved.name,),
        f"{evidence.name_value(moved)} {what} {format_bytes(size)}, {by}: {why}.",
        pipeline,
        passed or IMPORT,
        lines[0],
        notes,
        (*([reason] if reason else []), *(each for each in said if each is not reason))[:_MOST],
        2 * size,
        lines if len(lines) > 1 else (),
    )


def _find_inserted(said: tuple[Reason, ...], moved: Instruction, source: Instruction) -> Reason | None:
    """Return what copy insertion said of a copy that it added, or None where it added none."""
    if moved.opcode != "copy":
        return None
    names = {moved.name, source.name}
    added = [each for each in said if each.kind in _ADDED and {each.instruction, *each.others} & names]
    return min(added, key=lambda each: _ADDED.index(each.kind), default=None)


def _find_asker(said: tuple[Reason, ...], moved: Instruction) -> str:
    """Return who asked for the layout that a copy makes, as layout assignment says it, or an empty string."""
    order = _show_order(moved)
    for each in said:
        if each.kind == "copied-for-layout" and each.others and order[:-1] in each.words:
            return each.others[0]
    return ""


def _show_order(moved: Instruction) -> str:
    layout = find_made(moved).layout
    return "{" + ",".join(map(str, layout.minor_to_major if layout else ())) + "}"


def find_made(moved: Instruction) -> Shape:
    """Return the shape of what is moved: what starts a copy yields where it goes, where it came from, and a mark."""
    return moved.shape.elements[0] if moved.shape.elements else moved.shape


def _pick(said: tuple[Reason, ...], kind: Kind, made: Step) -> Reason | None:
    """Return what was said by the pass that made it, or on what it is about."""
    topics = {"copy": {"copies"}, "layout": {"layout"}, "transpose": {"layout", "matmul", "simplification"}}.get(
        kind, set()
    )
    known = [each for each in said if each.topic in topics and each.verdict != "tried" and each.sentence]
    own = [each for each in known if each.pass_name == made.name]
    return next(iter(own or known), None)


def find_taken(module: Module, moved: Instruction, scheduled: Instruction) -> Instruction:
    """Return what a copy or transpose takes, outside of the fusion that moves it."""
    operands = module.operands(moved)
    value = operands[0] if operands else moved
    if moved.computation != scheduled.computation and value.opcode == "parameter":
        outer = module.operands(scheduled)
        number = value.parameter_number or 0
        return outer[number] if number < len(outer) else value
    return value


def _find_source(evidence: Evidence, moved: Instruction, scheduled: Instruction) -> Instruction:
    """Return what is copied: outside of the fusion, through what only renames."""
    return skip_renaming(evidence.module, find_taken(evidence.module, moved, scheduled))


def _find_users(evidence: Evidence, scheduled: Instruction) -> tuple[Instruction, ...]:
    """Return what takes the copy, through what only renames, gathers or copies it again."""

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


def _find_cause(  # noqa: PLR0913 - what a copy is between
    evidence: Evidence,
    moved: Instruction,
    source: Instruction,
    users: tuple[Instruction, ...],
    made: Step,
    *,
    is_inserted: bool,
) -> tuple[Kind, str, tuple[str, ...]]:
    """Return what kind of a question it is, why it is there, and what else is known."""
    before, after = source.shape.layout, find_made(moved).layout
    inner = evidence.module.operands(moved)
    if inner and moved.opcode == "copy":
        before = inner[0].shape.layout or before
    reading = ", ".join("the result" if _is_result(user) else evidence.name_value(user) for user in users[:2])
    reading = reading or "the result"
    if moved.opcode == "transpose":
        return "transpose", *_explain_transpose(moved, made, reading)
    if before and after and before.minor_to_major != after.minor_to_major:
        return "layout", *_explain_layout(evidence, source, users, (before.minor_to_major, after.minor_to_major))
    if (
        before
        and after
        and before.memory_space != after.memory_space
        and not is_inserted
        and "copies" not in made.name
        and "copy-insertion" not in made.name
    ):
        places = [_SPACES.get(each.memory_space, f"memory space {each.memory_space}") for each in (before, after)]
        return "copy", f"it brings {evidence.name_value(source)} from {places[0]} to {places[1]} for {reading}", ()
    return "copy", *_explain_protection(evidence, moved, source, users, made)


def _is_result(user: Instruction) -> bool:
    """Return whether what takes a value hands it on as a result and does nothing else."""
    return user.is_root and is_passed_on(user)


def _explain_transpose(moved: Instruction, made: Step, reading: str) -> tuple[str, tuple[str, ...]]:
    order = moved.attributes.get("dimensions", "")
    primitive = (moved.op_name or "").rpartition("/")[2]
    if made.deed == "imported":
        asked = f"the program asks for it ({primitive})" if primitive else "the program asks for it"
        if primitive and not primitive.startswith("transpose"):
            asked = f"JAX writes it for {primitive}"
        return f"{asked}, and no pass could make it a layout of {reading}", (f"It reorders the dimensions as {order}.",)
    replaced = ", ".join(each.name for each in made.instead)
    of = f" in the place of {replaced}" if replaced else ""
    form = _FORMS.get(made.name, "")
    return f"{form}it reorders the dimensions as {order} for {reading}{of}", ()


def _explain_layout(
    evidence: Evidence,
    source: Instruction,
    users: tuple[Instruction, ...],
    orders: tuple[tuple[int, ...], tuple[int, ...]],
) -> tuple[str, tuple[str, ...]]:
    held, wanted = ("{" + ",".join(map(str, order)) + "}" for order in orders)
    value = evidence.name_value(source)
    is_argument = source.opcode == "parameter" and source.computation == evidence.module.entry.name
    fixed = "whose layout the caller fixes, " if is_argument else ""
    is_result = all(_is_result(user) for user in users)
    if is_result:
        why = f"{value} has the layout {held}, and the result has to have {wanted}, which the caller fixes"
    else:
        takers = ", ".join(evidence.name_kind(user) for user in users[:2])
        why = f"{value} has the layout {held}, {fixed}and {takers} wants {wanted}"
    note = "The caller fixes how arguments and results lie, unless jax.experimental.layout leaves it open."
    return why, ((note,) if is_argument or is_result else ())


def _explain_protection(
    evidence: Evidence, moved: Instruction, source: Instruction, users: tuple[Instruction, ...], made: Step
) -> tuple[str, tuple[str, ...]]:
    """Return what a copy that changes nothing protects, and from whom."""
    if made.deed == "imported":
        return "the program asks for it", ()
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
    names = list(dict.fromkeys(evidence.name_value(each) for each in readers))[:2]
    reading = f"{' and '.join(names)} {'reads' if len(names) == 1 else 'read'} it too" if names else ""
    kept = reading or _say_kept(evidence, origin)
    caller = flow.callers.get(moved.computation)
    if writers:
        why = f"{evidence.name_value(writers[0])} writes in place, and {value} must stay"
    elif overwriting := [user for user in others if _updates(evidence, user)]:
        why = f"it keeps {value} as it was, for {evidence.name_value(overwriting[0])} writes over that"
        kept = f"{', '.join(evidence.name_value(each) for each in users[:2])} reads it later" if users else ""
    elif loop := next((user for user in users if user.opcode == "while"), None):
        why = f"the loop {loop.name} writes its carry in place, and it begins with {value}"
    elif caller is not None and caller.opcode == "while" and any(user.is_root for user in users):
        why = f"the loop {caller.name} takes {value} to its next trip in another place than it lies"
        kept = reading or "the trip may still read the old value when it writes the new one"
    elif moved.is_root or not users or any(user.is_root for user in users):
        why = f"a result has to be a buffer of its own, and {value} is one that it may not share"
        kept = _say_result(evidence, origin) or reading
    else:
        why = f"{evidence.name_kind(users[0])} may not take {value} where it lies"
    return f"{why}: {kept}" if kept else why, notes


def _name_source(evidence: Evidence, flow: ValueFlow, source: Instruction, origin: Instruction) -> str:
    """Return what is copied in words: an argument, what a loop carries, or what makes it."""
    caller = flow.callers.get(origin.computation)
    if origin.opcode == "parameter" and caller is not None and caller.opcode == "while":
        return f"what the loop {caller.name} carries"
    if origin.opcode == "while":
        return f"what the loop {origin.name} leaves"
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
        return "a constant may not be written to"
    if origin.opcode == "parameter" and origin.computation == evidence.module.entry.name:
        number = origin.parameter_number or 0
        if number not in evidence.donated | evidence.offered:
            return "it is not donated, so the caller keeps it"
        if number in evidence.donated:
            return "another result takes its place"
    return ""


def _say_result(evidence: Evidence, origin: Instruction) -> str:
    if origin.opcode == "parameter" and origin.computation == evidence.module.entry.name:
        if (origin.parameter_number or 0) not in evidence.donated:
            return f"{evidence.name_value(origin)} is returned as it is, and not donated"
        return "a result takes its place already"
    if origin.opcode in {"constant", "iota"}:
        return "it is a constant, which lies in the program"
    return ""


def _list_argument_notes(evidence: Evidence, origin: Instruction) -> Iterator[str]:
    if origin.opcode != "parameter" or origin.computation != evidence.module.entry.name:
        return
    number = origin.parameter_number or 0
    if number in evidence.offered:
        yield f"The argument {origin.op_name or origin.name} is donated, and no result has its shape and layout."
    elif number not in evidence.donated:
        yield f"The argument {origin.op_name or origin.name} is not donated."
