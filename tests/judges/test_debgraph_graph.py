"""DebGraph's graph and figures as laws: merging, kinds, points, shares, and export."""

from __future__ import annotations

import networkx as nx
from hypothesis import given
from hypothesis import strategies as st

from judges.debgraph._reading import GraphDraft, check, draft_schema, merge
from judges.debgraph._scores import factuality, points, structure
from judges.debgraph._verdicts import Fact
from judges.debgraph.graph import (
    MOTION,
    Edge,
    Relation,
    SceneGraph,
    SpeechOrigin,
    as_json,
    rounds_of,
)
from tests.cases import with_cases
from tests.judges.debgraph_debate import DRAFTS
from touche_rad.contest import OTHER, Contest, Side, Speech

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
DRAFTED = st.lists(st.tuples(SIDE, DRAFT), max_size=6)
"""The drafts of a debate's speeches, each with its side."""


def merge_all(drafts: list[tuple[Side, GraphDraft]]) -> SceneGraph:
    graph = SceneGraph("MOTION")
    for number, (side, draft) in enumerate(drafts, 1):
        origin = SpeechOrigin(side, number, side)
        merge(check(draft, graph, origin), graph, origin)
    return graph


def example() -> SceneGraph:
    drafts: list[tuple[Side, GraphDraft]] = [
        ("pro" if name.startswith("PRO") else "con", GraphDraft.model_validate(draft))
        for name, draft in DRAFTS.items()
    ]
    return merge_all(drafts)


# Merging


@given(DRAFTED)
def test_whatever_a_model_draws_the_graph_stays_a_debates_graph(
    drafts: list[tuple[Side, GraphDraft]],
) -> None:
    graph = merge_all(drafts)
    assert sorted(graph.network.nodes) == list(range(len(graph) + 1)), "ids are ours, without gaps"
    for edge in graph.edges():
        source = graph.side(edge.source)
        target = graph.side(edge.target)
        assert edge.source not in (edge.target, MOTION)
        assert target == OTHER[source] if edge.relation.attacks else target in (None, source)
        assert drafts[edge.round - 1][0] == source, "a side speaks for itself alone"
    assert all(node.text for node in graph.arguments())


@given(DRAFTED, st.tuples(SIDE, DRAFT))
def test_what_is_said_twice_is_in_the_graph_once(
    drafts: list[tuple[Side, GraphDraft]], last: tuple[Side, GraphDraft]
) -> None:
    assert len(merge_all([*drafts, last, last])) == len(merge_all([*drafts, last]))


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


def id_range(schema: type[GraphDraft], definition: str, key: str) -> tuple[int, int]:
    """The smallest and the largest id that a server may write for a key."""
    limits = schema.model_json_schema()["$defs"][definition]["properties"][key]
    return limits["minimum"], limits["maximum"]


def test_a_server_is_told_which_ids_can_be_and_no_answer_is_refused_for_another() -> None:
    schema = draft_schema(2, 5)
    assert id_range(schema, "DraftArgument", "id") == (5, 6)
    assert id_range(schema, "DraftRelation", "source") == (1, 6)
    assert id_range(schema, "DraftRelation", "target") == (0, 6)
    far = {"arguments": [{"id": 99, "text": "x"}], "relations": []}
    assert schema.model_validate(far).arguments[0].id == 99
    assert id_range(draft_schema(0, 5), "DraftArgument", "id") == (5, 404)


# Rounds


@with_cases(("spoken", "in_time", "pro_first"), "judges/orders_of_speeches.tsv")
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
        speakers = []
        texts: dict[str, list[str]] = {"P": [], "C": []}
        for number, group in enumerate(rounds, 1):
            assert {speech.origin.round for speech in group} == {number}
            speakers.append("".join(speech.origin.speaker for speech in group))
            for speech in group:
                texts[speech.origin.speaker].append(speech.text)
        assert " ".join(speakers) == wanted
        for name, texts_of_speaker in texts.items():
            places = [at for at, speaker in enumerate(spoken) if speaker == name]
            assert texts_of_speaker == [f"{name}{at}" for at in places]


# Pairs


# Figures


def test_saying_more_that_is_true_gains_by_all_and_not_by_own() -> None:
    two = [Fact(1, "pro", True, 1.0), Fact(2, "con", True, 1.0)]
    three = [*two, Fact(3, "pro", True, 1.0)]
    assert factuality(two, "own") == {"pro": 1.0, "con": 1.0}
    assert factuality(three, "own") == {"pro": 1.0, "con": 1.0}
    assert factuality(three, "all") == {"pro": 2 / 3, "con": 1 / 3}


def test_points_by_each_reading() -> None:
    graph = example()
    like = points(graph)
    assert like["pro"].claims == [1]
    assert like["con"].claims == [3, 8]
    assert like["pro"].total == 2
    assert like["con"].total == 2
    assert structure(like, "own") == {"pro": (1 + 1 / 2) / 2, "con": (1 / 2 + 1) / 2}
    literal = points(graph, "literal")
    assert literal["con"].claims == [3], "a conclusion is no claim by the letter"
    assert literal["con"].supported == [], "nor a first principle a premise"
    anything = points(graph, "like", "any")
    assert anything["pro"].rebuttals == 2
    assert anything["con"].rebuttals == 2


def arguments_of(*sides: Side) -> SceneGraph:
    """A graph with an argument of each side; the first is a claim."""
    graph = SceneGraph("m")
    for number, side in enumerate(sides, 1):
        graph.add(number, f"argument {number}", SpeechOrigin(side, number))
    graph.relate(Edge(1, MOTION, Relation.CLAIM))
    return graph


def test_a_rebuttal_of_a_rebuttal_scores_only_where_any_counts() -> None:
    graph = arguments_of("pro", "con", "pro")
    graph.relate(Edge(2, 1, Relation.REBUTTAL))
    graph.relate(Edge(3, 2, Relation.REBUTTAL))
    assert points(graph, rebutted="claim")["pro"].rebuttals == 0
    assert points(graph, rebutted="any")["pro"].rebuttals == 1
    assert points(graph)["con"].rebuttals == 1


def test_an_argument_without_a_relation_is_no_claim() -> None:
    graph = arguments_of("pro", "pro", "con")
    graph.relate(Edge(3, 2, Relation.REBUTTAL))
    assert points(graph)["pro"].claims == [1]
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
