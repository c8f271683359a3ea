"""The program that an edit in the playground compiles."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from xla_inspect.errors import InspectError
from xla_inspect.play.edited_subject import find_subject
from xla_inspect.subject import load_file

if TYPE_CHECKING:
    from pathlib import Path


def test_only_a_function_with_parameters_is_asked_for_arguments(tmp_path: Path) -> None:
    path = tmp_path / f"{tmp_path.name}.py"
    code = "import jax.numpy as jnp\n\ndef ones():\n    return jnp.ones(4)\n\ndef double(x):\n    return 2 * x\n"
    path.write_text(code, encoding="utf-8")
    module = load_file(path)
    call = find_subject(module, path.name, "ones", "", {}).call
    assert call is not None
    assert (call.args, {**call.kwargs}) == ((), {})
    with pytest.raises(InspectError, match=r"with which arguments\?"):
        find_subject(module, path.name, "double", "", {})
