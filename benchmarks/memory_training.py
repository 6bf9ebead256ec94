"""Memory of `train sft` and `train dpo` on a GPU, with a random model of a real size.

    python benchmarks/memory_training.py [--size 8B] [--steps N] [-- TRAINING OPTION ...]

Writes a model with random weights and records of almost 4,096 tokens below a temporary folder (an
8B model takes 16 GB), trains with the defaults of the commands, and prints the peak of the memory
that PyTorch reserved. Nothing is learned: only the sizes are those of a real training.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

TOKENS = 4_000
SIZES = {"tiny": (64, 128, 2, 100), "8B": (4_096, 14_336, 32, 128_256)}
"""Width, inner width, layers and vocabulary; 8B is like Llama 3.1 8B."""
TEMPLATE = (
    "{% for one in messages %}{{ one['role'] }} {{ one['content'] }} </s> {% endfor %}"
    "{% if add_generation_prompt %}assistant {% endif %}"
)
TRAIN = """
import sys, torch
from touche_rad.cli import run
code = run(sys.argv[1:])
cuda = torch.cuda.is_available()
print(f"PEAK {torch.cuda.max_memory_reserved() / 1e9 if cuda else 0:.1f}")
sys.exit(code)
"""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--size", choices=SIZES, default="8B")
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("training", nargs="*", help="options of train sft and train dpo")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        base = write_model(Path(folder, "base"), SIZES[options.size])
        for method, count in (("sft", 4 * options.steps), ("dpo", 8 * options.steps)):
            data = write_records(Path(folder, f"{method}.jsonl"), method, count)
            words = ["train", method, data, "--base", base, "-o", Path(folder, method)]
            words += ["--epochs", 1, "--held-out", 0, *options.training]
            done = subprocess.run(
                [sys.executable, "-c", TRAIN, *map(str, words)], capture_output=True, text=True
            )
            result, _, peak = done.stdout.rpartition("PEAK ")
            told = done.stderr.strip()[-2000:]
            if done.returncode == 0:
                told = f"{peak.strip()} GB, {json.loads(result)['learnt']} records of {count}"
            print(f"- {options.size}, `train {method}`: {told}", flush=True)


def write_model(folder: Path, size: tuple[int, int, int, int]) -> Path:
    """Write a model with random weights, and a tokenizer with one token per word."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    words = ["<s>", "</s>", "<unk>", "system", "user", "assistant", "word"]
    tokenizer = Tokenizer(models.WordLevel({word: at for at, word in enumerate(words)}, "<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token="<s>",
        eos_token="</s>",
        pad_token="</s>",
        unk_token="<unk>",
    )
    fast.chat_template = TEMPLATE
    fast.save_pretrained(folder)
    width, inner, layers, vocabulary = size
    heads = max(2, width // 128)
    config = LlamaConfig(
        vocab_size=vocabulary,
        hidden_size=width,
        intermediate_size=inner,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=min(8, heads),
        max_position_embeddings=8_192,
        bos_token_id=0,
        eos_token_id=1,
        tie_word_embeddings=False,
    )
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.set_default_dtype(torch.bfloat16)
    with torch.device(device):
        model = LlamaForCausalLM(config)
    model.save_pretrained(folder)
    del model
    torch.cuda.empty_cache()  # the trainings are processes of their own
    return folder


def write_records(path: Path, method: str, count: int) -> Path:
    """Write records of about TOKENS tokens, half of them in the answer."""
    half = " ".join(["word"] * (TOKENS // 2))
    answer = f"<reasoning> {half} </reasoning> <argument> word </argument>"
    with path.open("w", encoding="utf-8") as stream:
        for number in range(count):
            system = {"role": "system", "content": f"{number}"}  # equal records count once
            asked = [system, {"role": "user", "content": half}]
            row: dict[str, Any] = {"debate": f"{number}", "turn": 0}
            reply = [{"role": "assistant", "content": answer}]
            if method == "sft":
                row["messages"] = asked + reply
            else:
                other = [{"role": "assistant", "content": f"word {answer}"}]
                row |= {"prompt": asked, "chosen": reply, "rejected": other, "group": f"{number}"}
            stream.write(json.dumps(row) + "\n")
    return path


if __name__ == "__main__":
    main()
