"""The queue of turns, of one run or of several, and the verdicts of judges on them."""

from __future__ import annotations

from pathlib import Path

from tests.labelling.makers import TURNS, open_session, write_run, write_verdicts
from tests.records import write_lines
from tests.refusals import expect_error
from touche_rad.criteria import grice
from touche_rad.errors import InputError
from touche_rad.labelling.exchanges import TurnPlace, read_exchanges, read_verdicts
from touche_rad.labelling.session import LabelSession


def test_each_turn_comes_once_in_a_random_order() -> None:
    run = write_run(debates=20)
    queue = open_session(run).queue
    assert len(set(queue)) == len(queue) == 20 * TURNS
    assert queue != sorted(queue)
    assert open_session(run, output="same.jsonl").queue == queue
    exchanges = read_exchanges([run], grice())
    other = LabelSession(exchanges, {}, "ana", Path("other.jsonl"), seed=1)
    assert other.queue != queue


def test_debates_of_several_runs_are_mixed_and_equal_ones_come_once() -> None:
    first = write_run("first.jsonl", 20)
    texts = first.read_text()
    second = Path("second.jsonl")
    second.write_text(texts.replace("late", "early", 45))
    pooled = read_exchanges([first, second], grice())
    equal = sum(line in texts.splitlines() for line in second.read_text().splitlines())
    assert 0 < equal < 20
    assert len(pooled.debates) == 40 - equal
    # The place of a debate does not say of which run it is, nor does the order of the runs.
    places = [at for at, debate in enumerate(pooled.debates) if "early" in str(debate.turns)]
    assert 0 < len(places) < 20
    assert places != list(range(places[0], places[0] + len(places)))
    again = read_exchanges([second, first], grice())
    assert [debate.turns for debate in again.debates] == [debate.turns for debate in pooled.debates]
    assert again.digest == pooled.digest


def test_verdicts_are_matched_by_text_in_any_order() -> None:
    run = write_run(debates=3)
    path = write_verdicts("a.jsonl", run, [number / 10 for number in range(9)])
    write_lines(path, reversed(path.read_text().splitlines()))
    (verdicts,) = read_verdicts([path], read_exchanges([run], grice()), {}).values()
    scores = {
        place: {verdict.score for verdict in of_turn.values()}
        for place, of_turn in verdicts.items()
    }
    assert scores == {TurnPlace(n // 3, n % 3): {n / 10} for n in range(9)}


def test_only_verdicts_on_the_labelled_debates_count() -> None:
    run = write_run(debates=2)
    path = write_verdicts("a.jsonl", write_run("whole", 4), [0.5] * 12)
    (verdicts,) = read_verdicts([path], read_exchanges([run], grice()), {}).values()
    assert len(verdicts) == 6
    run.write_text(run.read_text().replace("late", "early"))
    with expect_error("no verdict on the debates of", InputError):
        read_verdicts([path], read_exchanges([run], grice()), {})
