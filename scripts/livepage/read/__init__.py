"""The reader of pages: their code, their sentences, the origin of each line, and the project's own additions."""

from livepage.read.adapter import Adapter, Term, load_adapter
from livepage.read.blocks import SAYS, VALUE_MARK, Kind, Outcome, Piece, SearchEntry, Source, read_pieces
from livepage.read.build import Answer, Build, PageError, PageRanError, find_build
from livepage.read.fence_headers import BLOCK_OPTIONS, FENCE_MARK, SHELLS
from livepage.read.sentences import (
    FENCE,
    LABELS,
    OUTPUT,
    READING,
    VALUE,
    Check,
    Prose,
    Sentence,
    gather_sentences,
    list_sentences,
    mask,
    read_sentences,
)
from livepage.read.source_lines import Failure, Includes, Origin, relative
from livepage.read.this_project import CACHES, EXTENSION, GARBAGE, WAITS, log, project

__all__ = [
    "BLOCK_OPTIONS",
    "CACHES",
    "EXTENSION",
    "FENCE",
    "FENCE_MARK",
    "GARBAGE",
    "LABELS",
    "OUTPUT",
    "READING",
    "SAYS",
    "SHELLS",
    "VALUE",
    "VALUE_MARK",
    "WAITS",
    "Adapter",
    "Answer",
    "Build",
    "Check",
    "Failure",
    "Includes",
    "Kind",
    "Origin",
    "Outcome",
    "PageError",
    "PageRanError",
    "Piece",
    "Prose",
    "SearchEntry",
    "Sentence",
    "Source",
    "Term",
    "find_build",
    "gather_sentences",
    "list_sentences",
    "load_adapter",
    "log",
    "mask",
    "project",
    "read_pieces",
    "read_sentences",
    "relative",
]
