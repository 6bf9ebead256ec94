"""The retrievers: what each finds, by which path, and what its settings do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pyterrier as pt
import pytest

from retrieval._fusion import reciprocal_rank
from retrieval.index.pisa import PisaArguments
from tests.retrieval.small import BEES, opened
from touche_rad.debate import Argument, Hit
from touche_rad.errors import OptionError, UserError
from touche_rad.plugins import Services, find

NAMES = ("text", "attack", "support", "chain", "hybrid", "opposing")


@pytest.fixture(scope="module")
def bees(tmp_path_factory: pytest.TempPathFactory) -> PisaArguments:
    return opened(BEES, tmp_path_factory.mktemp("bees") / "index")


def _made(name: str, index: PisaArguments, **options: str) -> Any:
    return find("retriever", name).make(Services(index=index), options)


def _ids(name: str, index: PisaArguments, query: str, k: int = 5, **options: str) -> list[str]:
    return [hit.argument.id for hit in _made(name, index, **options).search(query, k)]


def _by_id(hits: list[Hit]) -> dict[str, Hit]:
    return {hit.argument.id: hit for hit in hits}


@pytest.mark.parametrize(
    ("name", "query", "first"),
    [
        ("text", "hotels for night travellers", "6"),
        ("attack", "Night trains are too slow", "6"),
        ("support", "trains that save time", "6"),
        ("chain", "Beehives on roofs starve the wild bees", "3"),
        ("hybrid", "Night trains are too slow", "6"),
        ("opposing", "Night trains are too slow", "6"),
    ],
)
def test_each_finds_its_own(bees: PisaArguments, name: str, query: str, first: str) -> None:
    assert _ids(name, bees, query)[0] == first


@pytest.mark.parametrize("name", NAMES)
def test_each_needs_an_index_and_names_a_wrong_option(bees: PisaArguments, name: str) -> None:
    with pytest.raises(UserError, match="needs an argument index"):
        find("retriever", name).make(Services())
    with pytest.raises(OptionError, match="has no option 'nearr'"):
        _made(name, bees, nearr="1")


def test_a_chain_goes_by_what_attacks_what_you_say(bees: PisaArguments) -> None:
    hits = _by_id(_made("chain", bees).search("Roofs starve wild bees", 9))
    assert hits["3"].path == (f"2 says the same as you: {BEES[1].text}", "attacks that")
    assert hits["3"].score == pytest.approx(0.8)


def test_a_chain_knows_its_side(bees: PisaArguments) -> None:
    query = "Beehives on roofs starve the wild bees nearby."
    against = _by_id(_made("chain", bees, near="0.7").search(query, 9))
    for_it = _by_id(_made("chain", bees, near="0.7", side="for").search(query, 9))
    assert list(against)[:3] == ["3", "1", "4"]
    assert against["1"].path[-1] == "supports what that attacks"
    assert against["4"].path[1].startswith("1 supports what that attacks: Beehives on roofs feed")
    assert list(for_it)[:2] == ["2", "5"]
    assert not set(against) & set(for_it)


def test_chains_of_an_index_without_links_are_searched_for(bees: PisaArguments) -> None:
    class Plain:
        """The official index: it only searches."""

        search, search_all, get = bees.search, bees.search_all, bees.get

    plain: Any = Plain()
    query = "Beehives on roofs starve the wild bees nearby."
    hits = _by_id(_made("chain", plain).search(query, 9))
    assert hits["3"].path[-1] == "attacks that"


def test_circles_end(tmp_path: Path) -> None:
    ring = [
        Argument(
            id=str(n),
            text=f"Claim number {n} stands",
            attacks=f"Claim number {(n + 1) % 5} stands",
            supports=f"Claim number {(n + 2) % 5} stands",
        )
        for n in range(5)
    ]
    index = opened(ring, tmp_path / "index")
    for steps in ("0", "1", "4"):
        hits = _made("chain", index, steps=steps, near="0").search("Claim number 0 stands", 50)
        assert len({hit.argument.id for hit in hits}) == len(hits) <= 5
        assert all(len(hit.path) <= int(steps) + 1 for hit in hits)
        assert bool(hits) == (steps != "0")


def test_first_second_and_steps_limit_how_far_a_chain_reaches(bees: PisaArguments) -> None:
    def ends(**options: str) -> set[str]:
        query = "beehives and bees on roofs in town"
        made = [_made("chain", bees, near="0", side=side, **options) for side in ("against", "for")]
        return {hit.argument.id for one in made for hit in one.search(query, 9)}

    assert ends(first="1", second="1", steps="1") < ends(steps="1") <= ends()


def _hit(id_: str, score: float = 1.0, topic: str = "") -> Hit:
    return Hit(argument=Argument(id=id_, text=id_, topic=topic), score=score)


def test_reciprocal_rank_is_what_it_says() -> None:
    lists = [[_hit("a"), _hit("b")], [_hit("b"), _hit("c")], [_hit("d")]]
    hits = reciprocal_rank(lists, [1.0, 0.5, 0.0], 10)
    assert [(hit.argument.id, hit.rank) for hit in hits] == [("b", 0), ("a", 1), ("c", 2)]
    assert [hit.score for hit in hits] == pytest.approx([1 / 12 + 0.5 / 11, 1 / 11, 0.5 / 12])


def test_each_setting_of_the_hybrid_has_its_effect(bees: PisaArguments) -> None:
    query = "Beehives on roofs in town"

    def scores(**options: str) -> dict[str, float]:
        hits = _made("hybrid", bees, **options).search(query, 9)
        return {hit.argument.id: hit.score for hit in hits}

    plain = scores()
    for options in ({"chain": "0"}, {"topic": "0"}, {"k": "1"}, {"depth": "1"}):
        assert scores(**options) != plain, options
    attacks = set(_ids("attack", bees, query, 9))
    assert set(scores(chain="0", topic="0")) == attacks
    assert set(plain) >= attacks


def test_opposing_puts_chains_behind_the_first_attackers_and_words_last(
    bees: PisaArguments, tmp_path: Path
) -> None:
    query = "Beehives on roofs starve the wild bees"
    attack, chain = _ids("attack", bees, query, 9), _ids("chain", bees, query, 9)
    about = [hit.argument.id for hit in bees.search("all", query, 9)]
    assert set(chain) - set(attack), "this case has what only chains reach"

    def behind(*lists: list[str]) -> list[str]:
        return list(dict.fromkeys(one for ids in lists for one in ids))

    for lead in (0, 1, 3):
        expected = behind(attack[:lead], chain, attack[lead:], about)[:9]
        assert _ids("opposing", bees, query, 9, lead=str(lead)) == expected
    blind = [one.model_copy(update={"attacks": "", "supports": ""}) for one in BEES]
    hidden = opened(blind, tmp_path / "hidden")
    found = _ids("opposing", hidden, query, 4)
    assert not _ids("attack", hidden, query, 4)
    about = [hit.argument.id for hit in hidden.search("all", query, 4)]
    assert found == behind(_ids("chain", hidden, query, 4), about)[:4]
    assert found, "where no claims are known, words find something still"


TOPICS = pd.DataFrame(
    {
        "qid": ["q1", "q2", "q3"],
        "query": ["Beehives on roofs starve wild bees", "night trains", "of the"],
        "user": ["ann", "bob", "cy"],
    }
)


def _pipeline(name: str, index: PisaArguments) -> Any:
    return find("retriever", name).make(Services(index=index)).pipeline(5)


@pytest.fixture(params=NAMES)
def pipeline(request: pytest.FixtureRequest, bees: PisaArguments) -> Any:
    return _pipeline(request.param, bees)


def _rows(found: pd.DataFrame) -> list[tuple[Any, ...]]:
    return list(found[["qid", "docno", "score", "rank"]].itertuples(index=False, name=None))


def test_a_ranking_keeps_the_queries_columns(pipeline: Any) -> None:
    found = pipeline.transform(TOPICS)
    assert list(found.columns)[:6] == ["qid", "query", "user", "docno", "score", "rank"]
    assert set(found["qid"]) <= {"q1", "q2"}
    assert set(zip(found["qid"], found["user"], strict=True)) <= {("q1", "ann"), ("q2", "bob")}
    assert len(found)
    assert all(list(one["rank"]) == list(range(len(one))) for _, one in found.groupby("qid"))
    assert found["score"].dtype == float
    assert found["rank"].dtype == int


def test_pipelines_compose(pipeline: Any, bees: PisaArguments) -> None:
    plain, other = pipeline.transform(TOPICS), _pipeline("text", bees)
    top = (pipeline % 1).transform(TOPICS)
    assert _rows(top) == _rows(plain[plain["rank"] < 1])
    doubled = (pipeline >> pt.apply.doc_score(lambda row: row["score"] * 2)).transform(TOPICS)
    assert sorted(doubled["score"]) == pytest.approx(sorted(plain["score"] * 2))
    fused = (pipeline + pipeline).transform(TOPICS)
    assert sorted(fused["score"]) == pytest.approx(sorted(plain["score"] * 2))
    either = (pipeline | other).transform(TOPICS)
    pairs = [
        set(zip(one["qid"], one["docno"], strict=True))
        for one in (plain, other.transform(TOPICS), either)
    ]
    assert pairs[2] == pairs[0] | pairs[1]
    length = pt.apply.doc_score(lambda row: float(len(row["docno"])))
    features = (pipeline >> (length**length)).transform(TOPICS)
    assert features["features"].map(list).tolist() == [[1.0, 1.0]] * len(plain)
