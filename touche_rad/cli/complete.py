"""Shell completion: names of plugins and users, files and folders; the shells are click's.

A shell calls `touche-rad` with `_TOUCHE_RAD_COMPLETE=SHELL_complete` and the words typed so far.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import click
from click.shell_completion import CompletionItem

Items = list[CompletionItem]
VARIABLE: Final = "_TOUCHE_RAD_COMPLETE"


def _items(names: Iterable[str], incomplete: str) -> Items:
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def _names(ctx: click.Context, kinds: Sequence[str]) -> list[str]:
    """Return the names of plugins of these kinds; plugins of `--plugin` are loaded first."""
    from touche_rad.plugins import registered

    root = ctx.find_root()
    if root.command.callback is not None:
        root.invoke(root.command.callback, **root.params)
    return [name for kind in kinds for name in registered(kind)]  # type: ignore[arg-type]


def plugins(
    kinds: Sequence[str], ctx: click.Context, parameter: click.Parameter, incomplete: str
) -> Items:
    """Complete the names of plugins of these kinds."""
    return _items(_names(ctx, kinds), incomplete)


def plugin_names(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> Items:
    """Complete the argument of `touche-rad list`: a kind or a plugin."""
    from touche_rad.plugins import KINDS

    kinds = [f"{kind}s" for kind in KINDS if kind != "index"]
    return _items([*kinds, "indexes", *_names(ctx, KINDS)], incomplete)


def users(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> Items:
    """Complete `--user`: the users, and the personas of a model."""
    from touche_rad.users.persona import bundled_personas

    return _items(["rules", *(f"model:{name}" for name in bundled_personas())], incomplete)


def files(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> Items:
    """Complete the path of a file."""
    return [CompletionItem(incomplete, type="file")]


def folders(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> Items:
    """Complete the path of a folder."""
    return [CompletionItem(incomplete, type="dir")]
