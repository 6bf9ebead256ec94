"""The options of every verb that may ask a language model, and the model that they describe."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from touche_rad.cli.console import say
from touche_rad.errors import OptionError, UserError, nearest

if TYPE_CHECKING:
    from touche_rad.cli.shared import Chosen
    from touche_rad.models import Model
    from touche_rad.plugins import Plugin

F = TypeVar("F", bound=Callable[..., Any])

TRACE = ".trace.jsonl"
"""What a trace's name ends with, after the run's."""

_MODEL = click.option(
    "-m", "--model", envvar="TOUCHE_RAD_MODEL", metavar="URL#MODEL|vllm:MODEL",
    help="The language model: an OpenAI-compatible server (several with commas), vllm:MODEL to "
    "start one, hf:MODEL, or scripted:FILE. [default: OPENAI_BASE_URL and OPENAI_MODEL, if set]",
)  # fmt: skip
_CACHE = click.option(
    "--cache", envvar=["TOUCHE_RAD_CACHE", "CACHE_DIR"], metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Keep the model's answers here, and answer from here what was asked before.",
)  # fmt: skip
_MAX_CALLS = click.option(
    "--max-calls", type=click.IntRange(0), envvar="TOUCHE_RAD_MAX_CALLS", metavar="N",
    help="Ask the model at most so often; then answers come from what needs none.",
)  # fmt: skip
_MAX_TOKENS = click.option(
    "--max-tokens", type=click.IntRange(1), envvar="TOUCHE_RAD_MAX_TOKENS", metavar="N",
    help="Spend at most so many tokens, prompts and answers together.",
)  # fmt: skip
_RUN_DEADLINE = click.option(
    "--run-deadline", type=click.FloatRange(0, min_open=True), metavar="SECONDS",
    envvar="TOUCHE_RAD_RUN_DEADLINE", help="Ask the model no longer than this in all.",
)  # fmt: skip
_TRACE = click.option(
    "--trace/--no-trace", default=True, show_default=True, envvar="TOUCHE_RAD_TRACE",
    help=f"Write each call beside the run (RUN{TRACE}); touche-rad report shows it by turn.",
)  # fmt: skip


def options(function: F) -> F:
    """Add all of them."""
    return model_options(_TRACE(function))


def model_options(function: F) -> F:
    """Add those of a verb that leaves no trace beside a run."""
    for option in (_RUN_DEADLINE, _MAX_TOKENS, _MAX_CALLS, _CACHE, _MODEL):
        function = option(function)
    return function


def options_but_budgets(function: F) -> F:
    """Add all but those that limit the asking, which may mean something else in a verb."""
    for option in (_TRACE, _RUN_DEADLINE, _CACHE, _MODEL):
        function = option(function)
    return function


def model_for(
    plugins: Mapping[str, Plugin], given: Mapping[str, Any], chosen: Chosen, out: Path | None = None
) -> Model | None:
    """Make the model, where any of the plugins needs one, or uses one that there is.

    Args:
        plugins: Whose model it is.
        given: The verb's options.
        chosen: What `-o` was given; `model.KEY` and `vllm.KEY` are read here.
        out: The run that a trace goes beside.
    """
    from touche_rad.models.places import named_by_environment

    said = given.get("model") or named_by_environment()
    needed = any("model" in plugin.needs for plugin in plugins.values())
    used = any("model" in plugin.uses for plugin in plugins.values())
    if not (needed or (used and said)):
        if given.get("model"):
            names = " and ".join(plugins)
            say(f"note: {names} asks no model; -m is not used", quiet=given["quiet"])
        return None
    if needed and not said:
        needing = next(name for name, plugin in plugins.items() if "model" in plugin.needs)
        raise UserError(
            f"{needing} needs a language model: -m URL#MODEL, -m vllm:MODEL, or OPENAI_BASE_URL "
            "and OPENAI_MODEL in the environment"
        )
    return made(given, chosen, out)


def made(given: Mapping[str, Any], chosen: Chosen, out: Path | None = None) -> Model:
    """Make the model that the options describe; nothing is started or asked yet."""
    from touche_rad.models import Model
    from touche_rad.models.places import backend_at
    from touche_rad.models.usage import Usage

    quiet = given.get("quiet", False)
    seed = given.get("seed", 0)
    backend = backend_at(
        given.get("model"), vllm=chosen.of("vllm"), seed=seed,
        report=lambda told: say(told, quiet=quiet),
        log_file=out.with_name(f"{out.name}.vllm.log") if out else None,
    )  # fmt: skip
    usage = Usage(given.get("max_calls"), given.get("max_tokens"), given.get("run_deadline"))
    trace = _trace_of(out) if out and given.get("trace", True) else None
    if trace and given.get("restart"):
        trace.unlink(missing_ok=True)
    return Model(
        backend, cache=given.get("cache"), usage=usage, trace=trace,
        settings=_settings(chosen.of("model"), seed), **_manner(chosen.of("model")),
    )  # fmt: skip


def _trace_of(out: Path) -> Path:
    """A run's trace lies beside it; under TIRA a folder deeper, since it is a `*.jsonl` as well."""
    from touche_rad.cli import tira

    name = f"{out.name}{TRACE}"
    if not tira.is_output(out.parent):
        return out.with_name(name)
    folder = out.parent / "trace"
    with suppress(OSError):
        folder.mkdir(exist_ok=True)
    return folder / name


_MANNER = {"deadline": float, "at_once": int}


def _settings(said: Mapping[str, str], seed: int) -> Any:
    """Read `-o model.KEY=VALUE`: how the model answers."""
    from touche_rad.models.settings import Settings

    kinds: dict[str, Callable[[str], Any]] = {"temperature": float, "seed": int, "max_tokens": int}
    found: dict[str, Any] = {"seed": seed}
    for key, value in said.items():
        if key in _MANNER:
            continue
        if key not in kinds:
            raise OptionError(f"model has no option {key!r}{nearest(key, [*kinds, *_MANNER])}")
        found[key] = _number(key, value, kinds[key])
    return Settings(**found)


def _manner(said: Mapping[str, str]) -> dict[str, Any]:
    return {key: _number(key, said[key], kind) for key, kind in _MANNER.items() if key in said}


def _number(key: str, value: str, kind: Callable[[str], Any]) -> Any:
    try:
        number = kind(value)
    except ValueError:
        raise OptionError(f"-o model.{key}={value}: expected a number") from None
    if number < 0 or number != number:
        raise OptionError(f"-o model.{key}={value}: expected a number of 0 or more")
    return number


def counted(model: Model | None) -> Callable[[], str]:
    """Return what tells how often a model was asked so far, for a progress bar."""

    def told() -> str:
        total = model.usage.total if model is not None else None
        return f"{total.calls} calls" if total is not None and total.calls else ""

    return told


def described(model: Model | None) -> dict[str, Any]:
    """What of the model names a run."""
    return {"model": model.identity} if model is not None else {}
