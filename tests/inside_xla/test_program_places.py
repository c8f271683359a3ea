"""The *Edit* link next to each listing, its command, and the files that a reader downloads."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
import zipfile
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest

from inside_xla import program_places
from livepage.read import project
from measuring.trial_server import play

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = {
    path.stem: functions
    for path in sorted((ROOT / "snippets" / "programs").glob("*.py"))
    if (functions := program_places.list_functions(path))
}
LISTING = (
    '<div class="language-python highlight"><span class="filename">{title}</span><pre><span></span><code>'
    '<span class="k">def</span> <span class="nf">{name}</span>(x)\n</code></pre></div>'
)
TRACE = """
import sys
from xla_inspect.subject import Request, read_function
for line in sys.stdin.read().splitlines():
    read_function(Request(words=(line,))).program()
    print(line)
"""


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(project, "root", ROOT)


def place(title: str, name: str, url: str = "fusion/") -> str:
    html = LISTING.format(title=title, name=name)
    return program_places.add_places(f"<p>Before.</p>{html}<p>After.</p>", url)


def test_a_listing_shows_the_command_that_opens_its_program() -> None:
    html = place("snippets/programs/attention.py", "attention")
    assert "xla-inspect play attention.py:attention<" in html
    assert 'href="../assets/programs/attention.py" download' in html
    assert html.index("def") < html.index("program-edit") < html.index("After.")


def test_a_place_names_program_file_and_function() -> None:
    marks = dict(re.findall(r'data-(\w+)="([^"]*)"', place("snippets/programs/layer.py", "layer")))
    assert marks == {"program": "layer", "file": "snippets/programs/layer.py", "function": "layer"}


def test_the_listed_program_of_a_file_is_opened() -> None:
    html = place("from snippets/programs/buffers.py", "rows_by_scan")
    assert "xla-inspect play buffers.py:rows_by_scan<" in html


def test_the_edit_link_follows_the_fold_of_the_file() -> None:
    fold = '\n<details class="listing">\n<summary>The whole file, 20 lines</summary>\n<p>It.</p></details>'
    html = LISTING.format(title="snippets/programs/layer.py", name="layer") + fold
    assert program_places.add_places(html, "fusion/").startswith(html + '\n<div class="program-edit"')


@pytest.mark.parametrize("title", ["snippets/programs/cache_keys.py", "snippets/peers/torch/layers.py", "a.py"])
def test_code_that_is_not_compiled_gets_no_edit_link(title: str) -> None:
    assert "program-edit" not in place(title, "work")


def test_an_edit_link_contains_no_nested_element() -> None:
    """The search removes the element up to its first closing tag, so it must not contain another one."""
    match = re.search(r'<div class="program-edit".*?</div>', place("snippets/programs/gelu.py", "gelu"), re.DOTALL)
    assert match is not None
    opened: list[str] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: object) -> None:
            del attrs
            opened.append(tag)

        def handle_endtag(self, tag: str) -> None:
            assert opened.pop() == tag

    Reader().feed(match[0])
    assert opened == []


def test_every_program_of_the_site_opens_from_its_download(tmp_path: Path) -> None:
    """Each opens in a folder with nothing else, in a process that can import only the package."""
    page = "".join(f'<div class="program-edit" data-program="{name}"></div>' for name in PROGRAMS)
    program_places.publish_programs([page], tmp_path / "site")
    source_paths = []
    for name, functions in PROGRAMS.items():
        opened_bundle, _ = program_places.bundle(name)
        folder = tmp_path / "taken" / name
        folder.mkdir(parents=True)
        file = tmp_path / "site" / program_places.PUBLISHED / opened_bundle
        if file.suffix == ".zip":
            zipfile.ZipFile(file).extractall(folder)
        else:
            (folder / opened_bundle).write_bytes(file.read_bytes())
        commands = [program_places.write_command(name, function) for function in functions]
        assert all(command.startswith("xla-inspect play ") for command in commands)
        source_paths += [f"{folder}/{command.split(maxsplit=2)[2]}" for command in commands if "/" not in command]
    ran = subprocess.run(
        [sys.executable, "-c", TRACE],
        input="\n".join(source_paths),
        cwd=tmp_path,
        env=_package_alone(tmp_path),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.stdout.splitlines() == source_paths, ran.stderr[-2000:]


@pytest.mark.parametrize("name", [name for name in PROGRAMS if program_places.bundle(name)[0].endswith(".zip")])
def test_a_program_of_several_files_is_a_package(tmp_path: Path, name: str) -> None:
    _, packed = program_places.bundle(name)
    zipfile.ZipFile(io.BytesIO(packed)).extractall(tmp_path)
    subject = program_places.write_command(name, PROGRAMS[name][0]).split(maxsplit=2)[2]
    ran = subprocess.run(
        [sys.executable, "-c", TRACE],
        input=subject,
        cwd=tmp_path,
        env=_package_alone(tmp_path),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.stdout.strip() == subject, ran.stderr[-2000:]


def test_a_bundle_is_the_same_at_each_build() -> None:
    assert program_places.bundle("train_step") == program_places.bundle("train_step")


def test_downloads_that_no_page_offers_are_removed(tmp_path: Path) -> None:
    pages = [unescape(place(f"snippets/programs/{name}.py", name)) for name in ("gelu", "layer")]
    program_places.publish_programs(pages, tmp_path)
    program_places.publish_programs(pages[:1], tmp_path)
    assert [path.name for path in (tmp_path / program_places.PUBLISHED).iterdir()] == ["gelu.py"]


def _package_alone(folder: Path) -> dict[str, str]:
    """Return environment variables with which only the package can be imported, and no program of this project."""
    beside = folder / "installed"
    beside.mkdir()
    (beside / "xla_inspect").symlink_to(ROOT / "snippets" / "xla_inspect")
    return {"PYTHONPATH": str(beside), "PYTHONSAFEPATH": "1", "PATH": "", "JAX_PLATFORMS": "cpu"}


@pytest.mark.parametrize(
    ("name", "function"), [("attention", "attention"), ("fusible", "scale_softmax"), ("train_step", "train_step")]
)
def test_the_command_of_a_place_opens_the_playground_on_the_program(tmp_path: Path, name: str, function: str) -> None:
    opened_bundle, data = program_places.bundle(name)
    (tmp_path / opened_bundle).write_bytes(data)
    if opened_bundle.endswith(".zip"):
        zipfile.ZipFile(tmp_path / opened_bundle).extractall(tmp_path)
    subject = program_places.write_command(name, function).split(maxsplit=2)[2]
    with play(subject, folder=tmp_path, environment=_package_alone(tmp_path)) as playground:
        start_data = json.loads(playground.ask("/start").content)
        assert start_data["function"] == function
        assert start_data["code"] == (ROOT / "snippets" / "programs" / f"{name}.py").read_text(encoding="utf-8")
        answer = playground.compile(start_data["code"], function=function, arguments="")
        assert [event["part"] for event in answer.events if event["event"] == "data"][-1] == "whole", answer.events[-2:]
