"""Trains and kills itself by SIGKILL after a step: `... dying STEP METHOD FILE FOLDER RECIPE`."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import torch
from transformers.trainer_callback import DefaultFlowCallback


def dies_after(step: int) -> None:
    """Die between two checkpoints, so that steps are lost and have to be taken again."""
    take_step = DefaultFlowCallback.on_step_end

    def on_step_end(self: Any, args: Any, state: Any, control: Any, **events: Any) -> Any:
        if state.global_step == step:
            os.kill(os.getpid(), signal.SIGKILL)
        return take_step(self, args, state, control, **events)

    DefaultFlowCallback.on_step_end = on_step_end


if __name__ == "__main__":
    torch.set_num_threads(1)
    step, method, source, out, recipe = sys.argv[1:]
    dies_after(int(step))
    from touche_rad.plugins import trainer

    trainer(method)([Path(source)], Path(out), recipe=json.loads(recipe))
