// cpu.cu - the kernels as the CPU's threads have them in a program of --emit: plain functions, which work in float as
// the CPU twins do. A repeat of `scale` is a product and a sum, which the compiler makes one where the vector units
// can: fmaf() is a slow library call where they can't. The check's bounds allow both. That the repeats are a function
// with their number keeps the compiler from having one element go through all of them alone: GCC 13 does, where it
// may change the order of the two loops.
//
// nvcc compiles this file as it stands; src/emit/fill.c says what its marks and macros are.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>

#define NAME_BLOCK uniform_block
#define ON_CPU     uniform_on_cpu
#define SECOND     i % 2 != 0
#define ELEMENT    float
#define PART       unsigned long long
#define COUNTED    !std::isfinite(in[i])
const int INTENSITY = 5;
constexpr float FACTOR = -1 + 1 / 65536.0f;

//// vector_units
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
// A form for each kind of vector units: the best one is taken when the program starts.
#define VECTOR_UNITS __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define VECTOR_UNITS
#endif
const int BLOCK = 256;

//// scale_on_cpu
// A block's elements don't wait for one another: they stay in the vector units through all repeats.
VECTOR_UNITS static void scale_block(float *x, int repeats) {
    for (int repeat = 0; repeat < repeats; repeat++)
        for (int i = 0; i < BLOCK; i++) x[i] = FACTOR * x[i] + 1;
}

static void scale_on_cpu(const float *in, float *out, size_t count) {
    for (size_t first = 0; first < count; first += BLOCK) {
        const size_t size = std::min<size_t>(BLOCK, count - first);
        float x[BLOCK] = {};
        memcpy(x, in + first, size * sizeof(float));
        scale_block(x, INTENSITY);
        memcpy(out + first, x, size * sizeof(float));
    }
}

//// branches_on_cpu
// A block's elements don't wait for one another: they stay in the vector units through all repeats.
VECTOR_UNITS static void NAME_BLOCK(float *x, const float *term, int repeats) {
    for (int repeat = 0; repeat < repeats; repeat++)
        for (int i = 0; i < BLOCK; i++) x[i] = FACTOR * x[i] + term[i];
}

static void ON_CPU(const float *in, float *out, size_t count) {
    float term[BLOCK]; // of each element: no branch is needed; pieces begin at whole blocks
    for (int i = 0; i < BLOCK; i++) term[i] = SECOND ? -1 : 1;
    for (size_t first = 0; first < count; first += BLOCK) {
        const size_t size = std::min<size_t>(BLOCK, count - first);
        float x[BLOCK] = {};
        memcpy(x, in + first, size * sizeof(float));
        NAME_BLOCK(x, term, INTENSITY);
        memcpy(out + first, x, size * sizeof(float));
    }
}

//// wave_on_cpu
// As the kernel does it, with the functions of the C library.
static void ON_CPU(const float *x, const float *y, float *out, size_t count) {
    for (size_t i = 0; i < count; i++) {
        float v = 0;
        for (int repeat = 0; repeat < INTENSITY; repeat++) {
            const float u = x[i] + 0.25f * v;
            v = sinf(cosf(sinf(sqrtf(powf(cosf(u * u + y[i] * y[i]), 2)))));
        }
        out[i] = v;
    }
}

//// sum_on_cpu
static double ON_CPU(const ELEMENT *in, size_t count) {
    const size_t LANES = 8, whole = count / LANES * LANES;
    double lane[LANES] = {}, sum = 0; // an addition waits for the one before in its lane alone
    for (size_t first = 0; first < whole; first += LANES)
        for (size_t i = 0; i < LANES; i++) lane[i] += in[first + i];
    for (size_t i = whole; i < count; i++) sum += in[i];
    for (double each : lane) sum += each;
    return sum;
}

//// -
namespace count {

//// count_on_cpu
static PART ON_CPU(const ELEMENT *in, size_t count) {
    PART sum = 0;
    for (size_t i = 0; i < count; i++) sum += COUNTED;
    return sum;
}

//// -
}
