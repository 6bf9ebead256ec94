"""Where a fault is shown: its traceback with `-v`, and in the errors file of a run."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from tests.demo import CLAIMS, DEBATES
from tests.terminal import touche_rad_process
from touche_rad import files
from touche_rad.debate import Debate
from touche_rad.errors import WorkError
from touche_rad.runs.fallbacks import FailureLog
from touche_rad.runs.runner import run
from touche_rad.runs.work import Done, RunOptions, Work

BROKEN = """
from touche_rad.plugins import retriever


@retriever("broken")
class Broken:
    def __init__(self, options, services):
        pass

    def search(self, query, k):
        raise ZeroDivisionError("in the retriever")
"""


@pytest.fixture
def retrieval() -> list[str | Path]:
    """Return a command that fails in a plugin."""
    Path("broken.py").write_text(BROKEN)
    claims = CLAIMS
    out = Path("out.run")
    plugin = ["--plugin", Path("broken.py")]
    return ["retrieve", claims, "-i", "demo", *plugin, "-r", "broken", "-o", out]


def test_an_error_is_one_line_without_its_traceback(retrieval: list[str | Path]) -> None:
    ended = touche_rad_process(*retrieval, code=1, err="ZeroDivisionError")
    assert "Traceback" not in ended.err


@pytest.mark.parametrize("place", ["before", "after", "variable"])
def test_verbose_shows_the_traceback(retrieval: list[str | Path], place: str) -> None:
    words = {"before": ["-v", *retrieval], "after": [*retrieval, "-v"], "variable": retrieval}
    env = {"TOUCHE_RAD_VERBOSE": "1"} if place == "variable" else {}
    ended = touche_rad_process(*words[place], env=env, code=1, err="Traceback")
    assert "raise ZeroDivisionError(" in ended.err
    assert ended.err.splitlines()[-1].startswith("touche-rad: error: ")


@pytest.mark.parametrize("error", [KeyError("a fault of ours"), WorkError("start the server")])
def test_only_a_fault_of_ours_in_a_run_leaves_its_traceback(error: Exception) -> None:
    async def fail(debate: Debate, failures: FailureLog) -> Done:
        raise error

    source = DEBATES
    errors = Path("run.jsonl.errors.txt")
    work = Work("respond", source, partial(files.read_debates, source), fail, {})
    with pytest.raises(WorkError) as raised:
        run(work, Path("run.jsonl"), RunOptions(errors=errors))
    if isinstance(error, WorkError):
        assert not errors.exists()
        return
    assert raised.value.__cause__ is error
    assert f"traceback: {errors}" in str(raised.value)
    text = errors.read_text("utf-8")
    assert text.count("Traceback") == 1
    assert "KeyError: 'a fault of ours'" in text
    assert "in fail" in text
