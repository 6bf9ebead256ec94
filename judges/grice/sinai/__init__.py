"""SINAI's judges: a language model asked outright, with examples, or with reasons made of them."""

from judges.grice.sinai.judge import Analysis1, Analysis3, Analysis5, Best, Fsl1, Fsl2, Zsl

__all__ = ["Analysis1", "Analysis3", "Analysis5", "Best", "Fsl1", "Fsl2", "Zsl"]
