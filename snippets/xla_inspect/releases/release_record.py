"""The results of a set of programs with one JAX release, as plain data that is read from and written as JSON."""

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
"""The version of the file format; files with another version are rejected."""
SCRIPT = "scripts/drift --again"
"""The command that creates such a file."""


@dataclass(frozen=True, slots=True)
class ReleaseOutcome:
    """The result of one program on one target.

    Attributes:
        launches: The number of launches in the module, by `Launch.sort`.
        changed: The passes that changed the module, and the number of times that each did.
        instructions: The number of instructions in the optimized module, including those inside fusions.
        memory: The executable's memory statistics in bytes: `arguments`, `outputs`, `aliased`, `temporaries`, `code`,
            `peak`; values that a release does not report are absent.
        traffic: The bytes that the launches read from and write to main memory, each launch counted once: calls, loops
            and branches are expanded, but loop bodies are not multiplied by the trip count.
        flops: The result of the executable's own cost model, or None if it has none.
        code: The number of occurrences of each operation in the generated code, by loop depth, as in
            `KernelCode.work`; empty if the compiler dumps no code, None if the code was not examined.
        entries: For a GPU, the number of kernels in that code; some releases omit the code of some kernels.
        failed: The error if it did not compile, else an empty string.
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
        """Return the number of its launches with a role: kernels, collectives or copies."""
        return sum(number for sort, number in self.launches.items() if find_role(sort) == role)


@dataclass(frozen=True, slots=True)
class Form:
    """A program's jaxpr or StableHLO in summary.

    Attributes:
        text: A hash of the text that JAX prints.
        counts: The number of occurrences of each primitive or StableHLO operation.
    """

    text: str
    counts: Mapping[str, int]


@dataclass(frozen=True)
class ReleaseCompile:
    """The results of tracing, lowering and compiling one program with one release.

    Attributes:
        jaxpr: Its jaxpr, or None if it was traced for no target.
        stablehlo: Its StableHLO, by target.
        outcomes: The results of compilation, by target.
    """

    jaxpr: Form | None
    stablehlo: Mapping[str, Form]
    outcomes: Mapping[str, ReleaseOutcome]


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A statement on a page that fails with a release.

    Attributes:
        page: The page's file.
        line: Its line when the page was run.
        what: `check`, `value` or `block`.
        sentence: The claim of a check, the expression of a value, or the first line of a block.
        error: The error message.
    """

    page: str
    line: int
    what: str
    sentence: str
    error: str


@dataclass(frozen=True)
class Release:
    """All measurements with one release.

    Attributes:
        jax: The release.
        versions: The versions of the packages that compiled, by name.
        missing: The reasons that kinds of targets (`gpu`, `tpu`) are not available, by kind.
        figures_left_out: The number of unknown fields in each GPU's device data.
        names: The public names of each JAX module.
        passes: The passes that ran for any program, by kind of target, in the order of their first run.
        parameters: The parameters of each primitive in the programs' jaxprs.
        attributes: The attributes of each operation in the programs' StableHLO.
        programs: The results of each program.
        pages: The number of checks, values and blocks of each page that was run with the release.
        disagreements: The checks, values and blocks that failed.
        texts: The printed jaxpr and StableHLO of a few programs.
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
        """The targets that at least one program was compiled for, in the order of their first occurrence."""
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
        """The sort key of releases, which includes libtpu's version for equal JAX releases."""
        return order(self.jax), order(self.versions.get("libtpu", ""))


