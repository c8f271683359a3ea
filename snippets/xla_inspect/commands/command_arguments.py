"""The arguments of the subcommands that are not questions.

They are apart from the modules of the subcommands, so that help, and the process that only starts another one, need
not import what compiles or reads a program.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from xla_inspect.commands import question
from xla_inspect.questions.numbers import add_input_arguments
from xla_inspect.releases import COMPILE_LIMIT, QUESTION_NAMES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

USUAL_FILE = "xla-budget.toml"
"""The default budget file of `check`."""

KEPT = {"machine": "the machine code of GPUs and TPUs", "reasons": "compiler messages"}
"""Optional contents of a capture in a report, by the name of the argument of `Subject.capture`."""

STAGES = ("jaxpr", "stablehlo", "before", "after", "passes", "buffers", "memory", "kernels", "code", "capture")
"""The stages that `show` prints, in the order of compilation."""


def add_check_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the budget file and the options of the check."""
    parser.add_argument(
        "file", nargs="?", type=Path, default=Path(USUAL_FILE), help="the budget file (default: %(default)s)"
    )
    group = parser.add_argument_group("options")
    group.add_argument("--update", action="store_true", help="record the compiled programs in a file next to this one")
    group.add_argument("--only", metavar="NAME", default="", help="check only this program of the file")
    group.add_argument(
        "--load-limit",
        metavar="S",
        type=float,
        default=300.0,
        help="the time limit in seconds for loading and tracing your code (default: %(default)g)",
    )
    group.add_argument("--debug", action="store_true", help="show the whole traceback of an error")
    group.add_argument("--result", type=Path, help=argparse.SUPPRESS)  # the output file of one program's process
    question.add_forms(parser)


def add_diff_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options for the two sides and for the output."""
    question.add_arguments(parser, many=False)
    second = parser.add_argument_group("the second side, instead of a second SUBJECT")
    second.add_argument(
        "--rev",
        metavar="COMMIT",
        action="append",
        default=[],
        help="the subject at a git commit; two commits are compared with each other",
    )
    second.add_argument("--against-target", metavar="NAME", default="", help="the subject compiled for another target")
    second.add_argument(
        "--with",
        metavar="OPTION",
        dest="changed",
        action="append",
        default=[],
        help="the subject with another option, of XLA (--with xla_gpu_enable_triton_gemm=false) or of this command "
        "(--with=--donate=0); repeatable",
    )
    group = parser.add_argument_group("results")
    group.add_argument(
        "--numbers",
        action="store_true",
        help="run both programs on this CPU with the same inputs, and name the passes after which their results differ",
    )
    add_input_arguments(group)
    question.add_forms(parser)


def add_doctor_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("--json", action="store_true", help="print the answer as JSON")
    parser.add_argument("--quick", action="store_true", help="skip the compilation of a small program for each target")


def add_play_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the function to edit, the address of the page, and the limits of an edit."""
    parser.add_argument("file", nargs="?", default="", metavar="FILE.py:FUNCTION", help="the function to start with")
    page = parser.add_argument_group("the page")
    page.add_argument("--port", type=int, metavar="N", help="the port of the page; 0 for any free port")
    page.add_argument("--no-browser", action="store_true", help="do not open the page in the browser")
    limits = parser.add_argument_group("limits of an edit")
    limits.add_argument(
        "--limit-code", type=float, default=10, metavar="S", help="seconds to run the code (default: %(default)s)"
    )
    limits.add_argument(
        "--limit-compile", type=float, default=60, metavar="S", help="seconds to compile it (default: %(default)s)"
    )
    limits.add_argument("--limit-memory", default="", metavar="SIZE", help="the memory of each process, such as 4G")


