from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.runs.fakes import ARGUMENTS, SmallIndex
from touche_rad.debate import Argument, Response
from touche_rad.runs.answering import Refused, guard
from touche_rad.text import clean, count_words

INDEX = SmallIndex()


def cite(id_: str, **fields: object) -> Argument:
    return Argument(id=id_, text="made up", **fields)


def test_a_good_answer_passes_untouched() -> None:
    good = Response(content="Zoo breeding saves endangered species.", arguments=(ARGUMENTS[0],))
    assert guard(good, INDEX, 60) == (good, ())


@pytest.mark.parametrize("empty", ["", " \n\t", "\x00\x1b", "\u2028"])
def test_nothing_said_is_refused(empty: str) -> None:
    with pytest.raises(Refused, match="empty"):
        guard(Response(content=empty), None, 60)


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        42,
        "text",
        [],
        {},
        {"content": None},
        {"content": "Yes.", "arguments": [{"id": 1}]},
        Response.model_construct(content=None),
        Response.model_construct(content="a", arguments=[7]),
    ],
)
def test_what_is_no_response_is_refused(wrong: object) -> None:
    with pytest.raises(Refused, match="not a response"):
        guard(wrong, None, 60)  # type: ignore[arg-type]


def test_a_dict_of_the_right_shape_is_a_response() -> None:
    valid, _ = guard({"content": "Yes.", "extra": {"model": "m"}}, None, 60)  # type: ignore[arg-type]
    assert valid == Response(content="Yes.", extra={"model": "m"})


def test_words_are_cut_at_a_sentence_end_and_the_cut_is_noted() -> None:
    valid, notes = guard(Response(content="One two three. Four five six. Seven."), None, 6)
    assert valid.content == "One two three. Four five six."
    assert notes == ("cut: 7 words to 6",)


def test_an_answer_of_megabytes_is_cut_before_it_is_searched() -> None:
    valid, notes = guard(Response(content="Zoos save species. " * 200_000), None, 0)
    assert len(valid.content) <= 20_000
    assert notes == ("cut: 3800000 characters to 20000",)


def test_a_limit_of_zero_cuts_no_words() -> None:
    long = "word " * 200 + "end."
    assert count_words(guard(Response(content=long), None, 0)[0].content) == 201


def test_control_characters_and_surrogates_are_cleaned() -> None:
    valid, _ = guard(Response.model_construct(content="a\x00b\ud800c\nd"), None, 60)
    assert valid.content == "a b?c d"


def test_an_argument_cannot_be_altered_but_keeps_rank_and_score() -> None:
    given_ = Response(content="Yes.", arguments=(cite("1.1", key=1, score=3.5, topic="other"),))
    (argument,) = guard(given_, INDEX, 60)[0].arguments
    assert argument.text == ARGUMENTS[0].text
    assert argument.topic == ARGUMENTS[0].topic
    assert argument.model_extra == {"key": 1, "score": 3.5}


def test_the_records_own_extra_fields_win() -> None:
    index = SmallIndex([Argument(id="9", text="own", source="the index")])
    given_ = Response(content="Yes.", arguments=(cite("9", source="the debater"),))
    assert guard(given_, index, 60)[0].arguments[0].model_extra == {"source": "the index"}


def test_unknown_and_repeated_citations_go_and_are_noted() -> None:
    given_ = Response(content="Yes.", arguments=(cite("1.2"), cite("x"), cite("1.2"), cite("1.1")))
    valid, notes = guard(given_, INDEX, 60)
    assert [argument.id for argument in valid.arguments] == ["1.2", "1.1"]
    assert [note.partition(":")[0] for note in notes] == ["unknown argument", "repeated argument"]


def test_without_an_index_citations_stand_as_given() -> None:
    given_ = Response(content="Yes.", arguments=(cite("x"), cite("x")))
    assert guard(given_, None, 60)[0].arguments == (cite("x"),)


def test_a_cut_drops_the_argument_whose_words_are_gone() -> None:
    content = f"{ARGUMENTS[2].text} {ARGUMENTS[0].text}"
    given_ = Response(content=content, arguments=(ARGUMENTS[2], ARGUMENTS[0]))
    valid, notes = guard(given_, INDEX, 9)
    assert valid.content == "Children learn respect for nature by meeting living animals."
    assert valid.arguments == (ARGUMENTS[2],)
    assert notes == ("cut: 19 words to 9", "argument lost by the cut: '1.1'")


def test_a_cut_keeps_an_argument_that_is_still_half_quoted() -> None:
    given_ = Response(content=ARGUMENTS[0].text, arguments=(ARGUMENTS[0],))
    valid, _ = guard(given_, INDEX, 6)
    assert valid.content == "Zoo breeding saves endangered species."
    assert valid.arguments == (ARGUMENTS[0],)


def test_a_cut_keeps_an_argument_in_other_words_for_its_loss_cannot_be_shown() -> None:
    given_ = Response(content="First point. Second remark here.", arguments=(ARGUMENTS[4],))
    valid, _ = guard(given_, INDEX, 2)
    assert valid.arguments == (ARGUMENTS[4],)


def test_a_shared_word_alone_does_not_keep_an_argument() -> None:
    one = Argument(id="a", text="Taxes fund schools.")
    two = Argument(id="b", text="Taxes burden families.")
    given_ = Response(content="Taxes fund schools. Taxes burden families.", arguments=(one, two))
    assert guard(given_, None, 3)[0].arguments == (one,)


def test_fields_that_no_file_can_hold_go_and_are_noted() -> None:
    given_ = Response(
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
    valid, notes = guard(given_, None, 60)
    assert valid.extra == {"good": {"a": [1, None]}}
    assert valid.arguments[0].text == "t?"
    assert {note.partition(":")[0] for note in notes} == {"unwritable field"}
    assert len(notes) == 4


@given(st.text(), st.integers(1, 30), st.lists(st.sampled_from(["1.1", "1.2", "2.1", "no"])))
def test_whatever_is_said_the_answer_is_valid_or_refused(
    content: str, limit: int, ids: list[str]
) -> None:
    try:
        valid, _ = guard(Response(content=content, arguments=tuple(map(cite, ids))), INDEX, limit)
    except Refused:
        assert not clean(content)
        return
    assert valid.content.strip()
    assert count_words(valid.content) <= limit
    assert valid.model_dump_json()
    cited = [argument.id for argument in valid.arguments]
    assert len(set(cited)) == len(cited)
    assert all(INDEX.get(argument.id) == argument for argument in valid.arguments)
