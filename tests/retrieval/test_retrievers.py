"""The retrievers: what each finds, by which path, and what its settings do."""

from __future__ import annotations

from itertools import chain
from typing import Any

import pandas as pd
import pytest

from retrieval._fusion import reciprocal_rank
from retrieval.index.pisa import PisaArguments
from tests.cases import with_cases
from tests.refusals import expect_error
from tests.retrieval.small import BEES, opened
from touche_rad.debate import Argument, Hit
from touche_rad.errors import OptionError
from touche_rad.plugins import Services, find

NAMES = ("text", "attack", "support", "chain", "hybrid", "opposing", "topical")


@pytest.fixture(scope="module")
def bees(tmp_path_factory: pytest.TempPathFactory) -> PisaArguments:
    return opened(BEES, tmp_path_factory.mktemp("bees") / "index")


def _make_retriever(name: str, index: PisaArguments, **options: str) -> Any:
    return find("retriever", name).make(Services(index=index), options)


def _ids(name: str, index: PisaArguments, query: str, k: int = 5, **options: str) -> list[str]:
    return [hit.argument.id for hit in _make_retriever(name, index, **options).search(query, k)]


def _by_id(hits: list[Hit]) -> dict[str, Hit]:
    return {hit.argument.id: hit for hit in hits}


@with_cases(("name", "query", "first"), "retrieval/first_hits.tsv")
def test_each_finds_its_own(bees: PisaArguments, name: str, query: str, first: str) -> None:
    assert _ids(name, bees, query)[0] == first


@pytest.mark.parametrize("name", NAMES)
def test_each_needs_an_index_and_names_a_wrong_option(bees: PisaArguments, name: str) -> None:
    with expect_error(name):
        find("retriever", name).make(Services())
    with expect_error("'nearr'", OptionError):
        _make_retriever(name, bees, nearr="1")


def test_a_chain_goes_by_what_attacks_what_you_say(bees: PisaArguments) -> None:
    hits = _by_id(_make_retriever("chain", bees).search("Roofs starve wild bees", 9))
    assert hits["3"].path == (f"2 says the same as you: {BEES[1].text}", "attacks that")
    assert hits["3"].score == pytest.approx(0.8)


def test_a_chain_knows_its_side(bees: PisaArguments) -> None:
    query = "Beehives on roofs starve the wild bees nearby."
    against = _by_id(_make_retriever("chain", bees, near="0.7").search(query, 9))
    supporting = _by_id(_make_retriever("chain", bees, near="0.7", side="for").search(query, 9))
    assert list(against)[:3] == ["3", "1", "4"]
    assert against["1"].path[-1] == "supports what that attacks"
    assert against["4"].path[1].startswith("1 supports what that attacks: Beehives on roofs feed")
    assert list(supporting)[:2] == ["2", "5"]
    assert not set(against) & set(supporting)


def test_chains_of_an_index_without_links_are_searched_for(bees: PisaArguments) -> None:
    class Plain:
        """The official index: it only searches."""

        search = bees.search
        search_all = bees.search_all
        get = bees.get

    plain: Any = Plain()
    query = "Beehives on roofs starve the wild bees nearby."
    hits = _by_id(_make_retriever("chain", plain).search(query, 9))
    assert hits["3"].path[-1] == "attacks that"


def test_circles_end() -> None:
    ring = [
        Argument(
            id=str(n),
            text=f"Claim number {n} stands",
            attacks=f"Claim number {(n + 1) % 5} stands",
            supports=f"Claim number {(n + 2) % 5} stands",
        )
        for n in range(5)
    ]
    index = opened(ring, "index")
    for steps in ("1", "4"):
        retriever = _make_retriever("chain", index, steps=steps, near="0")
        hits = retriever.search("Claim number 0 stands", 50)
        ids = [hit.argument.id for hit in hits]
        assert 0 < len(ids) <= 5
        assert len(set(ids)) == len(ids)
        assert all(len(hit.path) <= int(steps) + 1 for hit in hits)
    assert _ids("chain", index, "Claim number 0 stands", steps="0", near="0") == []


def test_first_second_and_steps_limit_how_far_a_chain_reaches(bees: PisaArguments) -> None:
    def ends(**options: str) -> set[str]:
        query = "beehives and bees on roofs in town"
        sides = [
            _ids("chain", bees, query, 9, near="0", side=side, **options)
            for side in ("against", "for")
        ]
        return set(chain.from_iterable(sides))

    assert ends(first="1", second="1", steps="1") < ends(steps="1")
    assert ends(steps="1") <= ends()


