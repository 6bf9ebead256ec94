"""The one row that a stance model ends in: how surely a text supports the claim beside it.

A base that knows entailment begins with that: its row for entailment less its row for
contradiction. All else begins by chance.
"""

from __future__ import annotations

from typing import Any, Final, Literal

from retrieval.stance.labels import SUPPORTS, rows_of
from touche_rad.errors import UserError

Begun = Literal["stance", "NLI", "chance"]
_SPREAD: Final = 0.02


def one_row(network: Any, base: str) -> Begun:
    """Give a classifier's network one row, and return what it begins with."""
    import torch

    name = _last_of(network, base)
    last = network.get_submodule(name)
    labels = dict(network.config.id2label)
    begun: Begun = "stance"
    if list(labels.values()) != [SUPPORTS]:
        rows = rows_of(network.config)
        begun = "chance" if rows is None else "NLI"
        row = torch.nn.Linear(
            last.in_features, 1, bias=last.bias is not None, device=last.weight.device,
            dtype=last.weight.dtype,
        )  # fmt: skip
        with torch.no_grad():
            if rows is None:
                spread = getattr(network.config, "initializer_range", None)
                row.weight.normal_(0.0, spread or _SPREAD)
                if row.bias is not None:
                    row.bias.zero_()
            else:
                more, less = rows.supporting
                row.weight.copy_(last.weight[more] - last.weight[less])
                if row.bias is not None:
                    row.bias.copy_(last.bias[more] - last.bias[less])
        network.set_submodule(name, row)
    network.config.num_labels = network.num_labels = 1
    network.config.id2label, network.config.label2id = {0: SUPPORTS}, {SUPPORTS: 0}
    network.config.problem_type = None
    return begun


def beside_the_layers(network: Any) -> list[Any]:
    """Return what stands on top of a classifier's layers and learns with any of them."""
    prefix = network.base_model_prefix
    pooler = getattr(getattr(network, prefix, None), "pooler", None)
    tops = [one for name, one in network.named_children() if name != prefix]
    return [*tops, pooler] if pooler is not None else tops


def _last_of(network: Any, base: str) -> str:
    """Name the linear layer that a classifier ends in."""
    from torch.nn import Linear

    inner = f"{network.base_model_prefix}."
    found = [
        name
        for name, one in network.named_modules()
        if isinstance(one, Linear)
        and one.out_features == network.config.num_labels
        and not name.startswith(inner)
    ]
    if not found:
        raise UserError(f"stance model {base!r} has no head that could be trained")
    return str(found[-1])
