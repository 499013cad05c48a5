#!/bin/sh
# build.sh SOURCE DRIVER: compile both and print the program's bytes.
#
# The scorer runs this inside the sandbox and keeps what it prints. -O2 without -march: the same
# flags mean something on every machine; who wants wider vectors says so in the source.
set -eu
temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT
if ! gcc -std=gnu17 -O2 -fmax-errors=3 -o "$temp/program" "$2" "$1" -lm >"$temp/log" 2>&1; then
    head -c 2000 "$temp/log" >&2
    exit 1
fi
cat "$temp/program"
