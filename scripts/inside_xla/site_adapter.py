"""This project's adapter for `livepage`: its targets, exercises, explorers and the settings of JAX."""

from __future__ import annotations

import os
import platform
import re
import sys
from html import unescape
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from inside_xla import term_list
from inside_xla.makers import describe_makers
from livepage.notebooks import fold
from livepage.read import Adapter, Term, project
from xla_inspect.closure import find_files, list_places

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

# JAX would color its jaxprs if the build runs in a terminal, and pages need plain text.
os.environ["JAX_PPRINT_USE_COLOR"] = "0"

EXERCISES = Path("snippets/practice")

_GAP = re.compile(r'<p class="gap" data-target="([^"]+)">[^<]*?not compiled here: ([^<]*)</p>')
# A link that sets the state of an explorer on the page; the group is the explorer's name.
_STATE = re.compile(r"#x=([^&]+)&")
# The variables that configure JAX and the compilers, and those that only name a folder and change no result.
_COMPILER_VARIABLES = re.compile(r"(?:JAX|XLA|LIBTPU|TPU|TF|CUDA|NVIDIA|PJRT|LLVM|TRITON)_")
_FOLDERS = {"XLA_INSPECT_CACHE", "TPU_LOG_DIR"}
# The settings that JAX fixes for the whole process when it first needs a device, so pages cannot change them.
_DEVICES = {"jax_platforms", "jax_num_cpu_devices"}

_READY = """\
# What the cells below need. In the project's own environment this does nothing.
import importlib.util

if importlib.util.find_spec("xla_inspect") is None:
"""
_FETCH = """\
    import os
    import sys

    !git clone --quiet --depth 1 {address} inside-xla
    %cd -q inside-xla
    !"{{sys.executable}}" -m pip install --quiet --editable .
    # Python reads where an editable package lies when it starts, and this one has started.
    sys.path.insert(0, os.path.abspath("snippets"))
    importlib.invalidate_caches()
"""
_REFUSE = """\
    raise ModuleNotFoundError("open this notebook in the project's environment: `uv run --with jupyterlab jupyter lab`")
"""
_MARKING = """
%load_ext xla_inspect.practice.cell_magic
"""


def _read_config() -> Mapping[str, Any]:
    values = getattr(getattr(sys.modules.get("jax"), "config", None), "values", {})
    return {name: value for name, value in values.items() if name not in _DEVICES}


def _set_config(name: str, value: object) -> None:
    sys.modules["jax"].config.update(name, value)


