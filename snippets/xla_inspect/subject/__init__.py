"""Subjects of questions: a function in the user's code, a script's compilations, a dump, or a saved capture."""

from typing import TYPE_CHECKING

from xla_inspect.lazy_names import lazy_names

if TYPE_CHECKING:
    from xla_inspect.subject.asked_function import read_call, read_function, read_member, read_notebook_call
    from xla_inspect.subject.call_signature import name_positions
    from xla_inspect.subject.command_words import list_call_options, write_subject
    from xla_inspect.subject.dump import is_dump, open_dump, read_dump, read_module
    from xla_inspect.subject.function_names import takes_nothing
    from xla_inspect.subject.loading import (
        FORMS,
        execute_file,
        find_listed,
        find_named,
        find_root,
        load_file,
        put_on_path,
    )
    from xla_inspect.subject.plan_choices import UNCHANGED, Choice, count_bytes, list_choices, list_meshes, make_trial
    from xla_inspect.subject.python_subject import make_subject, take_capture
    from xla_inspect.subject.release_task import ReleaseTask, list_unknown
    from xla_inspect.subject.request import (
        EFFECTS,
        KINDS,
        PLANNED,
        Request,
        name_arguments,
        read_flags,
        read_kinds,
        read_mesh,
        read_sizes,
        split_list,
    )
    from xla_inspect.subject.saved import is_saved, read_saved
    from xla_inspect.subject.script import read_script
    from xla_inspect.subject.shapes import read_shapes
    from xla_inspect.subject.stablehlo_subject import read_stablehlo
    from xla_inspect.subject.subject import Call, Subject
    from xla_inspect.subject.target_answers import answer_each
    from xla_inspect.subject.trace_count import watch_calls
    from xla_inspect.subject.traced_changes import accumulate, set_policy
    from xla_inspect.subject.trials import Trial, choose_kinds, list_trials
else:
    __getattr__ = lazy_names(__name__)
