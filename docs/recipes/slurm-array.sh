#!/bin/bash
# One shard per task of a Slurm array, in a folder that all nodes see:
#
#   sbatch --array=1-16 slurm-array.sh judge debates.jsonl run.jsonl -j length
#
# then, when all tasks are done:
#
#   touche-rad merge run.jsonl.shards -o run.jsonl
#
# A task that failed or was preempted resumes: submit the same array again. Finished shards end at
# once. The numbers of an array must begin with 1 and have no gaps.
#SBATCH --job-name=touche-rad
#SBATCH --cpus-per-task=2
#SBATCH --mem=4G
#SBATCH --time=08:00:00
#SBATCH --requeue
#SBATCH --output=%x-%A-%a.log
set -euo pipefail

verb=$1 input=$2 run=$3
shift 3
exec touche-rad "$verb" "$input" -o "$run" "$@" \
  --shard "$SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT"
