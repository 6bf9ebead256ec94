"""Calls of plugins: time limit, result, notes, and the context of the call."""

from touche_rad.calls._context import (
    CallContext,
    ModelUse,
    call_context,
    current_context,
    name_of,
    report_without_model,
)
from touche_rad.calls._plugin_calls import Calls, CallTimeout, TooManyCalls, hanging
from touche_rad.calls._sync import run_sync

__all__ = [
    "CallContext",
    "CallTimeout",
    "Calls",
    "ModelUse",
    "TooManyCalls",
    "call_context",
    "current_context",
    "hanging",
    "name_of",
    "report_without_model",
    "run_sync",
]
