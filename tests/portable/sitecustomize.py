"""On PYTHONPATH, each Python process is as on Windows, macOS or ARM: without PISA."""

import sys

sys.modules["pyterrier_pisa"] = None  # type: ignore[assignment]
