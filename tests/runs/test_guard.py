from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.records import read_cases
from tests.runs.fakes import ARGUMENTS, SmallIndex
from touche_rad.debate import Argument, Response
from touche_rad.events import Event, EventKind
from touche_rad.runs.answering import Refused, guard
from touche_rad.text import clean, count_words, cut_to_words, is_blank

INDEX = SmallIndex()
TAXES = (
    Argument(id="a", text="Taxes fund schools."),
    Argument(id="b", text="Taxes burden families."),
)


def cite(id_: str, **fields: object) -> Argument:
    return Argument(id=id_, text="made up", **fields)


def event_texts(events: tuple[Event, ...]) -> tuple[str, ...]:
    return tuple(event.text for event in events)


def test_a_good_answer_passes_untouched() -> None:
    good = Response(content="Zoo breeding saves endangered species.", arguments=(ARGUMENTS[0],))
    assert guard(good, INDEX, 60) == (good, ())


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        *read_cases("runs/values_that_are_no_responses.json"),
        (Response.model_construct(content=None), "content"),
        (Response.model_construct(content="a", arguments=[7]), "arguments.0"),
    ],
)
def test_another_value_than_a_response_is_refused(wrong: object, field: str) -> None:
    with pytest.raises(Refused, match=f"not a response: {field}: "):
        guard(wrong, None, 60)  # type: ignore[arg-type]


@pytest.mark.parametrize("content", ["", "\u200b \ufeff", "\u200b " * 70 + "end"])
def test_an_answer_of_which_nobody_would_see_a_word_is_refused(content: str) -> None:
    with pytest.raises(Refused, match="empty"):
        guard(Response(content=content), None, 60)


def test_a_dict_of_the_right_shape_is_a_response() -> None:
    valid, _ = guard({"content": "Yes.", "extra": {"model": "m"}}, None, 60)  # type: ignore[arg-type]
    assert valid == Response(content="Yes.", extra={"model": "m"})


@pytest.mark.parametrize(
    ("content", "limit", "words", "notes"),
    [
        ("One two three. Four five six. Seven.", 6, 6, ("answer cut: 7 words to 6",)),
        ("Zoos save species. " * 200_000, 0, 3159, ("answer cut: 3800000 characters to 20000",)),
        ("word " * 200 + "end.", 0, 201, ()),
    ],
)
def test_long_answers_are_cut_with_a_note(
    content: str, limit: int, words: int, notes: tuple[str, ...]
) -> None:
    valid, events = guard(Response(content=content), None, limit)
    assert count_words(valid.content) == words
    assert event_texts(events) == notes
    assert content.startswith(valid.content)


def test_control_characters_and_surrogates_are_cleaned() -> None:
    valid, _ = guard(Response.model_construct(content="a\x00b\ud800c\nd"), None, 60)
    assert valid.content == "a b?c d"


def test_an_argument_is_that_of_the_index_with_the_fields_that_it_lacks() -> None:
    index = SmallIndex([Argument(id="9", text="own", source="the index")])
    answer = Response(content="Yes.", arguments=(cite("9", source="x", key=1, topic="other"),))
    (argument,) = guard(answer, index, 60)[0].arguments
    assert argument == Argument(id="9", text="own", source="the index", key=1)


def test_unknown_and_repeated_citations_are_dropped_with_a_note() -> None:
    answer = Response(content="Yes.", arguments=(cite("1.2"), cite("x"), cite("1.2"), cite("1.1")))
    valid, events = guard(answer, INDEX, 60)
    assert [argument.id for argument in valid.arguments] == ["1.2", "1.1"]
    assert [event.kind for event in events] == [
        EventKind.UNKNOWN_ARGUMENT,
        EventKind.REPEATED_ARGUMENT,
    ]


def test_a_cut_drops_the_argument_whose_words_are_gone() -> None:
    content = f"{ARGUMENTS[2].text} {ARGUMENTS[0].text}"
    answer = Response(content=content, arguments=(ARGUMENTS[2], ARGUMENTS[0]))
    valid, events = guard(answer, INDEX, 9)
    assert valid.content == "Children learn respect for nature by meeting living animals."
    assert valid.arguments == (ARGUMENTS[2],)
    assert event_texts(events) == (
        "answer cut: 19 words to 9",
        "citation of the cut part removed: '1.1'",
    )


@pytest.mark.parametrize(
    ("content", "limit", "cited", "used"),
    [
        (ARGUMENTS[0].text, 6, ARGUMENTS[:1], ARGUMENTS[:1]),  # half of it is left
        ("First point. Second remark here.", 2, ARGUMENTS[4:], ARGUMENTS[4:]),  # in other words
        ("Taxes fund schools. Taxes burden families.", 3, TAXES, TAXES[:1]),  # a shared word
    ],
)
def test_a_cut_drops_only_arguments_that_are_no_longer_used(
    content: str, limit: int, cited: tuple[Argument, ...], used: tuple[Argument, ...]
) -> None:
    assert guard(Response(content=content, arguments=cited), None, limit)[0].arguments == used


def test_fields_that_no_file_can_hold_are_dropped_with_a_note() -> None:
    answer = Response(
        content="Yes.",
        extra={"good": {"a": [1, None]}, "bad": float("nan"), "worse": object(), "lone": "\ud800"},
        arguments=(
            Argument.model_construct(
                id="x",
                text="t\ud800",
                tags=(),
                references=(),
                topic="",
                attacks="",
                supports="",
                original=None,
            ),
        ),
    )
    valid, events = guard(answer, None, 60)
    assert valid.extra == {"good": {"a": [1, None]}}
    assert valid.arguments[0].text == "t?"
    assert [event.kind for event in events] == [EventKind.UNWRITABLE_FIELD] * 4


@given(st.text(), st.integers(1, 30), st.lists(st.sampled_from(["1.1", "1.2", "2.1", "no"])))
def test_any_answer_is_valid_or_refused(content: str, limit: int, ids: list[str]) -> None:
    try:
        valid, _ = guard(Response(content=content, arguments=tuple(map(cite, ids))), INDEX, limit)
    except Refused:
        # What is visible may stand after the limit only.
        assert is_blank(cut_to_words(clean(content), limit).removesuffix("…"))
        return
    assert valid.content.strip()
    assert count_words(valid.content) <= limit
    assert valid.model_dump_json()
    cited = [argument.id for argument in valid.arguments]
    assert len(set(cited)) == len(cited)
    assert all(INDEX.get(argument.id) == argument for argument in valid.arguments)
