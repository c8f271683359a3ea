"""Pygments lexers for the formats of XLA and JAX: jaxprs, StableHLO and other MLIR, HLO, LLVM IR, PTX, machine code.

Brackets and commas stay plain text, since each highlighted token is one more element on a page.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from pygments.lexer import RegexLexer, bygroups, default
from pygments.token import (
    Comment,
    Keyword,
    Name,
    Number,
    String,
    Text,
)

if TYPE_CHECKING:
    from collections.abc import Callable

_groups: Callable[..., object] = bygroups  # the stubs leave it untyped
_STRING = (r'"(?:\\.|[^"\\\n])*"', String)
_NUMBER = (r"[-+]?(?:0[xX][0-9a-fA-F]+|\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?)", Number)


class HloLexer(RegexLexer):
    """A lexer for HLO text of any target and after any pass."""

    name = "HLO"
    aliases: ClassVar[list[str]] = ["hlo"]
    filenames: ClassVar[list[str]] = ["*.hlo"]
    url = "https://openxla.org/xla/operation_semantics"

    tokens: ClassVar[dict[str, list[object]]] = {
        "root": [
            (r"\s+", Text),
            (r"/\*.*?\*/", Comment.Multiline),
            (r"//.*", Comment.Single),
            # The first matching rule wins, so keywords and shapes come before the rules for plain names.
            (r"^(HloModule)( +)([\w.$<>-]+)", _groups(Keyword.Declaration, Text, Name.Namespace)),
            (r"^(?:FileNames|FunctionNames|FileLocations|StackFrames)$", Keyword.Declaration),
            (r"(?:ENTRY|ROOT)\b", Keyword),
            # Metadata and configuration of an instruction are dimmed as a whole.
            (r"(?:metadata|backend_config|frontend_attributes|origin)=(?=\{)", Comment, "carried"),
            _STRING,
            (r"%[\w.$-]+", Name.Variable),
            # A shape with its layout, tiling and memory space: f32[8,128]{1,0:T(8,128)S(1)}.
            (
                r"\b(?:pred|token|opaque|[suf]\d+\w*|bf16|c64|c128)\[[\d,<=? ]*\](?:\{[\d,]*(?::[^{}\n]*)?\})?",
                Keyword.Type,
            ),
            (r"(?:true|false|inf|nan|-inf|-nan)\b", Keyword.Constant),
            (r"[A-Za-z_]\w*(?==)", Name.Attribute),
            (r"[a-z][\w-]*(?=\()", Name.Function),
            (r"k[A-Z]\w*", Name.Constant),
            (r"->|=>", Text),
            _NUMBER,
            (r"[A-Za-z_][\w.$/-]*", Text),
            (r"[()\[\]{},:;=<>*+\-/?|.#&@!'^~$]", Text),
        ],
        "carried": [
            (r"\{", Comment, "braces"),
            # The state ends here, since the closing brace belongs to the inner state.
            default("#pop"),
        ],
        "braces": [
            (r'"(?:\\.|[^"\\])*"', Comment),
            (r"\{", Comment, "#push"),
            (r"\}", Comment, "#pop"),
            (r'[^"{}]+', Comment),
        ],
    }


class StablehloLexer(RegexLexer):
    """A lexer for StableHLO and other MLIR that XLA prints, such as Triton's."""

    name = "StableHLO"
    aliases: ClassVar[list[str]] = ["stablehlo", "mlir"]
    filenames: ClassVar[list[str]] = ["*.mlir"]
    url = "https://openxla.org/stablehlo/spec"

    tokens: ClassVar[dict[str, list[object]]] = {
        "root": [
            (r"\s+", Text),
            (r"//.*", Comment.Single),
            # Locations are long and say little to a reader, so they are dimmed.
            (r"loc\(#loc\d*\)", Comment),
            (r"\{-#.*?#-\}", Comment.Multiline),
            _STRING,
            (r'@(?:[\w.$-]+|"[^"\n]*")', Name.Function),
            (r"%[\w.$-]+(?:#\d+)?", Name.Variable),
            (r"\^\w+", Name.Label),
            (r"(?:tensor|memref|vector|tuple|complex)<(?:[^<>\n]|<(?:[^<>\n]|<[^<>\n]*>)*>)*>", Keyword.Type),
            (r"![\w.$]+", Keyword.Type),
            (r"#[\w.$]+", Name.Constant),
            (r"(?:[suf]?i\d+|[suf]\d+\w*|bf16|index|none|tf32)\b", Keyword.Type),
            (r"[a-zA-Z_]\w*(?:\.[\w$]+)+", Name.Function),
            (
                r"(?:module|func|return|attributes|private|public|cond|do|applies|across|dims|true|false|unit)\b",
                Keyword,
            ),
            (r"[a-zA-Z_][\w$]*(?= ?=)", Name.Attribute),
            (r"->", Text),
            (r"0x[0-9A-Fa-f]+", Number),
            _NUMBER,
            (r"[a-zA-Z_][\w$-]*", Text),
            (r"[()\[\]{},:;=<>*+\-/?|.&@!'^~#]", Text),
        ],
    }


