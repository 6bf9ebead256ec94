"""Compare what this checkout writes with what a base commit wrote, byte for byte.

    python -m benchmarks.same [--base COMMIT] [GROUP ...]

The commands of `commands.toml` run once with the base's code and once with the code of this folder,
in new folders of the same length, with the same packages of others. What they write is a tree of
files: outputs, standard output and error, exit codes, requests to the model, answers of servers,
public names. The base's tree is kept in build/same of the main worktree, for all worktrees.

`normal.py` replaces what differs between two runs of the same code. `allowed.toml` lists the
differences that are wanted. Any other difference is printed and gives exit code 1. With GROUPs,
only these run.
"""

from __future__ import annotations

import argparse
import fnmatch
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Mapping
from importlib.metadata import distribution
from pathlib import Path

from filelock import FileLock

from benchmarks.same import endpoint
from benchmarks.same.normal import normal
from tests.models import scripted

BASE = "e2b378b0"
"""The commit whose outputs are wanted."""
HERE = Path(__file__).parent
ROOT = HERE.parent.parent
SOURCES = ("touche_rad", "retrieval", "judges", "docs/plugins.md", "pyproject.toml", "tira.yml")
"""What is taken of a checkout."""
PRIVATE = "real/"
"""The part of the tree with real texts: only its paths are printed."""
MAKERS = "commands.toml endpoint.py inside.py ../../tests/models/by_prompt.py".split()
"""Files of this program that a tree depends on."""
PROCESSES = "2"
SHOWN = 20
"""How many differences are printed with a part of the contents."""


def main() -> int:
    """Make both trees, and compare them."""
    parser = argparse.ArgumentParser(prog="benchmarks.same")
    parser.add_argument("--base", default=BASE, metavar="COMMIT")
    parser.add_argument("groups", nargs="*", metavar="GROUP")
    options = parser.parse_args()
    shared = Path(_git("rev-parse", "--path-format=absolute", "--git-common-dir").strip())
    before = shared.parent / "build" / "same" / _key(options.base)
    before.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{before}.lock"):
        if not before.exists():
            print(f"same: makes the tree of {options.base}, once", flush=True)
            _make_tree(options.base, before, [])
    begun = time.monotonic()
    now = ROOT / "build" / "same" / "now"
    shutil.rmtree(now, ignore_errors=True)
    _make_tree(None, now, options.groups)
    failed = _compare(_files(before, options.groups), _files(now, options.groups))
    print(f"same: {time.monotonic() - begun:.0f} s; the trees are {before} and {now}")
    return failed


def _folder() -> tempfile.TemporaryDirectory[str]:
    """Return a new folder. Its name always has the same length: long paths break lines."""
    return tempfile.TemporaryDirectory(prefix="touche-rad-same-")


def _git(*words: str, env: Mapping[str, str] | None = None) -> str:
    return subprocess.check_output(["git", *words], cwd=ROOT, env=env, text=True)


def _key(commit: str) -> str:
    """Return the name of a commit's tree: it depends on this program and on its data too."""
    digest = hashlib.sha256(os.environ.get("TOUCHE_RAD_DATA", "").encode())
    for path in MAKERS:
        digest.update((HERE / path).read_bytes())
    return f"{_git('rev-parse', f'{commit}^{{commit}}')[:12]}-{digest.hexdigest()[:8]}"


def _take(commit: str | None, place: Path) -> None:
    """Write the sources of a commit, or of this folder as it is now, to PLACE/checkout.

    With them goes the metadata of their distribution, so that plugins are those of their own
    pyproject.toml and not those of the installed version.
    """
    if commit is None:  # an index of its own, so that new files need no `git add`
        index = {**os.environ, "GIT_INDEX_FILE": str(place / "index")}
        subprocess.run(["git", "add", "--all"], cwd=ROOT, env=index, check=True)
        commit = _git("write-tree", env=index).strip()
    _git("archive", f"--output={place}/sources.tar", commit, *SOURCES)
    checkout = place / "checkout"
    shutil.unpack_archive(place / "sources.tar", checkout)
    project = tomllib.loads((checkout / "pyproject.toml").read_text("utf-8"))["project"]
    metadata = checkout / "touche_rad-0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(distribution("touche-rad").read_text("METADATA") or "")
    points = ""
    for group, names in project["entry-points"].items():
        points += f"[{group}]\n" + "".join(f"{name} = {at}\n" for name, at in names.items())
    (metadata / "entry_points.txt").write_text(points, "utf-8")


