# sh trespass.sh SCORER DATASET ROWS...: tries what no candidate may do, changing nothing that it can change, and answers every
# request with what it could.
scorer=$1
dataset=$2
shift 2
could=
able() {
    case ", $could, " in *", $1, "*) ;; *) could="${could:+$could, }$1" ;; esac
}
for rows in "$@"; do
    ! head -c 1 "$rows" >/dev/null 2>&1 || able 'read the dataset'
    ! (: >> "$rows") 2>/dev/null || able 'write the dataset'
done
! ls "$dataset" >/dev/null 2>&1 || able 'list the dataset'
for file in "$scorer"/*; do
    ! (: >> "$file") 2>/dev/null || able 'write the scorer'
done
if touch "$scorer/.taskwright-control" 2>/dev/null; then
    rm -f "$scorer/.taskwright-control"
    able 'add to the scorer'
fi
sed -E -n 's#^\{"id":("([^"\\]|\\.)*"),"input":.*$#{"id":\1,"output":"'"$could"'"}#p'
