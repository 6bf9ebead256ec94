"""A tiny random language model with a tokenizer trained on the spot: real parts, no knowledge."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from touche_rad.models import Message

WORDS = (
    'The system answers the user with one argument. {"quantity": "yes", "score": 0.5} no none '
    "[1, 2, 3] true false null Debate, claim, reason: because, therefore; 0123456789 'quoted' (x)"
)
TEMPLATE = (
    "{% for message in messages %}<s>{{ message['role'] }}\n{{ message['content'] }}</s>\n"
    "{% endfor %}{% if add_generation_prompt %}<s>assistant\n{% endif %}"
)

THINKS = "{% if add_generation_prompt %}<think>{% if enable_thinking is false %}</think>{% endif %}{% endif %}"
"""The end of a chat template of a model that thinks unless it is told not to."""
THOUGHT = "SECRET"

SMALL = {
    "enforce-eager": "true",
    "dtype": "float32",
    "gpu-memory-utilization": "0.2",
    "max-num-seqs": "32",
}
"""Options of a vLLM on the processor for which such a model is enough."""


def asked(number: int) -> list[Message]:
    """Return a prompt whose beginning is the same for all numbers."""
    return [Message("system", "Judge with care. " * 20), Message("user", f"Case {number}.")]


def tiny_model(folder: Path, *, context: int = 4096, thinks: bool = False) -> Path:
    """Make a random Llama whose heads are as large as vLLM's CPU kernels need.

    One that thinks has the thought THOUGHT and says yes, where no schema wants other tokens.
    """
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=600,
        special_tokens=["<s>", "</s>"],
        show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    tokenizer.train_from_iterator([WORDS] * 4, trainer)
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", pad_token="</s>"
    )
    fast.chat_template = TEMPLATE + THINKS * thinks
    thought = ["<think>", THOUGHT, "</think>", "yes"] * thinks
    fast.add_tokens(thought)
    fast.save_pretrained(folder)
    torch.manual_seed(0)
    heads = 10 if thinks else 2
    config = LlamaConfig(
        vocab_size=len(fast),
        hidden_size=64 * heads,
        intermediate_size=256,
        num_hidden_layers=2,
        num_attention_heads=heads,
        num_key_value_heads=heads,
        head_dim=64,
        max_position_embeddings=context,
        bos_token_id=0,
        eos_token_id=1,
        tie_word_embeddings=False,
    )
    model = LlamaForCausalLM(config)
    if thinks:
        _chain(model, fast.convert_tokens_to_ids([*thought, "</s>"]))
    model.save_pretrained(folder)
    return folder


def _chain(model: Any, thought: Sequence[int]) -> None:
    """Make the next token depend on the last one only; tokens of a thought follow each other."""
    import torch

    with torch.no_grad():
        for layer in model.model.layers:
            layer.self_attn.o_proj.weight.zero_()
            layer.mlp.down_proj.weight.zero_()
        model.model.embed_tokens.weight.copy_(torch.eye(*model.model.embed_tokens.weight.shape))
        model.lm_head.weight[list(thought)] = -9.0
        for token, following in itertools.pairwise(thought):
            model.lm_head.weight[following, token] = 9.0
