#!/bin/sh
# The reward, and what the client left in its home.
mkdir -p /logs/verifier
cp -a "$HOME" /logs/verifier/home
if [ "$(cat /app/done.txt)" = done ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
