"""DebGraph's graph and figures as laws: merging, kinds, points, shares, and export."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judges.debgraph.export import as_json, from_json, graphml
from judges.debgraph.graph import (
    MOTION,
    OTHER,
    Edge,
    Origin,
    Relation,
    SceneGraph,
    kind_of,
    rounds_of,
)
from judges.debgraph.options import Options
from judges.debgraph.reading import Draft, check, draft_schema, merge
from judges.debgraph.scores import factuality, larger, persuasion, points, scorecard, structure
from judges.debgraph.verdicts import Clash, Fact, Pair, pairs_of, pro_first
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
    lambda arguments, relations: Draft.model_validate(
        {"arguments": arguments, "relations": relations}
    ),
    st.lists(
        st.builds(lambda id_, text: {"id": id_, "text": text}, SMALL, st.text(max_size=6)),
        max_size=5,
    ),
    st.lists(RELATED, max_size=8),
)
SAID = st.lists(st.tuples(SIDE, DRAFT), max_size=6)


def grown(said: list[tuple[Side, Draft]]) -> SceneGraph:
    graph = SceneGraph("MOTION")
    for number, (side, draft) in enumerate(said, 1):
        origin = Origin(side, number, side)
        merge(check(draft, graph, origin), graph, origin)
    return graph


def example() -> SceneGraph:
    said: list[tuple[Side, Draft]] = [
        ("pro" if name.startswith("PRO") else "con", Draft.model_validate(drawn))
        for name, drawn in DRAFTS.items()
    ]
    return grown(said)


GRAPH = SAID.map(grown)

# Merging


@given(SAID)
def test_whatever_a_model_draws_the_graph_stays_a_debates_graph(
    said: list[tuple[Side, Draft]],
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
def test_merging_adds_and_changes_nothing_that_is_there(
    said: list[tuple[Side, Draft]], last: tuple[Side, Draft]
) -> None:
    before, after = grown(said), grown([*said, last])
    assert list(after.arguments())[: len(before)] == list(before.arguments())
    assert set(before.edges()) <= set(after.edges())


@given(SAID, st.tuples(SIDE, DRAFT))
def test_what_is_said_twice_is_in_the_graph_once(
    said: list[tuple[Side, Draft]], last: tuple[Side, Draft]
) -> None:
    assert len(grown([*said, last, last])) == len(grown([*said, last]))


@given(st.integers(1, 6), st.data())
def test_a_right_draft_is_kept_whole(count: int, data: st.DataObject) -> None:
    graph = example()
    new = range(graph.next_id, graph.next_id + count)
    own = [*new, *(node.id for node in graph.arguments("pro"))]
    against = [node.id for node in graph.arguments("con")]
    support, attack = st.sampled_from(RELATIONS[:4]), st.just("rebuttal")
    related = data.draw(
        st.lists(
            st.one_of(
                st.tuples(st.sampled_from(own), support, st.sampled_from([0, *own])),
                st.tuples(st.sampled_from(own), attack, st.sampled_from(against)),
            ).filter(lambda one: one[0] != one[2])
        )
    )
    draft = Draft.model_validate(
        {
            "arguments": [{"id": id_, "text": f"new {id_}"} for id_ in new],
            "relations": [{"source": s, "relation": r, "target": t} for s, r, t in related],
        }
    )
    checked = check(draft, graph, Origin("pro", 3))
    assert not checked.faults
    assert checked.arguments == {id_: f"new {id_}" for id_ in new}
    assert {(e.source, e.relation, e.target) for e in checked.relations} == set(related)


def test_an_id_that_was_given_anew_is_the_opponents_as_a_target_and_ones_own_as_a_source() -> None:
    graph = example()
    draft = Draft.model_validate(
        {
            "arguments": [{"id": 1, "text": "new"}],
            "relations": [{"source": 1, "relation": "rebuttal", "target": 1}],
        }
    )
    checked = check(draft, graph, Origin("con", 3))
    assert [(edge.source, edge.target) for edge in checked.relations] == [(9, 1)]


def test_a_server_is_told_a_bound_that_no_answer_is_refused_for() -> None:
    schema = draft_schema(2)
    told = schema.model_json_schema()["properties"]
    assert (told["arguments"]["maxItems"], told["relations"]["maxItems"]) == (2, 4)
    three = [{"id": n, "text": "x"} for n in range(3)]
    assert len(schema.model_validate({"arguments": three, "relations": []}).arguments) == 3
    assert "maxItems" not in draft_schema(0).model_json_schema()["properties"]["arguments"]
    assert schema.__name__ == draft_schema(0).__name__ == "SceneGraph"


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


@pytest.mark.parametrize(
    ("leaving", "kind"),
    [
        ([], "claim"),
        (["premise"], "premise"),
        (["rebuttal", "premise"], "rebuttal"),
        (["premise", "rebuttal", "claim"], "claim"),
        (["first principle"], "first principle"),
        (["rebuttal", "conclusion"], "conclusion"),
    ],
)
def test_an_argument_is_named_by_what_it_does(leaving: list[str], kind: str) -> None:
    assert kind_of(map(Relation, leaving)) == kind


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


@given(GRAPH)
def test_pairs_are_the_rebuttals_with_pro_and_con_told_apart(graph: SceneGraph) -> None:
    attacks = [edge for edge in graph.edges() if edge.relation.attacks]
    each, once = pairs_of(graph, "edges"), pairs_of(graph, "once")
    assert len(each) == len(attacks)
    assert {(pair.pro, pair.con) for pair in each} == {(pair.pro, pair.con) for pair in once}
    assert len({(pair.pro, pair.con) for pair in once}) == len(once)
    assert all((graph.side(p.pro), graph.side(p.con)) == ("pro", "con") for p in once)


def test_two_that_rebut_each_other_are_one_pair_and_two_edges() -> None:
    graph = example()
    assert [(p.pro, p.con, set(p.answering)) for p in pairs_of(graph, "once")] == [
        (1, 4, {"con"}),
        (6, 4, {"pro", "con"}),
        (7, 3, {"pro"}),
    ]
    assert len(pairs_of(graph, "edges")) == 4


@given(st.integers(0, 99), st.text(), st.text())
def test_the_order_of_a_pair_goes_by_its_words_and_not_by_its_sides(
    seed: int, one: str, other: str
) -> None:
    if one != other:
        assert pro_first(seed, one, other) != pro_first(seed, other, one)


def test_pro_is_first_about_as_often_as_con() -> None:
    first = sum(pro_first(1, f"pro {n}", f"con {n}") for n in range(1000))
    assert 400 < first < 600


# Figures

SHARE = st.floats(0, 1)
FACTS = st.lists(
    st.builds(Fact, st.integers(1, 99), SIDE, st.none() | st.booleans(), SHARE), max_size=12
)
CLASHES = st.lists(
    st.builds(
        Clash, st.just(Pair(1, 2, frozenset())), st.sampled_from(["pro", "con", "split", None])
    ),
    max_size=9,
)


@given(FACTS)
def test_factuality_is_the_mean_of_label_times_confidence(facts: list[Fact]) -> None:
    for side, score in factuality(facts, "own").items():
        own = [f for f in facts if f.side == side]
        judged = [f.confidence if f.label else 0.0 for f in own if f.label is not None]
        if own and not judged:
            assert score is None
        else:
            assert score == pytest.approx(sum(judged) / len(judged) if judged else 0.0)


@given(FACTS)
def test_divided_by_all_arguments_factuality_is_no_larger(facts: list[Fact]) -> None:
    own, among = factuality(facts, "own"), factuality(facts, "all")
    for side in ("pro", "con"):
        if own[side] is not None:
            assert (among[side] or 0.0) <= (own[side] or 0.0) + 1e-12


def test_saying_more_that_is_true_gains_by_all_and_not_by_own() -> None:
    few = [Fact(1, "pro", True, 1.0), Fact(2, "con", True, 1.0)]
    more = [*few, Fact(3, "pro", True, 1.0)]
    assert factuality(few, "own") == factuality(more, "own") == {"pro": 1.0, "con": 1.0}
    assert factuality(more, "all") == {"pro": 2 / 3, "con": 1 / 3}


@given(CLASHES, st.sampled_from(["zero", "half"]))
def test_persuasion_shares_what_was_decided(clashes: list[Clash], no_pairs: str) -> None:
    found = persuasion(clashes, no_pairs)  # type: ignore[arg-type]
    decided = [clash.winner for clash in clashes if clash.winner]
    if not clashes:
        assert found == dict.fromkeys(("pro", "con"), 0.5 if no_pairs == "half" else 0.0)
    elif not decided:
        assert found == {"pro": None, "con": None}
    else:
        assert sum(value or 0.0 for value in found.values()) == pytest.approx(1)
        won = decided.count("pro") + decided.count("split") / 2
        assert found["pro"] == pytest.approx(won / len(decided))


@given(GRAPH, st.sampled_from(["like", "literal"]), st.sampled_from(["claim", "any"]))
def test_structure_is_a_share_of_points_or_of_chances(
    graph: SceneGraph, kinds: str, rebutted: str
) -> None:
    found = points(graph, kinds, rebutted)  # type: ignore[arg-type]
    both, own = structure(found, "both"), structure(found, "own")
    total = sum(one.total for one in found.values())
    assert sum(value or 0 for value in both.values()) == pytest.approx(1 if total else 0)
    assert all(0 <= (value or 0) <= 1 for value in [*both.values(), *own.values()])
    for side, its in found.items():
        assert set(its.supported) <= set(its.claims)
        assert set(its.struck) <= set(found[OTHER[side]].claims)


@given(SAID)
def test_every_score_of_the_graph_is_blind_to_which_side_is_called_pro(
    said: list[tuple[Side, Draft]],
) -> None:
    plain = points(grown(said))
    other = points(grown([(OTHER[side], draft) for side, draft in said]))
    assert plain == {"pro": other["con"], "con": other["pro"]}


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
    graph.add(1, "a", Origin("pro", 1))
    graph.add(2, "b", Origin("con", 1))
    graph.add(3, "c", Origin("pro", 2))
    graph.relate(Edge(1, MOTION, Relation.CLAIM))
    graph.relate(Edge(2, 1, Relation.REBUTTAL))
    graph.relate(Edge(3, 2, Relation.REBUTTAL))
    assert points(graph, rebutted="claim")["pro"].rebuttals == 0
    assert points(graph, rebutted="any")["pro"].rebuttals == 1
    assert points(graph)["con"].rebuttals == 1


def test_an_argument_without_a_relation_is_no_claim() -> None:
    graph = SceneGraph("m")
    graph.add(1, "a main point", Origin("pro", 1))
    graph.add(2, "a remark", Origin("pro", 1))
    graph.add(3, "an objection to the remark", Origin("con", 1))
    graph.relate(Edge(1, MOTION, Relation.CLAIM))
    graph.relate(Edge(3, 2, Relation.REBUTTAL))
    assert points(graph)["pro"].claims == (1,)
    assert points(graph)["con"].rebuttals == 0


NONE_OR_SHARE = st.none() | SHARE
BY_SIDE = st.fixed_dictionaries({"pro": NONE_OR_SHARE, "con": NONE_OR_SHARE})


@given(st.fixed_dictionaries(dict.fromkeys(("fact", "persuasion", "structure"), BY_SIDE)))
def test_a_total_is_the_sum_of_what_both_sides_have(
    components: dict[str, dict[Side, float | None]],
) -> None:
    card = scorecard(components, Options(), {})
    whole = [its for its in components.values() if None not in its.values()]
    assert set(card.missing) == {n for n, its in components.items() if None in its.values()}
    for side in ("pro", "con"):
        if whole:
            assert card.totals[side] == pytest.approx(sum(its[side] or 0 for its in whole))
            assert 0 <= (card.totals[side] or 0) <= 3
        else:
            assert card.totals[side] is None
    assert (card.winner() is None) == (not whole)


@given(SHARE, SHARE, st.floats(0, 0.5))
def test_the_larger_total_wins_and_equal_ones_tie(pro: float, con: float, margin: float) -> None:
    won = larger({"pro": pro, "con": con}, margin)
    if abs(pro - con) > margin + 1e-6:
        assert won == ("pro" if pro > con else "con")
    elif abs(pro - con) <= margin:
        assert won == "tie"


def test_sums_that_differ_by_rounding_alone_are_equal() -> None:
    assert larger({"pro": 0.1 + 0.2, "con": 0.3}) == "tie"


# Circles, and other programs


@given(GRAPH)
def test_circles_are_found_whatever_the_graph(graph: SceneGraph) -> None:
    for group in graph.cycles():
        assert len(group) > 1
        assert len({graph.side(id_) for id_ in group}) == 1


ANY_TEXT = st.text(st.characters(), max_size=20) | st.text('\\"<&>x', max_size=4)


@given(st.lists(st.tuples(ANY_TEXT, SIDE), max_size=6), ANY_TEXT)
def test_every_export_holds_every_text(texts: list[tuple[str, Side]], motion: str) -> None:
    graph = SceneGraph(motion)
    for number, (text, side) in enumerate(texts, 1):
        graph.add(number, text, Origin(side, 1, text))
        if number > 1:
            graph.relate(Edge(number, number - 1, Relation.PREMISE))
    again = from_json(as_json(graph))
    assert as_json(again) == as_json(graph)
    root = ET.fromstring(graphml(graph))
    assert len([one for one in root.iter() if one.tag.endswith("}node")]) == len(graph) + 1


def test_graphml_is_read_by_networkx_as_the_same_graph() -> None:
    graph = example()
    again = nx.parse_graphml(graphml(graph), node_type=int, force_multigraph=True)
    assert set(again.nodes) == set(graph.network.nodes)
    assert sorted((s, t, d["relation"]) for s, t, d in again.edges(data=True)) == sorted(
        (edge.source, edge.target, edge.relation.value) for edge in graph.edges()
    )
    assert again.nodes[4] | {} == {
        "text": "con rebuttal",
        "kind": "rebuttal",
        "side": "con",
        "round": 2,
        "speaker": "con",
    }


def test_each_relation_of_a_graphml_file_has_an_id_of_its_own() -> None:
    edges = [one for one in ET.fromstring(graphml(example())).iter() if one.tag.endswith("}edge")]
    ids = [one.get("id") or "" for one in edges]
    assert len(set(ids)) == len(ids) == len(list(example().edges()))
    assert all(id_.isalnum() for id_ in ids), "an id is one word, which 'first principle' is not"


@pytest.mark.parametrize(
    "told",
    [
        {},
        {"nodes": [], "edges": []},
        {"nodes": None, "edges": []},
        {
            "nodes": [{"id": 0, "text": "m"}, {"id": 1, "text": "x", "side": "us", "round": 1}],
            "edges": [],
        },
        {
            "nodes": [{"id": 0, "text": "m"}],
            "edges": [{"source": 1, "target": 0, "relation": "claim", "round": 1}],
        },
        {
            "nodes": [{"id": 0, "text": "m"}],
            "edges": [{"source": 0, "target": 0, "relation": "likes", "round": 1}],
        },
    ],
)
def test_what_is_no_graph_is_refused(told: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"graph|expected|no argument|valid"):
        from_json(told)
