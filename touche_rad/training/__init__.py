"""Training a debater's own model: samples from debates, preference pairs, adapters, what they are.

Reached by the entry points of `touche_rad.trainers`, as anyone's trainer is. torch, transformers,
peft and trl are the extra `train`; what makes data needs none of them.
"""