class SiteAdapter(Adapter):
    """The adapter of this site; `Adapter` describes its attributes and methods."""

    slow_work = "xla_inspect"
    page_costs = "scripts/inside_xla/page_costs.json"
    caches = ("XLA_INSPECT_CACHE",)
    packages = ("xla_inspect",)
    lasting: ClassVar = {
        "xla_inspect.closure._read": "closure.py",
        "xla_inspect.compilation.capture_cache._say_once": "compilation",
        "xla_inspect.compilation.capture_cache.hash_code": "compilation",
        "xla_inspect.compilation.compiler_run.start_compiler": "compilation",
        "xla_inspect.compilation.dump_compile.sweep_once": "compilation",
        "xla_inspect.compilation.llo_dumps._process": "compilation",
        "xla_inspect.compilation.logged_compile._process": "compilation",
        "xla_inspect.compilation.logged_compile._remarking_process": "compilation",
        "xla_inspect.compilation.lowering.start_lowering": "compilation",
        "xla_inspect.jax_private.programs._answer_with_lent_client": "jax_private",
        "xla_inspect.process.forked._find_context": "play",
        "xla_inspect.report.explorer.embed.hash_code": "report/explorer/data.py",
        "xla_inspect.subject.asked_function._hide_frames": "jax_private",
        "xla_inspect.subject.compile_listener._listen": "jax_private",
        "xla_inspect.subject.probing._process": "compilation",
        "xla_inspect.targets.devices._find_topology": "targets",
        "xla_inspect.targets.devices._make_cpus": "targets",
        "xla_inspect.targets.environment.settle": "targets",
    }
    fetched = ("codemirror.js", "codemirror.LICENSE.txt")
    checks = ("chapters", "pages")
    stopwatches = ("snippets/claims/evidence.py",)
    functions = ("jax", "lax", "jnp", "nn", "pl", "pltpu", "checkpoint", "export", "xla_inspect")
    replaced: ClassVar = {"explorer": "*(On the page: an explorer of the passes.)*", "predict": "", "program-edit": ""}
    settings: ClassVar = {"jax.config": (_read_config, _set_config)}

    def list_missing(self) -> Mapping[str, str]:
        """Return the targets without an installed compiler, each with the reason."""
        from xla_inspect import available

        return {target: reason for target, reason in available().items() if reason}

    def list_makers(self, values: Iterable[object]) -> Iterable[str]:
        """Return the packages that produced the captures of a page, by target."""
        return describe_makers(values)

    def find_gap(self, error: BaseException) -> tuple[str, str] | None:
        """Return the target and the reason of a `TargetUnavailableError`, recognized by its name, or None.

        The package may be reloaded, so its class may differ. A `KeyError` counts too if its key is a missing target,
        since a page may build tables of its own by target.
        """
        if any(base.__name__ == "TargetUnavailableError" for base in type(error).__mro__):
            return getattr(error, "target", ""), getattr(error, "reason", str(error))
        if isinstance(error, KeyError) and error.args:
            parts = error.args[0] if isinstance(error.args[0], tuple) else error.args
            missing = self.list_missing()
            absent = (part for part in parts if isinstance(part, str) and part.partition(":")[0] in missing)
            return next(((target, missing[target.partition(":")[0]]) for target in absent), None)
        return None

    def find_gaps(self, markdown: str) -> Mapping[str, str]:
        """Return the targets that the tables of a notebook mark as missing, each with the reason."""
        return {unescape(target): unescape(reason) for target, reason in _GAP.findall(markdown)}

    def tell(self, text: str) -> str:
        """Return a block's output with each question as its choices and answer, and each reason as a list item."""
        if 'class="predict"' not in text and "<dl data-reasons=" not in text:
            return text
        from chapters import prediction, reason_quotes

        return reason_quotes.write_quotes(prediction.write_questions(text))

    def list_terms(self) -> Iterable[Term]:
        """Return the terms of the glossary, the opcodes and the passes."""
        return term_list.read_terms(project.root / project.docs)

    def choose_terms(self, page: str) -> Iterable[Term]:
        """Return the terms to link on this page: those that it uses in the sense of their entries."""
        return term_list.choose(self.list_terms(), page)

    def find_anchor(self, link: str) -> str:
        """Return the id of the explorer whose state a link sets, or an empty string."""
        state = _STATE.match(link)
        return f"explorer-{state[1]}" if state else ""

    def find_imported(self, codes: Iterable[Path | str], folder: Path) -> Iterable[Path]:
        """Return the files that code imports, directly or indirectly."""
        return find_files(codes, list_places(folder))

    def describe_machine(self) -> object:
        """Return the available targets, the architecture, and the environment variables for JAX and the compilers.

        If a target is missing, the result also contains REQUIRE_TARGETS, which turns marked gaps into failures.
        """
        from xla_inspect import available

        required = any(available().values()) and os.environ.get("REQUIRE_TARGETS")
        return [available(), platform.machine(), _CONFIGURATION, required]

    def list_files(self, cell: Mapping[str, object]) -> Iterable[Path]:
        """Return the files of the exercise that a cell displays, and the files next to it."""
        if exercise := cell.get("exercise"):
            folder = project.root / EXERCISES
            return {
                *(folder / str(exercise)).parent.glob("*.py"),
                folder / "solutions" / f"{exercise}.py",
            }
        return ()

    def write_first_cell(self, address: str) -> str:
        """Return code that installs the project if it is missing, and loads the marking of exercises."""
        return (_READY + (_FETCH.format(address=address) if address else _REFUSE) + _MARKING).rstrip()

    def expand_cell(self, cell: Mapping[str, object]) -> Iterable[tuple[str, str]] | None:
        """Return the cells of an exercise, or the text with references; None for any other cell."""
        if exercise := cell.get("exercise"):
            return _write_exercise(str(exercise))
        if phase := cell.get("references"):
            from xla_inspect.practice import tell_references

            return [("markdown", tell_references(str(phase)))]
        return None


def _write_exercise(key: str) -> Iterator[tuple[str, str]]:
    from xla_inspect.practice import notebook

    exercise = notebook.find_exercise(key)
    task = f"### {exercise.title}\n\n{exercise.task}\n\nWrite your solution in the next cell, and run it to mark it."
    hints = [fold(f"{number} hint", hint) for number, hint in zip(notebook.ORDINALS, exercise.hints, strict=True)]
    yield "markdown", task
    yield "code", f"%%exercise {key}\n{notebook.starter(exercise)}".rstrip()
    yield "markdown", "\n\n".join([*hints, fold("A solution", notebook.tell_solution(exercise))])


def _list_configuration() -> dict[str, str]:
    """Return the environment variables for JAX and the compilers, whether the user or this project set them.

    Two values that an import of JAX adds are left out, and so are variables that only name a folder.
    """
    libtpu = find_spec("libtpu")
    library = Path(libtpu.origin).with_name("libtpu.so") if libtpu and libtpu.origin else ""
    own = {("TF_CPP_MIN_LOG_LEVEL", "1"), ("TPU_LIBRARY_PATH", str(library))}
    variables = (item for item in sorted(os.environ.items()) if _COMPILER_VARIABLES.match(item[0]) and item not in own)
    return {name: value for name, value in variables if name not in _FOLDERS}


# The variables are read once, before pages run, since a page may change them for itself.
_CONFIGURATION = _list_configuration()
ADAPTER = SiteAdapter()
