#!/usr/bin/env bash
# One shard per machine over ssh, without a shared folder. touche-rad must be installed on each
# machine, and an index must lie at the same path on each:
#
#   HOSTS="node1 node2 node3" bash ssh.sh judge debates.jsonl run.jsonl -j length
#
# The input is copied to each machine, the parts are copied back and merged here. The same command
# resumes what was interrupted.
set -euo pipefail

verb=$1 input=$2 run=$3
shift 3
read -r -a hosts <<< "$HOSTS"
count=${#hosts[@]}
folder=touche-rad-shards/$(basename "$run")  # in the home folder of each machine
name=$(basename "$run")

shard() {
  local host=$1 number=$2
  shift 2
  local words
  words=$(printf '%q ' touche-rad "$verb" "$(basename "$input")" -o "$name" "$@" \
    --shard "$number/$count")
  # shellcheck disable=SC2029  # the words are expanded here, for the shell over there
  ssh "$host" "mkdir -p $folder && cat > $folder/$(basename "$input")" < "$input"
  # shellcheck disable=SC2029
  ssh "$host" "cd $folder && $words" < /dev/null
  # shellcheck disable=SC2029
  ssh "$host" "cd $folder && tar cf - $name.shards/$number-of-$count" < /dev/null |
    tar xf - -C "$(dirname "$run")"
}

jobs=()
for place in "${!hosts[@]}"; do
  shard "${hosts[$place]}" $((place + 1)) "$@" &
  jobs+=($!)
done
failed=0
for job in "${jobs[@]}"; do
  wait "$job" || failed=1
done
[ "$failed" -eq 0 ] || { echo "a machine failed: run the same command again" >&2; exit 1; }
touche-rad merge "$run.shards" -o "$run" --replace
