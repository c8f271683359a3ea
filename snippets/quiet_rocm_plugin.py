"""A silent start of JAX's plugin for AMD GPUs on a machine without one.

JAX starts every installed plugin. That for AMD GPUs raises an exception if there is none, which JAX prints with a
traceback in each program. Here the package only serves to compile, so this exception is dropped. Importing this module
changes what an import of the plugin gives; it imports only `sys`, because Python does so at every start.
"""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType


class QuietPlugins:
    """A finder of modules that wraps the start of the plugins for AMD GPUs."""

    @staticmethod
    def find_spec(
        name: str, path: "Sequence[str] | None" = None, target: "ModuleType | None" = None
    ) -> "ModuleSpec | None":
        """Return the specification of such a plugin, and None for every other module."""
        if not name.startswith("jax_plugins.xla_rocm"):
            return None
        from importlib.machinery import PathFinder

        spec = PathFinder.find_spec(name, path, target)
        loader = spec and spec.loader
        if loader:
            execute = loader.exec_module

            def execute_quietly(module: "ModuleType") -> None:
                execute(module)
                start = getattr(module, "initialize", None)
                if start:
                    module.initialize = lambda: call_quietly(start)  # type: ignore[attr-defined]  # a plugin's own

            loader.exec_module = execute_quietly  # type: ignore[method-assign]
        return spec


def call_quietly(start: "Callable[[], object]") -> None:
    """Call a plugin's start, and drop its exception if it says that there is no AMD GPU."""
    try:
        start()
    except ValueError as error:
        if "No AMD GPUs" not in str(error):
            raise


if QuietPlugins not in sys.meta_path:
    sys.meta_path.insert(0, QuietPlugins)
