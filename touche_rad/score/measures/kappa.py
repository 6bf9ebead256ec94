"""Cohen's kappa."""

from touche_rad.score.measures._counts import Counts


def kappa(counts: Counts) -> float | None:
    """Agreement beyond chance, from -1 to 1: (o - e) / (1 - e).

    o is the observed agreement, e that of two independent judges with these shares of yes. If both
    always give one answer, e is 1 and kappa is 0 (Cohen 1960).
    """
    total = counts.labelled
    if not total:
        return None
    agreed = (counts.tp + counts.tn) * total
    chance = (counts.tp + counts.fp) * (counts.tp + counts.fn)
    chance += (counts.tn + counts.fn) * (counts.tn + counts.fp)
    return (agreed - chance) / (total * total - chance) if total * total > chance else 0.0
