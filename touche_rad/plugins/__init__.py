"""The registry: debaters, judges, panels, retrievers and indexes by name.

Ours are found as anyone's are: by an entry point (`touche_rad.debaters`, `touche_rad.judges`,
`touche_rad.panels`, `touche_rad.retrievers`, `touche_rad.indexes`) or by the decorator of the same
kind in a module that `--plugin` names. A plugin is a class; its docstring's first line is its
purpose, its inner `Options` its typed settings, and it is made with `(options, services)`.

This is the one door: what is inside is imported from here, by us as by anyone.
"""

from touche_rad.plugins.contracts import (
    Debater,
    Draws,
    Explains,
    Exports,
    Judge,
    JudgesAll,
    Panel,
    Retriever,
)
from touche_rad.plugins.given import Options, Services
from touche_rad.plugins.home import (
    Dumps,
    IndexHome,
    KeepsMemory,
    KeepsVectors,
    OnAServer,
    VectorsWanted,
)
from touche_rad.plugins.index import (
    ArgumentIndex,
    GivesMany,
    Meaning,
    MeaningIndex,
    Memory,
    RemembersIndex,
    arguments_by,
)
from touche_rad.plugins.located import (
    add_vectors,
    build_index,
    dump_index,
    index_exists,
    keeps_memory,
    open_index,
)
from touche_rad.plugins.plugin import KINDS, Kind, Plugin, name_of
from touche_rad.plugins.registry import (
    debater,
    find,
    import_plugins,
    index_home,
    judge,
    panel,
    registered,
    retriever,
    secret_names,
    trainer,
)

__all__ = [
    "KINDS",
    "ArgumentIndex",
    "Debater",
    "Draws",
    "Dumps",
    "Explains",
    "Exports",
    "GivesMany",
    "IndexHome",
    "Judge",
    "JudgesAll",
    "KeepsMemory",
    "KeepsVectors",
    "Kind",
    "Meaning",
    "MeaningIndex",
    "Memory",
    "OnAServer",
    "Options",
    "Panel",
    "Plugin",
    "RemembersIndex",
    "Retriever",
    "Services",
    "VectorsWanted",
    "add_vectors",
    "arguments_by",
    "build_index",
    "debater",
    "dump_index",
    "find",
    "import_plugins",
    "index_exists",
    "index_home",
    "judge",
    "keeps_memory",
    "name_of",
    "open_index",
    "panel",
    "registered",
    "retriever",
    "secret_names",
    "trainer",
]
