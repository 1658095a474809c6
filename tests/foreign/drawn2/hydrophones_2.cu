// libs: -lcufft
// Hydrophones of an array: each record of 5003 samples is turned into a spectrum, and its loudest line is found.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_runtime.h>
#include <cufft.h>
#include <fcntl.h>
#include <sys/file.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace cg = cooperative_groups;

#define RT(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { fprintf(stderr, "%d: %s\n", __LINE__, cudaGetErrorString(e_)); exit(2); } } while (0)
#define FFT(x) do { cufftResult e_ = (x); if (e_ != CUFFT_SUCCESS) { fprintf(stderr, "%d: cufft %d\n", __LINE__, (int)e_); exit(2); } } while (0)

constexpr int PASSES = 120, RECORDS = 4096, SAMPLES = 5003, LINES = SAMPLES / 2 + 1, TONES = 64, BUFFERS = 3, LANES = 2, FRESH = 256;
constexpr size_t ALL = (size_t)RECORDS * SAMPLES;

__global__ void widen(const short *raw, float *wave, size_t n, float gain) {
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) wave[i] = gain * raw[i];
}

__global__ void loudest(const cufftComplex *spectrum, int *line) {
    __shared__ unsigned long long best[32];
    auto block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    const cufftComplex *mine = spectrum + (size_t)blockIdx.x * LINES;
    unsigned long long top = 0;
    for (int k = 1 + block.thread_rank(); k < LINES; k += block.size()) {
        const float power = mine[k].x * mine[k].x + mine[k].y * mine[k].y;
        const unsigned long long key = (unsigned long long)__float_as_uint(power) << 32 | (unsigned)k;
        top = key > top ? key : top;
    }
    top = cg::reduce(warp, top, cg::greater<unsigned long long>());
    if (warp.thread_rank() == 0) best[warp.meta_group_rank()] = top;
    block.sync();
    if (warp.meta_group_rank() == 0) {
        top = warp.thread_rank() < warp.meta_group_size() ? best[warp.thread_rank()] : 0;
        top = cg::reduce(warp, top, cg::greater<unsigned long long>());
        if (warp.thread_rank() == 0) line[blockIdx.x] = (int)(top & 0xffffffffu);
    }
}

static int lineOf(int tone) { return 20 + 31 * tone; }
static int toneOf(int pass, int record) { return record % FRESH == 0 ? (pass * 3 + record / FRESH) % TONES : record * 5 % TONES; }

static cufftHandle plan(cudaStream_t stream) {
    cufftHandle p;
    FFT(cufftPlan1d(&p, SAMPLES, CUFFT_R2C, RECORDS));
    FFT(cufftSetStream(p, stream));
    return p;
}

