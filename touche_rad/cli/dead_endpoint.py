"""What a command does if the endpoint of its model cannot be used: wait, stop, or say so."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

import anyio

from touche_rad.cli.console import say
from touche_rad.cli.options import Common
from touche_rad.errors import UserError, WorkError
from touche_rad.models import ModelError
from touche_rad.models.errors import Unreachable

if TYPE_CHECKING:
    from touche_rad.models import Model
    from touche_rad.users import OfficialUser

_PAUSE: Final = 1.0
"""Seconds between two checks."""


def wait_or_stop(model: Model, problem: ModelError, options: Common, *, must_answer: bool) -> None:
    """Wait with `--wait`; then stop, or go on without the model."""
    left = _wait(model, problem, options)
    if left is None:
        return
    line = f"{left.problem}: {left}"
    cache = options.cache
    has_cache = cache is not None and cache.is_dir() and any(cache.iterdir())
    if must_answer and not has_cache:
        if isinstance(left, Unreachable):
            raise WorkError(f"{line}; or wait for it with --wait SECONDS")
        raise UserError(line)
    instead = "only cached answers are used" if has_cache else "plugins work without the model"
    model.set_down(left, f"{line}; {instead}")


def check_user(user: OfficialUser, options: Common, *, must_answer: bool) -> None:
    """Check that the endpoint of a simulated user answers; with `--wait`, wait until it does."""
    try:
        anyio.run(user.check)
    except Unreachable as error:
        left = _wait(user, error, options)
        if left is None:
            return
        line = f"{left.problem}: {left}"
        if must_answer:
            fix = "or use --user rules; or wait for it with --wait SECONDS"
            raise WorkError(f"{line}; {fix}") from None
        say(f"warning: {line}; the user rules speaks instead", quiet=options.quiet)


def _wait(model: Model | OfficialUser, problem: ModelError, options: Common) -> ModelError | None:
    """Return the problem that is left after the seconds of `--wait`, or None."""
    end = time.monotonic() + (options.wait or 0.0)
    line = f"waiting up to {options.wait or 0:.0f} s: {problem.problem}: {problem}"
    say(line, quiet=options.quiet or not options.wait)
    while (left := end - time.monotonic()) > 0:
        time.sleep(min(left, _PAUSE))
        try:
            anyio.run(model.check)
        except ModelError as error:
            problem = error
        else:
            return None
    return problem
