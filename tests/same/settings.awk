# settings.awk - command lines drawn at random, one per line: awk -v seed=1 -v count=500 -f settings.awk
#
# Every setting that a simulated run takes has a chance; about one line in ten is refused, which is a
# result like any other.
function pick(list,    words, n) {
    n = split(list, words, " ")
    return words[1 + int(rand() * n)]
}

function maybe(chance, words) {
    return rand() < chance ? " " words : ""
}

BEGIN {
    srand(seed)
    machines = "h200 h200 h100 a100 v100 p100 k20x k20c c2070 c2050 c1060 rtx3050-laptop"
    kernels = "scale scale wave wave-launches uniform divergent sum sum-int scan all finite " \
              "reduce-divergent transpose-naive stride-copy scale,sum scale,scale scale,scale,scale wave,sum"
    mistakes = "missing-wait pageable-memory legacy-stream blocking-stream sync-in-loop alloc-in-loop " \
               "pinned-alloc-in-loop memset-in-loop launch-blocking slow-callback lazy-loading pin-in-run"
    for (i = 0; i < count; i++) {
        line = "--device=sim:" pick(machines) " --kernel=" pick(kernels) " --seed=" int(rand() * 1000)
        if (rand() < 0.3) # with the bytes: small arrays
            line = line " -n " pick("1k 4k 64k 256k 1M") " -t " pick("1 2 3 4 7 8 16 32")
        else
            line = line " --no-data -n " pick("64k 1M 16M 64M 256M 1G") " -t " pick("1 2 3 5 8 16 32 64 100 256 1k auto")
        ways = pick("1 2 3 3 3 3 4")
        streams = ways == 1 ? "1" : pick("1 2 3 4 4 8 16 auto")
        line = line " --ways=" ways " -s " streams
        line = line maybe(0.5, "--order=breadth") maybe(0.3, "--layout=stage")
        if (ways == 4)
            line = line maybe(0.5, "--cpu-share=" pick("0 0.1 0.5"))
        line = line maybe(0.3, "--memory=" pick("pageable registered mapped"))
        line = line maybe(0.2, "--priorities=" pick("0,-5 0,0,-1 -5,0")) maybe(0.2, "--callbacks")
        line = line maybe(0.15, "--connections=" pick("1 2 8")) maybe(0.25, "--issue=" pick("graph batch"))
        line = line maybe(0.3, "--intensity=" pick("10 100 1000")) maybe(0.1, "--blocks=" pick("1 8 132"))
        if (line ~ /kernel=scan/)
            line = line maybe(0.4, "--carry=" pick("callback sync"))
        line = line maybe(0.25, "--mistake=" pick(mistakes)) maybe(0.1, "--columns=256")
        line = line maybe(0.1, "--scatter") maybe(0.05, "--pack")
        print line
    }
}
