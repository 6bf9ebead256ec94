"""Prepare the plugins, the language model and the index that the options of a command name."""

from __future__ import annotations

import json
import math
import os
import socket
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from click.core import ParameterSource

from touche_rad.cli.console import Label, say
from touche_rad.cli.options import Common, PluginSpec
from touche_rad.credentials import strangers_in
from touche_rad.errors import InputError, OptionError, UserError, WorkError, nearest, why
from touche_rad.files.records import make_folder, refuse_unfinished

if TYPE_CHECKING:
    from touche_rad.events import Event
    from touche_rad.models import Model, ModelError
    from touche_rad.models.endpoint import Backend
    from touche_rad.models.model import Settings
    from touche_rad.plugins import ArgumentIndex, Configured, LoadedDebater
    from touche_rad.session import Session
    from touche_rad.users import OfficialUser

MAKE_INDEX: Final = "touche-rad index ARGUMENTS -o index, then add -i index"
NO_INDEX: Final = f"no index is given: {MAKE_INDEX}; or try the demo's arguments: -i demo"
SIDE_UNKNOWN: Final = (
    "without a language model, an answer can be on the wrong side: add -m URL#MODEL"
)
ON_DEMO: Final = (
    "index: the demo collection, on 60 topics only, not fit to upload; for your own: " + MAKE_INDEX
)
DEMO_INDEX: Final = (
    "the index is the demo collection, on 60 topics only: not fit to upload; give an index of "
    "the task's collection with -i, or build the image with --build-arg COLLECTION=FILE"
)


def need_file(path: Path) -> None:
    """Raise an error if there is no file to read, or only the journal of a run."""
    if not path.exists():
        refuse_unfinished(path)
        raise UserError(f"{path} does not exist: expected a file to read")


def warn_of_copies(*sources: Path) -> None:
    """Warn of debates or contests that a file has more than once."""
    from touche_rad import files
    from touche_rad.runs.work import count_units

    for source in sources:
        with suppress(InputError):  # of a pipe, which can be read once
            bad = files.BadLines(skip=True)
            units = (
                files.read_contests(source, bad)
                if files.detect_kind(source) is files.Kind.CONTESTS
                else files.read_views(source, bad, keep_lost=True)
            )
            _, copies = count_units(units)
            if copies:
                say(f"{source}: {copies.detail}", Label.WARNING)


def find_debater(spec: PluginSpec) -> Configured[LoadedDebater]:
    """Find a debater that may name its own model, such as `sinai(model=URL#NAME)`."""
    from touche_rad.plugins import find

    texts = dict(spec.options)
    model = texts.pop("model", "")
    debater = find("debater", spec.name).configure(texts)
    if not model:
        return debater
    if not debater.plugin.uses_model:
        raise OptionError(f"{debater.plugin.name} uses no model: leave out model={model}")
    return debater.with_model(model)


def is_panel(name: str) -> bool:
    """Whether this is the name of a panel, which judges whole debates."""
    from touche_rad.plugins import registered

    return name in registered("panel") and name not in registered("judge")


@contextmanager
def open_session(
    options: Common,
    *plugins: Configured,
    out: Path | None = None,
    needs_index: bool | None = None,
    or_demo: bool = False,
    must_answer: bool = True,
    backend: Backend | None = None,
) -> Iterator[Session]:
    """Open what the plugins share, the language model and the index, and close it at the end.

    The model is opened if a plugin uses one and the user names one; its endpoint is checked first.

    Args:
        options: Those of the command.
        plugins: Those that may need an index or a model.
        out: The run, beside which the trace of the model calls is written.
        needs_index: Whether to open an index also if the user names none. Default: if a plugin
            needs one.
        or_demo: Open the demo collection, and say so, if the user names no index.
        must_answer: Whether to stop if the model's endpoint cannot be used.
        backend: The model's server, if several sessions share it; it stays open.
    """
    from touche_rad.plugins.registry import A_MODEL
    from touche_rad.session import Session

    with Session(options.seed, options.criteria) as session:
        is_named = names_model(options)
        selected = [configured.plugin for configured in plugins]
        for plugin in selected:
            if not is_named and "model" in plugin.needs:
                raise UserError(f"{plugin.kind} {plugin.name} needs {A_MODEL}")
        if is_named and any(plugin.uses_model for plugin in selected):
            must_answer = must_answer and not tira_takes(out)
            model = make_model(options, out, backend)
            session.model = model if backend else session.close_later(model)
            check_model(model, options, must_answer=must_answer)
        elif options.model:
            names = " and ".join(f"{plugin.kind} {plugin.name}" for plugin in selected)
            say(f"-m is not used by {names}", Label.NOTE, quiet=options.quiet)
        if needs_index is None:
            needs_index = any("index" in plugin.needs for plugin in selected)
        if options.index or needs_index:
            session.index = session.close_index_later(open_index_of(options, or_demo=or_demo))
        yield session


