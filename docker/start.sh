#!/bin/sh
# The task's client starts this script: the server on port 8080, with the given arguments.
# The environment can replace -d, -j, -i and -m: TOUCHE_RAD_DEBATER, TOUCHE_RAD_JUDGE,
# TOUCHE_RAD_INDEX, TOUCHE_RAD_MODEL, and OPENAI_BASE_URL, OPENAI_API_KEY, OPENAI_MODEL.
# --open: the task's client sends no token; with TOUCHE_RAD_TOKEN clients must send it.
if [ -n "$TOUCHE_RAD_TOKEN" ]; then set -- --host 0.0.0.0 "$@"; else set -- --host 0.0.0.0 --open "$@"; fi
exec touche-rad serve --keep-running --port 8080 "$@"
