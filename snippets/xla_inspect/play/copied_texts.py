"""The texts that the page lets a reader copy: a test of what is seen now, an issue that runs by itself, a command."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from xla_inspect.errors import InspectError
from xla_inspect.play.argument_source import write_source
from xla_inspect.subject import read_flags

if TYPE_CHECKING:
    from collections.abc import Mapping

TOLD = 6
"""The opcodes whose number a test asserts, the most frequent ones."""

_NO_OPERATIONS = frozenset({"parameter", "tuple", "get-tuple-element", "constant", "bitcast"})


@dataclass(frozen=True)
class Copied:
    """The content of the page that a text is made of.

    Attributes:
        edit: The page's request, checked.
        file: The name of the code's file.
        arguments: The arguments as text, or an empty string where the code alone says them.
        versions: The packages that compile here, name to version.
        seen: The last numbers of `kernels` and `opcodes`, by target.
        is_saved: Whether the file on disk holds the code; a command reads it from there.
    """

    edit: Mapping[str, Any]
    file: str
    arguments: str
    versions: Mapping[str, str]
    seen: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    is_saved: bool = True

    @property
    def code(self) -> str:
        """The code, with one line's end at its end."""
        return f"{self.edit['code'].rstrip()}\n"

    @property
    def packages(self) -> str:
        """The versions in one line."""
        return ", ".join(f"{name} {version}" for name, version in self.versions.items())

    def write(self, kind: str) -> str | None:
        """Return the text of a kind: `test`, `issue` or `command`; None where there is no such kind.

        Raises:
            InspectError: There is no result yet that a test could assert.
        """
        makers = {"test": self._write_test, "issue": self._write_issue, "command": self._write_command_of_file}
        return makers[kind]() if kind in makers else None

    def _write_command_of_file(self) -> str:
        """Return the command, under a comment where the file does not hold the code of the page."""
        first = "" if self.is_saved else f"# first save the playground's code as {self.file}: Share, Download\n"
        return first + self._write_command()

    def _write_command(self) -> str:
        named, options = f"{self.file}:{self.edit['function']}", self.edit["options"]
        if re.search(r"[({]|\[[^\]\d]", self.edit["arguments"]):
            # Arguments that are no plain shapes have no form on a command line.
            return shlex.join(["xla-inspect", "play", named])
        words = ["xla-inspect", "report", named]
        words += [word for target in self.edit["targets"] for word in ("--target", target)]
        if self.arguments and self.edit["arguments"]:
            words += ["--args", re.sub(r"(^|,)\s*[^\W\d]\w*\s*:", r"\1", self.arguments).strip()]
        for name in ("donate", "static"):
            words += [f"--{name}", ",".join(map(str, options[name]))] if options.get(name) else []
        words += ["--grad"] if options.get("grad") else []
        words += ["--vmap", str(options["vmap"])] if options.get("vmap") else []
        words += ["--mesh", options["mesh"]] if options.get("mesh") else []
        words += [word for name, value in options.get("flags", {}).items() for word in ("--xla", f"{name}={value}")]
        return shlex.join(words)

    def _write_test(self) -> str:
        seen = {target: told for target, told in self.seen.items() if told and target in self.edit["targets"]}
        if not seen:
            message = "there is nothing to test yet: wait until it is compiled"
            raise InspectError(message)
        name = re.sub(r"\W+", "_", self.edit["function"])
        return "".join(
            (
                f"# What XLA made of {self.edit['function']} with {self.packages}\n",
                self.code,
                f"\n\ndef test_{name}_compiles_to_what_was_seen() -> None:\n",
                "    from xla_inspect.play import recapture\n\n",
                "    captures = recapture(\n",
                f"        globals(),\n        {self.edit['function']!r},\n",
                f"        arguments={self.edit['arguments']!r},\n",
                f"        targets={tuple(seen)!r},\n        options={self.edit['options']!r},\n    )\n",
                *(line for target, told in seen.items() for line in _assert(target, told)),
            )
        )

    def _write_issue(self) -> str:
        options, function = self.edit["options"], self.edit["function"]
        if not function.isidentifier():
            message = f"{function!r} is no function of the code's own: choose one, and copy it then"
            raise InspectError(message)
        source, called = write_source(self.edit["arguments"]), function
        if not self.edit["arguments"]:
            source = "EXAMPLE"
        lines = ["import jax", "import jax.numpy as jnp", "", f"args = {source}"]
        if options.get("vmap"):
            lines += [
                f"args = jax.tree.map(lambda x: jax.ShapeDtypeStruct(({options['vmap']}, *x.shape), x.dtype), args)"
            ]
            called = f"jax.vmap({called})"
        if options.get("grad"):
            called = f"jax.grad(lambda *a: sum(x.sum() for x in jax.tree.leaves({called}(*a))), allow_int=True)"
        settings = "".join(
            f", {name}_argnames={tuple(options[name])!r}" for name in ("donate", "static") if options.get(name)
        )
        flags = read_flags([f"{name}={value}" for name, value in options.get("flags", {}).items()])
        own = "({'gpu': 'xla_gpu_', 'tpu': 'xla_tpu_'}).get(jax.default_backend(), 'xla_cpu_')"
        known = "{name: value for name, value in flags.items() if name[:8] not in ALL or name.startswith(own)}"
        told = [f"flags, own = {flags!r}, {own}", "ALL = ('xla_cpu_', 'xla_gpu_', 'xla_tpu_')", f"flags = {known}"]
        lines += [
            f"lowered = jax.jit({called}{settings}).lower(*args)",
            'print("jax", jax.__version__)',
            "print(lowered.as_text())",
            *(told if flags else ()),
            f"print(lowered.compile({'flags' if flags else ''}).as_text())",
        ]
        head = [
            "# What happens: ...",
            "# What I expected: ...",
            f"# Versions: {self.packages}",
            f"# Targets: {', '.join(self.edit['targets'])}"
            + (f"; mesh: {options['mesh']}" if options.get("mesh") else ""),
            f"# For each target: {self._write_command()}",
        ]
        body = "\n".join(f"    {line}" if line else "" for line in lines)
        return "\n".join(head) + f'\n\n{self.code}\n\nif __name__ == "__main__":\n{body}\n'


def _assert(target: str, told: Mapping[str, Any]) -> list[str]:
    """Return the lines of a test that hold what was seen for a target."""
    counts = sorted(told.get("opcodes", {}).items(), key=lambda pair: (-pair[1], pair[0]))
    shown = {name: count for name, count in counts if name not in _NO_OPERATIONS}
    lines = [f"    seen = captures[{target!r}]\n", f"    assert seen.kernels == {told['kernels']}\n"]
    return lines + [f"    assert seen.opcodes[{name!r}] == {count}\n" for name, count in [*shown.items()][:TOLD]]
