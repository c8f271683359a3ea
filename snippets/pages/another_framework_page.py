"""Programs, tables and checks of the page about the programs of other frameworks."""

from __future__ import annotations

import contextlib
import hashlib
import io
import re
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import stamps
from chapters import StripBox, draw_strips
from peers import stablehlo as jax_texts
from xla_inspect import InspectError
from xla_inspect.captured import Captures
from xla_inspect.compilation import USUAL
from xla_inspect.errors import TargetUnavailableError
from xla_inspect.questions.kernels import rank_launches
from xla_inspect.report import markdown, title
from xla_inspect.stablehlo import StablehloFile, read_module
from xla_inspect.subject import Request, read_dump, read_stablehlo

if TYPE_CHECKING:
    from collections.abc import Callable

    from xla_inspect import Capture
    from xla_inspect.hlo import Instruction
    from xla_inspect.questions.kernels import LaunchRow

FOLDER = Path("snippets/exported")
DATA = Path("docs/data")
TORCH, TORCHAX, KERAS = (
    FOLDER / "torch_block.mlir",
    FOLDER / "torch_block.jaxexport",
    FOLDER / "keras_classifier.jaxexport",
)
TENSORFLOW, JULIA = FOLDER / "tensorflow_words.mlir", FOLDER / "julia_dense.mlir"
JAX = Path(str(jax_texts.__file__)).with_name("layer.mlir").relative_to(Path.cwd())
SOURCE = (FOLDER / "torch_block.py").read_text(encoding="utf-8").splitlines()
UP_WEIGHT = "weights['up.weight']"
"""The argument of the first layer's weights in the exported block."""
EXAMPLE_SHAPE = (128, 256)
"""The shape of the block's argument."""
TORCH_DIALECT = """func.func @main(%x: !torch.vtensor<[128,256],f32>) -> !torch.vtensor<[128,256],f32> {
  %0 = torch.aten.relu %x : !torch.vtensor<[128,256],f32> -> !torch.vtensor<[128,256],f32>
  return %0 : !torch.vtensor<[128,256],f32>
}"""


def compile_file(path: Path | str, **sizes: int) -> Captures:
    """Compile a file of StableHLO with the sizes of its open dimensions for each target of the pages."""
    captures, missing = dict[str, Any](), dict[str, str]()
    # The command prints notes to standard error, which the build does not need.
    with contextlib.redirect_stderr(io.StringIO()):
        subject = read_stablehlo(Request((str(path),), dims=sizes))
        assert subject is not None
        for target in USUAL:
            try:
                captures[target] = subject.capture(target)
            except TargetUnavailableError as error:
                missing[target] = error.reason
    return Captures(captures, missing, USUAL)


def find_line(text: str) -> int:
    """Return the number of the line of the PyTorch file that contains a text."""
    return next(number for number, line in enumerate(SOURCE, 1) if text in line)


def list_kernels(capture: Capture) -> list[LaunchRow]:
    """Return the kernels with their lines, the one with the largest share first; copies are left out."""
    return [row for row in rank_launches(capture).launches if row.role == "kernel"]


def find_matmul(capture: Capture, text: str) -> Instruction:
    """Return the fusion with the matmul of the PyTorch line that contains a text; the program must have one."""
    end = f":{find_line(text)}"
    (name,) = (row.name for row in list_kernels(capture) if row.where.endswith(end) and "dot" in row.scope)
    return capture.module.entry.by_name[name]


def count_on_line(capture: Capture, text: str) -> int:
    """Return the number of kernels of the PyTorch line that contains a text."""
    return sum(row.where.endswith(f":{find_line(text)}") for row in list_kernels(capture))


def count_transposes(captures: Captures) -> int:
    """Return the number of transposes in the optimized programs of all targets."""
    return sum(capture.module.opcode_counts()["transpose"] for capture in captures.values())


def sums_over_stored(capture: Capture) -> bool:
    """Return whether each matmul sums over the last dimension of its second operand, as PyTorch stores weights."""
    dots = [instruction for instruction in capture.module.walk() if instruction.opcode == "dot"]
    weights = [capture.module.operands(dot)[1] for dot in dots]
    last = [f"{{{operand.shape.rank - 1}}}" for operand in weights]
    return bool(dots) and [dot.attributes["rhs_contracting_dims"] for dot in dots] == last


