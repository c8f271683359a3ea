"""The explorer's tokenizer, run by Node.js, agrees with the lexers of the site's listings."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pygments.lexers import get_lexer_by_name
from pygments.token import STANDARD_TYPES

from programs import attention, transformer_block_grad
from programs import layer as small
from xla_inspect import Capture, capture
from xla_inspect.report.explorer import static_files

if TYPE_CHECKING:
    from collections.abc import Iterator

AGREED = 0.98  # of the characters of a text that are not spaces

# Classes of one colour, as docs/assets/css/listing.css has them.
COLOURS = (
    ("k", "kc", "kd", "kn", "kp", "kr", "ow", "nt"),
    ("kt", "nc"),
    ("nv", "vc", "vg", "vi", "vm", "bp"),
    ("nf", "fm", "nl", "ne", "no", "nd"),
    ("na", "nb", "py", "ni", "nn"),
    ("m", "mb", "mf", "mh", "mi", "mo", "il", "l", "ld"),
    ("s", "sa", "sb", "sc", "dl", "sd", "s2", "se", "sh", "si", "sx", "sr", "s1", "ss"),
    ("c", "ch", "cm", "cp", "cpf", "c1", "cs"),
    ("", "p", "x", "n", "err", "w", "g", "go"),
    ("o",),
)
COLOUR = {name: number for number, names in enumerate(COLOURS) for name in names}

SCRIPT = """
const fs = require("node:fs"), vm = require("node:vm")
vm.runInThisContext(fs.readFileSync(process.argv[1], "utf8"))
const asked = JSON.parse(fs.readFileSync(0, "utf8"))
console.log(JSON.stringify(asked.map(([language, text]) => globalThis.xlaExplorer.tokenize(text, language))))
"""

pytestmark = pytest.mark.usefixtures("all_targets")


def _texts(result: Capture) -> Iterator[tuple[str, str]]:
    yield from (("python", text) for text in result.sources.values())
    yield "jaxpr", result.jaxpr
    yield "stablehlo", result.stablehlo
    yield from (("hlo", text) for text in (result.before, result.after))
    yield from (("hlo", change.text) for change in result.passes[::7])


def _tokenize(request: list[tuple[str, str]]) -> list[list[tuple[str, str]]]:
    path = Path(static_files.__file__).parent / "static" / "syntax.js"
    node = shutil.which("node", path=f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin")
    if not node:
        pytest.skip("no node here")
    finished = subprocess.run(
        [node, "-e", SCRIPT, str(path)], input=json.dumps(request), capture_output=True, text=True, check=True
    )
    tokens: list[list[Any]] = json.loads(finished.stdout)
    return [[(name, piece) for name, piece in text] for text in tokens]


def _paint(tokens: Iterator[tuple[str, str]] | list[tuple[str, str]]) -> list[int]:
    return [COLOUR[name] for name, piece in tokens for _ in piece]


@pytest.mark.parametrize("target", ["cpu", "h100", "tpu-v5e"])
@pytest.mark.parametrize("program", ["layer", "attention", "transformer_block_grad"])
def test_the_tokenizer_agrees_with_the_lexers(program: str, target: str) -> None:
    module = {"layer": small, "attention": attention, "transformer_block_grad": transformer_block_grad}[program]
    result = capture(getattr(module, program), *module.EXAMPLE, target=target)
    request = list(_texts(result))
    for (language, text), tokens in zip(request, _tokenize(request), strict=True):
        assert "".join(piece for _, piece in tokens) == text
        lexed = get_lexer_by_name(language).get_tokens_unprocessed(text)
        expected = _paint([(STANDARD_TYPES[kind], piece) for _, kind, piece in lexed])
        pairs = [
            (a, b, at) for at, (a, b) in enumerate(zip(_paint(tokens), expected, strict=True)) if not text[at].isspace()
        ]
        wrong = [at for a, b, at in pairs if a != b]
        parts = [text[max(at - 20, 0) : at + 20] for at in wrong[:3]]
        assert len(wrong) <= (1 - AGREED) * len(pairs), (language, len(wrong) / len(pairs), parts)
