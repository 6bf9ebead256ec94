"""Messages about an endpoint that does not answer or does not have the model."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Final
from urllib.parse import urlsplit

_MOST_NAMES: Final = 5
_USAGE: Final = "-m http://HOST:PORT/v1#MODEL"


def unreachable(place: str, error: BaseException, usage: str = _USAGE) -> str:
    """Return why an endpoint cannot be reached, and what to do.

    Args:
        place: Its address.
        error: What happened.
        usage: How the address is given on the command line.
    """
    flag = usage.partition(" ")[0]
    said = " ".join(str(error).split())[:200]
    low, parts = said.lower(), urlsplit(place)
    if "wrong_version_number" in low or "record layer" in low:
        return f"{place}: the server does not speak HTTPS; write {flag} http://{_rest(place)}"
    if "name or service not known" in low or "name resolution" in low or "nodename" in low:
        return f"{place}: there is no host {parts.hostname}; check the address ({usage})"
    reason = _reason(low, said) or type(error).__name__
    if parts.port is None and usage == _USAGE:
        port = 443 if parts.scheme == "https" else 80
        return (
            f"{place}: {reason}; the address names no port, so {port} was tried: write "
            f"{parts.scheme}://{parts.hostname}:PORT{parts.path} (vLLM has 8000, Ollama 11434)"
        )
    if "disconnected" in low and parts.scheme == "http":
        return f"{place}: {reason}; if the server speaks HTTPS, write {flag} https://{_rest(place)}"
    return f"{place}: {reason}; start the server, or pass another address ({usage})"


def _reason(low: str, said: str) -> str:
    if "connection attempts failed" in low or "refused" in low or "errno 111" in low:
        return "connection refused"
    return said


def _rest(place: str) -> str:
    return place.partition("://")[2]


def unknown_model(place: str, model: str, names: Sequence[str]) -> str:
    """Return the nearest names that the server offers."""
    close = get_close_matches(model, names, n=1, cutoff=0.4)
    short = {name.rsplit("/", 1)[-1].lower(): name for name in names}
    close = close or [name for end, name in short.items() if model.lower() in end]
    if not close and len(names) == 1:
        close = list(names)
    hint = f" (did you mean -m '{place}#{close[0]}'?)" if close else ""
    others = [name for name in names if name not in close[:1]]
    shown = ", ".join(others[:_MOST_NAMES]) + ("…" if len(others) > _MOST_NAMES else "")
    listed = (
        f"; it also offers {shown}" if close and shown else f"; it offers {shown}" * bool(shown)
    )
    return f"{place}: there is no model {model!r}{hint}{listed}"


def wrong_path(place: str, better: str, model: str) -> str:
    """Return the address whose path is right."""
    return f"{place}: no API there; did you mean -m '{better}#{model}'?"
