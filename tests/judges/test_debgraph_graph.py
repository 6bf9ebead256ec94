"""DebGraph's graph and figures as laws: merging, kinds, points, shares, and export."""

from __future__ import annotations

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judges.debgraph._reading import GraphDraft, check, draft_schema, merge
from judges.debgraph._scores import factuality, points, structure
from judges.debgraph._verdicts import Fact, pairs_of
from judges.debgraph.graph import (
    MOTION,
    OTHER,
    Edge,
    Relation,
    SceneGraph,
    SpeechOrigin,
    as_json,
    rounds_of,
)
from tests.judges.debgraph_debate import DRAFTS
from touche_rad.contest import Contest, Side, Speech

RELATIONS = [relation.value for relation in Relation]
SIDE = st.sampled_from(["pro", "con"])
SMALL = st.integers(-1, 9)
RELATED = st.builds(
    lambda source, relation, target: {"source": source, "relation": relation, "target": target},
    SMALL,
    st.sampled_from(RELATIONS),
    SMALL,
)
DRAFT = st.builds(
    lambda arguments, relations: GraphDraft.model_validate(
        {"arguments": arguments, "relations": relations}
    ),
    st.lists(
        st.builds(lambda id_, text: {"id": id_, "text": text}, SMALL, st.text(max_size=6)),
        max_size=5,
    ),
    st.lists(RELATED, max_size=8),
)
SAID = st.lists(st.tuples(SIDE, DRAFT), max_size=6)


def grown(said: list[tuple[Side, GraphDraft]]) -> SceneGraph:
    graph = SceneGraph("MOTION")
    for number, (side, draft) in enumerate(said, 1):
        origin = SpeechOrigin(side, number, side)
        merge(check(draft, graph, origin), graph, origin)
    return graph


def example() -> SceneGraph:
    said: list[tuple[Side, GraphDraft]] = [
        ("pro" if name.startswith("PRO") else "con", GraphDraft.model_validate(drawn))
        for name, drawn in DRAFTS.items()
    ]
    return grown(said)


# Merging


@given(SAID)
def test_whatever_a_model_draws_the_graph_stays_a_debates_graph(
    said: list[tuple[Side, GraphDraft]],
) -> None:
    graph = grown(said)
    assert sorted(graph.network.nodes) == list(range(len(graph) + 1)), "ids are ours, without gaps"
    for edge in graph.edges():
        source, target = graph.side(edge.source), graph.side(edge.target)
        assert edge.source not in (edge.target, MOTION)
        assert target == OTHER[source] if edge.relation.attacks else target in (None, source)
        assert said[edge.round - 1][0] == source, "a side speaks for itself alone"
    assert all(node.text for node in graph.arguments())


@given(SAID, st.tuples(SIDE, DRAFT))
def test_what_is_said_twice_is_in_the_graph_once(
    said: list[tuple[Side, GraphDraft]], last: tuple[Side, GraphDraft]
) -> None:
    assert len(grown([*said, last, last])) == len(grown([*said, last]))


def test_an_id_that_was_given_anew_is_the_opponents_as_a_target_and_ones_own_as_a_source() -> None:
    graph = example()
    draft = GraphDraft.model_validate(
        {
            "arguments": [{"id": 1, "text": "new"}],
            "relations": [{"source": 1, "relation": "rebuttal", "target": 1}],
        }
    )
    checked = check(draft, graph, SpeechOrigin("con", 3))
    assert [(edge.source, edge.target) for edge in checked.relations] == [(9, 1)]


def test_a_server_is_told_which_ids_can_be_and_no_answer_is_refused_for_another() -> None:
    schema = draft_schema(2, 5)
    told = schema.model_json_schema()["$defs"]
    ids = {
        "id": told["DraftArgument"],
        "source": told["DraftRelation"],
        "target": told["DraftRelation"],
    }
    ends = {name: one["properties"][name] for name, one in ids.items()}
    assert {name: (one["minimum"], one["maximum"]) for name, one in ends.items()} == {
        "id": (5, 6),
        "source": (1, 6),
        "target": (0, 6),
    }
    far = {"arguments": [{"id": 99, "text": "x"}], "relations": []}
    assert schema.model_validate(far).arguments[0].id == 99
    unlimited = draft_schema(0, 5).model_json_schema()["$defs"]["DraftArgument"]["properties"]["id"]
    assert (unlimited["minimum"], unlimited["maximum"]) == (5, 404)


# Rounds


