"""JAX releases: their environments, the results of compiling a program with each, and the changes between releases."""

from typing import TYPE_CHECKING

from xla_inspect.lazy_names import lazy_names

if TYPE_CHECKING:
    from xla_inspect.releases.choices import COMPILE_LIMIT, QUESTION_NAMES
    from xla_inspect.releases.environment_store import MOST_BYTES, list_installed, measure_store
    from xla_inspect.releases.environments import Environment, clean_environment, install, make_environment
    from xla_inspect.releases.gpu_figures import adapt_figures, count_figures
    from xla_inspect.releases.pass_drift import PassDrift, SetChange
    from xla_inspect.releases.probe_capture import read_log, read_probe
    from xla_inspect.releases.probe_run import run_probe
    from xla_inspect.releases.release_diff import Change, Drift
    from xla_inspect.releases.release_index import VERSION, choose_span, list_releases, order
    from xla_inspect.releases.release_measure import (
        QUESTIONS,
        REWRITTEN,
        TIMED,
        Question,
        ReleaseMeasure,
        measure_capture,
    )
    from xla_inspect.releases.release_probe.probe_shardings import SpecError, shard_call
    from xla_inspect.releases.release_probe.probe_subject import differentiate, map_over
    from xla_inspect.releases.release_record import (
        Disagreement,
        Form,
        Release,
        ReleaseCompile,
        ReleaseOutcome,
        read_releases,
        write_release,
    )
    from xla_inspect.releases.release_requirements import find_obstacle, list_requirements
    from xla_inspect.releases.release_search import Boundary, ReleaseSearch
    from xla_inspect.releases.uv_commands import ReleaseError, shorten_refusal
else:
    __getattr__ = lazy_names(__name__)
