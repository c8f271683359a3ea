"""The keys of predictions come from captures and change with them; none is typed.

A page is found by the questions that it asks, so that one that is added is held to this without a new test.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import io
import re
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

import xla_inspect
from programs import gelu
from xla_inspect import Capture, Captures, capture, capture_all

from .page_questions import DECIDES, list_calls, name_call, parametrize_asking, read_code

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

# Of the standard library, what reads a file or asks another process; the rest computes what the page told it.
READS = {"pathlib", "subprocess"}
USUAL = ("cpu", "h100", "tpu-v5e")
DIGEST = re.compile(r'class="predict" id="(predict-\w+)".*?data-digest="(\w+)"')

TYPED = """
import math
from programs import gelu
from xla_inspect import capture_all
from chapters import prediction

one = capture_all(gelu.gelu)
typed = {"cpu": 1, "h100": 2}
found = {target: len(each.runs) for target, each in one.items()}
late = []
late.append(found["cpu"])
print(prediction.ask_which("?", %s, see="#x"))
print(prediction.ask_value("?", %s, others=%s, see="#x"))
print(prediction.ask_whether("?", %s, see="#x"))
print(prediction.ask_reason("?", %s, see="#x"))
"""


pytest_generate_tests = parametrize_asking


def list_deciding(call: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    """Yield the expressions that decide an answer, by argument; a literal mapping gives each value separately.

    The value of a reason is a pair, of which only the first expression decides.
    """
    arguments = {keyword.arg: keyword.value for keyword in call.keywords}
    for place, name in DECIDES[name_call(call.func)].items():
        expression = arguments.get(name) or call.args[place + 1]
        for part in expression.values if isinstance(expression, ast.Dict) else [expression]:
            yield name, part.elts[0] if isinstance(part, ast.Tuple) else part


def list_bindings(tree: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Yield each name that code binds or fills, with its value."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.NamedExpr) and node.value:
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                yield from ((name, node.value) for name in _stored(target))
        elif isinstance(node, ast.For | ast.comprehension):
            yield from ((name, node.iter) for name in _stored(node.target))
        elif isinstance(node, ast.withitem) and node.optional_vars:
            yield from ((name, node.context_expr) for name in _stored(node.optional_vars))
        elif isinstance(node, ast.FunctionDef):
            yield node.name, node
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
        ):
            # As in `found.append(...)`.
            yield from ((node.func.value.id, argument) for argument in node.args)


def _stored(target: ast.expr) -> set[str]:
    """Return the names that an assignment binds, or fills as `found[key] = ...` does."""
    return {node.id for node in ast.walk(target) if isinstance(node, ast.Name)}


def find_captured(tree: ast.Module) -> set[str]:
    """Return the names that depend on imports from outside the standard library."""
    captured = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                package = (getattr(node, "module", None) or alias.name).partition(".")[0]
                if package not in sys.stdlib_module_names or package in READS:
                    captured.add(alias.asname or alias.name.partition(".")[0])
    captured.discard("prediction")
    bindings = list(list_bindings(tree))
    while True:
        more = {name for name, value in bindings if name not in captured and uses(value, captured)}
        if not more:
            return captured
        captured |= more


def uses(expression: ast.AST, names: set[str]) -> bool:
    """Return whether an expression uses one of some names."""
    return any(isinstance(node, ast.Name) and node.id in names - vars(builtins).keys() for node in ast.walk(expression))


def find_typed(code: str) -> list[str]:
    """Return the deciding expressions of an answer that depend on no capture."""
    tree = ast.parse(code)
    captured = find_captured(tree)
    # A wrong choice may be counted from an example that the page itself gives.
    computed_names = captured | {name for name, _ in list_bindings(tree)}
    return [
        ast.unparse(expression)
        for call in list_calls(tree)
        for name, expression in list_deciding(call)
        if not uses(expression, computed_names if name == "others" else captured)
    ]


def test_no_answer_on_a_page_is_typed(asking: Path) -> None:
    assert find_typed("\n".join(read_code(asking))) == []


FOUND = ("found", "late[0]", "found", "found['cpu'] > 3", "{'a': (found['cpu'] > 3, 'x'), 'b': (late[0] < 1, 'y')}")


@pytest.mark.parametrize(
    ("place", "typed", "answers"),
    [
        (0, "typed", ["typed"]),
        (0, "{'cpu': 1, 'h100': found['h100']}", ["1"]),
        (0, "{name: 1 for name in 'ab'}", ["{name: 1 for name in 'ab'}"]),
        (1, "4", ["4"]),
        (1, "len('four')", ["len('four')"]),
        (1, "math.floor(4.5)", ["math.floor(4.5)"]),
        (2, "{'a': found['cpu'], 'b': 2}", ["2"]),
        (2, "{'a': len(typed)}", []),
        (3, "True", ["True"]),
        (3, "1 + 1 == 2", ["1 + 1 == 2"]),
        (4, "{'a': (found['cpu'] > 3, 'x'), 'b': (False, f'{found}')}", ["False"]),
    ],
)
def test_a_typed_answer_is_found(place: int, typed: str, answers: list[str]) -> None:
    assert find_typed(TYPED % FOUND) == []
    variants = list(FOUND)
    variants[place] = typed
    assert find_typed(TYPED % tuple(variants)) == answers


class Run:
    """The blocks of a page, run statement by statement; a failing statement and its dependents are left out."""

    def __init__(self, codes: list[str]) -> None:
        """Run the page.

        Args:
            codes: Its blocks.
        """
        self.names: dict[str, Any] = {"__name__": "__page__"}
        self.questions: dict[str, str] = {}
        self.asked: list[tuple[ast.stmt, dict[str, str]]] = []
        for code in codes:
            for statement in ast.parse(code).body:
                if list_calls(statement) or not _only_prints(statement):
                    answers = self.run(statement)
                    if list_calls(statement):
                        self.asked.append((statement, answers))
                        self.questions |= answers

    def run(self, statement: ast.stmt, names: Mapping[str, Any] = {}) -> dict[str, str]:
        """Run one statement, with other values of some names, and return the digest of each question that it asks."""
        out = io.StringIO()
        space = {**self.names, **names} if names else self.names
        with contextlib.redirect_stdout(out), contextlib.suppress(Exception):
            exec(compile(ast.Module([statement], []), "<page>", "exec"), space)  # noqa: S102 - the page's own code
        return dict(DIGEST.findall(out.getvalue()))


def _only_prints(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Call)
        and name_call(statement.value.func) == "print"
    )


def other_program(fn: object, *_: object, target: str = "cpu", **__: object) -> Capture:
    """Return the capture of another program, for any request."""
    del fn
    return capture(gelu.gelu, *gelu.EXAMPLE, target=target)


def other_programs(fn: object, *_: object, targets: tuple[str, ...] = USUAL, **__: object) -> Captures:
    """Return the captures of another program for each target."""
    return Captures({target: other_program(fn, target=target) for target in targets}, {}, tuple(targets))


def swap_targets(*arguments: Any, **options: Any) -> Captures:  # noqa: ANN401 - those of `capture_all`
    """Return captures in which each target has the result of another."""
    true = capture_all(*arguments, **options)
    turned = [*true.values()][1:] + [*true.values()][:1]
    return Captures(dict(zip(true, turned, strict=True)), true.missing, true.targets)


def list_others(run: Run, statement: ast.stmt) -> Iterator[dict[str, object]]:
    """Yield another value, and then None, for each name that decides the answers of a statement, one at a time."""
    deciding = [expression for call in list_calls(statement) for _, expression in list_deciding(call)]
    names = {node.id for expression in deciding for node in ast.walk(expression) if isinstance(node, ast.Name)}
    for name in sorted(names & run.names.keys()):
        yield {name: alter(run.names[name])}
        # Without it, as where a package has something no longer.
        yield {name: None}


def alter(value: object) -> object:
    """Return a different value of the same type, or None for a value with parts that only its own package can make."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return -value - 1
    if isinstance(value, list | tuple | set):
        return type(value)(map(alter, value))
    if isinstance(value, dict):
        return {key: alter(part) for key, part in value.items()}
    return "" if isinstance(value, str) else None


