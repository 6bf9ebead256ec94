"""Tournaments: ratings by their properties, and the verb from claims to ratings, killed or not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tests.cases import with_cases
from tests.demo import CLAIMS
from tests.forks import run_until
from tests.models import scripted
from tests.models.by_schema import answering
from tests.records import copy_lines, read_cases, read_records, read_status
from tests.report.makers import Page
from tests.screens import check_screen
from tests.terminal import touche_rad
from touche_rad.contest import Contest, Outcome
from touche_rad.contests.tournament._ratings import AVERAGE, rate, strengths
from touche_rad.contests.tournament.result import Tournament, format_share
from touche_rad.debate import Debate, Maxim
from touche_rad.files.outputs import locked
from touche_rad.plugins import Options, Services, find, judge
from touche_rad.report import write_report

# --- ratings

COUNT = 4
HALVES = st.integers(0, 8).map(lambda halves: halves / 2)
WINS = arrays(np.float64, (COUNT, COUNT), elements=HALVES).map(lambda a: a * (1 - np.eye(COUNT)))
PRIORS = st.sampled_from([0.1, 1.0, 3.0])


def likelihood(theta: np.ndarray, wins: np.ndarray, prior: float) -> float:
    """What the strengths maximise, straight from its definition."""
    p = np.exp(theta)
    total = 0.0
    for a in range(len(p)):
        total += prior / 2 * (np.log(p[a] / (p[a] + 1)) + np.log(1 / (p[a] + 1)))
        for b in range(len(p)):
            if a != b:
                total += wins[a, b] * np.log(p[a] / (p[a] + p[b]))
    return float(total)


@given(WINS, PRIORS, st.integers(0, COUNT - 1), st.sampled_from([-0.05, 0.05]))
def test_strengths_maximise_the_likelihood(
    wins: np.ndarray, prior: float, who: int, aside: float
) -> None:
    theta = strengths(wins, prior)
    changed = theta.copy()
    changed[who] += aside
    assert likelihood(theta, wins, prior) > likelihood(changed, wins, prior)


def test_intervals_contain_the_rating_and_resample_claims() -> None:
    chance = np.random.default_rng(1)
    won = chance.integers(0, 3, size=20).astype(float)
    by_claim = np.zeros((20, 2, 2))
    by_claim[:, 0, 1], by_claim[:, 1, 0] = won, 2 - won
    first, second = rate(by_claim, samples=500)
    low, high = first.interval
    assert low is not None
    assert high is not None
    assert low < first.value < high
    assert first.value - AVERAGE == pytest.approx(AVERAGE - second.value)
    assert rate(by_claim, samples=500)[0].interval == first.interval
    same = rate(np.repeat(by_claim[:1], 20, axis=0), samples=500)
    low, high = same[0].interval
    assert low == pytest.approx(high), "claims that agree leave nothing to chance"
    assert rate(by_claim[:1])[0].draws is None


# --- the panel


CONTEST = Contest(**read_cases("contests/on_zoos.json"))


@judge("failing")
class Failing:
    """Fails."""

    def __init__(self, options: Options, services: Services) -> None: ...

    def judge(self, debate: Debate) -> Any:
        raise RuntimeError("no")


def outcome_by(name: str, **options: str) -> Outcome:
    panel: Any = find("panel", "grice").make(Services(), {"judge": name, **options})
    outcome = anyio.run(panel.judge, CONTEST)
    assert isinstance(outcome, Outcome)
    return outcome


def test_the_mean_of_the_maxims_over_the_speeches_decides() -> None:
    outcome = outcome_by("length")
    for scores in outcome.scores.values():
        maxims = [score for name, score in scores.items() if name != "general"]
        assert scores["general"] == pytest.approx(sum(score or 0 for score in maxims) / 4)
    best = max(outcome.scores, key=lambda who: outcome.scores[who]["general"] or 0)
    assert outcome.winner == best
    assert outcome.winners["general"] == best


def test_means_within_the_margin_are_a_tie() -> None:
    assert outcome_by("always-yes").winner == "tie"
    assert outcome_by("length", margin="0").winner != "tie"
    assert outcome_by("length", margin="1").winner == "tie"


def test_a_judge_that_fails_leaves_no_winner_and_a_reason() -> None:
    outcome = outcome_by("failing")
    assert outcome.winner is None
    assert outcome.reason.startswith("first: RuntimeError")


# --- the verb


def write_claims(count: int = 2) -> Path:
    return copy_lines(CLAIMS, "claims.tsv", count + 1)


OUT = Path("out")
TOURNAMENT = "tournament claims.tsv -o out -i demo --rounds 1 --samples 50 -q"
BOTH = f"{TOURNAMENT} -d grounded -d verbatim"


def read_ratings() -> Tournament:
    return Tournament.model_validate_json(Path("out/ratings.json").read_text("utf-8"))


def test_every_pair_plays_both_sides_and_the_figures_agree_with_the_verdicts() -> None:
    write_claims()
    touche_rad(f"{BOTH} -d grounded(k=3,frame=false)")
    contests = read_records("out/contests.jsonl")
    outcomes = read_records("out/outcomes.jsonl")
    names = {"grounded", "verbatim", "grounded(frame=false,k=3)"}
    pairs = [(contest["motion"], *contest["debaters"].values()) for contest in contests]
    assert len(set(pairs)) == len(pairs) == 2 * 3 * 2
    assert {name for pair in pairs for name in pair[1:]} == names
    result = read_ratings()
    assert {standing.name for standing in result.standings} == names
    won = dict.fromkeys(names, 0.0)
    for contest, line in zip(contests, outcomes, strict=True):
        winner = line["outcome"]["winner"]
        for speaker, name in contest["debaters"].items():
            won[name] += 0.5 if winner == "tie" else float(winner == speaker)
    for place, standing in enumerate(result.standings):
        assert standing.wins + standing.ties + standing.losses == 8
        assert standing.share == pytest.approx(won[standing.name] / 8)
        assert [share is None for share in result.shares[place]].index(True) == place
    order = [standing.rating for standing in result.standings]
    assert order == sorted(order, reverse=True)


def test_the_screen_of_a_tournament() -> None:
    write_claims()
    check_screen("tournament", touche_rad(BOTH))


def test_two_tournaments_in_one_folder_do_not_mix() -> None:
    write_claims()
    OUT.mkdir()
    with locked(OUT):
        touche_rad(BOTH, code=2, err="another process")
        assert list(OUT.iterdir()) == []
    touche_rad(BOTH)


def finish_tournament() -> str:
    """Play a tournament, and return what it prints."""
    write_claims()
    return touche_rad(BOTH).out


def contents() -> dict[str, tuple[bytes, int]]:
    return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in OUT.iterdir()}


def test_a_finished_tournament_is_printed_again() -> None:
    printed = finish_tournament()
    before = contents()
    assert touche_rad(BOTH).out == printed
    after = contents()
    for name in ("contests.jsonl", "outcomes.jsonl"):
        assert after[name] == before[name], "nothing is done twice"
    assert after["ratings.json"][0] == before["ratings.json"][0]


def test_another_judge_judges_the_same_debates_with_replace() -> None:
    finish_tournament()
    before = contents()
    of_length = f"{BOTH} -j length -O margin=0.5"
    touche_rad(of_length, code=2, err="judge was")
    touche_rad(f"{of_length} --replace")
    assert contents()["contests.jsonl"] == before["contests.jsonl"]
    assert read_ratings().judge == "grice(judge=length,margin=0.5)"


def test_other_settings_replace_the_debates_only_with_replace() -> None:
    finish_tournament()
    before = contents()
    shorter = f"{BOTH} --words 20"
    for line in (shorter, f"{shorter} --restart"):
        touche_rad(line, code=2, err="60")
    touche_rad(f"{shorter} --replace -j nobody", code=2)
    assert contents()["contests.jsonl"] == before["contests.jsonl"]
    touche_rad(f"{shorter} --replace")
    assert read_ratings().words == 20


def test_a_killed_tournament_ends_with_the_same_files() -> None:
    finish_tournament()
    calm = OUT.rename("calm")
    ends = [run_until(BOTH.split(), OUT, number) for number in range(1, 40, 2)]
    assert ends.count(False) > 5
    touche_rad(BOTH)
    for name in ("contests.jsonl", "outcomes.jsonl", "ratings.json"):
        assert (OUT / name).read_bytes() == (calm / name).read_bytes()
    assert not list(OUT.glob("*.part"))


# --- with a model


def run_with_model(options: str = "", code: int = 0) -> tuple[Tournament, int]:
    """Let a debater that asks play one that does not; return the result and the calls made."""
    with scripted.serving() as server:
        answering(server, {"Choice": {"number": 2}})
        write_claims(1)
        touche_rad(f"{BOTH} --rounds 2 -m {server.url}#tiny {options}", code=code)
        return read_ratings(), len(server.asked)


def count_traced_and_resumed(path: Path) -> tuple[int, int]:
    """Return the number of calls in a run's trace, and of units that its status says are resumed."""
    status = read_status(path)
    calls = len(path.with_name(f"{path.name}.trace.jsonl").read_text().splitlines())
    return calls, status["resumed"]


