"""A plugin that only compiles: its devices by a description, and stand-ins for the functions of its custom calls."""

from __future__ import annotations

import ctypes
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_FFI = 5  # PJRT_Extension_Type_FFI of xla/pjrt/c/pjrt_c_api.h
_plugins: dict[str, Any] = {}


def describe_devices(platform: str, library: Path, name: str, arguments: Mapping[str, Any]) -> list[Any]:
    """Return the devices of a topology, which need not be present; JAX neither lists nor starts the platform.

    Args:
        platform: JAX's name of the plugin's platform.
        library: The plugin's library.
        name: The name of the topology.
        arguments: What else describes the topology, by name.

    Raises:
        RuntimeError: The plugin does not load, or rejects the description.
    """
    from jaxlib import _profiler, xla_client  # type: ignore[attr-defined]  # _profiler has no stub

    client: Any = xla_client
    if platform not in _plugins:
        # JAX has loaded the plugin itself if it found a GPU of the platform.
        is_loaded = client.pjrt_plugin_loaded(platform)
        _plugins[platform] = client.load_pjrt_plugin_dynamically(platform, str(library))
        if not is_loaded:
            _profiler.register_plugin_profiler(_plugins[platform])
            client.initialize_pjrt_plugin(platform)
    topology = client.make_c_api_device_topology(_plugins[platform], name, **arguments)
    return list(topology._make_compile_only_devices())  # noqa: SLF001 - as in jax.experimental.topologies


def name_processor(device: Any) -> None:  # noqa: ANN401 - a device of JAX
    """Let Pallas lower kernels for an AMD GPU that is not present, whose device does not name its architecture.

    Only the platform matters for such a kernel's lowering. Nothing happens if Pallas is not loaded.
    """
    if info := sys.modules.get("jax._src.pallas.triton.gpu_info"):
        kind = device.device_kind
        info.registry.setdefault(kind, partial(info.GpuInfo, gpu_version=None, arch_name=kind, compute_capability=0))


def register_stand_in(platform: str, function: str) -> None:
    """Let a plugin compile custom calls of a function that is not here, such as a solver's.

    A compile only asks whether the function is registered. What is registered here is one of JAX's functions for CPUs,
    because it answers questions about its version; it must never run.

    Args:
        platform: JAX's name of the plugin's platform, whose devices were described before.
        function: The name of the custom call's target.

    Raises:
        RuntimeError: The plugin takes no functions, or refuses this one.
    """
    from jaxlib import lapack

    handler = next(iter(lapack._lapack.registrations().values()))  # type: ignore[attr-defined]  # noqa: SLF001
    name, owner = (ctypes.create_string_buffer(text.encode()) for text in (function, platform.upper()))
    texts = [(ctypes.addressof(text), len(text.value)) for text in (name, owner)]
    # The fields of `PJRT_FFI_Register_Handler_Args` have the size of an address each.
    arguments = (ctypes.c_size_t * 7)(56, *texts[0], _open_capsule(handler), *texts[1], 0)
    register = _find_register(_open_capsule(_plugins[platform]))
    if register is None or register(ctypes.addressof(arguments)):
        message = f"the plugin for {platform} does not register the function {function}"
        raise RuntimeError(message)


def _find_register(api: int) -> Any:  # noqa: ANN401 - a C function
    """Return the function that registers handlers from the extensions in a plugin's table of functions (`PJRT_Api`)."""
    fields = ctypes.POINTER(ctypes.c_size_t)
    extension = ctypes.cast(api, fields)[1]
    while extension:
        # The fields are a size, a kind, the next extension, and the functions; the third one registers.
        _, kind, following = ctypes.cast(extension, fields)[:3]
        if kind & 0xFFFFFFFF == _FFI:
            return ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(ctypes.cast(extension, fields)[5])
        extension = following
    return None


def _open_capsule(capsule: object) -> int:
    """Return the address in a Python capsule."""
    name, pointer = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    name.restype, name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return int(pointer(capsule, name(capsule)) or 0)
