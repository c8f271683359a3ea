"""What a program was when it was recorded, and who changed since: the reader's code, a library, or the compiler."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, Self

from xla_inspect.compilation import ambient_flags
from xla_inspect.errors import InspectError

if TYPE_CHECKING:
    from xla_inspect.captured import Capture
    from xla_inspect.subject import Call

type Blame = Literal["code", "compiler", "both", "nothing", "unrecorded"]
"""Who changed since a record was made: the code or how it is called, the compiler with JAX, each of them, none of them;
or nobody knows, since nothing was recorded."""

_NAME = re.compile(r"module @[\w.$-]+")
_ADDRESS = re.compile(r" (?:object )?at 0x[0-9a-fA-F]+")


@dataclass(frozen=True)
class Fingerprint:
    """What a program was.

    Attributes:
        versions: The packages that compiled it, name to version.
        options: The compiler's options and flags.
        program: A hash of the lowered program, its name and places left out.
        sources: A hash of each of the reader's files that it comes from, by the file's name.
        call: A hash of how it is called: shapes, types, what is donated and static, mesh and specs.
        libraries: The packages that it comes from besides, name to version.
    """

    versions: Mapping[str, str]
    options: Mapping[str, str]
    program: str
    sources: Mapping[str, str]
    call: str
    libraries: Mapping[str, str]

    @classmethod
    def of(cls, capture: Capture, call: Call | None) -> Self:
        """Return what a program is, by its capture and how it was called, where that is known."""
        options = {name: str(value) for name, value in capture.options.items()}
        flags = " ".join(ambient_flags(capture.options))
        return cls(
            versions=dict(capture.versions),
            options={**options, **({"XLA_FLAGS": flags} if flags else {})},
            program=_hash(_NAME.sub("", capture.stablehlo)),
            sources={name: _hash(text) for name, text in sorted(capture.sources.items())},
            call=_hash(_describe_call(call) if call else ""),
            libraries=_find_libraries(capture),
        )

    @classmethod
    def read(cls, data: object, where: str) -> Self:
        """Return a fingerprint that `asdict` turned into JSON.

        Raises:
            InspectError: It is none.
        """
        names = {field.name for field in fields(cls)}
        if not isinstance(data, dict) or {*data} != names or not all(_is_fit(data[name]) for name in names):
            message = f"{where} holds no fingerprint of a program; record it again"
            raise InspectError(message)
        return cls(**data)

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON holds it."""
        return asdict(self)

    def changed_files(self, now: Fingerprint) -> list[str]:
        """Return the files that differ, of those that the program came from both times."""
        return [name for name, text in self.sources.items() if now.sources.get(name, text) != text]

    def blame(self, now: Fingerprint) -> Blame:
        """Return who changed since: of a program that is another now only where the compiler is, not the reader."""
        compiler = dict(self.versions) != dict(now.versions)
        code = bool(self.changed_files(now)) or self.call != now.call or self.libraries != now.libraries
        options = dict(self.options) != dict(now.options)
        if self.program == now.program and not options:
            return "compiler" if compiler else "nothing"
        if not compiler:
            return "code"
        # What JAX makes of the same files and the same call is JAX's own.
        return "both" if code or options else "compiler"

    def tell(self, now: Fingerprint) -> str:
        """Return in words who changed since."""
        versions = _name_changes(self.versions, now.versions)
        libraries = _name_changes(self.libraries, now.libraries)
        options = _name_changes(self.options, now.options)
        files = self.changed_files(now)
        what = [
            *([", ".join(files)] if files else []),
            *(["how it is called"] if self.call != now.call else []),
            *([libraries] if libraries else []),
            *([f"the options {options}"] if options else []),
        ]
        told = ", ".join(what) or "something outside of your files, such as a setting of JAX or a value they read"
        match self.blame(now):
            case "nothing":
                compiler = ", ".join(f"{name} {version}" for name, version in self.versions.items())
                return f"Neither your program nor the compiler changed since the record ({compiler})."
            case "code":
                return f"Your program changed since the record, and the compiler did not: {told}."
            case "compiler" if self.program == now.program:
                return f"The compiler changed since the record, and your program did not: {versions}."
            case "compiler":
                return f"JAX or the compiler changed since the record, and your files did not: {versions}."
        return (
            f"Both changed since the record: {told}; and {versions}. To tell whose it is, check it under the versions "
            "of the record, or record it there first."
        )


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


@cache
def _list_packages() -> Mapping[str, tuple[str, ...]]:
    """Return the packages by the names that they are imported by."""
    found = importlib.metadata.packages_distributions()
    return {name: tuple(dict.fromkeys(owners)) for name, owners in found.items()}


def _find_libraries(capture: Capture) -> dict[str, str]:
    """Return the versions of the packages whose files the program's places name, none of the reader's own files."""
    files = {frame.file for chain in capture.frames.values() for frame in chain} - {*capture.sources}
    tops = {name.partition("/")[0] for name in files if "/" in name}
    owners = {owner for top in tops for owner in _list_packages().get(top, ())}
    return {owner: importlib.metadata.version(owner) for owner in sorted(owners - {"jax", "jaxlib", "xla-inspect"})}


def _describe_call(call: Call) -> str:
    import jax

    def describe(leaf: Any) -> str:  # noqa: ANN401 - whatever the function takes
        if hasattr(leaf, "shape") and hasattr(leaf, "dtype"):
            return f"{leaf.dtype}{list(leaf.shape)}"
        return type(leaf).__name__ if isinstance(leaf, float | complex) else _ADDRESS.sub("", repr(leaf))

    flat, _ = jax.tree_util.tree_flatten_with_path((call.args, dict(call.kwargs)))
    leaves = [(jax.tree_util.keystr(path), describe(leaf)) for path, leaf in flat]
    settings = {name: _spell(value) for name, value in call.settings.items()}
    return json.dumps([leaves, sorted(settings.items())])


def _spell(value: object) -> object:
    """Return an option as JSON holds it, the same whatever release of JAX prints it."""
    if isinstance(value, Mapping):
        return {str(name): _spell(each) for name, each in value.items()}
    if isinstance(value, tuple | list) or type(value).__name__ == "PartitionSpec":
        return [_spell(each) for each in value]  # type: ignore[attr-defined]  # a specification is iterable
    return value if isinstance(value, str | int | None) else _ADDRESS.sub("", repr(value))


def _name_changes(left: Mapping[str, str], right: Mapping[str, str]) -> str:
    return ", ".join(
        f"{name} {left.get(name, 'none')} -> {right.get(name, 'none')}"
        for name in dict.fromkeys((*left, *right))
        if left.get(name) != right.get(name)
    )


def _is_fit(value: object) -> bool:
    return isinstance(value, str) or (isinstance(value, dict) and all(isinstance(each, str) for each in value.values()))
