"""A tournament's result as lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from touche_rad.tournament.result import Standing, Tournament, told_share


def lines(result: Tournament) -> list[str]:
    """Lay out the ratings, the matrix and what to know of them."""
    return [*_ratings(result), "", *_matrix(result), "", *_notes(result)]


def _ratings(result: Tournament) -> Iterator[str]:
    wide = max((8, *(len(one.name) for one in result.standings)))
    asked = any(one.asked for one in result.standings)
    head = f"{'debater':{wide}}  rating       95 %        won  tied  lost  share  words a speech"
    yield head + ("     calls     tokens" if asked else "")
    for one in result.standings:
        reach = "      –     " if one.low is None or one.high is None else (
            f"{one.low:5.0f} to {one.high:4.0f}"
        )  # fmt: skip
        row = (
            f"{one.name:{wide}}  {one.rating:6.0f}  {reach:>13}  {one.wins:5} {one.ties:5} "
            f"{one.losses:5}  {_number(one.share)}  {one.words or 0:14.1f}"
        )
        yield row + (_cost(one) if asked else "")


def _cost(one: Standing) -> str:
    if one.asked is None:
        return "         –          –"
    tokens = one.asked["prompt_tokens"] + one.asked["completion_tokens"]
    return f"{one.asked['calls'] + one.asked['from_cache']:10} {tokens:10}"


def _matrix(result: Tournament) -> Iterator[str]:
    wide = max((8, *(len(one.name) for one in result.standings)))
    yield "share of wins of the row against the column"
    yield " " * (wide + 4) + "  ".join(
        f"{number:>5}" for number in range(1, len(result.shares) + 1)
    )
    for number, (one, row) in enumerate(zip(result.standings, result.shares, strict=True), 1):
        cells = (
            "    –" if place == number else _number(share) for place, share in enumerate(row, 1)
        )
        yield f"{number:2} {one.name:{wide}} " + "  ".join(cells)


def _number(share: float | None) -> str:
    return f"{told_share(share):>5}"


def _claims(result: Tournament) -> str:
    return "1 claim" if result.claims == 1 else f"{result.claims} claims"


def _notes(result: Tournament) -> Iterator[str]:
    told = f"{result.debates} debates on {_claims(result)}, judged by {result.judge}"
    if result.pro_share is not None:
        told += f"; the side for the claim won {told_share(result.pro_share)}"
    yield told
    if result.undecided:
        yield f"{result.undecided} of them have no verdict, and count nowhere"
    for one in result.standings:
        if one.stand_ins:
            yield f"{one.name}: {one.stand_ins} of {one.speeches} speeches are by a stand-in"
