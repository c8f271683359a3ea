"""A small site with predictions and glossary terms, in the project's theme, for browser tests."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CONFIG = f"""\
INHERIT: {ROOT / "mkdocs.yml"}
hooks: [{ROOT / "scripts/livepage/mkdocs_hook.py"}]
watch: []
theme: {{custom_dir: {ROOT / "docs/overrides"}}}
nav: [index.md, asked.md, glossary.md, operations.md]
"""
INDEX = '# Home\n\nA site.\n\n<div id="continue" hidden></div>\n'
ASKED = """# Asked & answered

A page with questions.
{ .answer }

Every fusion is one kernel; the fusions of a module save memory traffic, and a `dot` is none.
A second `dot` and a second fusion stand here, and `frobnicate` is no opcode.

## Fusion of a module { #first }

```python exec="on"
from chapters import prediction

kernels = dict(zip(("cpu", "h100", "tpu-v5e"), range(2, 5)))
question = "Which launches the most `<kernels>`?"
print(prediction.ask_which(question, kernels, unit="kernels", see="#listing", because="It is so."))
```

```python exec="on"
print(prediction.ask_value("How many kernels has the CPU?", kernels["cpu"], others=kernels, see="#listing"))
```

```python exec="on"
users, size = "The sum has one user, since the module has no second one.", "It is small."
reasons = {"The sum has two users.": (len(kernels) == 3, users), "The <b>dot</b> is large.": (len(kernels) > 3, size)}
print(prediction.ask_reason("Why?", reasons, see="#listing"))
```

## What came out { #listing }

```text
fusion dot
```

FILLER

## Next { #next }

The end.
""".replace("FILLER", "\n\n".join(["A line of prose."] * 60))
GLOSSARY = """# Glossary

**fusion**{ #fusion }
:   An instruction that holds a *computation*, such as `add`. A second sentence. [Shown](asked.md#first)

**kernel**{ #kernel }
:   What runs as one on a device. [Shown](asked.md#first)

**module**{ #module }
:   A whole program. [Shown](asked.md#first)
"""
OPERATIONS = """# Operations

<details class="opcode" id="op-dot"><summary><code>dot</code></summary><p>Multiplies.</p></details>
"""


def build(folder: Path) -> Path:
    """Build the small site in a folder, and return the folder of its built files.

    Raises:
        RuntimeError: The build failed; the message is its output.
    """
    docs = folder / "docs"
    docs.mkdir()
    pages = {"index": INDEX, "asked": ASKED, "glossary": GLOSSARY, "operations": OPERATIONS}
    for name, text in pages.items():
        (docs / f"{name}.md").write_text(text, encoding="utf-8")
    for name in ("assets", "data"):
        (docs / name).symlink_to(ROOT / "docs" / name)
    (folder / "snippets").mkdir()
    (folder / "mkdocs.yml").write_text(CONFIG, encoding="utf-8")
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "SITE_URL": ""}
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"]
    ran = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if ran.returncode:
        raise RuntimeError(ran.stdout + ran.stderr)
    return folder / "site"
