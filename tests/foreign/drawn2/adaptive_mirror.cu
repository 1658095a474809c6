// libs: -lcublas
// Commands for an adaptive mirror: wave fronts are projected onto the mirror's modes, and the response, measured anew in each cycle, turns modes into commands.
#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#define OK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { fprintf(stderr, "%d: %s\n", __LINE__, cudaGetErrorString(e_)); exit(2); } } while (0)
#define BLAS(x) do { cublasStatus_t e_ = (x); if (e_ != CUBLAS_STATUS_SUCCESS) { fprintf(stderr, "%d: cublas %d\n", __LINE__, (int)e_); exit(2); } } while (0)

constexpr int CYCLES = 13, FRONTS = 8, LANES = 4;
constexpr int POINTS = 4096, DEPTH = 1024, MODES = 8192, ACTUATORS = 32768, SHOWN = 1024;
constexpr size_t FRONT = (size_t)POINTS * DEPTH, RESPONSE = (size_t)POINTS * ACTUATORS;
constexpr size_t FRONT_MARK = FRONT / 16, RESPONSE_MARK = RESPONSE / 64;

int main() {
    // the sensor's mask is read from a file
    const std::string path = "/tmp/adaptive_mirror-" + std::to_string(getpid());
    std::vector<unsigned char> mask(FRONT);
    for (size_t i = 0; i < FRONT; i++) mask[i] = (i * 2654435761u >> 16) % 3 == 0;
    FILE *f = fopen(path.c_str(), "wb");
    if (!f || fwrite(mask.data(), 1, FRONT, f) != FRONT) return 2;
    fclose(f);
    mask.assign(FRONT, 0);
    f = fopen(path.c_str(), "rb");
    if (!f || fread(mask.data(), 1, FRONT, f) != FRONT) return 2;
    fclose(f);
    unlink(path.c_str());

    float *front, *response, *commands, *dFront[LANES], *dModes[LANES], *dBasis, *dResponse, *dCommands;
    OK(cudaMallocHost(&front, FRONTS * FRONT * 4));
    OK(cudaMallocHost(&response, RESPONSE * 4));
    OK(cudaMallocHost(&commands, SHOWN * 4));
    OK(cudaMalloc(&dBasis, (size_t)DEPTH * MODES * 4));
    OK(cudaMalloc(&dResponse, RESPONSE * 4));
    OK(cudaMalloc(&dCommands, ACTUATORS * 4));
    for (size_t i = 0; i < FRONTS * FRONT; i++) front[i] = mask[i % FRONT];
    for (size_t i = 0; i < RESPONSE; i++) response[i] = 1.0f;
    std::vector<float> basis((size_t)DEPTH * MODES);
    for (size_t i = 0; i < basis.size(); i++) basis[i] = (float)(i % 7 == 0);
    OK(cudaMemcpy(dBasis, basis.data(), basis.size() * 4, cudaMemcpyHostToDevice));

    cudaStream_t lane[LANES], measured;
    cudaEvent_t projected[LANES];
    cublasHandle_t blas[LANES], last;
    const float one = 1, zero = 0;
    OK(cudaStreamCreateWithFlags(&measured, cudaStreamNonBlocking));
    BLAS(cublasCreate(&last));
    BLAS(cublasSetStream(last, measured));
    for (int i = 0; i < LANES; i++) {
        OK(cudaStreamCreateWithFlags(&lane[i], cudaStreamNonBlocking));
        OK(cudaEventCreateWithFlags(&projected[i], cudaEventDisableTiming));
        BLAS(cublasCreate(&blas[i]));
        BLAS(cublasSetStream(blas[i], lane[i]));
        OK(cudaMalloc(&dFront[i], FRONT * 4));
        OK(cudaMalloc(&dModes[i], (size_t)POINTS * MODES * 4));
        OK(cudaMemset(dFront[i], 0, FRONT * 4));
        BLAS(cublasSgemm(blas[i], CUBLAS_OP_N, CUBLAS_OP_N, POINTS, MODES, DEPTH, &one, dFront[i], POINTS, dBasis, DEPTH, &zero, dModes[i], POINTS));
    }
    OK(cudaMemset(dResponse, 0, RESPONSE * 4));
    OK(cudaDeviceSynchronize());
    BLAS(cublasSgemv(last, CUBLAS_OP_T, POINTS, ACTUATORS, &one, dResponse, POINTS, dModes[0], 1, &zero, dCommands, 1));
    OK(cudaDeviceSynchronize());
    if (const char *lock = getenv("FOREIGN_LOCK")) flock(open(lock, O_RDWR | O_CREAT, 0600), LOCK_EX);

    int correction = 1;
    OK(cudaDeviceSynchronize());
    const auto start = std::chrono::steady_clock::now();
    for (int c = 0; c < CYCLES; c++) {
        // the light has come by the mirror as it was set before
        for (int t = 0; t < FRONTS; t++)
            for (size_t k = 0; k < FRONT; k += FRONT_MARK) front[t * FRONT + k] = (float)((correction + t + c) % 5);
        for (size_t k = 0; k < RESPONSE; k += RESPONSE_MARK) response[k] = (float)((correction + c) % 3);
#ifdef WRONG
        OK(cudaMemcpyAsync(dResponse, response, RESPONSE * 4, cudaMemcpyHostToDevice, measured));
#endif
        for (int t = 0; t < FRONTS; t++) {
            const int i = t % LANES;
            OK(cudaMemcpyAsync(dFront[i], front + t * FRONT, FRONT * 4, cudaMemcpyHostToDevice, lane[i]));
            BLAS(cublasSgemm(blas[i], CUBLAS_OP_N, CUBLAS_OP_N, POINTS, MODES, DEPTH, &one, dFront[i], POINTS, dBasis, DEPTH, &zero, dModes[i], POINTS));
#ifndef WRONG
            OK(cudaMemcpyAsync(dResponse + t * (RESPONSE / FRONTS), response + t * (RESPONSE / FRONTS), RESPONSE / FRONTS * 4, cudaMemcpyHostToDevice, measured));
#endif
        }
        for (int i = 0; i < LANES; i++) {
            OK(cudaEventRecord(projected[i], lane[i]));
            OK(cudaStreamWaitEvent(measured, projected[i], 0));
        }
        BLAS(cublasSgemv(last, CUBLAS_OP_T, POINTS, ACTUATORS, &one, dResponse, POINTS, dModes[(FRONTS - 1) % LANES], 1, &zero, dCommands, 1));
        OK(cudaMemcpyAsync(commands, dCommands, SHOWN * 4, cudaMemcpyDeviceToHost, measured));
        OK(cudaStreamSynchronize(measured));
        correction = (int)commands[1] % 1000;      // the mirror moves
        if (c % 10 == 9) printf("cycle %d: command %.0f\n", c + 1, commands[1]);
    }
    OK(cudaDeviceSynchronize());
    const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count() / CYCLES;

    // the last cycle once more, by hand: its memory is as it was
    bool good = true;
    std::vector<double> mode(POINTS, 0.0);
    for (int k = 0; k < DEPTH; k++)
        for (int i = 0; i < POINTS; i++) mode[i] += (double)front[(FRONTS - 1) * FRONT + (size_t)k * POINTS + i] * basis[k];
    for (int a = 0; a < SHOWN; a++) {
        double sum = 0;
        for (int i = 0; i < POINTS; i++) sum += (double)response[(size_t)a * POINTS + i] * mode[i];
        if (std::abs(sum - commands[a]) > 1e-5 * sum) good = false;
    }
    printf("%s\n", good ? "good" : "WRONG");
    printf("pass_ms=%.4f\n", ms);
    return good ? 0 : 1;
}
