# sums.awk - sums up the lines of bench/truth/run.sh: how many causes were right, how far
# predictions were off, whether the better of two fixes was known, and how many could not be run.
BEGIN {
    split("missing-wait legacy-stream blocking-stream sync-in-loop alloc-in-loop pinned-alloc-in-loop " \
          "launch-blocking slow-callback pin-in-run lazy-loading memset-in-loop", list)
    for (i in list)
        mistake[list[i]] = 1
}
function absolute(x) { return x < 0 ? -x : x }

# Compares each two fixes of one case whose measured times differ by over 5 % of the original's.
function compare_fixes(    i, j) {
    for (i = 1; i < offered; i++)
        for (j = i + 1; j <= offered; j++)
            if (absolute(took[i] - took[j]) > 0.05 * original) {
                pairs++
                ordered += (told[i] < told[j]) == (took[i] < took[j])
            }
    offered = 0
}
$1 == "fix" {
    if ($4 == "none") {
        failed++
        next
    }
    error = $3 / $4 - 1
    errors[++fixes] = absolute(error)
    told[++offered] = $3
    took[offered] = $4
    original = $5
    next
}
{
    compare_fixes()
    kind = $2 == "clean" ? "clean settings, none accused" : $2 ~ /,/ ? "two causes, both in the first three" \
         : ($2 in mistake) || /--mistake=/ ? "single mistakes, named first" : "single settings, named first"
    tried[kind]++
    right[kind] += $1 == "right"
}
END {
    compare_fixes()
    for (kind in tried)
        printf "%-38s%4d of %4d%8.1f %%\n", kind, right[kind], tried[kind], 100 * right[kind] / tried[kind]
    if (failed > 0)
        printf "%d %s could not be run\n", failed, failed == 1 ? "fix" : "fixes"
    if (fixes == 0)
        exit
    for (i = 2; i <= fixes; i++)
        for (j = i; j > 1 && errors[j - 1] > errors[j]; j--) {
            swap = errors[j]
            errors[j] = errors[j - 1]
            errors[j - 1] = swap
        }
    printf "%d fixes, predicted against run: median %.1f %%, 90th percentile %.1f %%, worst %.1f %%\n", fixes,
           100 * errors[int((fixes + 1) / 2)], 100 * errors[int(0.9 * fixes + 0.999)], 100 * errors[fixes]
    printf "of two fixes that differ by over 5 %%, the better one was known: %d of %d\n", ordered, pairs
}
