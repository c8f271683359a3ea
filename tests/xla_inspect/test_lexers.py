"""The lexers mark no error in captured text, and name its parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from mkdocs.config import load_config
from pygments.lexers import get_lexer_by_name
from pygments.token import Comment, Error, Keyword, Name

from programs import transformer_block, transformer_block_grad
from xla_inspect import capture_all

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from xla_inspect.captured import Capture, Captures

LEXERS = {
    "triton": "mlir",
    "llvm-unoptimized": "llvm-ir",
    "llvm": "llvm-ir",
    "ptx": "nvidia-ptx",
    "asm": "machine-code",
    "sass": "machine-code",
    "hlo": "hlo",
}


def _texts(capture: Capture) -> Iterator[tuple[str, str]]:
    """Yield every text of a capture that a page may show, after the name of its lexer."""
    yield "jaxpr", capture.jaxpr
    yield "stablehlo", capture.stablehlo
    yield "stablehlo", capture.stablehlo_locations
    yield "hlo", capture.before
    yield "hlo", capture.after
    yield from (("hlo", change.text) for change in capture.passes)
    yield from ((LEXERS[code.language], code.text) for code in capture.code)


def _errors(captures: Captures) -> list[str]:
    faults = []
    for target, capture in captures.items():
        for language, text in _texts(capture):
            tokens = list(get_lexer_by_name(language).get_tokens_unprocessed(text))
            assert "".join(value for _, _, value in tokens) == text
            wrong = [text[max(at - 40, 0) : at + 20] for at, kind, _ in tokens if kind is Error]
            faults += [f"{target} {language}: {part!r}" for part in wrong[:3]]
    return faults


@pytest.mark.long("otherwise the texts of a transformer block stand for all", but=["transformer_block"])
@pytest.mark.parametrize("program", ["transformer_block", "transformer_block_grad"])
def test_no_captured_text_of_a_transformer_block_holds_an_error_token(program: str) -> None:
    """The block and its gradient have reductions, convolutions, custom calls, loops and constants."""
    module = {"transformer_block": transformer_block, "transformer_block_grad": transformer_block_grad}[program]
    assert _errors(capture_all(getattr(module, program), *module.EXAMPLE)) == []


@pytest.mark.parametrize(
    ("language", "text", "part", "kind"),
    [
        ("hlo", "ROOT %a = f32[8,128]{1,0:T(8,128)S(1)} add(%b, %c)", "f32[8,128]{1,0:T(8,128)S(1)}", Keyword.Type),
        ("hlo", "ROOT %a = f32[] add(%b, %c)", "ROOT", Keyword),
        ("hlo", "%copy-start.1 = (f32[8]{0}, u32[]) copy-start(%b)", "copy-start", Name.Function),
        ("hlo", "%a = f32[] f(), kind=kLoop", "kLoop", Name.Constant),
        ("hlo", '%a = f32[] f(), metadata={op_name="a{b}"}', 'metadata={op_name="a{b}"}', Comment),
        ("hlo", '%a = f32[] f(), backend_config={"a":{"b":[]}}, x=1', 'backend_config={"a":{"b":[]}}', Comment),
        ("stablehlo", "%0 = stablehlo.add %a, %b : tensor<8x!quant<i8>>", "stablehlo.add", Name.Function),
        ("mlir", "func.func @main(%a: tensor<8x4xf32>)", "tensor<8x4xf32>", Keyword.Type),
        (
            "jaxpr",
            "{ lambda ; a:f32[8,16]. let b:f32[8] = reduce_sum[axes=(1,)] a in (b,) }",
            "reduce_sum",
            Name.Function,
        ),
        ("jaxpr", "{ lambda ; a:f32[8,16]. let in (a,) }", "f32[8,16]", Keyword.Type),
        ("llvm-ir", "  %3 = load <8 x float>, ptr %2, align 4, !noalias !11", "<8 x float>", Keyword.Type),
        ("nvidia-ptx", "\tld.param::entry.b64 \t%rd1, [x];", "ld.param::entry.b64", Keyword),
    ],
)
def test_a_lexer_names_the_part(language: str, text: str, part: str, kind: object) -> None:
    """The part is one token, or neighbouring tokens of one kind, which a page shows as one element."""
    joined: list[tuple[object, str]] = []
    for token, value in get_lexer_by_name(language).get_tokens(text):
        if joined and joined[-1][0] is token:
            joined[-1] = (token, joined[-1][1] + value)
        else:
            joined.append((token, value))
    assert (kind, part) in joined


def test_the_site_uses_these_lexers(root: Path) -> None:
    """Pygments has lexers of the same names that mark errors, or that are for style sheets (`sass`)."""
    config = load_config(str(root / "mkdocs.yml"))
    renamed = config.mdx_configs["pymdownx.highlight"]["extend_pygments_lang"]
    languages = {item["name"]: item["lang"] for item in renamed}
    expected = {name: lexer for name, lexer in LEXERS.items() if name in languages}
    assert expected == {name: languages[name] for name in expected}
    assert {"llvm", "ptx", "asm", "sass"} <= expected.keys()
