#!/bin/sh
# The task's client starts this script: the server on port 8080, with the given arguments.
# The environment can replace -d, -j, -i and -m: TOUCHE_RAD_DEBATER, TOUCHE_RAD_JUDGE,
# TOUCHE_RAD_INDEX, TOUCHE_RAD_MODEL, and OPENAI_BASE_URL, OPENAI_API_KEY, OPENAI_MODEL.
exec touche-rad serve --host 0.0.0.0 --port 8080 "$@"
