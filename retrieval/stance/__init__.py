"""Stance: is an argument on the side of a text, against it, or about something else?

A backend is named by `retrieval.stance.backend.backend(NAME)`:

`rules`            negations and the words that differ between an argument's two claims
`nli:MODEL`        an NLI cross-encoder: a folder, or OWNER/NAME on the Hugging Face hub
`trained:DIR`      a cross-encoder made by `touche-rad train stance`
`model`            a language model: the run's, or `model:URL#NAME`
"""
