"""The private names of JAX and the releases that have them."""

from __future__ import annotations

import ast
import re
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import jax
from jax._src import compiler, config, core, mesh, pjit, sharding_impls, source_info_util, xla_bridge
from jax._src.cudnn import fused_attention_stablehlo
from jax._src.interpreters import mlir
from jax._src.lib import cuda_versions
from jaxlib import _hlo, _jax, _profiler

import xla_inspect
from xla_inspect import jax_private
from xla_inspect.compilation import run_fresh

from .compilation.conftest import note

if TYPE_CHECKING:
    import pytest

# Releases that were seen to have every private name that this package uses. On a new pin: run this file, then add it.
SEEN = ("0.12.0.1",)
PACKAGE = Path(xla_inspect.__file__).parent


def test_the_private_names_are_verified_for_the_installed_releases() -> None:
    assert (version("jax"), version("jaxlib")) in {(release, release) for release in SEEN}


def test_each_private_name_is_there() -> None:
    names = [
        xla_bridge.backends_are_initialized,
        xla_bridge.backends,
        mlir._thread_local_context.set_local,  # noqa: SLF001 - the private name itself
        mlir.ModuleContext.get_backend,
        sharding_impls.GSPMDSharding,
        _jax.DeviceList,
        pjit._infer_params,  # noqa: SLF001 - likewise
        pjit._run_python_pjit,  # noqa: SLF001 - likewise
        pjit._resolve_and_lower,  # noqa: SLF001 - likewise
        pjit._cpp_pjit,  # noqa: SLF001 - likewise
        core.trace_state_clean,
        config.trace_context_names,
        config.config_states.items,
        mesh.get_concrete_mesh,
        source_info_util.register_exclusion,
        source_info_util.user_frames,
        _profiler.ProfileOptions,
        _profiler.ProfilerSession,
        _hlo.hlo_module_from_text,
        _jax.hlo_module_cost_analysis,
        _jax.CompileOptions,
        compiler.backend_compile_and_load,
        mlir.module_to_bytecode,
        mlir.make_ir_context,
        cuda_versions.cudnn_get_version,
        cuda_versions.cusolver_get_version,
        fused_attention_stablehlo.check_compute_capability,
        fused_attention_stablehlo.is_cuda_compute_capability_equal,
    ]
    assert all(map(callable, names))
    assert mesh.thread_resources.env.physical_mesh.empty
    assert jax.devices("cpu")[0].client is not None
    lowered = jax.jit(lambda x: x).lower(1.0)
    private_names = {"in_shardings", "out_shardings", "intermediate_shardings", "context_mesh", "num_devices"}
    assert {*lowered._lowering.compile_args} >= {*private_names, "backend", "host_callbacks"}  # noqa: SLF001
    assert jax_private.find_devices(lowered.compile()) == tuple(lowered._lowering._device_list)  # noqa: SLF001


def test_only_one_package_uses_private_names_of_jax() -> None:
    users = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
            if any(
                re.search(r"^jax(lib)?\b.*\b_|^jaxlib", f"{module}.{name}")
                for module in modules or [""]
                for name in names
            ):
                users.add(path.relative_to(PACKAGE).parts[0])
    assert users == {"jax_private"}


def test_lowering_threads_share_their_mlir_contexts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each lowering has its own thread, and JAX would otherwise create a context for each thread."""
    contexts = note(monkeypatch, mlir, "_create_ir_context", lambda: "a context")
    monkeypatch.setattr("xla_inspect.jax_private.programs._contexts", [])
    texts = [run_fresh(lambda at=at: jax.jit(lambda x: x + at).lower(1.0).as_text()) for at in range(9)]  # type: ignore[misc]  # the idiom for a loop's variable
    assert contexts == ["a context"]
    assert len(set(texts)) == 9