class JaxprLexer(RegexLexer):
    """A lexer for jaxprs as JAX prints them."""

    name = "jaxpr"
    aliases: ClassVar[list[str]] = ["jaxpr"]
    filenames: ClassVar[list[str]] = ["*.jaxpr"]
    url = "https://docs.jax.dev/en/latest/601/jaxpr.html"

    tokens: ClassVar[dict[str, list[object]]] = {
        "root": [
            (r"\s+", Text),
            (r"# .*", Comment.Single),
            (r"(?:lambda|let|in)\b", Keyword),
            _STRING,
            (r"'(?:\\.|[^'\\\n])*'", String),
            (r"(?:[A-Z]\w*\{)?[a-z]+\d*\w*(?:<[\w,]+>)?\[[^\]\[=]*\]\}?(?=[\s.)};,]|$)", Keyword.Type),
            (r"(?<== )[a-z_][\w-]*(?=\[|\s|$)", Name.Function),
            (r"(?<=\n)(\s*)([a-z_][\w-]*)(?=\[)", _groups(Text, Name.Function)),
            (r"[a-zA-Z_]\w*(?==)", Name.Attribute),
            (r"(?:True|False|None|inf|nan|-inf)\b", Keyword.Constant),
            _NUMBER,
            # JAX prints Python objects among the parameters of a primitive with their addresses.
            (r"<[\w .]+ at 0x[0-9a-f]+>", Comment),
            (r"[^\W\d][\w.]*", Text),
            (r"[()\[\]{},:;=<>*+\-/?|.&@!'^~#$%\\`]", Text),
        ],
    }


class LlvmLexer(RegexLexer):
    """A lexer for current LLVM IR. The lexer of Pygments marks newer attributes and intrinsics as errors."""

    name = "LLVM IR"
    aliases: ClassVar[list[str]] = ["llvm-ir"]
    filenames: ClassVar[list[str]] = ["*.ll"]
    url = "https://llvm.org/docs/LangRef.html"

    tokens: ClassVar[dict[str, list[object]]] = {
        "root": [
            (r"\s+", Text),
            (r";.*", Comment.Single),
            (r'c?"(?:\\.|[^"\\\n])*"', String),
            (r'@(?:[\w.$-]+|"[^"\n]*")', Name.Function),
            (r'%(?:[\w.$-]+|"[^"\n]*")', Name.Variable),
            (r"^[\w.$-]+:", Name.Label),
            (r"(?:attributes|target|source_filename|define|declare)\b", Keyword),
            # Metadata of a call or a load is dimmed, such as !alias.scope !13.
            (r"(?:, )?!(?!\{)[\w.]+(?: ![\w.]+)?(?=[,\s)}]|$)", Comment),
            (r"![\w.]*", Comment),
            (r"#\d+", Comment),
            (r"<(?:vscale x )?\d+ x [\w ]+>|\[\d+ x [\w<> ]+\]", Keyword.Type),
            (r"(?:i\d+|void|ptr|float|double|half|bfloat|fp128|label|metadata|token)\b", Keyword.Type),
            (r"(?:tail call|musttail call|call|store|ret|br|switch|unreachable|fence)\b", Keyword),
            (r"(?<== )[a-z_]+\b", Keyword),
            (r"(?:true|false|null|undef|poison|zeroinitializer|none)\b", Keyword.Constant),
            _NUMBER,
            (r"[A-Za-z_.$][\w.$-]*", Text),
            (r"[()\[\]{},:=<>*+\-/?|.&@!\'^~#$]", Text),
        ],
    }


class PtxLexer(RegexLexer):
    """A lexer for current PTX. The lexer of Pygments marks `ld.param::entry` as an error."""

    name = "NVIDIA PTX"
    aliases: ClassVar[list[str]] = ["nvidia-ptx"]
    filenames: ClassVar[list[str]] = ["*.ptx"]
    url = "https://docs.nvidia.com/cuda/parallel-thread-execution/"

    tokens: ClassVar[dict[str, list[object]]] = {
        "root": [
            (r"\s+", Text),
            (r"//.*", Comment.Single),
            (r"/\*.*?\*/", Comment.Multiline),
            _STRING,
            # A double colon belongs to an instruction such as `ld.param::entry`, not to a label.
            (r"^(\$?[\w$]+)(:)(?!:)", _groups(Name.Label, Text)),
            (r"\$[\w$]+", Name.Label),
            (r"%[\w.$]+", Name.Variable),
            (r"\.(?:pred|[busf]\d+\w*|v\d|ptr)\b", Keyword.Type),
            (r"\.\w+", Keyword.Declaration),
            (r"[a-z]\w*(?:(?:\.|::)\w+)+|(?:ret|exit|trap|bra|call|membar|griddepcontrol)\b", Keyword),
            (r"0[fFdD][0-9a-fA-F]+", Number),
            _NUMBER,
            (r"[A-Za-z_][\w.$]*", Text),
            (r"[()\[\]{},:;=<>*+\-/?|.&@!#]", Text),
        ],
    }


class MachineCodeLexer(RegexLexer):
    """A lexer for assembly of a CPU or SASS of a GPU as disassemblers print it."""

    name = "machine code"
    aliases: ClassVar[list[str]] = ["machine-code"]
    filenames: ClassVar[list[str]] = ["*.sass"]
    url = "https://docs.nvidia.com/cuda/cuda-binary-utilities/"

    tokens: ClassVar[dict[str, list[object]]] = {
        "root": [
            (r"\s+", Text),
            (r"/\*.*?\*/", Comment.Multiline),
            # Assemblers of different targets have different marks for a comment.
            (r"//.*|(?<=\s)#.*|^#.*|(?<=\s);.*", Comment.Single),
            (r"^(\s*)([.$\w]+)(:)", _groups(Text, Name.Label, Text)),
            (r"^(\s*)(\.[\w.]+)", _groups(Text, Name.Attribute)),
            _STRING,
            (r"[%@!]*\b(?:U?R|U?P|B|SR_?|[re][a-z]?[a-z0-9]{1,2}|[xyz]mm)\d*[a-z]?\b", Name.Variable),
            (r"[A-Z][A-Z0-9]*(?:\.\w+)*\b", Name.Function),
            _NUMBER,
            (r"[.$@%A-Za-z_][\w.$@]*", Text),
            (r"[^\w\s]", Text),
        ],
    }
