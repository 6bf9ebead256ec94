"""Stance: whether an argument is on the side of what was said, against it, or about another matter.

A backend is chosen by name; each gives probabilities and none pretends to know what it does not.

`rules`            words that negate and words that differ between the two claims; knows little
`nli:MODEL`        an NLI cross-encoder: a folder, or OWNER/NAME of the hub
`trained:DIR`      a cross-encoder that `touche-rad train stance` made
`model`            a language model (`model:URL#NAME`, or where the environment says)
"""
