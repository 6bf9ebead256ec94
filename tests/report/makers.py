"""Debates, evaluations and hostile texts for the tests of the report."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from tests.records import write_lines
from tests.screens import SCREENS, check_golden
from touche_rad import __version__, files
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


def write_evaluations(path: str | Path, debates: list[Debate], score: float = 0.25) -> Path:
    """Write evaluations with one score for everything."""
    verdicts = {maxim: Verdict(score=score, rationale=f"as {maxim} goes") for maxim in Maxim}
    lines = []
    for debate in debates:
        evaluation = files.Evaluation(debate, (verdicts,) * len(debate.turns))
        lines.append(files.evaluation_line(evaluation))
    return write_lines(path, lines)


def make_debate(*texts: tuple[str, str, str], claim: str = "A claim.") -> Debate:
    """Return a debate of utterances, responses, and one cited argument each."""
    turns = tuple(
        Turn(
            utterance=user,
            response=Response(content=system, arguments=(Argument(id="1", text=text),)),
        )
        for user, system, text in texts
    )
    return Debate(claim=claim, turns=turns)


NASTY_DEBATES = [
    make_debate(*((text, end, text) for end in NASTY[:3]), claim=text) for text in NASTY
]


def leaves(value: Any) -> Iterator[str]:
    """Yield the texts and numbers of JSON data, without addresses."""
    if isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from leaves(part)
    elif not str(value).startswith("data:"):
        yield str(value)


class Page(HTMLParser):
    """What a browser would make of a page: its tags and attributes; and its data."""

    def __init__(self, path: str | Path) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.html = Path(path).read_text("utf-8")
        self.feed(self.html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes.extend(attrs)

    @property
    def words(self) -> str:
        """All texts and numbers of the report's data, one after the other."""
        return " ".join(leaves(self.data["report"]))

    @property
    def policy(self) -> str:
        """The content security policy."""
        contents = [value or "" for name, value in self.attributes if name == "content"]
        return next(content for content in contents if "default-src" in content)

    @property
    def data(self) -> dict[str, Any]:
        """The data that the page contains, by id."""
        islands = re.findall(
            r'<script type="application/json" id="([^"]+)">(.*?)</script>', self.html, re.S
        )
        return {name: json.loads(text) for name, text in islands}


def check_page(name: str, path: Path) -> None:
    """Compare the data of a report with `tests/golden/screens/report.NAME.txt`."""
    text = json.dumps(Page(path).data["report"], indent=1, ensure_ascii=False)
    text = text.replace(str(Path.cwd()), "FOLDER").replace(__version__, "VERSION")
    text = re.sub(r"\b[0-9a-f]{64}\b|(?<=\")data:[^\"]*", "DIGEST", text)
    text = re.sub(r"\d\.\d{4,}", lambda match: f"{float(match[0]):.4f}", text)
    # A line for each short list, as people read tables.
    text = re.sub(
        r"\[\s+((?:\"[^\"\n]*\"|[^][{}\"])*?)\s+\]",
        lambda match: f"[{' '.join(match[1].split())}]",
        text,
    )
    check_golden(SCREENS / f"report.{name}.txt", f"{text}\n")
