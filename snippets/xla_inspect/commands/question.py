"""The common options of all questions: the subject, its arguments, the targets, and the form of the answer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from xla_inspect import subject as subjects
from xla_inspect.commands import time_limit
from xla_inspect.commands.command_list import MISSING, NO, list_questions
from xla_inspect.errors import InspectError, TargetUnavailableError
from xla_inspect.questions import QUESTIONS, load_part
from xla_inspect.targets import TARGETS, USUAL, available, count_devices, find_target
from xla_inspect.terminal import open_answer_paper, print_note

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from xla_inspect.answers import Answer
    from xla_inspect.subject import Call, Request, Subject


def add_arguments(parser: argparse.ArgumentParser, *, many: bool = True) -> None:
    """Add the common arguments of questions and of other commands that compile the user's code.

    Args:
        parser: The parser of a subcommand.
        many: Whether the subcommand accepts more than one target.
    """
    about = parser.add_argument_group("the program")
    about.add_argument("subject", metavar="SUBJECT", nargs="+", help=subjects.FORMS)
    about.add_argument(
        "--args", metavar="SHAPES", default="", help="shapes of the arguments, such as 'f32[64,128], i32[]'"
    )
    about.add_argument(
        "--args-from",
        metavar="FILE.py:FUNCTION",
        default="",
        help="a function whose results give the arguments' shapes",
    )
    about.add_argument("--mesh", metavar="AXES", default="", help="the device mesh, such as data=4,fsdp=64")
    for name, metavar, meaning in (
        ("--dim", "NAME=SIZE", "the size of a dimension that a program or a model leaves open"),
        ("--in-spec", "SPEC", "shard an argument over the mesh, as in x=P('data', None), 0=P() or params.w=P()"),
        ("--out-spec", "SPEC", "shard the results over the mesh, as in P('data'), or one of them, as in 0=P('data')"),
        ("--donate", "ARG", "donate an argument, by number or name"),
        ("--static", "ARG", "make an argument static, by number or name"),
    ):
        about.add_argument(name, metavar=metavar, action="append", default=[], help=f"{meaning}; repeatable")
    about.add_argument("--grad", action="store_true", help="compile the gradient with respect to the first argument")
    about.add_argument("--vmap", metavar="N", type=int, default=0, help="map the function over a batch of N")
    about.add_argument(
        "--xla", metavar="NAME=VALUE", action="append", default=[], help="set an option of XLA; repeatable"
    )
    about.add_argument("--only", metavar="NAME", default="", help="inspect this function of a script")
    repeat = {
        "action": "append",
        "help": f"{', '.join(TARGETS)}, optionally with a grid, as in tpu-v5e:2x4" + ("; repeatable" if many else ""),
    }
    about.add_argument("--target", metavar="NAME", **(repeat if many else {"help": repeat["help"]}))  # type: ignore[arg-type]  # argparse's own types
    group = parser.add_argument_group("options")
    group.add_argument(
        "--load-limit",
        metavar="S",
        type=float,
        default=300.0,
        help="the time limit in seconds for loading and tracing your code (default: %(default)g)",
    )
    group.add_argument(
        "--lines-of",
        metavar="PACKAGE",
        default="",
        help="show lines of this package or module, such as flax.linen, instead of your lines that call it",
    )
    group.add_argument("--debug", action="store_true", help="show the whole traceback of an error")


def add_forms(parser: argparse.ArgumentParser) -> None:
    """Add the options for the form of an answer."""
    group = parser.add_argument_group("output")
    group.add_argument("--json", action="store_true", help="print the answer as JSON")
    group.add_argument("--html", metavar="FILE", type=Path, help="also write the answer as a page")
    group.add_argument("--force", action="store_true", help="overwrite existing files")
    group.add_argument("--no-times", action="store_true", help="omit times, which differ between machines and runs")


def read_request(options: argparse.Namespace) -> Request:
    """Return the request that the options describe.

    Raises:
        InspectError: An option has an invalid form.
    """
    if getattr(options, "whole", False) and options.lines_of:
        message = f"{options.command} always shows the lines that call a compiled function; remove --lines-of"
        raise InspectError(message)
    # Some commands accept one target and others several, so the option may be a string or a list.
    targets = options.target if isinstance(options.target, list) else [options.target]
    return subjects.Request(
        words=tuple(options.subject),
        args=options.args,
        args_from=options.args_from,
        mesh=subjects.read_mesh(options.mesh),
        in_spec=tuple(options.in_spec),
        out_spec=tuple(options.out_spec),
        donate=subjects.split_list(options.donate),
        static=subjects.split_list(options.static),
        grad=options.grad,
        vmap=options.vmap,
        only=options.only,
        xla=subjects.read_flags(options.xla),
        dims=subjects.read_sizes(options.dim),
        whole=getattr(options, "whole", False),
        devices=max((count_devices(name) for name in targets if name), default=1),
    )


CALLS: dict[str, Call] = {}
"""The call of a notebook's cell, by its text, while its question is being answered."""


