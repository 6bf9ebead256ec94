"""`touche-rad new`: a package that installs, is found, and holds its contract unchanged."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.demo import ARGUMENTS, CLAIMS, DEBATES
from tests.terminal import touche_rad


@pytest.mark.long
@pytest.mark.parametrize("kind", ["debater", "judge", "panel", "retriever"])
def test_a_new_package_installs_works_and_holds_its_contract(kind: str, tmp_path: Path) -> None:
    folder, site = tmp_path / "package", tmp_path / "site"
    ended = touche_rad("new", kind, "my-plugin", "-o", folder, err="pip install")
    prompt = folder / "my_plugin" / "profiles" / "other.toml"
    prompt.parent.mkdir()
    for path in (prompt, folder / "my_plugin" / "my.jinja"):
        path.touch()
    install = ["-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation"]
    _python(*install, "--target", site, folder)
    assert (site / "my_plugin" / "my.jinja").exists()
    assert (site / "my_plugin" / "profiles" / "other.toml").exists()
    env = {"PYTHONPATH": str(site)}
    tested = _python("-m", "pytest", "-q", "-p", "no:cacheprovider", cwd=folder, env=env)
    assert "1 passed" in tested
    listed = json.loads(_cli("list", "my-plugin", "--json", env=env))
    assert [(plugin["kind"], plugin["source"]) for plugin in listed] == [(kind, "my-plugin")]
    out = tmp_path / "out"
    claims, debates = CLAIMS, DEBATES
    command = {
        "debater": ("respond", debates, "-d"),
        "judge": ("judge", debates, "-j"),
        "panel": ("judge", debates, "-j"),
        "retriever": ("retrieve", claims, "-r"),
    }[kind]
    _cli(*command, "my-plugin", "-i", "demo", "-o", out, "--quiet", env=env)
    assert out.read_text("utf-8").count("\n") >= 20
    if kind in ("panel", "retriever"):
        return
    shutil.copy(ARGUMENTS, folder / "arguments.jsonl")
    flag = {"debater": "-d", "judge": "-j"}[kind]
    trial = ("submit", "--collection", "arguments.jsonl", flag, "my-plugin")
    assert "code-submission --path ." in _cli(*trial, cwd=folder, env=env)
    assert "--command" in _cli("submit", "my-plugin", cwd=folder, env=env)
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    shutil.rmtree(prompt.parent)
    (folder / "my_plugin" / "my.jinja").unlink()
    for ignored in "input output judged repeated cache out".split():  # of docs/submit.md
        (folder / ignored).mkdir()
        (folder / ignored / "file").touch()
    (folder / "report.html").touch()
    status = ["git", "status", "--porcelain", "-uall"]
    unignored = subprocess.run(
        status, cwd=folder, capture_output=True, text=True, check=True
    ).stdout
    assert len(unignored.split("?? ")[1:]) == len(ended.err.split("written: ")[1:]), unignored


def test_a_name_or_folder_that_cannot_be_used_is_refused() -> None:
    for name in ("My Plugin", "import", "9lives", "a--b", "../up"):
        touche_rad("new debater", name, code=2, err="my-debater")
    touche_rad("new debater grounded", code=2, err="debater 'grounded'")
    Path("taken").mkdir()
    Path("taken/file").touch()
    touche_rad("new judge taken", code=2, err="empty")


def _cli(*args: str | Path, cwd: Path | None = None, env: dict[str, str]) -> str:
    return _python("-m", "touche_rad", *args, cwd=cwd, env=env)


def _python(*args: str | Path, cwd: Path | None = None, env: dict[str, str] | None = None) -> str:
    done = subprocess.run(
        [sys.executable, *map(str, args)],
        cwd=cwd,
        env={**os.environ, **(env or {})},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
