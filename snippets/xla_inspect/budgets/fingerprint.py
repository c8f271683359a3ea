"""The fingerprint of a recorded program, which shows whether code, a library or the compiler changed since."""

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
"""The cause of a change since a record: the code or its call, the compiler with JAX, both, or nothing; or unrecorded
if there is no record."""

_NAME = re.compile(r"module @[\w.$-]+")
_ADDRESS = re.compile(r" (?:object )?at 0x[0-9a-fA-F]+")


@dataclass(frozen=True)
class Fingerprint:
    """The fingerprint of a program.

    Attributes:
        versions: The packages that compiled the program, each with its version.
        options: The compiler's options and flags.
        program: A hash of the lowered program without its name and source lines.
        sources: A hash of each of the user's files that the program comes from, by the file's name.
        call: A hash of the call: shapes, types, donated and static arguments, mesh and specs.
        libraries: The other packages that the program comes from, each with its version.
    """

    versions: Mapping[str, str]
    options: Mapping[str, str]
    program: str
    sources: Mapping[str, str]
    call: str
    libraries: Mapping[str, str]

    @classmethod
    def of(cls, capture: Capture, call: Call | None) -> Self:
        """Return the fingerprint of a capture and, if known, of its call."""
        options = {name: str(value) for name, value in capture.options.items()}
        flags = " ".join(ambient_flags(capture.options))
        return cls(
            versions=dict(capture.versions),
            options={**options, **({"XLA_FLAGS": flags} if flags else {})},
            # JAX writes the function's name into the module's header, so renaming a function would look like a
            # change.
            program=_hash(_NAME.sub("", capture.stablehlo)),
            sources={name: _hash(text) for name, text in sorted(capture.sources.items())},
            call=_hash(_describe_call(call) if call else ""),
            libraries=_find_libraries(capture),
        )

    @classmethod
    def read(cls, data: object, where: str) -> Self:
        """Convert the JSON data that `to_json` returns back to a fingerprint; `where` names its place in errors.

        Raises:
            InspectError: The data is not a fingerprint.
        """
        names = {field.name for field in fields(cls)}
        if not isinstance(data, dict) or {*data} != names or not all(_is_fit(data[name]) for name in names):
            message = f"{where} has no fingerprint of a program; record it again"
            raise InspectError(message)
        return cls(**data)

    def to_json(self) -> dict[str, Any]:
        """Return the fingerprint as JSON data."""
        return asdict(self)

    def changed_files(self, now: Fingerprint) -> list[str]:
        """Return the files that both programs come from and that differ."""
        # A file that only one of the programs uses has no hash to compare, so it does not count as changed.
        return [name for name, text in self.sources.items() if now.sources.get(name, text) != text]

    def blame(self, now: Fingerprint) -> Blame:
        """Return the cause of the change from this fingerprint, which was recorded, to the current one.

        Changed files, libraries or calls are a cause only if the lowered program or an option changed too.
        """
        compiler = dict(self.versions) != dict(now.versions)
        code = bool(self.changed_files(now)) or self.call != now.call or self.libraries != now.libraries
        options = dict(self.options) != dict(now.options)
        if self.program == now.program and not options:
            return "compiler" if compiler else "nothing"
        # The lowered program or an option changed although the packages did not, so the cause is on the user's side.
        if not compiler:
            return "code"
        # If files and call are the same, a different lowered program comes from JAX.
        return "both" if code or options else "compiler"

    def tell(self, now: Fingerprint) -> str:
        """Return sentences that name the changes from this fingerprint, which was recorded, to the current one."""
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
        changes = ", ".join(what) or "something outside your files, such as a JAX setting or a value that they read"
        match self.blame(now):
            case "nothing":
                compiler = ", ".join(f"{name} {version}" for name, version in self.versions.items())
                return f"Neither your program nor the compiler changed since the record ({compiler})."
            case "code":
                return f"Your program changed since the record, and the compiler did not: {changes}."
            case "compiler" if self.program == now.program:
                return f"The compiler changed since the record, and your program did not: {versions}."
            case "compiler":
                return f"JAX or the compiler changed since the record, and your files did not: {versions}."
        return (
            f"Both your program and the compiler changed since the record: {changes}; and {versions}. To find the "
            "cause, check the program with the versions of the record, or record it again with them first."
        )


def _hash(text: str) -> str:
    # Half of the digest is enough to tell programs apart, and keeps the file of records short.
    return hashlib.sha256(text.encode()).hexdigest()[:32]


@cache
def _list_packages() -> Mapping[str, tuple[str, ...]]:
    """Return the names of the installed distributions by the import names of their packages."""
    # The metadata may list the same distribution several times for one import name.
    distributions = importlib.metadata.packages_distributions()
    return {name: tuple(dict.fromkeys(owners)) for name, owners in distributions.items()}


def _find_libraries(capture: Capture) -> dict[str, str]:
    """Return the versions, by name, of the packages other than JAX whose files are in the program's stack frames."""
    # The user's own files have hashes in `sources`, so only files of other packages count as libraries.
    files = {frame.file for chain in capture.frames.values() for frame in chain} - {*capture.sources}
    # Files of a package start with its import name; a name without a folder belongs to no package.
    tops = {name.partition("/")[0] for name in files if "/" in name}
    owners = {owner for top in tops for owner in _list_packages().get(top, ())}
    return {owner: importlib.metadata.version(owner) for owner in sorted(owners - {"jax", "jaxlib", "xla-inspect"})}


def _describe_call(call: Call) -> str:
    import jax

    def describe(leaf: Any) -> str:  # noqa: ANN401 - whatever the function takes
        if hasattr(leaf, "shape") and hasattr(leaf, "dtype"):
            return f"{leaf.dtype}{list(leaf.shape)}{_spell(getattr(getattr(leaf, 'sharding', None), 'spec', ''))}"
        # JAX traces Python floats as abstract values, so their amounts do not change the program; addresses never do.
        return type(leaf).__name__ if isinstance(leaf, float | complex) else _ADDRESS.sub("", repr(leaf))

    flat, _ = jax.tree_util.tree_flatten_with_path((call.args, dict(call.kwargs)))
    leaves = [(jax.tree_util.keystr(path), describe(leaf)) for path, leaf in flat]
    settings = {name: _spell(value) for name, value in call.settings.items()}
    return json.dumps([leaves, sorted(settings.items())])


def _spell(value: object) -> object:
    """Return an option as JSON data that does not depend on how a release of JAX prints it."""
    value = getattr(value, "spec", value)  # the mesh of a sharding is an option of its own
    if isinstance(value, Mapping):
        return {str(name): _spell(element) for name, element in value.items()}
    if isinstance(value, tuple | list) or type(value).__name__ == "PartitionSpec":
        return [_spell(element) for element in value]  # type: ignore[attr-defined]  # a specification is iterable
    return value if isinstance(value, str | int | None) else _ADDRESS.sub("", repr(value))


def _name_changes(before: Mapping[str, str], after: Mapping[str, str]) -> str:
    return ", ".join(
        f"{name} {before.get(name, 'none')} -> {after.get(name, 'none')}"
        for name in dict.fromkeys((*before, *after))
        if before.get(name) != after.get(name)
    )


def _is_fit(value: object) -> bool:
    return isinstance(value, str) or (isinstance(value, dict) and all(isinstance(text, str) for text in value.values()))
