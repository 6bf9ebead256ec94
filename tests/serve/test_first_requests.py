"""The page's further plugins are made when they are first used."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2

from tests.serve.careless import Serve

SLOW = """
import time
from pathlib import Path
from touche_rad.debate import Maxim, Response, Verdict
from touche_rad.plugins import debater, judge

class Slow:
    def __init__(self, options, services):
        time.sleep(0.5)  # such as to load a model
        with Path({note!r}).open("a") as stream:
            stream.write(type(self).__name__ + " ")

@debater("slow")
class SlowDebater(Slow):
    def answer(self, debate):
        return Response(content="Slow and steady.")

@judge("slow")
class SlowJudge(Slow):
    def judge(self, debate):
        return {{maxim: Verdict(score=1.0) for maxim in Maxim}}
"""


def test_four_first_requests_at_once_make_a_plugin_once(serve: Serve, tmp_path: Path) -> None:
    plugin = tmp_path / "slow.py"
    note = tmp_path / "made"
    plugin.write_text(SLOW.format(note=str(note)))
    further = ("--also-debater", "slow", "--also-judge", "slow")
    _, address = serve("--plugin", str(plugin), *further)
    assert not note.exists()
    turns = [{"utterance": "Zoos should be closed."}]
    body = {"debater": "slow", "judges": ["slow"], "debate": {"simulation": {"userTurns": turns}}}

    def ask(_: int) -> list[dict[str, object]]:
        reply = httpx2.post(f"{address}/debate/answer", json=body, timeout=60)
        return [json.loads(line) for line in reply.text.splitlines()]

    with ThreadPoolExecutor(4) as pool:
        replies = list(pool.map(ask, range(4)))
    for events in replies:
        kinds = [event["event"] for event in events if event["event"] != "alive"]
        assert kinds == ["start", "answer", "judging", "verdicts", "end"]
    assert sorted(note.read_text().split()) == ["SlowDebater", "SlowJudge"]
