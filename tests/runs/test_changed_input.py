"""What changes during a run, or before it continues, never mixes two inputs in one output."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.demo import DEBATES, LABELS
from tests.terminal import Ended, touche_rad
from touche_rad.debate import Debate, Maxim, Verdict
from touche_rad.plugins import Options, Services, judge

TEXT = DEBATES.read_text("utf-8")
CHANGED_TEXT = TEXT.replace(" the ", " teh ")
CHANGES: list[Callable[[], object]] = []


@judge("meddler")
class Meddler:
    """Quotes the response, and lets the test change something during its ninth call."""

    def __init__(self, options: Options, services: Services) -> None:
        self.calls = 0

    def judge(self, debate: Debate) -> dict[Maxim, Verdict]:
        """Judge a response."""
        self.calls += 1
        if self.calls == 9 and CHANGES:
            CHANGES.pop()()
        quoted = debate.last.response.content if debate.last.response else ""
        return {maxim: Verdict(score=1.0, rationale=quoted) for maxim in Maxim}


@pytest.fixture(autouse=True)
def nothing_changes() -> Iterator[None]:
    yield
    CHANGES.clear()


def judge_by_meddler(folder: Path) -> Ended:
    call = ("judge", "in.jsonl", "-j", "meddler", "--workers", "1", "-o", "out.jsonl", "-q")
    return touche_rad(*call, cwd=folder, code=None)


@pytest.fixture
def source() -> Path:
    path = Path("in.jsonl")
    path.write_text(TEXT, "utf-8")
    return path


@pytest.mark.parametrize(
    "call",
    [
        "judge in.jsonl -j length -o out",
        "respond in.jsonl -i demo -o out",
        "audit in.jsonl -j length --turns 2",
        "contests in.jsonl -o out",
        "dataset judges in.jsonl labels.jsonl -o out",
        "train examples in.jsonl labels.jsonl -o out --count 1",
    ],
)
def test_a_debate_that_the_input_has_twice_is_a_warning(source: Path, call: str) -> None:
    first, second, *_ = TEXT.splitlines(keepends=True)
    lost = '{"simulation": {"userTurns": []}}\n'
    source.write_text(first + second + first + second + 2 * lost, "utf-8")
    labels = LABELS.read_text("utf-8").splitlines()[:2]
    source.with_name("labels.jsonl").write_text("\n".join(labels * 2))
    ended = touche_rad(call, cwd=source.parent)
    assert (
        ended.err.count("debates given twice: 2; the first: debate 3 has the words of debate 1")
        == 1
    ), ended.err


@pytest.fixture
def expected(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("right")
    (folder / "in.jsonl").write_text(TEXT, "utf-8")
    assert judge_by_meddler(folder).code == 0
    return (folder / "out.jsonl").read_bytes()


@pytest.mark.parametrize("text", [CHANGED_TEXT, TEXT[: len(TEXT) // 2]])
def test_an_input_that_changes_in_its_place_stops_the_run(
    source: Path, expected: bytes, text: str
) -> None:
    CHANGES.append(lambda: source.write_text(text, "utf-8"))
    ended = judge_by_meddler(source.parent)
    assert ended.code == 2, ended.err
    assert "in.jsonl: " in ended.error
    assert not source.with_name("out.jsonl").exists()
    refused = judge_by_meddler(source.parent)
    assert refused.code == 2, refused.err
    source.write_text(TEXT, "utf-8")
    assert judge_by_meddler(source.parent).code == 0
    assert source.with_name("out.jsonl").read_bytes() == expected
