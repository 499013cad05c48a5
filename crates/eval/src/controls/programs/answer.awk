# awk -f answer.awk TABLE - < REQUESTS: answers each request with what the table has for its id. A line of the table is an id and
# an output, both as JSON, with a tab between them; the id is the first member of a request.
FNR == NR {
    tab = index($0, "\t")
    answer[substr($0, 1, tab - 1)] = substr($0, tab + 1)
    next
}
match($0, /^\{"id":"([^"\\]|\\.)*"/) {
    id = substr($0, 7, RLENGTH - 6)
    if (id in answer) {
        print "{\"id\":" id ",\"output\":" answer[id] "}"
        fflush()
    }
}
