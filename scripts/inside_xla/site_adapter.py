"""What `livepage` asks of this project: its targets, its exercises, its explorers and the settings of JAX."""

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

# A page holds text: where the build runs in a terminal, JAX would colour its jaxprs.
os.environ["JAX_PPRINT_USE_COLOR"] = "0"

EXERCISES = Path("snippets/practice")

_GAP = re.compile(r'<p class="gap" data-target="([^"]+)">[^<]*?not compiled here: ([^<]*)</p>')
# A state of an explorer on the page: what it is called, and what it shows.
_STATE = re.compile(r"#x=([^&]+)&")
# What the environment tells JAX and the compilers, and in which folders what is made is kept.
_TELLS = re.compile(r"(?:JAX|XLA|LIBTPU|TPU|TF|CUDA|NVIDIA|PJRT|LLVM|TRITON)_|REQUIRE_TARGETS$")
_FOLDERS = {"XLA_INSPECT_CACHE", "TPU_LOG_DIR"}
# Chosen once for the process, by whoever first needs a device.
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
    """That of this site."""

    slow_work = "xla_inspect"
    caches = ("XLA_INSPECT_CACHE",)
    packages = ("xla_inspect",)
    checks = ("chapters", "pages")
    stopwatches = ("snippets/claims/evidence.py",)
    functions = ("jax", "lax", "jnp", "nn", "pl", "pltpu", "checkpoint", "export", "xla_inspect")
    replaced: ClassVar = {"explorer": "*(On the page: an explorer of the passes.)*", "predict": "", "program-edit": ""}
    settings: ClassVar = {"jax.config": (_read_config, _set_config)}

    def list_missing(self) -> Mapping[str, str]:
        """Return the targets that no compiler is installed for."""
        from xla_inspect import available

        return {target: reason for target, reason in available().items() if reason}

    def list_makers(self, values: Iterable[object]) -> Iterable[str]:
        """Return which packages made the captures of a page, target by target."""
        return describe_makers(values)

    def find_gap(self, error: BaseException) -> tuple[str, str] | None:
        """Return target and reason of a `TargetUnavailableError`, known by name since the package may be reloaded.

        A page may make a table of its own by target: then a target that is missing here is missing there.
        """
        if any(base.__name__ == "TargetUnavailableError" for base in type(error).__mro__):
            return getattr(error, "target", ""), getattr(error, "reason", str(error))
        if isinstance(error, KeyError) and error.args:
            parts = error.args[0] if isinstance(error.args[0], tuple) else error.args
            missing = self.list_missing()
            found = (part for part in parts if isinstance(part, str) and part.partition(":")[0] in missing)
            return next(((target, missing[target.partition(":")[0]]) for target in found), None)
        return None

    def find_gaps(self, markdown: str) -> Mapping[str, str]:
        """Return the targets that the tables of a notebook mark as missing."""
        return {unescape(target): unescape(reason) for target, reason in _GAP.findall(markdown)}

    def tell(self, text: str) -> str:
        """Return what a block printed with each question as its choices and its answer, and each reason as a point."""
        if 'class="predict"' not in text and "<dl data-reasons=" not in text:
            return text
        from chapters import prediction, reason_quotes

        return reason_quotes.convert_reasons(prediction.convert_questions(text))

    def list_terms(self) -> Iterable[Term]:
        """Return the terms of the glossary, the opcodes and the passes."""
        return term_list.read_terms(project.root / project.docs)

    def choose_terms(self, page: str) -> Iterable[Term]:
        """Return those that mean on a page what their entries say."""
        return term_list.choose(self.list_terms(), page)

    def find_anchor(self, link: str) -> str:
        """Return the id of the explorer that a link sets to a state."""
        state = _STATE.match(link)
        return f"explorer-{state[1]}" if state else ""

    def find_imported(self, codes: Iterable[str], folder: Path) -> Iterable[Path]:
        """Return what code imports; a package counts whole, since it may import its modules later."""
        places = list_places(folder)
        return find_files(
            codes, places, whole={name for name, place in places.items() if (place / "__init__.py").is_file()}
        )

    def describe_machine(self) -> object:
        """Return the targets that can be compiled for, and what the reader tells Python, JAX and the compilers."""
        from xla_inspect import available

        return [available(), platform.machine(), _TOLD]

    def list_files(self, cell: Mapping[str, object]) -> Iterable[Path]:
        """Return the files of the exercise that a cell shows, and those beside it."""
        if exercise := cell.get("exercise"):
            folder = project.root / EXERCISES
            return {
                *(folder / str(exercise)).parent.glob("*.py"),
                folder / "solutions" / f"{exercise}.py",
            }
        return ()

    def write_first_cell(self, address: str) -> str:
        """Return code that installs the project where it is not, and loads the marking of exercises."""
        return (_READY + (_FETCH.format(address=address) if address else _REFUSE) + _MARKING).rstrip()

    def expand_cell(self, cell: Mapping[str, object]) -> Iterable[tuple[str, str]] | None:
        """Return the cells of an exercise, or the text on where to read on."""
        if exercise := cell.get("exercise"):
            return _write_exercise(str(exercise))
        if phase := cell.get("references"):
            from xla_inspect.practice import tell_references

            return [("markdown", tell_references(str(phase)))]
        return None


def _write_exercise(key: str) -> Iterator[tuple[str, str]]:
    from xla_inspect.practice import notebook

    exercise = notebook.find_exercise(key)
    task = f"### {exercise.title}\n\n{exercise.task}\n\nWrite it in the next cell, and run the cell to have it marked."
    hints = [fold(f"{number} hint", hint) for number, hint in zip(notebook.ORDINALS, exercise.hints, strict=True)]
    yield "markdown", task
    yield "code", f"%%exercise {key}\n{notebook.starter(exercise)}".rstrip()
    yield "markdown", "\n\n".join([*hints, fold("A solution", notebook.tell_solution(exercise))])


def _list_told() -> dict[str, str]:
    """Return what the environment tells JAX and the compilers, without what JAX adds to it when it is imported."""
    libtpu = find_spec("libtpu")
    library = Path(libtpu.origin).with_name("libtpu.so") if libtpu and libtpu.origin else ""
    added = {("TF_CPP_MIN_LOG_LEVEL", "1"), ("TPU_LIBRARY_PATH", str(library))}
    told = (item for item in sorted(os.environ.items()) if _TELLS.match(item[0]) and item not in added)
    return {name: value for name, value in told if name not in _FOLDERS}


_TOLD = _list_told()
ADAPTER = SiteAdapter()
