"""An index of ours on Elasticsearch whose arguments are linked by the statements they share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from retrieval.chains import Link, alike
from retrieval.elastic import shape
from retrieval.elastic.arguments import ElasticArguments
from retrieval.elastic.shape import DEEPEST
from retrieval.index.statements import ROLES
from touche_rad.debate import Argument

_SOURCE = ["line", shape.GROUPS]


class LinkedArguments(ElasticArguments):
    """Arguments on a server, with their links."""

    def links(self, argument_id: str) -> list[Link]:
        """Return which arguments share a statement with this one, as the local index does."""
        source = self._sources([argument_id], {"_source": _SOURCE})[0]
        if source is None:
            return []
        mine, groups = _read(source)
        if not groups:
            return []
        same = [
            {"terms": {f"{shape.GROUPS}.{theirs}": sorted(set(groups.values()))}}
            for theirs in ROLES
        ]
        sharing = {
            "query": {"bool": {"filter": {"bool": {"should": same}}}},
            "size": DEEPEST, "_source": _SOURCE, "track_total_hits": False,
        }  # fmt: skip
        found = (_read(hit["_source"]) for hit in self._searched([sharing])[0])
        others = sorted(
            (one for one in found if one[0].id != mine.id),
            key=lambda one: one[0].id.encode("utf-8", "surrogatepass"),
        )
        return [
            Link(other, role, theirs, alike(getattr(mine, role), getattr(other, theirs)))
            for role, group in groups.items()
            for other, held in others
            for theirs in ROLES
            if held.get(theirs) == group
        ]


def _read(source: Mapping[str, Any]) -> tuple[Argument, dict[str, int]]:
    """Return the argument with the groups of its statements, in the roles' order."""
    held = source.get(shape.GROUPS) or {}
    return shape.argument(source, ""), {role: held[role] for role in ROLES if role in held}


def opened(location: str) -> ElasticArguments:
    """Open an index; one that was loaded with its links has them."""
    index = ElasticArguments(location)
    return LinkedArguments(location) if index.linked else index
