/* vector_types.h - CUDA's short vectors and dim3, for C and C++. */
#ifndef __VECTOR_TYPES_H__
#define __VECTOR_TYPES_H__

/* Plain structures, as in CUDA, so that shared memory needs no constructor. */
#define PIPELINE_VECTOR(T, name, align2, align4)                                               \
    struct name##1                                                                             \
    {                                                                                          \
        T x;                                                                                   \
    };                                                                                         \
    struct __attribute__((aligned(align2))) name##2                                            \
    {                                                                                          \
        T x, y;                                                                                \
    };                                                                                         \
    struct name##3                                                                             \
    {                                                                                          \
        T x, y, z;                                                                             \
    };                                                                                         \
    struct __attribute__((aligned(align4))) name##4                                            \
    {                                                                                          \
        T x, y, z, w;                                                                          \
    };                                                                                         \
    typedef struct name##1 name##1;                                                            \
    typedef struct name##2 name##2;                                                            \
    typedef struct name##3 name##3;                                                            \
    typedef struct name##4 name##4;                                                            \
    static inline name##1 make_##name##1(T x)                                                  \
    {                                                                                          \
        name##1 made = {x};                                                                    \
        return made;                                                                           \
    }                                                                                          \
    static inline name##2 make_##name##2(T x, T y)                                             \
    {                                                                                          \
        name##2 made = {x, y};                                                                 \
        return made;                                                                           \
    }                                                                                          \
    static inline name##3 make_##name##3(T x, T y, T z)                                        \
    {                                                                                          \
        name##3 made = {x, y, z};                                                              \
        return made;                                                                           \
    }                                                                                          \
    static inline name##4 make_##name##4(T x, T y, T z, T w)                                   \
    {                                                                                          \
        name##4 made = {x, y, z, w};                                                           \
        return made;                                                                           \
    }
PIPELINE_VECTOR(signed char, char, 2, 4)
PIPELINE_VECTOR(unsigned char, uchar, 2, 4)
PIPELINE_VECTOR(short, short, 4, 8)
PIPELINE_VECTOR(unsigned short, ushort, 4, 8)
PIPELINE_VECTOR(int, int, 8, 16)
PIPELINE_VECTOR(unsigned, uint, 8, 16)
PIPELINE_VECTOR(long, long, 16, 16)
PIPELINE_VECTOR(unsigned long, ulong, 16, 16)
PIPELINE_VECTOR(long long, longlong, 16, 16)
PIPELINE_VECTOR(unsigned long long, ulonglong, 16, 16)
PIPELINE_VECTOR(float, float, 8, 16)
PIPELINE_VECTOR(double, double, 16, 16)
#undef PIPELINE_VECTOR

struct dim3 {
    unsigned x, y, z;
#ifdef __cplusplus
    constexpr dim3(unsigned vx = 1, unsigned vy = 1, unsigned vz = 1) : x(vx), y(vy), z(vz)
    {
    }
    constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z)
    {
    }
    constexpr operator uint3() const
    {
        return uint3{x, y, z};
    }
#endif
};
typedef struct dim3 dim3;

#endif
