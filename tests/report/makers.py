"""Debates, evaluations and hostile texts for the tests of the report."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from touche_rad import files
from touche_rad.debate import Argument, Debate, Maxim, Response, Turn, Verdict

NASTY = (
    "</script><script>document.title='owned'</script>",
    "<img src=x onerror=document.title='owned'>",
    "\"' onmouseover='x' & <b>bold</b> {{ 7*7 }} {% raw %}",
    "\u202eright to left\u202c مرحبا 😀",
    "\x00 nul \ud800 surrogate",
    "x" * 50_000,
    "]]> --> &lt; http://evil.example/x.png",
)


def evaluations(path: Path, debates: list[Debate], score: float = 0.25) -> Path:
    """Write evaluations with one score for everything."""
    verdicts = {maxim: Verdict(score=score, rationale=f"as {maxim} goes") for maxim in Maxim}
    lines = [
        files.evaluation_line(files.Evaluation(one, tuple(verdicts for _ in one.turns)))
        for one in debates
    ]
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def debate(*said: tuple[str, str, str], claim: str = "A claim.") -> Debate:
    """Return a debate of utterances, responses, and one cited argument each."""
    turns = tuple(
        Turn(
            utterance=user,
            response=Response(content=system, arguments=(Argument(id="1", text=text),)),
        )
        for user, system, text in said
    )
    return Debate(claim=claim, turns=turns)


def islands(page: str) -> dict[str, Any]:
    """Return the data that a page contains, by id."""
    import json

    result = re.findall(r'<script type="application/json" id="([^"]+)">(.*?)</script>', page, re.S)
    return {name: json.loads(text) for name, text in result}
