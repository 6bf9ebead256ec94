"""A tiny random language model with a tokenizer trained on the spot: real parts, no knowledge."""

from __future__ import annotations

from pathlib import Path

from touche_rad.models import Message

WORDS = (
    'The system answers the user with one argument. {"quantity": "yes", "score": 0.5} no none '
    "[1, 2, 3] true false null Debate, claim, reason: because, therefore; 0123456789 'quoted' (x)"
)
TEMPLATE = (
    "{% for message in messages %}<s>{{ message['role'] }}\n{{ message['content'] }}</s>\n"
    "{% endfor %}{% if add_generation_prompt %}<s>assistant\n{% endif %}"
)

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


def tiny_model(folder: Path, *, context: int = 4096) -> Path:
    """Make a random Llama whose heads are as large as vLLM's CPU kernels need."""
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
    fast.chat_template = TEMPLATE
    fast.save_pretrained(folder)
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(fast),
        hidden_size=128,
        intermediate_size=256,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        head_dim=64,
        max_position_embeddings=context,
        bos_token_id=0,
        eos_token_id=1,
        tie_word_embeddings=False,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    return folder
