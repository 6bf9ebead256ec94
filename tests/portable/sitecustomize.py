"""On PYTHONPATH, each Python process is as on Windows, macOS or ARM: no PISA, and no fcntl for us."""

import builtins
import sys

OURS = ("touche_rad", "retrieval", "judges")

sys.modules["pyterrier_pisa"] = None  # type: ignore[assignment]
_import = builtins.__import__


def _without_fcntl(name, globals=None, *others, **more):
    """Import as before, but fcntl only for other packages, which have a way without it."""
    if name == "fcntl" and str((globals or {}).get("__name__")).partition(".")[0] in OURS:
        raise ModuleNotFoundError("No module named 'fcntl'", name=name)
    return _import(name, globals, *others, **more)


builtins.__import__ = _without_fcntl
