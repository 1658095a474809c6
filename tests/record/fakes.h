/* fakes.h - a CUPTI and a driver that a test plays: the objects behind the driver's handles,
 * and the end of CUPTI that the program under test does not see.
 *
 * Both libraries take a lock of their own in every call, as the real ones may, and hold it
 * where they call the recorder back within one: a recorder that holds a lock of its own while
 * it calls them comes to a standstill, or is found out by ThreadSanitizer. */
#ifndef PIPELINE_TESTS_FAKES_H
#define PIPELINE_TESTS_FAKES_H

#include <cupti.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

/* A CUcontext, CUstream, CUfunction, CUgraphNode and CUgraph point to these. */
struct fake_context {
    uint32_t number, device;
};

/* No thread has this number, which its own stream would have. */
enum { FAKE_NO_NUMBER = 999999999 };

/* A call takes so long, and so much longer while kernels are recorded. */
enum { FAKE_CALL_NS = 1000, FAKE_ADDED_NS = 2000 };

#define FAKE_DEVICE_END UINT64_C(0x100000000)

struct fake_stream {
    uint32_t number;
    unsigned flags;
    int priority;
    atomic_bool capturing;
};

enum { FAKE_PARAMS = 80 };

struct fake_function {
    CUresult result; /* of asking for its layout */
    size_t count, sizes[FAKE_PARAMS];
};

struct fake_node {
    uint64_t id;
    CUgraphNodeType kind;
    CUDA_MEMCPY3D copy;
    CUDA_MEMSET_NODE_PARAMS set;
    CUDA_KERNEL_NODE_PARAMS kernel;
};

enum { FAKE_NODES = 16 };

struct fake_graph {
    size_t nodes, edges;
    CUgraphNode node[FAKE_NODES], from[FAKE_NODES], to[FAKE_NODES];
};

/* CUPTI as the test sees it. */
struct fake_cupti {
    CUpti_CallbackFunc called; /* NULL: nobody has subscribed */
    bool api[CUPTI_CB_DOMAIN_SIZE][2048];
    CUpti_BuffersCallbackRequestFunc request;
    CUpti_BuffersCallbackCompleteFunc complete;
    CUpti_TimestampCallbackFunc now;
    atomic_bool kernels;          /* are recorded */
    bool zeroed;                  /* the buffers are, it was told */
    const char *holder;           /* another subscriber; NULL: there is none */
    atomic_size_t dropped;        /* records, which the next buffer tells of */
    void (*flush)(void);          /* delivers what the test still holds; NULL: nothing */
    void (*asked_number)(void);   /* within each question for a stream's number; may be NULL */
    pthread_mutex_t lock;         /* CUPTI's */
    pthread_mutex_t *driver_lock; /* the driver's */
};

/* How libcupti.so.13 of the tests is told what to do; it has nothing else of its own. */
struct fake_cupti *fake_cupti(void);
pthread_mutex_t *fake_driver_lock(void);

#endif