def open_index_of(options: Common, *, or_demo: bool = False) -> ArgumentIndex:
    """Open the index of `-i`; with `or_demo`, the demo collection's if there is none.

    Under TIRA the demo collection is the fallback for a missing index: a run that does not start
    has no result at all, and nobody sees its error.
    """
    from touche_rad.demo import DEMO
    from touche_rad.plugins.indexes import FallbackIndex, open_index

    if not options.index and or_demo:
        say(ON_DEMO)
    elif not options.index and not under_tira():
        raise UserError(NO_INDEX)
    place = options.index or DEMO
    if options.fallback_index is None:
        return open_index(place)
    return FallbackIndex(partial(open_index, place), open_index(options.fallback_index))


def check_demo(options: Common, index: ArgumentIndex | None) -> tuple[bool, tuple[Event, ...]]:
    """Return whether the index is the demo collection, and a warning if the user did not choose it.

    The warning is also printed. The index of an image that was built without a collection comes
    from the environment.
    """
    from touche_rad.demo import DEMO, is_demo
    from touche_rad.events import EventKind

    if index is None or not is_demo(index):
        return False, ()
    context = click.get_current_context(silent=True)
    source = context.get_parameter_source("index") if context else None
    by_user = options.index == DEMO or source is not ParameterSource.ENVIRONMENT
    if by_user and not under_tira():
        return True, ()
    say(DEMO_INDEX, Label.WARNING, quiet=options.quiet)
    return True, (EventKind.DEMO_INDEX.event(DEMO_INDEX),)


def tell_servers(plan: Path, texts: Iterable[str], plugins: Iterable[Configured]) -> None:
    """Name the servers and downloads that only a plan and its files name, before they are used.

    The plan may be a stranger's.
    """
    from touche_rad.plugins.digests import with_named

    options = [str(part.options) for plugin in plugins for part in with_named(plugin)]
    strangers = ", ".join(strangers_in("\n".join([*texts, *options])))
    if strangers:
        use = "which get texts of this run, or are downloaded if they are not on this machine"
        say(f"only {plan} names {strangers}, {use}", Label.WARNING)


def names_model(options: Common) -> bool:
    """Whether the user names a language model, by `-m` or in the environment."""
    from touche_rad.models.endpoint import URL

    return bool(options.model or os.environ.get(URL))


def parallel(options: Common, *, model: bool) -> int:
    """Return how many debates are processed at a time.

    A debate mostly waits for a server of a model, which answers many calls in little more time than
    one. An answer with a time limit would lose it while it waits for others.
    """
    if options.workers:
        return options.workers
    return 4 if options.deadline or not model else 64


def open_model(session: Session, options: Common, out: Path | None = None) -> Model:
    """Make the model that the options describe, and check its endpoint; the session closes it."""
    model = session.close_later(make_model(options, out))
    check_model(model, options)
    return model


def make_model(options: Common, out: Path | None = None, backend: Backend | None = None) -> Model:
    """Make the model that the options describe; nothing is started yet.

    The trace of its calls is written beside `out`. A `backend` is shared with other models.
    """
    from touche_rad.files.records import path_beside
    from touche_rad.files.traces import TRACE
    from touche_rad.models import Model
    from touche_rad.models.model import open_backend
    from touche_rad.models.sending import Usage

    backend_or_address = backend or open_backend(
        options.model,
        vllm=options.plugin_options["vllm"],
        seed=options.seed,
        report=lambda line: say(line, quiet=options.quiet),
        log_file=path_beside(out, ".vllm.log") if out else None,
    )
    usage = Usage(options.max_calls, options.max_tokens, options.run_deadline)
    if options.shard:
        usage.max_calls = options.shard.share(options.max_calls)
        usage.max_tokens = options.shard.share(options.max_tokens)
    trace = beside(out, TRACE) if out and options.trace else None
    if trace:
        with suppress(OSError):
            make_folder(trace.parent)
    settings, limits = model_settings(options.plugin_options["model"], options.seed)
    if options.workers:
        limits.setdefault("at_once", options.workers)

    return Model(
        backend_or_address,
        cache=options.cache,
        usage=usage,
        trace=trace,
        settings=settings,
        **limits,
    )


def check_model(model: Model, options: Common, *, must_answer: bool = True) -> None:
    """Check the endpoint of a model; if it cannot be used, stop, or go on without the model."""
    from touche_rad.models.errors import Unreachable

    error = _problem_of(model, options)
    if error:
        line = f"{error.problem}: {error}"
        cache = options.cache
        has_cache = cache is not None and cache.is_dir() and any(cache.iterdir())
        if must_answer and not has_cache:
            if isinstance(error, Unreachable):
                raise WorkError(f"{line}; or wait for it with --wait SECONDS")
            raise UserError(line)
        effect = "only cached answers are used" if has_cache else "plugins work without the model"
        model.warnings.append(f"{line}; {effect}")
    for warning in model.warnings:
        say(warning, Label.WARNING)


