// A letter archive is shifted by another key again and again: text in, text out, in pieces over three streams.
#include <array>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>

#include <cuda_runtime.h>

namespace
{
struct Failure {
    cudaError_t status;
    int line;
};
#define TRY(call)                                              \
    if (cudaError_t status_ = (call); status_ != cudaSuccess) \
    throw Failure{status_, __LINE__}

template <class T> struct Locked {
    using value_type = T;
    T *allocate(std::size_t n)
    {
        void *p;
        TRY(cudaMallocHost(&p, n * sizeof(T)));
        return static_cast<T *>(p);
    }
    void deallocate(T *p, std::size_t)
    {
        cudaFreeHost(p);
    }
    bool operator==(const Locked &) const
    {
        return true;
    }
    bool operator!=(const Locked &) const
    {
        return false;
    }
};

#ifdef WRONG
using Text = std::vector<char>;
#else
using Text = std::vector<char, Locked<char>>;
#endif

constexpr std::size_t piece = 2 << 20, pieces = 15;
constexpr int keys = 250, streams = 3;

__global__ void shift(uchar4 *letters, int key)
{
    uchar4 &l = letters[blockIdx.x * blockDim.x + threadIdx.x];
    l = make_uchar4(l.x + key, l.y + 2 * key, l.z + 3 * key, l.w + 5 * key);
}

struct Stream {
    cudaStream_t handle{};
    char *letters{};
};

void encrypt(Text &text, std::array<Stream, streams> &ring, int key)
{
    for (std::size_t p = 0; p < pieces; ++p) {
        Stream &s = ring[p % streams];
        TRY(cudaMemcpyAsync(s.letters, text.data() + p * piece, piece, cudaMemcpyDefault, s.handle));
        shift<<<piece / 4 / 256, 256, 0, s.handle>>>(reinterpret_cast<uchar4 *>(s.letters), key);
        TRY(cudaMemcpyAsync(text.data() + p * piece, s.letters, piece, cudaMemcpyDefault, s.handle));
    }
}

std::optional<std::size_t> wrongLetter(const Text &text, int sum)
{
    const int factor[] = {1, 2, 3, 5};
    for (std::size_t i = 0; i < text.size(); i += 331)
        if (text[i] != static_cast<char>('a' + i % 26 + factor[i % 4] * sum))
            return i;
    return std::nullopt;
}
} // namespace

int main()
{
    try {
        Text text(piece * pieces);
        std::array<Stream, streams> ring;
        for (auto &s : ring) {
            TRY(cudaStreamCreateWithFlags(&s.handle, cudaStreamNonBlocking));
            TRY(cudaMalloc(&s.letters, piece));
        }
        for (std::size_t i = 0; i < text.size(); ++i)
            text[i] = static_cast<char>('a' + i % 26);
        if (const char *lock = std::getenv("FOREIGN_LOCK"))
            flock(open(lock, O_RDWR | O_CREAT, 0600), LOCK_EX);
        int sum = 0;
        for (int warm = 1; warm <= 3; ++warm)
            encrypt(text, ring, warm), sum += warm;
        TRY(cudaDeviceSynchronize());
        const auto begin = std::chrono::steady_clock::now();
        for (int key = 1; key <= keys; ++key)
            encrypt(text, ring, key), sum += key;
        TRY(cudaDeviceSynchronize());
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
        const auto wrong = wrongLetter(text, sum);
        std::cout << keys << " keys" << (wrong ? ", damaged" : "") << "\npass_ms=" << took.count() * 1e3 / keys << std::endl;
        return wrong ? 1 : 0;
    } catch (const Failure &f) {
        std::cerr << "line " << f.line << ": " << cudaGetErrorString(f.status) << '\n';
        return 9;
    }
}
