// maps.cu - kernels that make an element of an element, as a program of --emit has them: what kernels/*.cu do,
// in the fewest lines, for a program's repeats are a constant, and it launches on one tile's pointers. Beside each
// is its reference in double, and how far a result may be off where what goes in is off itself.
//
// nvcc compiles this file as it stands; src/emit/fill.c says what its marks and macros are.
#include <cmath>
#include <cstddef>

#define NAME       uniform
#define NAME_CPU   uniform_cpu
#define SECOND     i % 2 != 0
const int INTENSITY = 5;
constexpr float FACTOR = -1 + 1 / 65536.0f;

//// scale
static __global__ void scale(const float *in, float *out, size_t count) {
    const size_t step = (size_t)gridDim.x * blockDim.x;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count; i += step) {
        float x = in[i];
        for (int repeat = 0; repeat < INTENSITY; repeat++) x = fmaf(FACTOR, x, 1);
        out[i] = x;
    }
}

//// scale_cpu
static double scale_cpu(double x) { // all repeats are one step a*x + b, too
    static const double a = pow(FACTOR, INTENSITY), b = (1 - a) / (1.0 - FACTOR);
    return a * x + b;
}

//// branches
static __global__ void NAME(const float *in, float *out, size_t count) {
    const size_t step = (size_t)gridDim.x * blockDim.x;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count; i += step) {
        float x = in[i];
        if (SECOND)
            for (int repeat = 0; repeat < INTENSITY; repeat++) x = fmaf(FACTOR, x, -1);
        else
            for (int repeat = 0; repeat < INTENSITY; repeat++) x = fmaf(FACTOR, x, 1);
        out[i] = x;
    }
}

//// branches_cpu
static double NAME_CPU(double x, size_t i) { // all repeats are one step a*x + b, too
    static const double a = pow(FACTOR, INTENSITY), b = (1 - a) / (1.0 - FACTOR);
    return a * x + (SECOND ? -b : b);
}

//// wave_once
static __device__ float wave_once(float x, float y) {
    return sinf(cosf(sinf(sqrtf(powf(cosf(x * x + y * y), 2)))));
}

//// wave
static __global__ void wave(const float *x, const float *y, float *out, size_t count) {
    const size_t step = (size_t)gridDim.x * blockDim.x;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count; i += step) {
        float v = 0;
        for (int repeat = 0; repeat < INTENSITY; repeat++) v = wave_once(x[i] + 0.25f * v, y[i]);
        out[i] = v;
    }
}

//// wave_launches
// One repeat: what the launch before has left in `out` goes in again.
static __global__ void wave_launches(const float *x, const float *y, float *out, size_t count,
                                     bool first) {
    const size_t step = (size_t)gridDim.x * blockDim.x;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count; i += step)
        out[i] = wave_once(x[i] + (first ? 0 : 0.25f * out[i]), y[i]);
}

//// wave_cpu
static double NAME_CPU(double x, double y) {
    double v = 0;
    for (int repeat = 0; repeat < INTENSITY; repeat++)
        v = sin(cos(sin(fabs(cos(pow(x + 0.25 * v, 2) + y * y)))));
    return v;
}

//// scale_off
static double scale_off(double x, double before) { // rounding, and what x is off by
    return before + fmin(5e-7 * INTENSITY, 0.03) * (fabs(x) + before + 1);
}

//// wave_off
static double wave_off(double x, double y, double before) { // the same for wave
    double v = 0, off = 0;
    for (int repeat = 0; repeat < INTENSITY; repeat++) {
        const double u = x + 0.25 * v, s = u * u + y * y;
        const double u_off = (before + 0.25 * off) * (1 + 6e-8) + 6e-8 * fabs(u);
        const double s_off = u_off * (2 * fabs(u) + u_off) * (1 + 1.2e-7) + 1.2e-7 * s;
        off = fmin(0.336 * (fmin(s_off, 1) + 6e-7) + 4.8e-7, 0.2234); // its slope, its width
        v = sin(cos(sin(fabs(cos(s)))));
    }
    return off;
}

