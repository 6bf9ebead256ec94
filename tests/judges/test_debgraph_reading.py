"""How the panel `debgraph` reads speeches into graphs: drafts that are not valid, cut off, too long."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.judges.debgraph_debate import (
    CONTEST,
    DRAFTS,
    draft,
    drawing,
    graph_of_speech,
    judge_contest,
    saying,
    speech_in,
)
from tests.models.by_schema import called, form_of, prompts, roles_of
from tests.models.scripted import Scripted, cut_off
from tests.records import read_table

WRONG = read_table("judges/wrong_graphs.tsv")
"""A fault, the arguments and the relations of a graph that has it, and what is said of it."""


def prompts_of(server: Scripted, speech: str) -> list[str]:
    """The prompts that gave a speech to be read."""
    return [prompt for prompt in prompts(server, "SceneGraph") if speech_in(prompt) == speech]


def first_wrong(wrong: Any) -> Callable[[str], Any]:
    """Con's first speech is drawn wrong once."""
    tries = iter([wrong])

    def act(prompt: str) -> Any:
        if speech_in(prompt) != "CON-ONE":
            return graph_of_speech(prompt)
        return next(tries, DRAFTS["CON-ONE"])

    return act


@pytest.mark.parametrize(("name", "arguments", "relations", "fault"), WRONG)
def test_the_paper_asks_again_for_a_graph_that_is_not_valid(
    server: Scripted, name: str, arguments: str, relations: str, fault: str
) -> None:
    numbered = re.findall(r"(\d)=([^;]*)", arguments)
    wrong = draft({}, relations)
    wrong["arguments"] = [{"id": int(id_), "text": text} for id_, text in numbered]
    outcome = judge_contest(server, profile="paper", answers={"SceneGraph": first_wrong(wrong)})
    first, second = prompts_of(server, "CON-ONE")
    assert fault not in first
    assert fault in second
    assert second.startswith(first), "what is asked again is the same, and what was wrong"
    assert outcome.details["speeches"][1]["asked"] == 2
    assert len(outcome.details["graph"]["nodes"]) == 9
    for body in server.asked:  # some chat templates refuse two user messages in a row
        assert roles_of(body["messages"]) == ["system", "user"]


def test_after_the_last_retry_the_valid_part_of_the_last_draft_is_kept(server: Scripted) -> None:
    for cap in (0, 5):
        server.asked.clear()
        drafts = iter(
            draft({3: f"x{number}", 4: "y"}, "3 premise 1", "4 rebuttal 1") for number in range(9)
        )
        outcome = judge_contest(
            server,
            profile="paper",
            max_retries=str(cap),
            answers={
                "SceneGraph": lambda p, d=drafts: next(d) if "CON-ONE" in p else graph_of_speech(p)
            },
        )
        assert len(prompts_of(server, "CON-ONE")) == cap + 1
        speech = outcome.details["speeches"][1]
        assert speech["degraded"] is False
        assert speech["added"] == [3, 4]
        assert speech["asked"] == cap + 1
        assert speech["relations"] == {"rebuttal": 1}
        assert "3 premise 1" in speech["faults"][0]
        texts = [node["text"] for node in outcome.details["graph"]["nodes"]]
        assert f"x{cap}" in texts


def test_a_speech_of_which_no_draft_has_a_valid_part_is_left_out(server: Scripted) -> None:
    nothing = draft({}, "98 rebuttal 99", "97 rebuttal 98", "96 rebuttal 97")
    outcome = judge_contest(server, profile="paper", answers=drawing("CON-ONE", nothing))
    assert outcome.details["speeches"][1]["degraded"] is True
    assert outcome.details["speeches"][1]["asked"] == 6
    assert "con speech of round 1" in outcome.reason
    assert "no argument 98 or 99 (and 2 more)" in outcome.reason
    assert "ada" in {node["speaker"] for node in outcome.details["graph"]["nodes"][1:]}


@pytest.mark.parametrize("profile", ["paper", "lean"])
def test_keys_that_a_model_copies_from_the_graph_it_is_shown_are_ignored(
    server: Scripted, profile: str
) -> None:
    def with_attributes(prompt: str) -> Any:
        graph = graph_of_speech(prompt)
        copied = {"attributes": {"side": "con", "round": 1, "kind": "claim"}}
        return {**graph, "arguments": [argument | copied for argument in graph["arguments"]]}

    outcome = judge_contest(server, profile=profile, answers={"SceneGraph": with_attributes})
    assert called(server).count("SceneGraph") == 4, "nothing is asked again"
    assert outcome.details["graph"] == judge_contest(server, profile=profile).details["graph"]


