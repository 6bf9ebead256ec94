"""What a simulated user is: whom a debater argues with when nobody is there."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from typing import Any, Protocol, runtime_checkable

from touche_rad.debate import Debate


@runtime_checkable
class UserSimulator(Protocol):
    """Plays the user. Both methods may be `def` or `async def`, and may raise.

    A user keeps nothing between two calls: all that was said stands in the debate, so that a run
    which is taken up again goes on as if nobody had disturbed it.
    """

    def open(self, claim: Debate) -> str | Awaitable[str]:
        """Say the first words of a debate that has a claim and no turns yet."""
        ...

    def reply(self, debate: Debate) -> str | Awaitable[str]:
        """Reply to the response that the debate ends with."""
        ...


@runtime_checkable
class TellsOfItself(Protocol):
    """A user of which a run says more than its class."""

    def described(self, debate: Debate) -> Mapping[str, Any]:
        """Return what stands under `user` in the configuration of a simulation."""
        ...


def described(user: UserSimulator, debate: Debate) -> dict[str, Any]:
    """Return what a simulation's configuration says of its user."""
    said = {"class": type(user).__name__, "model": debate.user}
    return {**said, **user.described(debate)} if isinstance(user, TellsOfItself) else said