def _hit(id_: str) -> Hit:
    return Hit(argument=Argument(id=id_, text=id_), score=1.0)


def test_reciprocal_rank_is_what_it_says() -> None:
    lists = [[_hit("a"), _hit("b")], [_hit("b"), _hit("c")], [_hit("d")]]
    hits = reciprocal_rank(lists, [1.0, 0.5, 0.0], 10)
    assert [(hit.argument.id, hit.rank) for hit in hits] == [("b", 0), ("a", 1), ("c", 2)]
    assert [hit.score for hit in hits] == pytest.approx([1 / 12 + 0.5 / 11, 1 / 11, 0.5 / 12])


def test_each_setting_of_the_hybrid_has_its_effect(bees: PisaArguments) -> None:
    query = "Beehives on roofs in town"

    def scores(**options: str) -> dict[str, float]:
        hits = _make_retriever("hybrid", bees, **options).search(query, 9)
        return {hit.argument.id: hit.score for hit in hits}

    plain = scores()
    for options in ({"chain": "0"}, {"topic": "0"}, {"k": "1"}, {"depth": "1"}):
        assert scores(**options) != plain, options
    attacks = set(_ids("attack", bees, query, 9))
    assert set(scores(chain="0", topic="0")) == attacks
    assert set(plain) >= attacks


def test_opposing_puts_chains_behind_the_first_attackers_and_words_last(
    bees: PisaArguments,
) -> None:
    query = "Beehives on roofs starve the wild bees"
    attack = _ids("attack", bees, query, 9)
    chained = _ids("chain", bees, query, 9)
    about = [hit.argument.id for hit in bees.search("all", query, 9)]
    assert set(chained) - set(attack), "this case has what only chains reach"
    for lead in (0, 1, 3):
        ids = [*attack[:lead], *chained, *attack[lead:], *about]
        expected = list(dict.fromkeys(ids))[:9]
        hits = _make_retriever("opposing", bees, lead=str(lead)).search(query, 9)
        assert [hit.argument.id for hit in hits] == expected
        assert [hit.score for hit in hits] == [1 / (hit.rank + 1) for hit in hits]


def test_topical_puts_the_topic_of_most_hits_first(bees: PisaArguments) -> None:
    query = "Panels or wild bees in gardens"
    assert bees.search("all", query, 1)[0].argument.topic == "Roofs"
    assert _ids("topical", bees, query) == ["4", "3", "1", "2", "5"]
    assert _ids("topical", bees, query, 1) == ["4"]
    assert _ids("topical", bees, "of the") == []
    by_topic = bees.search("topics", "wild gardens", 9)
    assert [hit.argument.topic for hit in by_topic] == ["Bees"]
    assert by_topic[0].argument.id == "1", "its first argument, though its words are in others"


def test_opposing_finds_words_where_no_claims_are_known() -> None:
    query = "Beehives on roofs starve the wild bees"
    blind = [argument.model_copy(update={"attacks": "", "supports": ""}) for argument in BEES]
    index = opened(blind, "blind")
    assert _ids("attack", index, query, 4) == []
    about = [hit.argument.id for hit in index.search("all", query, 4)]
    ids = [*_ids("chain", index, query, 4), *about]
    assert about
    assert _ids("opposing", index, query, 4) == list(dict.fromkeys(ids))[:4]


TOPICS = pd.DataFrame(
    {
        "qid": ["q1", "q2", "q3"],
        "query": ["Beehives on roofs starve wild bees", "night trains", "of the"],
        "user": ["ann", "bob", "cy"],
    }
)


@pytest.fixture(params=NAMES)
def pipeline(request: pytest.FixtureRequest, bees: PisaArguments) -> Any:
    return _make_retriever(request.param, bees).pipeline(5)


def test_a_ranking_keeps_the_queries_columns(pipeline: Any) -> None:
    assert repr(pipeline).endswith("Retriever(k=5)")
    ranking = pipeline.transform(TOPICS)
    assert list(ranking.columns)[:6] == ["qid", "query", "user", "docno", "score", "rank"]
    assert len(ranking)
    users = set(zip(ranking["qid"], ranking["user"], strict=True))
    assert users <= {("q1", "ann"), ("q2", "bob")}
    for _, rows in ranking.groupby("qid"):
        assert list(rows["rank"]) == list(range(len(rows)))
    assert ranking["score"].dtype == float
    assert ranking["rank"].dtype == int