def add_read_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the dump, and the form of the answer."""
    parser.add_argument(
        "dump",
        metavar="DUMP[:MODULE]",
        help="a folder written with --xla_dump_to, a .zip or .tar.gz of it, or a file with HLO text or an HloProto",
    )
    parser.add_argument("--all", action="store_true", help="show all modules, not only the largest")
    parser.add_argument("--debug", action="store_true", help="show the whole traceback of an error")
    group = parser.add_argument_group("output")
    group.add_argument("--json", action="store_true", help="print the answer as JSON")
    group.add_argument("--html", metavar="FILE", type=Path, help="also write the answer as a page")
    group.add_argument("--force", action="store_true", help="overwrite existing files")


def add_report_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the common options and those of the output."""
    question.add_arguments(parser)
    group = parser.add_argument_group("output")
    group.add_argument(
        "-o", "--output", type=Path, metavar="FILE.html", help="the file to write (default: FUNCTION.html)"
    )
    for name, what in KEPT.items():
        group.add_argument(f"--no-{name}", action="store_true", help=f"omit {what}, to save one compilation")
    group.add_argument(
        "--numbers", action="store_true", help="run the module after each pass, and mark the passes that change bits"
    )
    group.add_argument(
        "--beside",
        metavar="SAVED.json",
        action="append",
        default=[],
        help="add a saved capture, such as one of another release or from before an edit; repeatable",
    )
    group.add_argument("--force", action="store_true", help="overwrite existing files")


def add_show_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the common options and those for the stage."""
    question.add_arguments(parser, many=False)
    group = parser.add_argument_group("output")
    group.add_argument("--stage", choices=STAGES, default="after", help="the stage to print (default: %(default)s)")
    group.add_argument("--kernel", metavar="NAME", default="", help="code: print only the code of this kernel")
    group.add_argument("--json", action="store_true", help="code: print a description of the code as JSON")
    group.add_argument("--full", action="store_true", help="code: describe every kernel and every step below HLO")
    group.add_argument("--passes", action="store_true", help="capture: include the module after each pass")
    group.add_argument("--reasons", action="store_true", help="capture: include compiler messages, which `why` needs")
    group.add_argument("--machine", action="store_true", help="capture: include SASS of GPUs and bundles of TPUs")
    group.add_argument("-o", "--output", metavar="FILE", type=Path, help="write to a file (default: print)")
    group.add_argument("--force", action="store_true", help="overwrite existing files")


def add_since_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options for the releases and the questions."""
    question.add_arguments(parser)
    group = parser.add_argument_group("releases and questions")
    group.add_argument("--from", metavar="VERSION", dest="first", default="", help="the oldest release of JAX")
    group.add_argument(
        "--to", metavar="VERSION", dest="last", default="", help="the newest release (default: the installed one)"
    )
    group.add_argument(
        "--ask",
        metavar="QUESTION",
        action="append",
        default=[],
        help=f"find the release that changed this; repeatable: {', '.join(QUESTION_NAMES)}",
    )
    group.add_argument(
        "--every", action="store_true", help="measure every release, not only those that bisection needs"
    )
    group.add_argument("--run", action="store_true", help="also measure the run time on this machine's CPU")
    group.add_argument(
        "--install",
        metavar="REQUIREMENT",
        action="append",
        default=[],
        help="a package that the program imports besides JAX, such as 'flax<0.11'; repeatable",
    )
    group.add_argument(
        "--compile-limit",
        metavar="S",
        type=float,
        default=COMPILE_LIMIT,
        help="the time limit in seconds for a compilation (default: %(default)g)",
    )
    question.add_forms(parser)
    parser.add_argument_group("issue").add_argument(
        "--issue", metavar="FILE.md", type=Path, help="write the text of an issue: reproducer, versions, differences"
    )


ARGUMENTS: Mapping[str, Callable[[argparse.ArgumentParser], None]] = {
    "check": add_check_arguments,
    "diff": add_diff_arguments,
    "doctor": add_doctor_arguments,
    "play": add_play_arguments,
    "read": add_read_arguments,
    "report": add_report_arguments,
    "show": add_show_arguments,
    "since": add_since_arguments,
}
"""The functions that add the arguments of a subcommand to its parser, by its name, if it has any."""