@pytest.mark.parametrize(
    ("spoken", "in_time", "pro_first"),
    [
        ("PCPC", "PC PC", "PC PC"),
        ("CPCP", "CP CP", "PC PC"),
        ("PPC", "P PC", "PC P"),
        ("PCCP", "PC CP", "PC PC"),
        ("PCP", "PC P", "PC P"),
        ("C", "C", "C"),
        ("PCxP", "PC P", "PC P"),
        ("CCPPCP", "C CP PC P", "PC PC PC"),
        ("", "", ""),
        ("xx", "", ""),
    ],
)
def test_speeches_are_paired_in_time_or_by_their_number(
    spoken: str, in_time: str, pro_first: str
) -> None:
    contest = Contest(
        motion="m",
        sides={"P": "pro", "C": "con", "x": "con"},
        speeches=tuple(
            Speech(speaker=who, text="  " if who == "x" else f"{who}{number}")
            for number, who in enumerate(spoken)
        ),
    )
    for order, wanted in (("time", in_time), ("pro", pro_first)):
        rounds = rounds_of(contest, order)  # type: ignore[arg-type]
        assert " ".join("".join(one.origin.speaker for one in group) for group in rounds) == wanted
        assert [one.origin.round for group in rounds for one in group] == [
            number for number, group in enumerate(rounds, 1) for _ in group
        ]
        for name in "PC":
            heard = [one.text for group in rounds for one in group if one.origin.speaker == name]
            assert heard == [f"{name}{at}" for at, who in enumerate(spoken) if who == name]


# Pairs


def test_two_that_rebut_each_other_are_one_pair_and_two_edges() -> None:
    graph = example()
    assert [(p.pro, p.con, set(p.answering)) for p in pairs_of(graph, "once")] == [
        (1, 4, {"con"}),
        (6, 4, {"pro", "con"}),
        (7, 3, {"pro"}),
    ]
    assert len(pairs_of(graph, "edges")) == 4


# Figures


def test_saying_more_that_is_true_gains_by_all_and_not_by_own() -> None:
    few = [Fact(1, "pro", True, 1.0), Fact(2, "con", True, 1.0)]
    more = [*few, Fact(3, "pro", True, 1.0)]
    assert factuality(few, "own") == factuality(more, "own") == {"pro": 1.0, "con": 1.0}
    assert factuality(more, "all") == {"pro": 2 / 3, "con": 1 / 3}


def test_points_by_each_reading() -> None:
    graph = example()
    like = points(graph)
    assert (like["pro"].claims, like["con"].claims) == ((1,), (3, 8))
    assert {side: its.total for side, its in like.items()} == {"pro": 2, "con": 2}
    assert structure(like, "own") == {"pro": (1 + 1 / 2) / 2, "con": (1 / 2 + 1) / 2}
    literal = points(graph, "literal")
    assert literal["con"].claims == (3,), "a conclusion is no claim by the letter"
    assert literal["con"].supported == (), "nor a first principle a premise"
    anything = points(graph, "like", "any")
    assert (anything["pro"].rebuttals, anything["con"].rebuttals) == (2, 2)


def test_a_rebuttal_of_a_rebuttal_scores_only_where_any_counts() -> None:
    graph = SceneGraph("m")
    graph.add(1, "a", SpeechOrigin("pro", 1))
    graph.add(2, "b", SpeechOrigin("con", 1))
    graph.add(3, "c", SpeechOrigin("pro", 2))
    graph.relate(Edge(1, MOTION, Relation.CLAIM))
    graph.relate(Edge(2, 1, Relation.REBUTTAL))
    graph.relate(Edge(3, 2, Relation.REBUTTAL))
    assert points(graph, rebutted="claim")["pro"].rebuttals == 0
    assert points(graph, rebutted="any")["pro"].rebuttals == 1
    assert points(graph)["con"].rebuttals == 1


def test_an_argument_without_a_relation_is_no_claim() -> None:
    graph = SceneGraph("m")
    graph.add(1, "a main point", SpeechOrigin("pro", 1))
    graph.add(2, "a remark", SpeechOrigin("pro", 1))
    graph.add(3, "an objection to the remark", SpeechOrigin("con", 1))
    graph.relate(Edge(1, MOTION, Relation.CLAIM))
    graph.relate(Edge(3, 2, Relation.REBUTTAL))
    assert points(graph)["pro"].claims == (1,)
    assert points(graph)["con"].rebuttals == 0


# Circles, and other programs


def test_the_json_is_read_by_networkx_as_the_same_graph() -> None:
    graph = example()
    again = nx.node_link_graph(as_json(graph), directed=True, multigraph=True, edges="edges")
    assert set(again.nodes) == set(graph.network.nodes)
    assert sorted((s, t, d["relation"]) for s, t, d in again.edges(data=True)) == sorted(
        (edge.source, edge.target, edge.relation.value) for edge in graph.edges()
    )
    assert again.nodes[4]["text"] == "con rebuttal"