def test_who_may_not_ask_any_more_still_speaks() -> None:
    _, calls = run_with_model("--max-calls 1")
    assert calls == 1
    first = read_records("out/contests.jsonl")[0]
    assert [speech["speaker"] for speech in first["speeches"]] == ["first", "second"] * 2


def test_a_kill_while_it_judges_plays_nothing_again() -> None:
    result, _ = run_with_model()
    assert result.judge_model is None, "the judge asks none"
    for name in ("outcomes.jsonl", "ratings.json"):
        Path("out", name).unlink()
    again, calls = run_with_model()
    assert calls == 0, "what was played is not played again"
    assert again == result
    third = "-d grounded(k=3)"
    _, calls = run_with_model(third)
    assert count_traced_and_resumed(Path("out/contests.jsonl")) == (4 + calls, 2)
    run_with_model(f"{third} --restart")
    assert count_traced_and_resumed(Path("out/contests.jsonl")) == (4 + calls, 0)


def test_the_judge_may_ask_another_model_than_the_debaters() -> None:
    with scripted.serving() as judge_server:
        judge = f"-j zsl --judge-model {judge_server.url}#wise"
        result, calls = run_with_model(judge, code=1)
        assert calls == 4
        assert {body["model"] for body in judge_server.asked} == {"wise"}
        assert result.model == "tiny"
        assert result.judge_model == "wise"
        assert result.judge == "grice(judge=zsl)"
        assert result.undecided == result.debates == 2, "it says nothing that is a verdict"
        assert all(
            standing.share is None and standing.rating == AVERAGE for standing in result.standings
        )
        # The same command repeats failed verdicts, and plays no debate again.
        judge_server.always = scripted.content(json.dumps(dict.fromkeys(Maxim, "yes")))
        result, calls = run_with_model(judge)
        assert result.undecided == calls == 0
        assert count_traced_and_resumed(Path("out/outcomes.jsonl")) == (
            len(judge_server.asked),
            0,
        )