def read_subject(request: Request, limit: float) -> Subject:
    """Load and return the subject of a request: a function, a script, a saved capture, a dump or a notebook's call.

    Args:
        request: The request.
        limit: The time limit in seconds for loading and tracing the user's code; a script has none.

    Raises:
        InspectError: The subject does not exist, its arguments are missing, or an option does not apply to it.
    """
    if request.dims or request.only:
        _check_options(request)
    # A notebook's cell has no file, so its call is looked up before the word is read as a path.
    if call := CALLS.get(request.words[0]):
        return subjects.read_notebook_call(request, call)
    if request.whole and not request.is_script and not subjects.is_dump(request.words[0]):
        message = f"this command needs a whole script: pass run SCRIPT.py and its arguments, not {request.words[0]!r}"
        raise InspectError(message)
    word, has_spec = request.words[0], bool(request.in_spec or request.out_spec)
    if has_spec and (request.is_script or subjects.is_saved(word) or subjects.is_dump(word)):
        message = f"--in-spec and --out-spec shard a function, and {' '.join(request.words)} has its own shardings"
        raise InspectError(message)
    if request.is_script:
        # A script trains or serves for as long as it has to, so it has no time limit.
        return subjects.read_script(request)
    if len(request.words) > 1:
        message = f"pass one subject at a time: {_explain_second(request.words)}"
        raise InspectError(message)
    with time_limit.limited(f"loading {request.file}", request.file, limit):
        if subjects.is_saved(request.words[0]):
            return subjects.read_saved(request)
        # Most subjects are files of Python, which need none of the code for other programs.
        if not request.file.endswith(".py") and (program := subjects.read_stablehlo(request)):
            return program
        if subjects.is_dump(request.words[0]):
            return subjects.read_dump(request)
        subject = subjects.read_function(request)
    # Tracing runs the user's code too, but only later, when a target is compiled.
    subject.around_tracing = lambda: time_limit.limited(f"tracing {subject.name}", request.file, limit)
    return subject


def _check_options(request: Request) -> None:
    """Raise `InspectError` for sizes of a subject that has none open, or a script's function if it is StableHLO."""
    from xla_inspect import stablehlo

    word = request.words[0]
    # The text of a notebook's cell is not a path.
    is_fixed = request.is_script or word in CALLS or subjects.is_saved(word) or subjects.is_dump(word)
    if request.only and not is_fixed and (file := stablehlo.find_file(word)):
        message = f"--only selects a function of a script; name one of StableHLO as in {file.name}:{request.only}"
        raise InspectError(message)
    if request.dims and is_fixed:
        message = f"--dim gives a size that a StableHLO program or a model leaves open, and {request.file} is neither"
        raise InspectError(message)


def _explain_second(words: Sequence[str]) -> str:
    """Return a hint about the second of two words where one subject is allowed, such as `did you mean FILE:NAME?`."""
    first, second = words[:2]
    commands = list_questions()
    if command := next((word for word in (first, second) if word in commands), ""):
        other = second if command == first else first
        return f"did you mean xla-inspect {command} {other}?"
    if ":" not in first and second.isidentifier():
        return f"did you mean {first}:{second}?"
    return f"remove {second!r}"


