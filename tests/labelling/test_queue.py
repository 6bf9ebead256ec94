"""The queue: what an audit would label next, and random turns."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.labelling.makers import TURNS, write_run, write_verdicts
from tests.records import write_lines
from touche_rad.criteria import grice
from touche_rad.errors import InputError
from touche_rad.labelling._queue import QueuedTurn, Selection, make_queue, samples
from touche_rad.labelling.exchanges import TurnPlace, read_exchanges, read_verdicts

DEBATES = 20


def make_small_queue(folder: Path, share: float, seed: int = 0) -> list[QueuedTurn]:
    run = write_run(folder / "run.jsonl", DEBATES)
    turns = DEBATES * TURNS
    rising = [number / turns for number in range(turns)]
    first = write_verdicts(folder / "a.jsonl", run, [0.2] * turns)
    second = write_verdicts(folder / "b.jsonl", run, rising)
    exchanges = read_exchanges(run)
    judges = read_verdicts([first, second], exchanges, grice(), {})
    return make_queue(exchanges, judges, grice(), random_share=share, seed=seed)


def test_each_turn_comes_once_and_the_share_is_kept_at_any_time(tmp_path: Path) -> None:
    queue = make_small_queue(tmp_path, 0.3)
    assert len({turn.place for turn in queue}) == len(queue) == DEBATES * TURNS
    for end in range(1, 40):
        drawn = sum(turn.sample is Selection.RANDOM for turn in queue[:end])
        assert drawn == int(end * 0.3 + 1e-9)


def test_the_audits_turns_are_the_most_disputed_ones(tmp_path: Path) -> None:
    queue = [turn.place for turn in make_small_queue(tmp_path, 0.0)]
    assert queue[:3] == [TurnPlace(19, 2), TurnPlace(19, 1), TurnPlace(19, 0)]


def test_the_random_order_depends_on_the_seed_only(tmp_path: Path) -> None:
    first = make_small_queue(tmp_path, 1.0, seed=1)
    assert make_small_queue(tmp_path, 1.0, seed=1) == first
    with_another_seed = make_small_queue(tmp_path, 1.0, seed=2)
    assert [turn.place for turn in with_another_seed] != [turn.place for turn in first]
    drawn = [
        turn.place for turn in make_small_queue(tmp_path, 0.3, 1) if turn.sample is Selection.RANDOM
    ]
    assert drawn[0] == first[0].place


def test_without_verdicts_all_turns_are_random(tmp_path: Path) -> None:
    exchanges = read_exchanges(write_run(tmp_path / "run.jsonl"))
    queue = make_queue(exchanges, {}, grice(), random_share=0.3, seed=0)
    assert {turn.sample for turn in queue} == {Selection.RANDOM}


def test_random_turns_above_the_deepest_audited_one_count_as_chosen(tmp_path: Path) -> None:
    queue = make_small_queue(tmp_path, 0.3)
    labelled = {turn.place: turn.sample.value for turn in queue[:30]}
    result = samples(queue, labelled)
    deepest = max(turn.rank or 0 for turn in queue[:30] if turn.sample is Selection.AUDIT)
    for turn in queue:
        if turn.rank is not None and turn.rank <= deepest:
            assert result[turn.place] is Selection.AUDIT
        elif turn.place in labelled:
            assert result[turn.place] is Selection.RANDOM
        else:
            assert turn.place not in result


def test_verdicts_are_matched_by_text_in_any_order(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run.jsonl", 3)
    path = write_verdicts(tmp_path / "a.jsonl", run, [number / 10 for number in range(9)])
    write_lines(path, reversed(path.read_text().splitlines()))
    (verdicts,) = read_verdicts([path], read_exchanges(run), grice(), {}).values()
    scores = {
        place: {verdict.score for verdict in of_turn.values()}
        for place, of_turn in verdicts.items()
    }
    assert scores == {TurnPlace(n // 3, n % 3): {n / 10} for n in range(9)}


def test_verdicts_on_other_debates_are_refused(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run.jsonl", 2)
    foreign = write_run(tmp_path / "foreign.jsonl", 4)
    path = write_verdicts(tmp_path / "a.jsonl", foreign, [0.5] * 12)
    with pytest.raises(InputError, match="not on the labelled debates"):
        read_verdicts([path], read_exchanges(run), grice(), {})
    lost = write_verdicts(tmp_path / "lost.jsonl", run, [0.5] * 6)
    lost.write_text("{}\n" + lost.read_text().partition("\n")[2])
    refused: dict[str, str] = {}
    assert len(read_verdicts([path, lost], read_exchanges(run), grice(), refused)["lost"]) == 3
    assert "not on the labelled debates" in refused["a"]


@pytest.mark.parametrize(
    ("scores", "order"),
    [([[0.9, 0.45, 0.2]], [1, 2, 0]), ([[0, 0.2, 0], [0.5, 0.2, 0], [1, 0.9, 1]], [2, 0, 1])],
    ids=["the least certain of one judge", "the most apart of three judges"],
)
def test_disputed_turns_come_first(
    scores: list[list[float]], order: list[int], tmp_path: Path
) -> None:
    run = write_run(tmp_path / "run.jsonl", 1)
    paths = [
        write_verdicts(tmp_path / f"{number}.jsonl", run, of_judge)
        for number, of_judge in enumerate(scores)
    ]
    exchanges = read_exchanges(run)
    judges = read_verdicts(paths, exchanges, grice(), {})
    queue = make_queue(exchanges, judges, grice(), random_share=0.0, seed=0)
    assert [turn.place.turn for turn in queue] == order
