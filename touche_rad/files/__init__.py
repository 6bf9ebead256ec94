"""Read and write the official files, line by line; their kind is detected from the content."""

from touche_rad.files._messages import response_line
from touche_rad.files._rows import (
    Ranked,
    claims_text,
    read_qrels,
    read_queries,
    read_run,
    run_lines,
)
from touche_rad.files.contests import Judgement, contest_line, judgement_line
from touche_rad.files.formats import (
    DEBATES,
    Kind,
    argument_line,
    detect_kind,
    read_arguments,
    read_claims,
    read_contests,
    read_debates,
    read_evaluations,
    read_numbered,
    read_outcomes,
    read_views,
    with_reader,
)
from touche_rad.files.labels import (
    Labels,
    labels_line,
    read_annotations,
    read_labelled,
    read_labels,
)
from touche_rad.files.outputs import check_output
from touche_rad.files.records import BadLines, atomic_write
from touche_rad.files.simulations import (
    Evaluation,
    argument_of,
    configured,
    evaluation_line,
    simulation_line,
)

__all__ = [
    "DEBATES",
    "BadLines",
    "Evaluation",
    "Judgement",
    "Kind",
    "Labels",
    "Ranked",
    "argument_line",
    "argument_of",
    "atomic_write",
    "check_output",
    "claims_text",
    "configured",
    "contest_line",
    "detect_kind",
    "evaluation_line",
    "judgement_line",
    "labels_line",
    "read_annotations",
    "read_arguments",
    "read_claims",
    "read_contests",
    "read_debates",
    "read_evaluations",
    "read_labelled",
    "read_labels",
    "read_numbered",
    "read_outcomes",
    "read_qrels",
    "read_queries",
    "read_run",
    "read_views",
    "response_line",
    "run_lines",
    "simulation_line",
    "with_reader",
]
