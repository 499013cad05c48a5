# sh leftovers.sh: leaves a mark wherever it can, and answers every request with the places that held one before.
mark=.taskwright-control-mark
places="$PWD $HOME $TMPDIR $TASKWRIGHT_DATA /tmp /var/tmp /dev/shm /run/lock"
found=
for place in $places; do
    [ ! -e "$place/$mark" ] || found="$found $place"
done
for place in $places; do
    touch "$place/$mark" 2>/dev/null
done
sed -E -n 's#^\{"id":("([^"\\]|\\.)*"),"input":.*$#{"id":\1,"output":"'"${found# }"'"}#p'