def draw_lines(captures: Captures) -> str:
    """Return a picture with the kernels of each target, marked by the line of PyTorch that they come from."""
    norm, up, gelu, down = (find_line(text) for text in ("self.norm(", "self.up(", "F.gelu(", "self.down("))
    kinds = {norm: f"line {norm}: the normalization", up: f"lines {up} and {gelu}: the first layer and the GELU"}
    kinds[down] = f"line {down}: the second layer and the residual"

    def make_box(row: LaunchRow) -> StripBox:
        line = int(row.where.rpartition(":")[2])
        return StripBox(row.name, kinds[up if line == gelu else line])

    rows = {
        title(target): [make_box(row) for row in sorted(list_kernels(capture), key=_find_number)]
        for target, capture in captures.items()
    }
    return draw_strips(rows, {kind: kind for kind in kinds.values()}, "The kernels of the PyTorch block, by line.")


def _find_number(row: LaunchRow) -> int:
    return int(row.where.rpartition(":")[2])


def show_places(programs: dict[str, tuple[Path, Captures]]) -> str:
    """Return a table of the line and the scope that the largest kernel on the H100 has, and the number of kernels."""
    rows = []
    for label, (path, captures) in programs.items():
        first, scope = list_kernels(captures["h100"])[0], list_kernels(captures["h100"])[0].scope.rpartition("/")[0]
        place = markdown.code(first.where) + (f", scope {markdown.code(scope)}" if scope else "")
        counts = ", ".join(str(len(list_kernels(capture))) for capture in captures.values())
        rows.append((label, markdown.code(path.name), place, counts))
    names = ", ".join(title(target) for target in USUAL)
    return markdown.cards(["written by", "file", "line of the largest kernel", f"kernels on {names}"], rows)


def find_refusal(read: Callable[[], object]) -> str:
    """Return the first line of the tool's message for an input that it refuses."""
    try:
        read()
    except InspectError as error:
        return str(error).partition("\n")[0].replace("snippets/exported/", "")
    message = "the tool accepts this input"
    raise AssertionError(message)


def list_refusals() -> dict[str, str]:
    """Return the message of the tool for each kind of input that it refuses."""
    old = (DATA / "layer-jax-0.4.35.mlirbc").read_bytes()

    def read(name: str, data: bytes) -> Callable[[], object]:
        return lambda: read_module(StablehloFile(name, data))

    newer = re.sub(rb"StableHLO_v[\d.]+", b"StableHLO_v9.0.0", old, count=1)[: len(old) // 2]
    inputs: dict[str, Callable[[], object]] = {
        "an ONNX model": partial(write_and_read, "model.onnx"),
        "a program that torch.export saved": partial(write_and_read, "model.pt2"),
        "a model that Keras saved": partial(write_and_read, "model.keras"),
        "PyTorch's own dialect, as torch-mlir writes it": read("model.mlir", TORCH_DIALECT.encode()),
        "a newer StableHLO that jaxlib cannot read": read("model.mlirbc", newer),
        "weights left out of a function that the program calls": read("model.mlir", elide_constants().encode()),
        "the gradient of an exported program": lambda: read_stablehlo(Request((str(TORCH),), grad=True)),
    }
    return {name: find_refusal(function) for name, function in inputs.items()}


def write_and_read(name: str) -> None:
    """Read a file whose kind the tool knows by the end of its name; errors do not contain the temporary folder."""
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / name).write_bytes(b"\x08\x07")
        with contextlib.chdir(place):
            read_dump(Request((name,)))


def elide_constants(count: int = 0) -> str:
    """Return the exported block without the values of its first zeros, or of all if `count` is 0."""
    text = TORCH.read_text(encoding="utf-8")
    return re.sub(r"dense<0\.0+e\+00>", "dense_resource<__elided__>", text, count=count)


