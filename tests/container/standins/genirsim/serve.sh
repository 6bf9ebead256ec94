#!/bin/bash
# The same start, and then the client's page on port 8000.
(cd /app && exec ./start.sh "$@") &
for _ in $(seq 3600); do
  (: < /dev/tcp/127.0.0.1/8080) 2> /dev/null && break
  sleep 1
done
cd /genirsim/static && exec python3 -m http.server 8000
