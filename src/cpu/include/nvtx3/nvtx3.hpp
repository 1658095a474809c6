/* nvtx3.hpp - NVTX's C++: ranges of a scope, and marks. */
#ifndef PIPELINE_CPU_NVTX3_HPP
#define PIPELINE_CPU_NVTX3_HPP

#include "nvToolsExt.h"

#include <string>

namespace nvtx3
{

struct rgb {
    rgb(unsigned char, unsigned char, unsigned char)
    {
    }
};

/* What a range has beside its message is taken, and not kept. */
struct event_attributes {
    std::string message;

    template <typename... More>
    event_attributes(const std::string &text, const More &...) : message(text)
    {
    }
};

template <typename Domain = void> struct scoped_range_in {
    template <typename... With> explicit scoped_range_in(const With &...with)
    {
        nvtxRangePushA(event_attributes(with...).message.c_str());
    }
    ~scoped_range_in()
    {
        nvtxRangePop();
    }
    scoped_range_in(const scoped_range_in &) = delete;
    scoped_range_in &operator=(const scoped_range_in &) = delete;
};
using scoped_range = scoped_range_in<>;
using scoped_thread_range = scoped_range;

template <typename... With> void mark(const With &...)
{
}

} // namespace nvtx3

#define NVTX3_FUNC_RANGE() const ::nvtx3::scoped_range pipeline_range(__func__)

#endif
