# join.awk - the CSV files of several parts as one, with the columns that the first has: some are
# there only where a kernel asks for them.
#
#     awk -f plots/csv.awk -f shared.awk -f join.awk FILE.csv...

FNR == 1 {
    delete COLUMN
    csv_heading($0)
    if (NR == 1) {
        print
        names = split($0, NAME, ",")
    }
    next
}

{
    csv_split($0)
    text = csv_quoted(field(NAME[1]))
    for (i = 2; i <= names; i++)
        text = text "," csv_quoted(field(NAME[i]))
    print text
}