def check_user(user: OfficialUser, options: Common, *, must_answer: bool) -> None:
    """Check the endpoint of a simulated user; if it cannot be used, stop, or say who speaks."""
    error = _problem_of(user, options)
    if not error:
        return
    line = f"{error.problem}: {error}"
    if must_answer:
        raise WorkError(f"{line}; or use --user rules; or wait for it with --wait SECONDS")
    say(f"{line}; the user rules speaks instead", Label.WARNING, quiet=options.quiet)


def _problem_of(called: Model | OfficialUser, options: Common) -> ModelError | None:
    """Return why an endpoint cannot be used, after the seconds of `--wait`; None if it can."""
    from touche_rad import session
    from touche_rad.models import ModelError

    wait = options.wait or 0.0
    end: float | None = None
    while True:
        try:
            session.run(called.check)
        except ModelError as error:
            if end is None:  # only the first failure is printed
                end = time.monotonic() + wait
                say(
                    f"waiting up to {wait:.0f} s: {error.problem}: {error}",
                    quiet=options.quiet or not wait,
                )
            remaining = end - time.monotonic()
            if remaining <= 0:
                return error
            time.sleep(min(remaining, 1.0))
        else:
            return None


def beside(out: Path, suffix: str) -> Path:
    """Return the path of a trace or log: beside the run, but under TIRA in a folder of its own.

    TIRA accepts only one `*.jsonl` in its output folder.
    """
    name = f"{out.name}{suffix}"
    if not tira_takes(out):
        return out.with_name(name)
    return out.parent / "trace" / name


_LIMITS: Final = {"deadline": float, "at_once": int}
_NUMBERS: Final = {
    "temperature": float,
    "seed": int,
    "max_tokens": int,
    "think_tokens": int,
    **_LIMITS,
}
_THINK: Final = ("off", "auto", "on")
_SERVER_FIELDS: Final = (
    "max_completion_tokens",
    "reasoning_effort",
    "chat_template_kwargs",
    "top_p",
)
"""Fields of the server that look like an option of ours, or are common."""


def model_settings(texts: Mapping[str, str], seed: int) -> tuple[Settings, dict[str, Any]]:
    """Parse `-O model.KEY=VALUE` into the settings of requests and the limits of the client."""
    from touche_rad.models.model import Settings

    settings: dict[str, Any] = {"seed": seed}
    limits: dict[str, Any] = {}
    server_fields: dict[str, Any] = {}
    for key, text in texts.items():
        if key == "think":
            if text not in _THINK:
                raise OptionError(f"-O model.think={text}: expected {' or '.join(_THINK)}")
            settings[key] = text
        elif key in _NUMBERS:
            try:
                number = _NUMBERS[key](text)
            except ValueError:
                number = -1
            if not 0 <= number < math.inf:  # nan, too
                raise OptionError(f"-O model.{key}={text}: expected a number of 0 or more")
            (limits if key in _LIMITS else settings)[key] = number
        else:
            # A server may have fields of its own, but a slip of the keys is more likely.
            hint = nearest(key, _NUMBERS, otherwise="")
            if hint and key not in _SERVER_FIELDS:
                raise OptionError(f"model has no option {key!r}{hint}")
            try:
                server_fields[key] = json.loads(text)
            except ValueError:
                server_fields[key] = text
    return Settings(**settings, server_fields=server_fields), limits


def calls_so_far(model: Model | None) -> str:
    """Return the number of model calls, for a progress bar."""
    calls = model.usage.total.calls if model else 0
    return f"{calls} calls" if calls else ""


def bind(host: str, port: int) -> socket.socket:
    """Return a socket with an address, on which it does not listen yet."""
    with ExitStack() as unless_returned:
        try:
            family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
            bound = unless_returned.enter_context(socket.socket(family))
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, os.name == "posix")
            bound.bind((host, port))
        except OSError as error:
            raise UserError(
                f"port {port} cannot be used on {host}: {why(error)}: choose another with --port N"
            ) from None
        unless_returned.pop_all()
        return bound


def under_tira() -> bool:
    """Whether this is a run on TIRA."""
    return bool(os.environ.get("inputDataset") or os.environ.get("outputDir"))


def tira_takes(out: Path | None) -> bool:
    """Whether TIRA takes this output, so that the run must finish, beside no other `*.jsonl`."""
    folder = os.environ.get("outputDir")
    if not out or not folder:
        return False
    return out.parent.resolve() == Path(folder).resolve()
