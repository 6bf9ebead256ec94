"""Debates, a slow debater and a local Ray cluster for the tests of `--engine ray`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.terminal import touche_rad

PLUGIN = '''
import os
import signal
import time
from pathlib import Path

from touche_rad.debate import Response, Verdict
from touche_rad.plugins import debater, judge


def _mark(name: str) -> bool:
    """Make a file; return whether it is new."""
    try:
        Path(name).open("x").close()
    except FileExistsError:
        return False
    return True


@debater("marking")
class Marking:
    """Answers with the number of the debate; some debates kill their worker or fail once."""

    def __init__(self, options, services): ...

    def answer(self, debate):
        words = debate.last.utterance
        time.sleep(0.01)
        with open("asked.txt", "a") as stream:
            stream.write(words.split()[1] + "\\n")
        with open("pids.txt", "a") as stream:
            stream.write(f"{os.getpid()}\\n")
        if "kills once" in words and _mark("killed"):
            os.kill(os.getpid(), signal.SIGKILL)
        if "kills always" in words and Path("deadly").exists():
            os.kill(os.getpid(), signal.SIGKILL)
        if "raises" in words:
            raise ValueError("no answer to this")
        return Response(content=f"To this I say: {words}")
'''


def write_world(folder: Path, count: int, special: dict[int, str] | None = None) -> Path:
    """Write the plugin and `count` debates, and return the debates' path."""
    (folder / "marking.py").write_text(PLUGIN)
    path = folder / "debates.jsonl"
    with path.open("w") as stream:
        for number in range(count):
            words = f"Debate {number} {(special or {}).get(number, 'goes')} on."
            stream.write(json.dumps({"messages": [{"role": "user", "content": words}]}) + "\n")
    return path


def add_node(cluster: Any, **options: Any) -> Any:
    """Start a node with one CPU; Ray waits 30 seconds for it, which a busy machine may exceed."""
    for _ in range(5):
        try:
            return cluster.add_node(num_cpus=1, **options)
        except Exception as error:
            if "timed out during startup" not in str(error):
                raise
    return cluster.add_node(num_cpus=1, **options)


def start_on_ray(
    cluster: Any, *words: str | Path, cwd: Path, out: str = "ray.jsonl"
) -> subprocess.Popen[str]:
    """Start a run on the cluster."""
    call = [sys.executable, "-m", "touche_rad", *map(str, words), "-o", out]
    call += ["--engine", "ray", "--actors", "2"]
    env = {**os.environ, "RAY_ADDRESS": cluster.address}
    return subprocess.Popen(call, cwd=cwd, env=env, stderr=subprocess.PIPE, text=True)


def wait_for_end(process: subprocess.Popen[str]) -> str:
    _, err = process.communicate(timeout=400)
    assert process.returncode == 0, err
    return err


def run_in_one_process(folder: Path, *words: str) -> bytes:
    """Return the output of the run of one process."""
    touche_rad(*words, "-o", "plain.jsonl", "-q", cwd=folder, code=0)
    return (folder / "plain.jsonl").read_bytes()