def test_speeches_without_the_model_are_fallbacks_and_own_models_are_traced() -> None:
    with scripted.serving() as failing_server:
        failing_server.always = scripted.fails(400)
        bad = f"inspiredebate(model={failing_server.url}#bad)"
        result, calls = run_with_model(f"-d {bad}")
        path = Path("out/contests.jsonl")
        assert count_traced_and_resumed(path) == (calls + len(failing_server.asked), 0)
    page = write_report([path.parent], Path("r.html")).page.read_text("utf-8")
    assert "grice with" not in page.replace("with an index", "")
    assert page.count("speeches are fallbacks") == 1
    status = read_status(path)
    (broken,) = [standing for standing in result.standings if "bad" in standing.name]
    assert broken.fallbacks == status["replaced"] == broken.speeches == 8


# --- wrong calls, and the page


@with_cases(("options", "expected"), "contests/wrong_calls.tsv")
def test_a_wrong_call_is_refused_before_anything_is_played(options: str, expected: str) -> None:
    write_claims()
    touche_rad(f"{TOURNAMENT} -d grounded {options}", code=2, err=expected)
    assert not Path("out/contests.jsonl").exists()
    assert not Path("out/contests.jsonl.part").exists()


@given(st.integers(1, 200), st.integers(0, 400))
def test_the_two_shares_of_a_pair_sum_to_1(games: int, halves: int) -> None:
    share = min(halves, 2 * games) / (2 * games)
    first, second = format_share(share), format_share(1 - share)
    assert round(float(first) + float(second), 6) == 1
    assert abs(float(first) - share) <= 0.005 + 1e-9