def test_the_lean_profile_keeps_what_stands_of_a_wrong_graph(server: Scripted) -> None:
    wrong = draft(
        {2: "kept under a new id", 4: "kept"},
        "2 rebuttal 1",
        "4 premise 2",
        "4 rebuttal 99",
        "4 rebuttal 4",
    )
    only = CONTEST.model_copy(update={"speeches": CONTEST.speeches[:2]})
    outcome = judge_contest(server, only, answers={"SceneGraph": first_wrong(wrong)})
    assert called(server).count("SceneGraph") == 2, "nothing is asked again"
    graph = outcome.details["graph"]
    assert {node["id"]: node["text"] for node in graph["nodes"] if node.get("side") == "con"} == {
        3: "kept under a new id",
        4: "kept",
    }
    third, fourth = [edge for edge in graph["edges"] if edge["source"] > 2]
    assert third == {"source": 3, "relation": "rebuttal", "target": 1, "round": 1}
    assert fourth == {"source": 4, "relation": "premise", "target": 3, "round": 1}
    assert len(outcome.details["speeches"][1]["faults"]) == 3
    assert outcome.details["speeches"][1]["degraded"] is False


@pytest.mark.parametrize(
    "garbage",
    [
        draft({}, "98 rebuttal 99"),
        "no json",
        {"arguments": [{"id": "one", "text": "x"}], "relations": []},
        draft({3: "x"}, "3 supports 0"),
    ],
)
def test_what_is_no_graph_is_asked_for_again(server: Scripted, garbage: Any) -> None:
    outcome = judge_contest(server, answers={"SceneGraph": first_wrong(garbage)})
    assert outcome.details["speeches"][1]["added"] == [3, 4, 5]
    assert called(server).count("SceneGraph") == 5


def test_an_answer_that_is_cut_off_is_asked_for_with_fewer_arguments(server: Scripted) -> None:
    server.script = [cut_off('{"arguments": [')]
    outcome = judge_contest(server)
    first, second = prompts(server, "SceneGraph")[:2]
    assert "at most" in first
    assert "cut off: write at most 5 new arguments" in second
    schema = form_of(server.asked[1])
    assert schema["properties"]["arguments"]["maxItems"] == 5
    assert outcome.winner == "bob"


LONG_SPEECH = ("ada", "PRO-ONE speaks. " + "word " * 2000)


def test_a_speech_that_is_too_long_is_read_as_far_as_there_is_room(server: Scripted) -> None:
    long = saying(LONG_SPEECH, ("bob", "CON-ONE speaks."))
    outcome = judge_contest(server, long, holds=9000)
    lengths = [prompt.count("word ") for prompt in prompts(server, "SceneGraph")][:3]
    assert lengths[0] > 1.9 * lengths[1] > 3.6 * lengths[2]
    assert [speech["shortened"] for speech in outcome.details["speeches"]] == [True, False]
    assert outcome.winner is not None


def test_a_shortened_prompt_still_says_what_was_wrong(server: Scripted) -> None:
    tries = iter([draft({1: "x"}, "1 premise 99")])
    wrong_once = {"SceneGraph": lambda _: next(tries, DRAFTS["PRO-ONE"])}
    judge_contest(server, saying(LONG_SPEECH), wrong_once, invalid_graph="retry", holds=9000)
    first, second = [prompt for prompt in prompts(server, "SceneGraph") if len(prompt) <= 9000]
    assert "no argument 99" not in first
    assert "no argument 99" in second


def test_a_long_graph_is_shown_in_lines_before_anything_is_left_out(server: Scripted) -> None:
    judge_contest(server, profile="paper")
    longest = max(map(len, prompts(server, "SceneGraph")))
    server.asked.clear()
    outcome = judge_contest(server, profile="paper", holds=longest - 1)
    lengths = [len(prompt) for prompt in prompts(server, "SceneGraph")]
    assert [length for length in lengths if length >= longest] == [longest]
    assert "6 pro, round 2: " in prompts(server, "SceneGraph")[-1]
    assert "CON-TWO speaks." in prompts(server, "SceneGraph")[-1]
    assert not any(speech["shortened"] for speech in outcome.details["speeches"])


def test_a_circle_of_premises_ends_nothing_and_is_told(server: Scripted) -> None:
    circle = draft({1: "a", 2: "b", 9: "c"}, "1 premise 2", "2 premise 9", "9 premise 1")
    outcome = judge_contest(server, answers=drawing("PRO-ONE", circle))
    assert outcome.details["circles"] == [[1, 2, 3]]
    findings = outcome.details["feedback"]["detailed"]["pro"]
    assert (1, 2, 3) in [
        finding["arguments"] for finding in findings if finding["about"] == "structure"
    ]
