"""Calls the terminal and kills itself by SIGKILL after a step: `python -m tests.retrieval.dying_tuner STEP ARGS`."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

from retrieval.dense.tuning import training


def dies_after(last: int) -> None:
    """Die between two checkpoints, so that steps are lost and have to be taken again."""
    fit = training.fit

    def dying_fit(*args: Any) -> int:
        def die(step: int, steps: int) -> None:
            if step == last:
                os.kill(os.getpid(), signal.SIGKILL)

        return fit(*args[:-1], die)

    training.fit = dying_fit


if __name__ == "__main__":
    dies_after(int(sys.argv[1]))
    from touche_rad.cli import main

    sys.argv[1:2] = []
    main()
