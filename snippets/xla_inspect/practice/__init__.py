"""The practice: five phases in which the reader inspects the compilation of a program.

The commands are `python -m xla_inspect.basics`, `.jaxpr_demo`, `.hlo_dump`, `.optimization_compare` and `.main`.
This package contains their shared parts:

* `phases` lists the phases, `models` has the programs that they show, and `texts` the texts shared by help and pages;
* `compiler` compiles for the targets in `device` under the reader's `flags`, and `progress` reports its steps;
* `tables` describes a capture in rows, `equations` describes a jaxpr, `jaxpr_to_hlo` relates the equations of a jaxpr
  to HLO instructions, and `dump_folder` describes the files of a dump;
* `predictions` asks a question before a listing shows the answer, `prompt` shows Python code with its output, and
  `command` parses arguments and handles errors;
* `marking` marks the reader's exercises; in notebooks, `notebook` displays all this and `cell_magic` marks a cell.
"""

from typing import TYPE_CHECKING

from xla_inspect.lazy_names import lazy_names

if TYPE_CHECKING:
    from xla_inspect.practice import command, dump_folder, flags, jaxpr_to_hlo, models, notebook, tables
    from xla_inspect.practice.compiler import compile_for, dump, require, start_jax
    from xla_inspect.practice.equations import Equations, compare_counts, explain
    from xla_inspect.practice.marking.check_helpers import bytes_moved, compiles, count_kernels, count_launches
    from xla_inspect.practice.marking.exercise_watch import watch
    from xla_inspect.practice.marking.exercises import ALL, EXERCISES, FOLDER, LEVELS, find_exercises, name_file
    from xla_inspect.practice.marking.hints import list_exercises, show_hint, show_solution
    from xla_inspect.practice.marking.logbook import Logbook
    from xla_inspect.practice.marking.marker import run_marking
    from xla_inspect.practice.marking.puzzles import PUZZLES
    from xla_inspect.practice.models import PARAMS, PREDICTED, X, Y, classify, init, loss, mlp, shape, wasteful
    from xla_inspect.practice.notebook import (
        ORDINALS,
        across,
        anchor,
        entries,
        exercise,
        find_exercise,
        listing,
        pairs,
        references,
        sentences,
        table,
        tell_references,
    )
    from xla_inspect.practice.phases import CHECKED, PHASES
    from xla_inspect.practice.predictions import NO, YES, Forecast
    from xla_inspect.practice.prompt import Prompt
    from xla_inspect.practice.scores import list_scores, score_table
    from xla_inspect.practice.tables import (
        categories,
        describe_kernels,
        list_constants,
        list_decisions,
        list_layouts,
        list_passes,
    )
    from xla_inspect.terminal import Paper
else:
    __getattr__ = lazy_names(__name__)
