# many.awk - writes a recording of very many ops: awk -v ops=1000000 -f tests/recordings/many.awk
# Tiles are copied in, worked on and copied back in 4 streams; the host is `ahead` tiles ahead at most.
function op(tile, stage, stream,    start, call) {
    call = id++
    host = later(host + 500, tile >= ahead ? ended[(tile - ahead) % ahead] : 0)
    start = later(later(host + 4000, free[stage]), last[stream])
    last[stream] = free[stage] = start + lengths[stage] + (call * 7919) % 97
    ended[tile % ahead] = last[stream]
    printf "[\"call\",%d,\"%s\",4711,%.0f,%.0f,0]\n", call, calls[stage], host, host + 1300
    host += 1300
    if (stage == 1) {
        printf "[\"launch\",%d,1,%d,[140000000000000,%.0f,1024]]\n", call, stream, 140000000000000 + 4096 * (tile % 16)
        printf "[\"kernel\",%d,1,%d,%.0f,%.0f,%d,1024,256,32,0,0]\n", call, stream, start, last[stream], 7 + tile % 3
    } else {
        printf "[\"copy\",%d,1,%d,%.0f,%.0f,65536]\n", call, stream, stage == 0 ? 140000000000000 : 139000000000000, \
            stage == 0 ? 139000000000000 : 140000000000000
        printf "[\"op\",%d,\"%s\",1,%d,%.0f,%.0f,65536,\"%s\",\"%s\",0]\n", call, stage == 0 ? "h2d" : "d2h", stream, start, \
            last[stream], stage == 0 ? "pinned" : "device", stage == 0 ? "device" : "pinned"
    }
}
function later(a, b) { return a > b ? a : b }
BEGIN {
    ahead = 64
    split("cudaMemcpyAsync_v3020 cudaLaunchKernel_v7000", names, " ")
    calls[0] = calls[2] = names[1]; calls[1] = names[2]
    lengths[0] = 3700; lengths[1] = 3000; lengths[2] = 3800
    print "{\"pipeline_recording\":1,\"version\":\"0.9.0\",\"program\":\"many\",\"pid\":4711,\"driver\":13000,\"begin_ns\":1000}"
    print "[\"device\",0,\"NVIDIA H200\",9,0,132,2048,32,65536,233472,3]"
    print "[\"context\",1,0]"
    for (s = 13; s < 17; s++) printf "[\"stream\",1,%d,%.0f,\"non-blocking\",0]\n", s, 94000000000000 + s
    for (k = 7; k < 10; k++) printf "[\"name\",%d,\"void kernel%d<float>(float*, int)\"]\n", k, k
    print "[\"memory\",\"device\",1500,140000000000000,16777216,0]"
    print "[\"memory\",\"pinned\",1600,139000000000000,16777216,null]"
    host = 10000; id = 1
    for (n = 0; n < ops; n++) op(int(n / 3), n % 3, 13 + int(n / 3) % 4)
    printf "[\"end\",%.0f,\"exit\"]\n", later(host, last[13]) + 100000
}
