"""Calls the terminal and kills itself by SIGKILL after a step: `python -m tests.retrieval.dying_tuner STEP ARGS`."""

from __future__ import annotations

import os
import signal
import sys

from touche_rad.training.loop import Metrics


def dies_after(last: int) -> None:
    """Die between two checkpoints, so that steps are lost and have to be taken again."""
    note = Metrics.note

    def noted(self: Metrics, step: int, loss: float) -> None:
        note(self, step, loss)
        if step == last:
            os.kill(os.getpid(), signal.SIGKILL)

    Metrics.note = noted  # type: ignore[method-assign]


if __name__ == "__main__":
    dies_after(int(sys.argv[1]))
    from touche_rad.cli import main

    sys.argv[1:2] = []
    main()