def read_release(text: str) -> Release:
    """Return the release in a text that `write_release` returned.

    Raises:
        InspectError: The text is not a release, or has another format version.
    """
    try:
        # The script that writes the files adds its command and a hash of the whole, which are no part of a release.
        data = {name: value for name, value in json.loads(text).items() if name not in {"script", "record"}}
        if data.pop("format") != FORMAT:
            message = f"a release of another format than {FORMAT}; `scripts/drift` measures it anew"
            raise InspectError(message)
        tables = data.pop("changes"), data.pop("operations", [])
        return Release(
            **{
                **data,
                "names": {name: tuple(text.split()) for name, text in data["names"].items()},
                "passes": {kind: tuple(names) for kind, names in data["passes"].items()},
                "parameters": {name: tuple(names) for name, names in data["parameters"].items()},
                "attributes": {name: tuple(names) for name, names in data["attributes"].items()},
                "programs": {name: _read_program(program, *tables) for name, program in data["programs"].items()},
                "disagreements": tuple(Disagreement(**disagreement) for disagreement in data.get("disagreements", ())),
            }
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        message = f"no release of JAX as `scripts/drift` writes it: {error!r}"
        raise InspectError(message) from error


def _load(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def read_releases(folder: Path, load: Callable[[Path], str] = _load) -> tuple[Release, ...]:
    """Return the releases in a folder, oldest first.

    Args:
        folder: The folder.
        load: Reads a file.

    Raises:
        InspectError: A file contains no release; the message names it.
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
    """Return a release as JSON text, with one line per program and target; targets with equal results share a line."""
    data: dict[str, Any] = {
        "format": FORMAT,
        "script": SCRIPT,
        **{column.name: getattr(release, column.name) for column in fields(release)},
    }
    data["names"] = {name: " ".join(listed) for name, listed in sorted(release.names.items())}
    outcomes = [outcome for program in release.programs.values() for outcome in program.outcomes.values()]
    # Passes and code operations are stored as numbers in alphabetical order, because many programs refer to them.
    data["changes"] = sorted({name for outcome in outcomes for name in outcome.changed})
    data["operations"] = sorted({name for one in outcomes for counts in (one.code or {}).values() for name in counts})
    tables = [{name: number for number, name in enumerate(data[names])} for names in ("changes", "operations")]
    data["programs"] = {name: _write_program(program, *tables) for name, program in sorted(release.programs.items())}
    data["disagreements"] = [asdict(disagreement) for disagreement in release.disagreements]
    return _print(data, 3) + "\n"


def _print(value: object, depth: int, margin: str = "") -> str:
    """Return a value as JSON text, with one line per item in the outermost `depth` levels."""
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
"""Fields that may be unknown (None), so that an empty value is stored too."""


def _write_outcome(outcome: ReleaseOutcome, passes: Mapping[str, int], operations: Mapping[str, int]) -> dict[str, Any]:
    data = {
        name: value for name, value in asdict(outcome).items() if value or (value is not None and name in _OPTIONAL)
    }
    if outcome.changed:
        data["changed"] = _write_counts(outcome.changed, passes)
    if outcome.code:
        data["code"] = {str(depth): _write_counts(counts, operations) for depth, counts in outcome.code.items()}
    return data


def _write_counts(counts: Mapping[str, int], numbers: Mapping[str, int]) -> str:
    """Return the count of each name as text, by its number in a table: `4*2 7`."""
    return " ".join(f"{numbers[name]}{f'*{times}' if times > 1 else ''}" for name, times in counts.items())


def _read_counts(text: str, names: Sequence[str]) -> dict[str, int]:
    entries = [entry.partition("*") for entry in text.split()]
    return {names[int(number)]: int(times or 1) for number, _, times in entries}


def _join(by_target: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values with those of equal targets merged, by the targets' names joined with spaces."""
    joined: dict[str, tuple[list[str], Any]] = {}
    for target, value in by_target.items():
        # Equal values must have equal keys, whatever the order of their entries.
        joined.setdefault(json.dumps(value, sort_keys=True), ([], value))[0].append(target)
    return {" ".join(names): value for names, value in joined.values()}


def _part(joined: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    return ((target, value) for names, value in joined.items() for target in names.split())


def _read_outcome(data: Mapping[str, Any], passes: Sequence[str], operations: Sequence[str]) -> ReleaseOutcome:
    code = data.get("code")
    return ReleaseOutcome(
        **{
            **data,
            "changed": _read_counts(data.get("changed", ""), passes),
            "code": code and {int(depth): _read_counts(counts, operations) for depth, counts in code.items()},
        }
    )


def _read_program(record: Mapping[str, Any], *tables: Sequence[str]) -> ReleaseCompile:
    return ReleaseCompile(
        jaxpr=Form(*record["jaxpr"]) if record["jaxpr"] else None,
        stablehlo={target: Form(*form) for target, form in _part(record["stablehlo"])},
        outcomes={target: _read_outcome(data, *tables) for target, data in _part(record["targets"])},
    )