def run_command(options: argparse.Namespace, out: TextIO) -> int:
    """Answer a question, print the answers, and return the exit status.

    Raises:
        InspectError: As in `read_subject`, or the output file already exists.
        TargetUnavailableError: This machine can compile for none of the targets.
    """
    subject, answers, missing = find_answers(options)
    from xla_inspect.answers import list_absences

    captured = [*subject.saved.values()]
    absences = list_absences(captured[0], QUESTIONS[options.command].needs) if captured else {}
    print_answers(answers, subject.name, options, out, others=subject.others, missing=absences)
    for reason in missing:
        print_note(reason)
    if subject.failures:
        from xla_inspect.commands import user_code

        file = read_request(options).file
        for target, error in subject.failures.items():
            print_note(f"{target}: {user_code.explain_user_error(error, file)}")
        # If several targets fail, the status of an error in the input takes precedence over that of a missing library.
        return min(map(user_code.find_status, subject.failures.values()))
    if missing:
        return MISSING
    return 0 if all(answer.holds for answer in answers) else NO


def find_answers(options: argparse.Namespace) -> tuple[Subject, list[Answer], list[str]]:
    """Return the subject, the answers, and the reasons for targets without an answer.

    Raises:
        InspectError: As in `run_command`.
    """
    question = load_part(options.command, "options")
    if take_names := getattr(question, "take_names", None):
        take_names(options)
    request = read_request(options)
    # A misspelled target is reported before the user's code is loaded, which may take long. A dump may be for other
    # hardware than that of the targets.
    for target in options.target or ():
        if request.words[0] in CALLS or not subjects.is_dump(request.words[0]):
            find_target(target)
    subject = read_subject(request, options.load_limit)
    subject.is_timed, subject.lines_of = not options.no_times, options.lines_of
    targets, missing = choose_targets(getattr(question, "USUAL", USUAL), subject, options.target)
    return subject, list(question.ask(subject, targets, options)), missing


def print_answers(  # noqa: PLR0913 - the answers and the notes about them
    answers: Sequence[Answer],
    name: str,
    options: argparse.Namespace,
    out: TextIO,
    *,
    others: Sequence[str] = (),
    missing: Mapping[str, str] | None = None,
) -> None:
    """Print answers in the requested form, and write their page if requested.

    Args:
        answers: The answers.
        name: The name of the subject.
        options: The parsed options.
        out: The output.
        others: Other functions of the script that could be inspected.
        missing: The reasons for missing information, by the name of a field of the capture.
    """
    from xla_inspect.answers import print_answer, tell_absences, write_json, write_page

    also = f"the script also compiles: {', '.join(others)} (select one with --only NAME)"
    if options.json:
        texts = [write_json(answer, missing) for answer in answers]
        if others:
            # Standard output must contain only JSON here.
            print_note(also)
        out.write(texts[0] + "\n" if len(texts) == 1 else f"[{',\n'.join(texts)}]\n")
    else:
        paper = open_answer_paper(out)
        for answer in answers:
            print_answer(answer, paper)
        if missing:
            paper.say(tell_absences(missing))
        if others:
            paper.say(also)
    if options.html:
        from xla_inspect.output_file import write_file

        write_file(options.html, write_page(answers, name, missing))


def choose_targets(
    usual: Sequence[str], subject: Subject, requested: Sequence[str] | None
) -> tuple[list[str], list[str]]:
    """Return the available targets of a question, and the reasons why requested ones are unavailable.

    Without a request, the targets are the available ones of `usual`, or the CPU. For a saved capture, they are the
    requested targets or its own, without a check.

    Raises:
        TargetUnavailableError: All requested targets are unavailable.
        InspectError: A target does not exist.
    """
    # A saved capture needs no compiler, so targets that this machine lacks are available too.
    if subject.call is None:
        return list(requested or subject.saved), []
    if not requested:
        reasons = available()
        return [target for target in usual if not reasons[target]] or ["cpu"], []
    # A target that is repeated on the command line is compiled once.
    targets = {target: find_target(target) for target in dict.fromkeys(requested)}
    missing = [TargetUnavailableError(name, target.obstacle) for name, target in targets.items() if target.obstacle]
    if len(missing) == len(targets):
        raise missing[0]
    return [name for name, target in targets.items() if not target.obstacle], [str(error) for error in missing]
