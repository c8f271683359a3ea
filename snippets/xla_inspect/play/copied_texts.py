"""The texts that a reader can copy from the page: a test of the current result, a runnable bug report, a command."""

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
"""The maximum number of opcodes, the most frequent ones, whose counts a copied test asserts."""

_NO_OPERATIONS = frozenset({"parameter", "tuple", "get-tuple-element", "constant", "bitcast"})


@dataclass(frozen=True)
class Copied:
    """The page's content from which the texts are written.

    Attributes:
        edit: The page's request, already validated.
        file: The name of the code's file.
        arguments: The arguments as text, or an empty string if only the code defines them.
        versions: The version of each package that takes part in the compilation, by name.
        seen: The latest numbers of `kernels` and `opcodes`, by target.
        is_saved: Whether the file on disk holds the page's code, so that a command can read it from there.
    """

    edit: Mapping[str, Any]
    file: str
    arguments: str
    versions: Mapping[str, str]
    seen: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    is_saved: bool = True

    @property
    def code(self) -> str:
        """The code with exactly one newline at its end."""
        return f"{self.edit['code'].rstrip()}\n"

    @property
    def packages(self) -> str:
        """The packages and their versions on one line."""
        return ", ".join(f"{name} {version}" for name, version in self.versions.items())

    def write(self, kind: str) -> str | None:
        """Return the text of a kind, which is `test`, `issue` or `command`; return None for any other kind.

        Raises:
            InspectError: There is no result yet for a test to assert, or an issue's function is not in the code.
        """
        makers = {"test": self._write_test, "issue": self._write_issue, "command": self._write_command_of_file}
        return makers[kind]() if kind in makers else None

    def _write_command_of_file(self) -> str:
        """Return the command, preceded by a comment if the page's code is not saved in the file."""
        first = "" if self.is_saved else f"# first save the playground's code as {self.file}: Share, Download\n"
        return first + self._write_command()

    def _write_command(self) -> str:
        subject, options = f"{self.file}:{self.edit['function']}", self.edit["options"]
        if re.search(r"[({]|\[[^\]\d]", self.edit["arguments"]):
            # The command line has no syntax for arguments other than plain shapes.
            return shlex.join(["xla-inspect", "play", subject])
        words = ["xla-inspect", "report", subject]
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
        facts = {target: numbers for target, numbers in self.seen.items() if numbers and target in self.edit["targets"]}
        if not facts:
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
                f"        targets={tuple(facts)!r},\n        options={self.edit['options']!r},\n    )\n",
                *(line for target, numbers in facts.items() for line in _assert(target, numbers)),
            )
        )

    def _write_issue(self) -> str:
        options, function = self.edit["options"], self.edit["function"]
        # A name in PROGRAMS may be any text, but the report calls a function by its name.
        if not function.isidentifier():
            message = f"{function!r} is no function of the code's own: choose one, and copy it then"
            raise InspectError(message)
        source, expression = write_source(self.edit["arguments"]), function
        if not self.edit["arguments"]:
            # Without arguments on the page, the code defines them itself.
            source = "EXAMPLE"
        lines = ["import jax", "import jax.numpy as jnp", "", f"args = {source}"]
        if options.get("vmap"):
            lines += [
                f"args = jax.tree.map(lambda x: jax.ShapeDtypeStruct(({options['vmap']}, *x.shape), x.dtype), args)"
            ]
            expression = f"jax.vmap({expression})"
        if options.get("grad"):
            expression = f"jax.grad(lambda *a: sum(x.sum() for x in jax.tree.leaves({expression}(*a))), allow_int=True)"
        settings = "".join(
            f", {name}_argnames={tuple(options[name])!r}" for name in ("donate", "static") if options.get(name)
        )
        flags = read_flags([f"{name}={value}" for name, value in options.get("flags", {}).items()])
        # The report runs on any backend, and XLA rejects options of another backend's compiler.
        own = "({'gpu': 'xla_gpu_', 'tpu': 'xla_tpu_'}).get(jax.default_backend(), 'xla_cpu_')"
        selection = "{name: value for name, value in flags.items() if name[:8] not in ALL or name.startswith(own)}"
        selecting = [
            f"flags, own = {flags!r}, {own}",
            "ALL = ('xla_cpu_', 'xla_gpu_', 'xla_tpu_')",
            f"flags = {selection}",
        ]
        lines += [
            f"lowered = jax.jit({expression}{settings}).lower(*args)",
            'print("jax", jax.__version__)',
            "print(lowered.as_text())",
            *(selecting if flags else ()),
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


def _assert(target: str, numbers: Mapping[str, Any]) -> list[str]:
    """Return the lines of a test that assert the numbers for a target."""
    # The order is independent of the capture for equal counts, so the same program gives the same test.
    counts = sorted(numbers.get("opcodes", {}).items(), key=lambda pair: (-pair[1], pair[0]))
    operations = {name: count for name, count in counts if name not in _NO_OPERATIONS}
    lines = [f"    seen = captures[{target!r}]\n", f"    assert seen.kernels == {numbers['kernels']}\n"]
    return lines + [f"    assert seen.opcodes[{name!r}] == {count}\n" for name, count in [*operations.items()][:TOLD]]
