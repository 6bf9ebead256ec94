#!/bin/bash
# Starts /app/start.sh, waits until the port is open, and lets the client simulate or evaluate.
CONFIGURATION=/genirsim/touche25-rad-tira.json
PARAMETERS=
RUNS=
OUTPUT=/dev/stdout
while [ $# -gt 0 ]; do
  case $1 in
    -c=*|--configuration-file=*) CONFIGURATION=${1#*=} ;;
    -e=*|--evaluate-run-file=*) RUNS=${1#*=} ;;
    -p=*|--parameter-file=*) PARAMETERS=${1#*=} ;;
    -o=*|--output-file=*) OUTPUT=${1#*=} ;;
    --) shift; break ;;
    *) echo "unknown: $1" >&2; exit 1 ;;
  esac
  shift
done
(cd /app && exec ./start.sh "$@") &
for _ in $(seq 3600); do
  (: < /dev/tcp/127.0.0.1/8080) 2> /dev/null && break
  sleep 1
done
if [ -n "$RUNS" ]; then
  genirsim-evaluate $CONFIGURATION $RUNS > $OUTPUT
else
  genirsim $CONFIGURATION $PARAMETERS > $OUTPUT
fi
