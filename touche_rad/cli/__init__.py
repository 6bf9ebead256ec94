"""The command line: `touche-rad COMMAND`."""

from touche_rad.cli.program import main, run, touche_rad

__all__ = ["main", "run", "touche_rad"]
