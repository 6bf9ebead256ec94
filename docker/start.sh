#!/bin/sh
# What the task's client starts: the server on port 8080, with the arguments given to it.
# -d, -j, -i and -m may come from the environment as well: TOUCHE_RAD_DEBATER, TOUCHE_RAD_JUDGE,
# TOUCHE_RAD_INDEX, TOUCHE_RAD_MODEL, and OPENAI_BASE_URL, OPENAI_API_KEY, OPENAI_MODEL.
exec touche-rad serve --host 0.0.0.0 --port 8080 "$@"