def _environment(place: Path) -> dict[str, str]:
    """Return the variables with which the commands of PLACE/checkout run."""
    return {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(place / "checkout"),
        "PYTHONHASHSEED": "0",
        "HOME": str(place / "home"),
        "XDG_CACHE_HOME": str(place / "cache"),
        "COLUMNS": "100",
        "TZ": "UTC",
        "LC_ALL": "C.UTF-8",
        "OPENBLAS_NUM_THREADS": "1",
        "USER": "user",
    }


def _make_tree(commit: str | None, target: Path, groups: list[str]) -> None:
    """Run all commands, and keep what they wrote, without the name of the temporary folder."""
    with _folder() as folder, scripted.serving() as server:
        place = Path(folder)
        _take(commit, place)
        server.RequestHandlerClass = endpoint.Recording
        server.always = endpoint.answer
        endpoint.requests.clear()
        work = place / "work"
        tree = place / "tree"
        shutil.copytree(place / "checkout" / "touche_rad" / "demo", work / "demo")
        (work / "data").symlink_to(os.environ.get("TOUCHE_RAD_DATA", place / "nothing"))
        address = server.url.removesuffix("/v1")
        words = [HERE / "commands.toml", work, tree, address, PROCESSES, *groups]
        subprocess.run(
            [sys.executable, "-P", HERE / "inside.py", *words],
            cwd=work,
            env=_environment(place),
            check=True,
        )
        (tree / "requests").mkdir()
        for command, lines in endpoint.requests.items():
            (tree / "requests" / f"{command}.jsonl").write_text("\n".join([*lines, ""]), "utf-8")
        making = target.with_name(f"{target.name}.part")
        shutil.rmtree(making, ignore_errors=True)
        for path, content in _files(tree, []).items():
            (making / path).parent.mkdir(parents=True, exist_ok=True)
            (making / path).write_bytes(content.replace(folder.encode(), b"/PLACE"))
        making.rename(target)


def _files(tree: Path, groups: list[str]) -> dict[str, bytes]:
    """Return the files of a tree by path; with groups, only theirs."""
    contents = {}
    for path in sorted(tree.rglob("*")):
        name = path.relative_to(tree).as_posix()
        group = re.split("[/.]", name.removeprefix("requests/"))[0]
        if path.is_file() and not path.is_symlink() and (not groups or group in groups):
            contents[name] = path.read_bytes()
    return contents


def _compare(before: dict[str, bytes], now: dict[str, bytes]) -> int:
    """Print how two trees differ, and return the exit code."""
    allowed = tomllib.loads((HERE / "allowed.toml").read_text("utf-8")).get("allowed", [])
    counts = Counter[str]()
    differing = 0
    for path in sorted({*before, *now}):
        old = normal(path, before.get(path, b"(no such file)"))
        new = normal(path, now.get(path, b"(no such file)"))
        if old == new:
            continue
        rule = next((rule for rule in allowed if _allows(rule, path, old, new)), None)
        if rule is not None:
            counts[rule["reason"]] += 1
            continue
        differing += 1
        print(f"differs: {path}")
        if differing <= SHOWN and not path.startswith(PRIVATE):
            start = next(
                (at for at in range(len(old)) if old[at : at + 1] != new[at : at + 1]), len(old)
            )
            for mark, content in (("-", old), ("+", new)):
                part = content[max(0, start - 80) : start + 120].decode("utf-8", "replace")
                print(f"  {mark} ...{part!r}")
    for reason, count in counts.items():
        print(f"same: {count} files differ as is wanted: {reason}")
    print(f"same: {differing} of {len(before)} files differ")
    return int(differing > 0)


def _allows(rule: dict[str, str], path: str, old: bytes, new: bytes) -> bool:
    """Return whether a rule allows that a file differs, or that the lines it names do."""
    if not fnmatch.fnmatchcase(path, rule["path"]):
        return False
    lines = rule.get("lines")
    return lines is None or re.sub(lines.encode(), b"", old) == re.sub(lines.encode(), b"", new)


if __name__ == "__main__":
    sys.exit(main())