EVIL = "<script>alert(1)</script>"


def test_the_report_draws_the_matrix_and_the_ratings() -> None:
    write_claims(10)
    lines = touche_rad(BOTH).out.splitlines()
    touche_rad("report out -o report.html")
    result = read_ratings()
    page = Page("report.html")
    (board,) = page.data["report"]["boards"]
    shares = [[share and float(format_share(share)) for share in row] for row in result.shares]
    cells = board["matrix"]["rows"]
    assert [[share for share, _ in row] for row in cells] == shares
    assert [[debates for _, debates in row] for row in cells] == [list(row) for row in result.met]
    assert [row["value"] for row in board["rows"]] == [row.rating for row in result.standings]
    for row, line in zip(board["rows"], lines[1:], strict=False):
        _, rank, _, _, _, p, *_ = line.split()
        assert [row["place"], row["cells"][0]] == [rank, p], "as the terminal has them"
    assert "City centres should be closed to private cars." in page.html, (
        "the debates are there too"
    )
    assert '"about":"verbatim against grounded"' in page.html, (
        "the debaters' names, not first and second"
    )


def test_the_report_escapes_names_and_names_who_is_stronger() -> None:
    finish_tournament()
    result = read_ratings()
    change: Any = {"rating": 1000.0, "low": 900.0, "high": 1100.0}
    standings = [
        standing.replace(name=f"{standing.name}{EVIL}\x1b]0;x\x07", rank=place, **change)
        for place, standing in enumerate(result.standings, 1)
    ]
    ratings, page = Path("renamed.json"), Path("report.html")
    renamed = result.model_copy(update={"standings": tuple(standings), "claims": 10})
    ratings.write_text(renamed.model_dump_json(indent=2))
    assert "\x1b" not in touche_rad("report", ratings, "-o", page).out
    assert EVIL not in page.read_text("utf-8")
    (board,) = Page(page).data["report"]["boards"]
    assert EVIL in board["rows"][0]["run"]
    assert [row["rank"] for row in board["rows"]] == list(range(1, len(standings) + 1))


def test_a_file_that_is_no_tournament_is_refused(tmp_path: Path) -> None:
    page = "r.html"
    touche_rad("report", tmp_path, "-o", page, code=2, err="ratings.json")
    Path("games.jsonl").touch()
    touche_rad("report", tmp_path, "-o", page, code=2, err="not finished")
    Path("games.jsonl").unlink()
    broken = Path("ratings.json")
    result = run_with_model()[0].model_dump(mode="json")
    first = result["standings"][0] | {"asked": {"calls": 1}}
    for change in (
        {"shares": 5},
        {"shares": [[10**400] * 2] * 2},
        {"judge": None},
        {"standings": [first]},
    ):
        broken.write_text(json.dumps(result | change))
        touche_rad("report", broken, "-o", page, code=2, err=str(broken))
