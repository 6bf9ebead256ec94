"""What `-m` names: servers, a file of answers, a model in this process; and what it refuses."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from pydantic import BaseModel

from tests.cases import with_cases
from tests.models.scripted import Scripted, content
from tests.records import write_records
from tests.terminal import Ended, touche_rad
from touche_rad.models import Message, Model
from touche_rad.models.model import open_backend

ASKED = [Message("user", "Say something fine.")]


class Fine(BaseModel):
    words: str


async def _answers(model: Model, count: int) -> list[Any]:
    messages = ([Message("user", f"Number {number}")] for number in range(count))
    return await model.ask_all([partial(model.ask, prompt, Fine) for prompt in messages])


def _call(words: str, code: int = 0, **env: str) -> Ended:
    return touche_rad(words, code=code, env=env)


SAY = "respond -i demo --say Hello. -m"


def script(path: Path, *lines: Any) -> str:
    write_records(path, *lines)
    return f"scripted:{path}"


def test_a_file_answers_by_the_prompt_and_in_turn() -> None:
    at = script(
        Path("answers.jsonl"),
        {"when": "Number 1", "answer": {"words": "first"}},
        {"when": "Number 1", "answer": {"words": "second"}},
        {"answer": '{"words": "otherwise"}'},
    )

    async def run() -> list[str]:
        model = Model(open_backend(at))
        return [(await _answers(model, 2))[place].words for place in (1, 1, 1, 0)]

    assert anyio.run(run) == ["first", "second", "second", "otherwise"]


@with_cases(("text", "problem"), "models/wrong_scripts.json")
def test_a_wrong_script_is_an_error_of_one_line(text: str, problem: str) -> None:
    path = Path("s.jsonl")
    path.write_text(text)
    ended = _call(f"{SAY} scripted:{path}", 2)
    assert str(path) in ended.error
    assert problem in ended.err


@with_cases(("at", "problem"), "models/wrong_addresses.tsv")
def test_a_wrong_backend_is_an_error_of_one_line(at: str, problem: str) -> None:
    ended = _call(f"{SAY} {at}", 2)
    assert problem in ended.error
    assert "pw" not in ended.err


COUNTING = """
import anyio
from pathlib import Path
from touche_rad.debate import Response
from touche_rad.plugins import Options, debater


@debater("counting", needs=("model",))
class Counting:
    \"\"\"Waits until five debates are open, or half a second, and notes the most.\"\"\"

    Options = Options

    def __init__(self, options, services):
        self.open = self.most = 0
        self.enough = anyio.Event()

    async def answer(self, debate):
        self.open += 1
        self.most = max(self.most, self.open)
        if self.open >= 5:
            self.enough.set()
        with anyio.move_on_after(0.5):
            await self.enough.wait()
        self.open -= 1
        Path(__file__).with_suffix(".most").write_text(str(self.most))
        return Response(content="Yes.")
"""


@pytest.mark.parametrize(
    ("words", "expected"), [("", range(5, 9)), ("--workers 2", [2]), ("--deadline 60", [4])]
)
def test_with_a_model_more_debates_are_processed_at_a_time(
    server: Scripted, tmp_path: Path, words: str, expected: list[int]
) -> None:
    plugin = Path("counting.py")
    plugin.write_text(COUNTING)
    server.always = content("ok")
    chat = json.dumps({"messages": [{"role": "user", "content": "Hello."}]})
    (debates := Path("debates.jsonl")).write_text(f"{chat}\n" * 8)
    respond = f"respond {debates} -i demo -d counting -m {server.url}#tiny"
    _call(f"--plugin {plugin} {respond} {words} -o {tmp_path / 'out.jsonl'}")
    assert int(plugin.with_suffix(".most").read_text()) in expected
