"""The tests; those of a package of the product are in a folder of its name."""

from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
"""The repository."""
