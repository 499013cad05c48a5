#!/bin/sh
# The reward is 1 for a file that holds the right word and at most line ends after it, else 0.
set -u
answer=
if [ -f /app/answer.txt ]; then
    answer=$(head -c 100 /app/answer.txt | tr -d '\0\r')
fi
reward=0
if [ "$answer" = black ]; then
    reward=1
fi
printf '{"reward": %d}\n' "$reward" >/logs/verifier/reward.json
