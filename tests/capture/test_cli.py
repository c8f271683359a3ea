"""The command `xla-inspect`."""

from __future__ import annotations

from pathlib import Path

import pytest

from xla_inspect import TARGETS, cli

LAYER = str(Path(__file__).resolve().parents[2] / "snippets" / "programs" / "layer.py")


def test_targets_lists_each_target_with_a_reason(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cli, "available", lambda: {"cpu": "", "h100": "no compiler"})
    assert cli.main(["targets"]) == 0
    assert capsys.readouterr().out == "cpu      available\nh100     no compiler\n"
    assert max(map(len, TARGETS)) == 7


@pytest.mark.parametrize(
    ("stage", "start"),
    [
        ("jaxpr", "{ lambda ; a:f32[64,128]"),
        ("stablehlo", "module @jit_layer"),
        ("before", "HloModule jit_layer"),
        ("after", "HloModule jit_layer, is_scheduled=true"),
        ("passes", "150 runs of passes"),
        ("buffers", "BufferAssignment:"),
        ("kernels", "ynn_fusion"),
        ("code", "==== broadcast_maximum_fusion (asm)"),
    ],
)
def test_show_prints_a_stage(stage: str, start: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["show", f"{LAYER}:layer", "--stage", stage]) == 0
    assert capsys.readouterr().out.startswith(start)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["layer"], "write FILE.py:FUNCTION, not 'layer'"),
        (["none.py:layer"], "no file none.py"),
        ([f"{LAYER}:layr"], "has no function 'layr'; it has layer"),
        ([f"{LAYER}:layer", "--target", "tpu-v9"], f"the targets are {', '.join(TARGETS)}"),
    ],
)
def test_an_error_says_what_to_write_and_shows_no_traceback(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["show", *arguments]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("xla-inspect: ")
    assert captured.err.endswith(f"{said}\n")
    assert captured.err.count("\n") == 1


def test_a_file_without_an_example_is_told_to_define_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "bare.py"
    file.write_text("def bare(x):\n    return x\n", encoding="utf-8")
    assert cli.main(["show", f"{file}:bare"]) == 1
    assert "let EXAMPLE be a tuple" in capsys.readouterr().err


@pytest.mark.filterwarnings("ignore:Some donated buffers were not usable")
def test_report_writes_one_file_and_plans_the_memory_with_an_argument_donated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plain, donated = tmp_path / "plain.html", tmp_path / "donated.html"
    asked = ["report", f"{LAYER}:layer", "--target", "cpu", "-o"]
    assert cli.main([*asked, str(plain)]) == cli.main([*asked, str(donated), "--donate", "0"]) == 0
    assert capsys.readouterr().out.startswith(f"{plain}: {plain.stat().st_size:,} bytes; open it in a browser\n")
    assert donated.stat().st_size > plain.stat().st_size


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--donate", "7"], "--donate 7: Jitted function has donate_argnums=(7,)"),
        (["-o", "none/such.html"], "cannot write none/such.html: No such file or directory"),
    ],
)
def test_a_report_that_cannot_be_written_says_why(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["report", f"{LAYER}:layer", "--target", "cpu", *arguments]) == 1
    assert capsys.readouterr().err.partition("\n")[0].startswith(f"xla-inspect: {said}")


def test_each_compile_is_named_while_it_lasts(caplog: pytest.LogCaptureFixture) -> None:
    assert cli.main(["show", f"{LAYER}:layer"]) == 0
    assert caplog.messages == ["compiling layer for cpu"]