@dataclass
class Trial:
    """The results of the questions of a page under altered values.

    Attributes:
        asked: The number of questions.
        same: The questions whose key is the same with other captures.
        deaf: Those of `same` whose key stays the same with altered values of any name that decides.
    """

    asked: int
    same: list[str]
    deaf: list[str]


def try_questions(codes: list[str], monkeypatch: pytest.MonkeyPatch) -> Trial:
    """Run a page unchanged, with other captures, and its questions with altered values."""
    true = Run(codes)
    same = [*true.questions]
    for one, several in ((other_program, other_programs), (capture, swap_targets)):
        # The page runs again only while there are questions whose keys have not changed.
        if same:
            with monkeypatch.context() as patch:
                patch.setattr(xla_inspect, "capture", one)
                patch.setattr(xla_inspect, "capture_all", several)
                other = Run(codes).questions
            same = [name for name in same if other.get(name) == true.questions[name]]
    deaf = [
        name
        for statement, answers in true.asked
        for name in answers.keys() & set(same)
        if all(true.run(statement, other).get(name) == answers[name] for other in list_others(true, statement))
    ]
    return Trial(len(true.questions), same, deaf)


@pytest.mark.long("pages that ask run again")
@pytest.mark.usefixtures("all_targets")
def test_the_captures_decide_each_answer_of_a_page(asking_in_turn: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    codes = read_code(asking_in_turn)
    trial = try_questions(codes, monkeypatch)
    print(f"{asking_in_turn.name}: {trial.asked} questions, {trial.asked - len(trial.same)} follow the captures alone")  # noqa: T201
    # One in a loop may be asked more than once.
    assert trial.asked >= sum(len(list_calls(ast.parse(code))) for code in codes)
    assert trial.deaf == []


PAGE = """
from programs import layer
from xla_inspect import capture_all
from chapters import prediction

one = capture_all(layer.layer, *layer.EXAMPLE)
print(prediction.ask_which("Which?", %s, see="#x"))
"""


@pytest.mark.usefixtures("all_targets")
@pytest.mark.parametrize(
    ("measured", "same", "deaf"),
    [
        ("{target: len(found.runs) for target, found in one.items()}", 0, 0),
        ("{'a': 1, 'b': 2}", 1, 1),
        ("{'a': 1, 'b': len(layer.__doc__)}", 1, 0),
        ("{'a': 1, 'b': len('layer')}", 1, 1),
    ],
)
def test_a_key_that_nothing_decides_is_found(
    measured: str, same: int, deaf: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    trial = try_questions([PAGE % measured], monkeypatch)
    assert (trial.asked, len(trial.same), len(trial.deaf)) == (1, same, deaf)
