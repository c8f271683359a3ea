"""A site of one page with a program on it, served as `scripts/serve` does, for what editing it there does."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from livepage.run import backing

ROOT = Path(__file__).resolve().parents[2]
CONFIG = f"""\
INHERIT: {ROOT / "mkdocs.yml"}
hooks: [{ROOT / "scripts/livepage/mkdocs_hook.py"}, {ROOT / "scripts/inside_xla/edit_hook.py"}]
watch: []
theme: {{custom_dir: {ROOT / "docs/overrides"}}}
nav: [index.md, other.md]
"""
PROGRAM = '''\
"""A program."""


def double(numbers: list[int]) -> list[int]:
    """Return twice each number."""
    return [2 * number for number in numbers]
'''
PLACE = (
    '<div class="program-edit" data-program="{0}" data-file="snippets/programs/{0}.py" data-function="double" '
    'data-page="{1}.md" data-block="1"><details><summary>Edit this program</summary><p>By a command.</p></details>'
    "</div>"
)
PAGE = f"""# A page

A page with a program.
{{ .answer }}

```python exec="on"
from programs import toy

numbers = toy.double([1, 2, 3])
```

```python exec="on"
import inspect

print("```python title='toy.py'\\n" + inspect.getsource(toy) + "```")
```

{PLACE.format("toy", "index")}

## What comes of it {{ #results }}

The sum is `= sum(numbers)`, and the `largest` is [the last](#results).

```python exec="on"
rows = [f"| {{at}} | {{number}} |" for at, number in enumerate(numbers)]
print("| number | doubled |\\n|---|---|\\n" + "\\n".join(rows))
```

Every number is *even*, whatever it was.
Nothing else is said here.

```python check="Every number is even"
assert all(number % 2 == 0 for number in numbers)
```

```python exec="on"
print("Nothing of the program stands here.")
```

## The end {{ #end }}

The end.
"""
OTHER = f"# Another page\n\nThe same program.\n\n{PLACE.format('toy', 'other')}\n\nThe end.\n"
# Of a backing, the digits of its title tell which check names the sentence when it fails.
SENTENCE, CLAIM = "Every number is *even*, whatever it was.", "Every number is even"
AFFIRMED = f"# docs/index.md\n{backing.hash_sentence(SENTENCE)} {backing.hash_title(CLAIM)}0000000\n"
FILES = {
    "mkdocs.yml": CONFIG,
    "docs/index.md": PAGE,
    "docs/other.md": OTHER,
    "docs/data/affirmed.txt": AFFIRMED,
    "snippets/programs/toy.py": PROGRAM,
    "snippets/secret.py": "SECRET = 1\n",
}


@dataclass
class Served:
    """A site that is served.

    Attributes:
        root: The folder of the project.
        port: Where it is served on this machine.
        process: What serves it.
    """

    root: Path
    port: int
    process: subprocess.Popen[bytes]

    @property
    def address(self) -> str:
        """Where it is served."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def program(self) -> Path:
        """The file of the program."""
        return self.root / "snippets" / "programs" / "toy.py"


def write(folder: Path) -> None:
    """Write the project into a folder."""
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (folder / "docs" / "assets").symlink_to(ROOT / "docs" / "assets")


def environment(folder: Path) -> dict[str, str]:
    """Return what a build of the project needs of the environment."""
    paths = [folder / "snippets", ROOT / "snippets", ROOT / "scripts"]
    return {
        **os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths)), "NO_MKDOCS_2_WARNING": "1", "SITE_URL": "",
        "XLA_INSPECT_CACHE": str(folder / ".cache" / "captures"),
    }  # fmt: skip


def serve(folder: Path) -> Served:
    """Serve the project as `scripts/serve` does, and return once it answers.

    Raises:
        RuntimeError: It does not answer; with what it said.
    """
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = int(found.getsockname()[1])
    command = [sys.executable, "-m", "mkdocs", "serve", "--no-strict", "--dev-addr", f"127.0.0.1:{port}"]
    log = folder / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(command, cwd=folder, env=environment(folder), stdout=output, stderr=output)
    served, end = Served(folder, port, process), time.monotonic() + 60
    while time.monotonic() < end and process.poll() is None:
        try:
            with urllib.request.urlopen(served.address, timeout=10) as answer:  # noqa: S310 - this machine
                if b"program-edit" in answer.read():
                    return served
        except OSError:
            time.sleep(0.1)
    process.kill()
    raise RuntimeError(log.read_text(encoding="utf-8"))
