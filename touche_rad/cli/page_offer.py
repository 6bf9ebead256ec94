"""The debaters and judges that `touche-rad serve` offers on its debate page."""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING, Final

from touche_rad.cli import prepare
from touche_rad.cli.options import Common, PluginSpec
from touche_rad.cli.prepare import Selected
from touche_rad.errors import UserError
from touche_rad.plugins.registry import registered
from touche_rad.serve.debate_page import Offer

DEMO_NOTICE: Final = "The arguments are the demo collection, on 18 topics only."
_EXAMPLES: Final = 3

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from touche_rad.plugins import Judge, Plugin, Services
    from touche_rad.runs.answering import Answerer


class Also:
    """What the page offers besides the debater and the judge of the official endpoints."""

    def __init__(
        self,
        options: Common,
        debater: Selected,
        judge: Selected,
        also_debaters: Sequence[PluginSpec],
        also_judges: Sequence[PluginSpec],
    ) -> None:
        """Select the further plugins.

        Raises:
            UserError: A plugin does not exist, or a requirement of it is missing.
        """
        self._debater, self._judge = debater, judge
        self._model = prepare.names_model(options)
        named = [prepare.select("debater", spec) for spec in also_debaters]
        self._debaters = named or self._that_work()
        self._judges = [prepare.select("judge", spec) for spec in also_judges]
        for one in (*named, *self._judges):
            if missing := self._missing(one.plugin):
                raise UserError(f"{one.plugin.kind} {one.name} needs {missing[0]}")

    def _missing(self, plugin: Plugin) -> list[str]:
        return plugin.missing(index=True, model=self._model)

    def _that_work(self) -> list[Selected]:
        """Return the other debaters whose requirements are met."""
        found = []
        for name in registered("debater"):
            selected = prepare.select("debater", PluginSpec(name))
            if name != self._debater.name and not self._missing(selected.plugin):
                found.append(selected)
        return found

    @property
    def plugins(self) -> list[Plugin]:
        """The plugins, for which a model may have to be opened."""
        return [one.plugin for one in (*self._debaters, *self._judges)]

    def offer(
        self,
        answerer: Answerer,
        judge: Judge,
        services: Services,
        make: Callable[[Selected, Services], Answerer],
    ) -> Offer:
        """Return the offer; `make` makes the further debaters when the page first uses them."""
        debaters: dict[str, Callable[[], Answerer]] = {self._debater.tag: lambda: answerer}
        for one in self._debaters:
            debaters.setdefault(one.tag, cache(partial(make, one, services)))
        judges: dict[str, Callable[[], Judge]] = {self._judge.tag: lambda: judge}
        for other in self._judges:
            judges.setdefault(other.tag, cache(partial(other.make, services)))
        is_demo, examples = _demo(services)
        notices = [DEMO_NOTICE] if is_demo else []
        if services.model is None:
            notices.append(f"{prepare.SIDE_UNKNOWN[0].upper()}{prepare.SIDE_UNKNOWN[1:]}.")
        return Offer(debaters, judges, notices, examples)


def _demo(services: Services) -> tuple[bool, list[str]]:
    """Return whether the index is the demo collection, and some of its claims."""
    from touche_rad.demo import demo_file, is_demo

    if services.index is None or not is_demo(services.index):
        return False, []
    lines = demo_file("claims.tsv").read_text("utf-8").splitlines()
    return True, [line.partition("\t")[0] for line in lines[1 : _EXAMPLES + 1]]
