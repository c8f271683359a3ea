"""What the programs came to under one release of JAX: plain data, small enough to keep under version control."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any

from xla_inspect.analysis import find_role
from xla_inspect.errors import InspectError
from xla_inspect.releases.release_index import order

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from xla_inspect.analysis import Role

FORMAT = 1
"""The number of this form of the files; one of another is refused."""
SCRIPT = "scripts/drift --again"
"""The command that makes such a file."""


@dataclass(frozen=True, slots=True)
class ReleaseOutcome:
    """What one program came to on one target.

    Attributes:
        launches: What is launched, by `Launch.sort`, and how often it stands in the module.
        changed: The passes that changed the module, and how often each did.
        instructions: Instructions of the optimized module, those inside fusions included.
        memory: Bytes that the executable says it needs: `arguments`, `outputs`, `aliased`, `temporaries`, `code`,
            `peak`; what a release does not tell is absent.
        traffic: Bytes that the launches read from main memory and write to it, each once: calls, loops and branches
            are opened, and how often a loop runs is left out.
        flops: What the executable's own cost model counts, or None where it counts nothing.
        code: How often each operation occurs in the generated code, by how many loops it lies in, as `KernelCode.work`
            has it; empty where the compiler dumps none, None where it was not looked at.
        entries: Of a GPU, how many kernels that code is of: some releases dump none of some.
        failed: The error where it did not compile, else an empty string.
    """

    launches: Mapping[str, int] = field(default_factory=dict)
    changed: Mapping[str, int] = field(default_factory=dict)
    instructions: int = 0
    memory: Mapping[str, int] = field(default_factory=dict)
    traffic: int = 0
    flops: int | None = None
    code: Mapping[int, Mapping[str, int]] | None = None
    entries: int = 0
    failed: str = ""

    def count(self, role: Role) -> int:
        """How many kernels it has, or collectives or copies."""
        return sum(number for sort, number in self.launches.items() if find_role(sort) == role)


@dataclass(frozen=True, slots=True)
class Form:
    """What a program is traced or lowered to.

    Attributes:
        text: A hash of the text as JAX prints it.
        counts: How often each primitive, or each operation of StableHLO, occurs.
    """

    text: str
    counts: Mapping[str, int]


@dataclass(frozen=True)
class ReleaseCompile:
    """One program under one release.

    Attributes:
        jaxpr: What it is traced to, or None where no target got so far.
        stablehlo: What it is lowered to, by target.
        outcomes: What it is compiled to, by target.
    """

    jaxpr: Form | None
    stablehlo: Mapping[str, Form]
    outcomes: Mapping[str, ReleaseOutcome]


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Something on a page that does not hold under a release.

    Attributes:
        page: The page's file.
        line: The line on which it stood when the page was run.
        what: `check`, `value` or `block`.
        sentence: The claim of a check, the expression of a value, the first line of a block.
        error: What was said.
    """

    page: str
    line: int
    what: str
    sentence: str
    error: str


@dataclass(frozen=True)
class Release:
    """All that was measured under one release.

    Attributes:
        jax: The release.
        versions: The packages that compiled, name to version.
        missing: The kinds of targets (`gpu`, `tpu`) that it could not compile for, with the reason.
        figures_left_out: How many of each GPU's device figures it has no field for.
        names: The public names of each of JAX's modules.
        passes: The passes that ran over any of the programs, by kind of target, in the order of their first run.
        parameters: The parameters of each primitive that the programs are traced to.
        attributes: The attributes of each operation of StableHLO that they are lowered to.
        programs: What each program came to.
        pages: How many checks, values and blocks each page had when it was run under the release.
        disagreements: What of them did not hold.
        texts: Jaxpr and StableHLO of a few programs, as printed.
    """

    jax: str
    versions: Mapping[str, str]
    missing: Mapping[str, str]
    figures_left_out: Mapping[str, int]
    names: Mapping[str, tuple[str, ...]]
    passes: Mapping[str, tuple[str, ...]]
    parameters: Mapping[str, tuple[str, ...]]
    attributes: Mapping[str, tuple[str, ...]]
    programs: Mapping[str, ReleaseCompile]
    pages: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    disagreements: tuple[Disagreement, ...] = ()
    texts: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @property
    def targets(self) -> tuple[str, ...]:
        """The targets that at least one program was compiled for, in the order of the first."""
        return tuple(
            dict.fromkeys(
                target
                for program in self.programs.values()
                for target, outcome in program.outcomes.items()
                if not outcome.failed
            )
        )

    @property
    def order(self) -> tuple[tuple[int, ...], ...]:
        """What sorts releases, and those of one JAX by the libtpu beside it."""
        return order(self.jax), order(self.versions.get("libtpu", ""))


