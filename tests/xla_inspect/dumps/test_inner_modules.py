"""The modules inside profiles and serialized executables are those that were compiled."""

from __future__ import annotations

import gzip
import pickle
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import pytest
from jax.experimental import serialize_executable

from xla_inspect.dumps import Files, list_modules, read_capture
from xla_inspect.errors import InspectError
from xla_inspect.hlo import parse_module
from xla_inspect.targets import find_target
from xla_inspect.traces import read_programs

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from xla_inspect.captured import Capture
    from xla_inspect.dumps import DumpedModule
    from xla_inspect.hlo import Module


def step(x: jax.Array) -> jax.Array:
    """Return a matrix from a matrix, with a temporary in between."""
    return jnp.sort(x, axis=1) @ jnp.sin(x)


def profiled(x: jax.Array) -> jax.Array:
    """Return the same as `step`, under a name that no other program of the process has."""
    return step(x)


SHAPE = (64, 64)


def compile_step(target: str) -> Any:  # noqa: ANN401 - JAX's own object
    sharding = jax.sharding.SingleDeviceSharding(find_target(target).devices()[0])
    return jax.jit(step).lower(jax.ShapeDtypeStruct(SHAPE, jnp.float32, sharding=sharding)).compile()


def read_file(name: str, data: bytes) -> list[tuple[DumpedModule, Capture]]:
    files = Files.from_mapping({name: data}, name)
    return [(module, read_capture(files, module)) for module in list_modules(files)]


def list_instructions(module: Module) -> list[tuple[str, str, str]]:
    return [(instruction.name, instruction.opcode, str(instruction.shape)) for instruction in module.walk()]


def list_expected(compiled: Any) -> list[tuple[str, str, str]]:  # noqa: ANN401 - JAX's own object
    return list_instructions(parse_module(compiled.as_text()))


@pytest.fixture(scope="module")
def compiled() -> Any:  # noqa: ANN401 - JAX's own object
    """A program compiled for this machine's CPU."""
    return compile_step("cpu")


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that jax.profiler writes for one run on this machine's CPU."""
    folder = tmp_path_factory.mktemp("profile")
    with jax.default_device(jax.devices("cpu")[0]):
        # A profile also holds the programs that its process compiled before.
        x, run = jnp.ones(SHAPE), jax.jit(profiled)
        with jax.profiler.trace(str(folder)):
            run(x).block_until_ready()
    return folder


WRITERS: dict[str, Callable[[Any], bytes]] = {
    "the bytes of an executable": lambda compiled: compiled.runtime_executable().serialize(),
    "the payload of jax.experimental": lambda compiled: serialize_executable.serialize(compiled)[0],
    "a pickle of it": lambda compiled: pickle.dumps(serialize_executable.serialize(compiled)),
    "a compressed pickle": lambda compiled: gzip.compress(pickle.dumps(serialize_executable.serialize(compiled))),
}


@pytest.mark.parametrize("form", WRITERS)
def test_a_serialized_executable_gives_its_module_and_memory_plan(form: str, compiled: Any) -> None:  # noqa: ANN401
    ((module, capture),) = read_file("step.bin", WRITERS[form](compiled))
    assert (module.name, module.stage, module.target) == ("jit_step", "optimized", "cpu")
    assert list_instructions(capture.module) == list_expected(compiled)
    assert capture.memory.temporaries == compiled.memory_analysis().temp_size_in_bytes


def test_the_executable_of_a_tpu_gives_its_module_and_that_of_the_compilers_input(all_targets: None) -> None:
    del all_targets
    compiled = compile_step("tpu-v5e")
    (module, capture), (source, _) = read_file("step.bin", compiled.runtime_executable().serialize())
    assert (module.name, module.stage, module.target) == ("jit_step", "optimized", "tpu")
    assert list_instructions(capture.module) == list_expected(compiled)
    assert (source.name, source.stage) == ("jit_step#2", "unknown")


def test_an_executable_whose_module_is_compressed_is_named(all_targets: None) -> None:
    del all_targets
    with pytest.raises(InspectError, match=r"step\.bin is a serialized executable without readable HLO; save as_text"):
        read_file("step.bin", compile_step("h100").runtime_executable().serialize())


class Trap:
    """An object whose pickle would run code when it is loaded."""

    def __reduce__(self) -> tuple[object, ...]:
        """Return a call that fails the test."""
        return pytest.fail, ("the pickle was loaded",)


def test_a_pickle_is_searched_and_never_loaded(compiled: Any) -> None:  # noqa: ANN401 - JAX's own object
    data = pickle.dumps((Trap(), compiled.runtime_executable().serialize()))
    ((module, _),) = read_file("step.pkl", data)
    assert module.name == "jit_step"


def test_a_profile_gives_each_program_with_its_number_plan_and_target(profile: Path, compiled: Any) -> None:  # noqa: ANN401
    (file,) = profile.rglob("*.xplane.pb")
    read = {module.name: (module, capture) for module, capture in read_file("vm.xplane.pb", file.read_bytes())}
    module, capture = read["jit_profiled"]
    assert (module.target, module.profile) == ("cpu", "vm.xplane.pb")
    assert module.key == f"module_{module.number:04}.jit_profiled"
    assert list_instructions(capture.module) == list_expected(compiled)
    assert capture.memory.temporaries == compiled.memory_analysis().temp_size_in_bytes


def test_the_folder_of_a_profiler_gives_the_same_programs_and_names_the_other_file(profile: Path) -> None:
    (file,) = profile.rglob("*.xplane.pb")
    files = Files.from_folder(profile)
    names = {module.name for module in list_modules(files)}
    assert names == {module.name for module, _ in read_file("vm.xplane.pb", file.read_bytes())}
    ((name, reason),) = files.left_out.items()
    assert (name.endswith(".trace.json.gz"), "a Chrome trace without HLO" in reason) == (True, True)


def test_a_program_of_a_profile_that_cannot_be_read_is_named_and_the_others_are_read(profile: Path) -> None:
    (file,) = profile.rglob("*.xplane.pb")
    whole = file.read_bytes()
    programs = [(name, bytes(proto)) for _, name, proto in read_programs(memoryview(whole))]
    # The damaged program is one in front of others, whose positions in the file it must not shift.
    name, proto = programs[0]
    files = Files.from_mapping({"vm.xplane.pb": whole.replace(proto, b"\xff" * len(proto))}, "vm.xplane.pb")
    modules = list_modules(files)
    assert [*files.left_out] == [f"vm.xplane.pb:{name}"]
    names = {program.partition("(")[0] for program, _ in programs[1:]}
    assert {read_capture(files, module).module.name for module in modules} == names
    assert [read_capture(files, module).module.name for module in modules] == [module.name for module in modules]


def test_a_profile_that_is_cut_off_is_named(profile: Path) -> None:
    (file,) = profile.rglob("*.xplane.pb")
    with pytest.raises(InspectError, match=r"vm\.xplane\.pb is a profile that is cut off"):
        read_file("vm.xplane.pb", file.read_bytes()[:-500])


def test_a_module_in_a_protobuf_that_is_cut_off_is_named(compiled: Any) -> None:  # noqa: ANN401 - JAX's own object
    data = compiled.runtime_executable().hlo_modules()[0].as_serialized_hlo_module_proto()
    with pytest.raises(InspectError, match=r"a\.pb is an HloProto that is cut off or damaged"):
        read_file("a.pb", data[: len(data) // 2])