int main() {
    std::vector<std::vector<short>> tones(TONES, std::vector<short>(SAMPLES));
    for (int t = 0; t < TONES; t++)
        for (int i = 0; i < SAMPLES; i++) tones[t][i] = (short)lrint(9000 * sin(6.283185307179586 * lineOf(t) * i / SAMPLES));
    short *raw[BUFFERS], *dRaw[LANES];
    float *wave[LANES];
    cufftComplex *spectrum[LANES];
    int *dLine[LANES], *line;
    cudaEvent_t sent[BUFFERS];
    cudaStream_t lane[LANES];
    cufftHandle fft[LANES];
    for (int b = 0; b < BUFFERS; b++) {
        RT(cudaMallocHost(&raw[b], ALL * sizeof(short)));
        RT(cudaEventCreateWithFlags(&sent[b], cudaEventDisableTiming));
        for (int r = 0; r < RECORDS; r++) memcpy(raw[b] + (size_t)r * SAMPLES, tones[toneOf(0, r)].data(), SAMPLES * sizeof(short));
    }
    RT(cudaMallocHost(&line, (size_t)PASSES * RECORDS * sizeof(int)));
    for (int i = 0; i < LANES; i++) {
        RT(cudaStreamCreateWithFlags(&lane[i], cudaStreamNonBlocking));
        RT(cudaMalloc(&dRaw[i], ALL * sizeof(short)));
        RT(cudaMalloc(&wave[i], ALL * sizeof(float)));
        RT(cudaMalloc(&spectrum[i], (size_t)RECORDS * LINES * sizeof(cufftComplex)));
        RT(cudaMalloc(&dLine[i], RECORDS * sizeof(int)));
        fft[i] = plan(lane[i]);
    }

    // calibration: the gain by which a known tone has the line's power that it should have
    float gain = 1.0f / 16384;
    for (int round = 0; round < 6; round++) {
        const int i = round % LANES;
        cufftComplex at;
        RT(cudaMemcpyAsync(dRaw[i], raw[0], ALL * sizeof(short), cudaMemcpyHostToDevice, lane[i]));
        widen<<<1056, 256, 0, lane[i]>>>(dRaw[i], wave[i], ALL, gain);
        FFT(cufftExecR2C(fft[i], wave[i], spectrum[i]));
        loudest<<<RECORDS, 256, 0, lane[i]>>>(spectrum[i], dLine[i]);
        RT(cudaGetLastError());
        RT(cudaMemcpyAsync(&at, spectrum[i] + lineOf(toneOf(0, 0)), sizeof at, cudaMemcpyDeviceToHost, lane[i]));
        RT(cudaStreamSynchronize(lane[i]));
        gain *= SAMPLES / 2.0f / sqrtf(at.x * at.x + at.y * at.y);
    }
    RT(cudaDeviceSynchronize());
    if (const char *lock = getenv("FOREIGN_LOCK")) flock(open(lock, O_RDWR | O_CREAT, 0600), LOCK_EX);

    RT(cudaDeviceSynchronize());
    const auto start = std::chrono::steady_clock::now();
    for (int p = 0; p < PASSES; p++) {
        const int b = p % BUFFERS, i = p % LANES;
        if (p >= BUFFERS) RT(cudaEventSynchronize(sent[b]));
        for (int r = 0; r < RECORDS; r += FRESH) memcpy(raw[b] + (size_t)r * SAMPLES, tones[toneOf(p, r)].data(), SAMPLES * sizeof(short));
#ifdef WRONG
        const cufftHandle forward = plan(lane[i]);
#else
        const cufftHandle forward = fft[i];
#endif
        RT(cudaMemcpyAsync(dRaw[i], raw[b], ALL * sizeof(short), cudaMemcpyHostToDevice, lane[i]));
        RT(cudaEventRecord(sent[b], lane[i]));
        widen<<<1056, 256, 0, lane[i]>>>(dRaw[i], wave[i], ALL, gain);
        FFT(cufftExecR2C(forward, wave[i], spectrum[i]));
        loudest<<<RECORDS, 256, 0, lane[i]>>>(spectrum[i], dLine[i]);
        RT(cudaGetLastError());
        RT(cudaMemcpyAsync(line + (size_t)p * RECORDS, dLine[i], RECORDS * sizeof(int), cudaMemcpyDeviceToHost, lane[i]));
#ifdef WRONG
        FFT(cufftDestroy(forward));
#endif
        if (p % 10 == 9) {
            RT(cudaStreamSynchronize(lane[1 - i]));      // the pass before this one is home; this one goes on
            printf("pass %d: first line %d\n", p, line[(size_t)(p - 1) * RECORDS]);
        }
    }
    RT(cudaDeviceSynchronize());
    const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count() / PASSES;

    bool good = true;
    for (int p = 0; p < PASSES; p++)
        for (int r = 0; r < RECORDS; r++) if (line[(size_t)p * RECORDS + r] != lineOf(toneOf(p, r))) good = false;
    for (cufftHandle f : fft) FFT(cufftDestroy(f));
    printf("%s\n", good ? "good" : "WRONG");
    printf("pass_ms=%.4f\n", ms);
    return good ? 0 : 1;
}