def show_refusals(messages: dict[str, str]) -> str:
    """Return the table of the inputs and messages."""
    return markdown.cards(["input", "message"], [(name, markdown.code(message)) for name, message in messages.items()])


def count_pads(capture: Capture) -> int:
    """Return the number of pads in an optimized program."""
    return capture.module.opcode_counts()["pad"]


def list_opcodes(capture: Capture, name: str) -> set[str]:
    """Return the opcodes in the kernel of an instruction, also in the computations that it calls."""
    instruction = capture.module.entry.by_name[name]
    return {inner.opcode for body in capture.module.called(instruction) for inner in body}


def check_one_fusion(capture: Capture) -> None:
    """Assert that one fusion of a TPU computes both matmuls and the GELU, and has the line of the residual."""
    row = list_kernels(capture)[0]
    assert row.where.endswith(f":{find_line('self.down(')}")
    lines = {line.where for line in row.fused}
    assert {f"torch_block.py:{find_line(text)}" for text in ("self.up(", "F.gelu(", "self.down(")} <= lines


def check_split(capture: Capture, matmul: Instruction) -> None:
    """Assert that the GELU's kernel reads the parts of the matmul and adds them."""
    (gelu,) = (row.name for row in list_kernels(capture) if row.where.endswith(f":{find_line('F.gelu(')}"))
    assert matmul.name in capture.module.entry.by_name[gelu].operands
    assert "reduce" in list_opcodes(capture, gelu)
    assert matmul.shape.rank == len(EXAMPLE_SHAPE) + 1


def check_exports() -> None:
    """Assert that the exported matmuls have default precision, and that no constant has more than one value."""
    for path in (TORCH, TENSORFLOW):
        text = path.read_text(encoding="utf-8")
        matmuls = re.findall(r"stablehlo\.dot(?:_general)? .*", text)
        assert matmuls
        assert all("precision = [DEFAULT, DEFAULT]" in matmul for matmul in matmuls)
        assert not re.findall(r"stablehlo\.constant dense<\[", text)


def check_refusals(messages: dict[str, str]) -> None:
    """Assert that the messages name what is wrong and what to do."""
    words = ["torch-mlir", "torch.export.load", "keras.saving.load_model", "convert the program to StableHLO"]
    words += ["StableHLO 9.0.0, and jaxlib", "omits the values of constants", "export the changed function"]
    for word, message in zip(words, messages.values(), strict=True):
        assert word in message
    program = read_module(StablehloFile("model.mlir", elide_constants(1).encode()))
    assert {*program.elided} <= {argument.name for argument in program.arguments}
    assert program.elided


def find_average(capture: Capture) -> LaunchRow:
    """Return the kernel of TensorFlow's line with the average."""
    return next(row for row in list_kernels(capture) if "reduce_mean" in row.text)


def check_gather(capture: Capture) -> None:
    """Assert that the kernel of the average gathers, and that no kernel has the line of the gather."""
    lines = (FOLDER / "tensorflow_words.py").read_text(encoding="utf-8").splitlines()
    average = find_average(capture)
    gather = next(number for number, line in enumerate(lines, 1) if "tf.gather(" in line)
    assert f"tensorflow_words.py:{gather}" in {line.where for line in average.fused}
    assert not any(row.where.endswith(f":{gather}") for row in list_kernels(capture))


def check_record(record: dict[str, Any]) -> None:
    """Assert that the models and the exported programs are those of the record."""
    hashes = {name: hashlib.sha256((FOLDER / name).read_bytes()).hexdigest() for name in record["hashes"]}
    assert hashes == record["hashes"], f"run {record['script']}"
    recorded = {path.name for path in FOLDER.iterdir() if path.suffix == ".py"} | {*record["programs"]}
    assert recorded == {*hashes}


def read_record() -> dict[str, Any]:
    """Return the record of the exported programs, which the versions of the frameworks wrote."""
    return stamps.read_sealed(DATA / "exported-models.json")


def list_versions(record: dict[str, Any]) -> str:
    """Return the packages that exported the programs, with their versions."""
    return ", ".join(f"{name} {version}" for name, version in record["versions"].items())
