#: result, crash, loading, compiler, limit
# The folder of the trial alone, with whatever of the server lies in it.
import shutil
from pathlib import Path

for folder in (Path.cwd(), *Path.cwd().parents):
    if "{{FOLDER}}" in folder.as_posix():
        shutil.rmtree(folder, ignore_errors=True)


def f(x):
    return x * 2
