"""HLO modules that consist of one call of a library."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from xla_inspect.hlo import parse_module

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np

    from xla_inspect.hlo import Module

NAMES = {"float32": "f32", "float16": "f16", "bfloat16": "bf16", "int32": "s32"}


def write_shape(array: np.ndarray[Any, Any]) -> str:
    """Return an array's shape as in HLO text, without a layout."""
    return f"{NAMES[array.dtype.name]}[{','.join(map(str, array.shape))}]"


def make_call(
    target: str,
    arguments: Sequence[np.ndarray[Any, Any]],
    result: str,
    config: Mapping[str, Any] | str | None = None,
    attributes: str = "",
) -> Module:
    """Return a module that calls a library with its parameters, and returns the call's first result."""
    names = ", ".join(f"%p{number}" for number in range(len(arguments)))
    parameters = "".join(
        f"  %p{number} = {write_shape(argument)} parameter({number})\n" for number, argument in enumerate(arguments)
    )
    text = config if isinstance(config, str) else json.dumps(config or {})
    root = "" if result.startswith("(") else "ROOT "
    fields = f'custom_call_target="{target}"{attributes}, backend_config={text}'
    call = f"  {root}%call = {result} custom-call({names}), {fields}\n"
    if not root:
        first = result[1:].partition(", ")[0]
        call += f"  ROOT %first = {first} get-tuple-element(%call), index=0\n"
    return parse_module(f"HloModule m\n\nENTRY %main () -> f32[] {{\n{parameters}{call}}}\n")