def read_release(text: str) -> Release:
    """Return the release that `write_release` wrote.

    Raises:
        InspectError: The text is none, or one of another form.
    """
    try:
        # Who wrote it, and the hash of the whole, are the affair of the script.
        held = {name: value for name, value in json.loads(text).items() if name not in {"script", "record"}}
        if held.pop("format") != FORMAT:
            message = f"a release of another format than {FORMAT}; `scripts/drift` measures it anew"
            raise InspectError(message)
        tables = held.pop("changes"), held.pop("operations", [])
        return Release(
            **{
                **held,
                "names": {name: tuple(text.split()) for name, text in held["names"].items()},
                "passes": {kind: tuple(names) for kind, names in held["passes"].items()},
                "parameters": {name: tuple(names) for name, names in held["parameters"].items()},
                "attributes": {name: tuple(names) for name, names in held["attributes"].items()},
                "programs": {name: _read_program(program, *tables) for name, program in held["programs"].items()},
                "disagreements": tuple(Disagreement(**disagreement) for disagreement in held.get("disagreements", ())),
            }
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        message = f"no release of JAX as `scripts/drift` writes it: {error!r}"
        raise InspectError(message) from error


def _load(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def read_releases(folder: Path, load: Callable[[Path], str] = _load) -> tuple[Release, ...]:
    """Return the releases of a folder, the oldest first.

    Args:
        folder: The folder.
        load: Reads a file.

    Raises:
        InspectError: A file of it holds none; the message names it.
    """
    releases = []
    for path in sorted(folder.glob("*.json")):
        try:
            releases.append(read_release(load(path)))
        except InspectError as error:
            message = f"{path.name}: {error}"
            raise InspectError(message) from error
    return tuple(sorted(releases, key=lambda release: release.order))


def write_release(release: Release) -> str:
    """Return a release as JSON, a line for each program and target, or several targets where they agree."""
    held: dict[str, Any] = {
        "format": FORMAT,
        "script": SCRIPT,
        **{column.name: getattr(release, column.name) for column in fields(release)},
    }
    held["names"] = {name: " ".join(listed) for name, listed in sorted(release.names.items())}
    outcomes = [outcome for program in release.programs.values() for outcome in program.outcomes.values()]
    # A pass, and an operation of code, has a number in the order of the names, since each is named by many programs.
    held["changes"] = sorted({name for outcome in outcomes for name in outcome.changed})
    held["operations"] = sorted({name for each in outcomes for counts in (each.code or {}).values() for name in counts})
    tables = [{name: number for number, name in enumerate(held[names])} for names in ("changes", "operations")]
    held["programs"] = {name: _write_program(program, *tables) for name, program in sorted(release.programs.items())}
    held["disagreements"] = [asdict(disagreement) for disagreement in release.disagreements]
    return _print(held, 3) + "\n"


def _print(value: object, depth: int, margin: str = "") -> str:
    """Return JSON whose outer levels have a line for each item."""
    if depth and value and isinstance(value, dict | list | tuple):
        pairs = value.items() if isinstance(value, dict) else ((None, item) for item in value)
        inner = f"{margin} "
        lines = [
            f"{inner}{'' if key is None else json.dumps(key) + ': '}{_print(item, depth - 1, inner)}"
            for key, item in pairs
        ]
        opening, closing = "{}" if isinstance(value, dict) else "[]"
        return f"{opening}\n" + ",\n".join(lines) + f"\n{margin}{closing}"
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _write_program(program: ReleaseCompile, *tables: Mapping[str, int]) -> dict[str, Any]:
    forms = {target: [form.text, form.counts] for target, form in program.stablehlo.items()}
    return {
        "jaxpr": program.jaxpr and [program.jaxpr.text, program.jaxpr.counts],
        "stablehlo": _join(forms),
        "targets": _join({target: _write_outcome(outcome, *tables) for target, outcome in program.outcomes.items()}),
    }


_OPTIONAL = ("flops", "code")
"""What may be unknown, and is kept where it is known to be nothing."""


def _write_outcome(outcome: ReleaseOutcome, passes: Mapping[str, int], operations: Mapping[str, int]) -> dict[str, Any]:
    held = {
        name: value for name, value in asdict(outcome).items() if value or (value is not None and name in _OPTIONAL)
    }
    if outcome.changed:
        held["changed"] = _write_counts(outcome.changed, passes)
    if outcome.code:
        held["code"] = {str(depth): _write_counts(counts, operations) for depth, counts in outcome.code.items()}
    return held


def _write_counts(counts: Mapping[str, int], numbers: Mapping[str, int]) -> str:
    """Return how often each name occurs, by its number in a table: `4*2 7`."""
    return " ".join(f"{numbers[name]}{f'*{times}' if times > 1 else ''}" for name, times in counts.items())


def _read_counts(text: str, names: Sequence[str]) -> dict[str, int]:
    entries = [entry.partition("*") for entry in text.split()]
    return {names[int(number)]: int(times or 1) for number, _, times in entries}


def _join(by_target: Mapping[str, Any]) -> dict[str, Any]:
    """Return what several targets share under their names together."""
    joined: dict[str, tuple[list[str], Any]] = {}
    for target, value in by_target.items():
        joined.setdefault(json.dumps(value, sort_keys=True), ([], value))[0].append(target)
    return {" ".join(names): value for names, value in joined.values()}


def _part(joined: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    return ((target, value) for names, value in joined.items() for target in names.split())


def _read_outcome(held: Mapping[str, Any], passes: Sequence[str], operations: Sequence[str]) -> ReleaseOutcome:
    code = held.get("code")
    return ReleaseOutcome(
        **{
            **held,
            "changed": _read_counts(held.get("changed", ""), passes),
            "code": code and {int(depth): _read_counts(counts, operations) for depth, counts in code.items()},
        }
    )


def _read_program(written: Mapping[str, Any], *tables: Sequence[str]) -> ReleaseCompile:
    return ReleaseCompile(
        jaxpr=Form(*written["jaxpr"]) if written["jaxpr"] else None,
        stablehlo={target: Form(*form) for target, form in _part(written["stablehlo"])},
        outcomes={target: _read_outcome(held, *tables) for target, held in _part(written["targets"])},
    )
