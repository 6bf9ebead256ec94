"""Calls of plugins: time limit, result, notes, and the context of the call."""

from touche_rad.calls.context import (
    CallContext,
    Calls,
    CallTimeout,
    ModelUse,
    TooManyCalls,
    call_context,
    completed,
    current_context,
    deadline_in,
    is_async,
    name_of,
    report_without_model,
    run_sync,
)

__all__ = [
    "CallContext",
    "CallTimeout",
    "Calls",
    "ModelUse",
    "TooManyCalls",
    "call_context",
    "completed",
    "current_context",
    "deadline_in",
    "is_async",
    "name_of",
    "report_without_model",
    "run_sync",
]
