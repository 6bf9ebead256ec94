"""Plugins: debaters, judges, panels, retrievers, index backends and annotators by name.

Plugins are found by entry points (`touche_rad.debaters`, `touche_rad.judges`, ...) or by a
decorator in a module that `--plugin` names. A plugin is a class: the first line of its docstring is
its purpose, its inner class `Options` its typed options, and it is created with `(options,
services)`.

Import everything about plugins from here.
"""

from touche_rad.plugins.contracts import (
    Annotations,
    Annotator,
    ArgumentIndex,
    Debater,
    ExplainedCandidate,
    ExplainedVerdict,
    Explains,
    ExplainsVerdicts,
    Feature,
    IndexBackend,
    Judge,
    JudgesAll,
    Meaning,
    Panel,
    Retriever,
    VectorsWanted,
)
from touche_rad.plugins.indexes import (
    add_vectors,
    annotations_of,
    arguments_by,
    build_index,
    index_backend_of,
    meaning_of,
    open_index,
)
from touche_rad.plugins.profiles import Options, Profile, setting
from touche_rad.plugins.registry import (
    KINDS,
    Kind,
    Plugin,
    Services,
    debater,
    find,
    import_plugins,
    index_backend,
    judge,
    panel,
    parse_plugin,
    registered,
    retriever,
    split_plugins,
    trainer,
)

__all__ = [
    "KINDS",
    "Annotations",
    "Annotator",
    "ArgumentIndex",
    "Debater",
    "ExplainedCandidate",
    "ExplainedVerdict",
    "Explains",
    "ExplainsVerdicts",
    "Feature",
    "IndexBackend",
    "Judge",
    "JudgesAll",
    "Kind",
    "Meaning",
    "Options",
    "Panel",
    "Plugin",
    "Profile",
    "Retriever",
    "Services",
    "VectorsWanted",
    "add_vectors",
    "annotations_of",
    "arguments_by",
    "build_index",
    "debater",
    "find",
    "import_plugins",
    "index_backend",
    "index_backend_of",
    "judge",
    "meaning_of",
    "open_index",
    "panel",
    "parse_plugin",
    "registered",
    "retriever",
    "setting",
    "split_plugins",
    "trainer",
]
