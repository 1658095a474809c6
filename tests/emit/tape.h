/* tape.h - what a program of --emit calls, as `pipeline record` would write it down on a GPU.
 *
 * docs/recording.md has the format. Time is a count of nanoseconds that each call and each op takes
 * one of: ops run one after another, as they are issued. Calls that are captured into a graph, and the
 * graph, are not written down. */
#ifndef PIPELINE_TESTS_EMIT_TAPE_H
#define PIPELINE_TESTS_EMIT_TAPE_H

#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

static struct {
    FILE *file;
    long long time, call;
    std::map<std::string, int> names; /* of kernels */
    std::map<int, int> contexts;      /* of streams: each device has one */
    std::set<int> devices;            /* that were named behind the first */
    int current;                      /* the device that calls go to */
} tape;

/* Returns the context of a stream; the legacy default stream is the first one's. */
static int tape_context(int stream)
{
    return stream > 0 ? tape.contexts[stream] : 1;
}

static void tape_end()
{
    fprintf(tape.file, "[\"end\",%lld,\"exit\"]\n", ++tape.time);
    fclose(tape.file);
}

/* As CUDA does, it is read at the first call. */
static bool tape_launches_block()
{
    const char *blocking = getenv("CUDA_LAUNCH_BLOCKING");
    return blocking != NULL && strcmp(blocking, "1") == 0;
}

__attribute__((format(printf, 1, 2))) static void tape_line(const char *format, ...)
{
    va_list values;
    if (tape.file == NULL) {
        tape.file = fopen("tiles.jsonl", "w");
        fputs("{\"pipeline_recording\":1,\"version\":\"0\",\"program\":\"tiles\",\"pid\":2,\"parent\":1,"
              "\"begin_ns\":0,\"driver\":13000,\"cupti\":130000,\"launch_blocking\":",
              tape.file);
        fputs(tape_launches_block() ? "true" : "false", tape.file);
        fputs(",\"connections\":null,\"lazy\":true}\n"
              "[\"device\",0,\"a GPU\",9,0,132,2048,32,65536,233472,3]\n"
              "[\"context\",1,0]\n"
              "[\"stream\",1,0,1,\"legacy\",0]\n",
              tape.file);
        atexit(tape_end);
    }
    va_start(values, format);
    vfprintf(tape.file, format, values);
    va_end(values);
    fputc('\n', tape.file);
}

/* Writes a call down; tape.call is its id. */
static void tape_call(const char *name)
{
    tape.call++;
    tape.time += 2;
    tape_line("[\"call\",%lld,\"%s\",1,%lld,%lld,0]", tape.call, name, tape.time - 1, tape.time);
}

/* Has calls go to a device. When they first go to another than the first, it is named, with the
 * context that it has. */
static void tape_enter(int device)
{
    tape.current = device;
    if (device == 0 || !tape.devices.insert(device).second)
        return;
    tape_line("[\"device\",%d,\"a GPU\",9,0,132,2048,32,65536,233472,3]", device);
    tape_line("[\"context\",%d,%d]", device + 1, device);
}

static long long tape_address(const void *memory)
{
    return (long long)(uintptr_t)memory;
}

static void tape_memory(const char *name, const char *kind, const void *memory, size_t bytes)
{
    tape_call(name);
    const std::string device = kind[0] == 'd' ? std::to_string(tape.current) : "null";
    tape_line("[\"memory\",\"%s\",%lld,%lld,%zu,%s]", kind, tape.time, tape_address(memory), bytes,
              device.c_str());
}

static void tape_free(const char *name, const void *memory)
{
    tape_call(name);
    tape_line("[\"free\",%lld,%lld]", tape.time - 1, tape_address(memory));
}

/* Streams have the numbers from 1 on here: 0 is the legacy default stream. */
static void tape_stream(int stream, const void *handle, bool blocking, int priority)
{
    tape.contexts[stream] = tape.current + 1;
    tape_call("cudaStreamCreateWithPriority");
    tape_line("[\"stream\",%d,%d,%lld,\"%s\",%d]", tape.current + 1, stream, tape_address(handle),
              blocking ? "blocking" : "non-blocking", priority);
}

/* Writes down what the call that tape_call() has just written asks for, and that it ran. */
static void tape_copy(const char *kind, int stream, const void *to, const void *from, size_t bytes)
{
    const char *const from_where = kind[0] == 'h' ? "pinned" : "device";
    const char *const to_where = kind[0] == 'd' ? "pinned" : "device";
    tape.time += 2;
    tape_line("[\"copy\",%lld,%d,%d,%lld,%lld,%zu]", tape.call, tape_context(stream), stream, tape_address(to),
              tape_address(from), bytes);
    tape_line("[\"op\",%lld,\"%s\",%d,%d,%lld,%lld,%zu,\"%s\",\"%s\",0]", tape.call, kind,
              tape_context(stream), stream, tape.time - 1, tape.time, bytes, from_where, to_where);
}

static void tape_set(int stream, const void *memory, size_t bytes)
{
    tape.time += 2;
    tape_line("[\"set\",%lld,%d,%d,%lld,%zu]", tape.call, tape_context(stream), stream, tape_address(memory), bytes);
    tape_line("[\"op\",%lld,\"memset\",%d,%d,%lld,%lld,%zu,\"device\",\"device\",0]", tape.call,
              tape_context(stream), stream,              tape.time - 1, tape.time, bytes);
}

static void tape_function(int stream)
{
    tape.time += 2;
    tape_line("[\"function\",%lld,%d,%d,%lld,%lld]", tape.call, tape_context(stream), stream, tape.time - 1, tape.time);
}

typedef std::vector<const void *> tape_words; /* the addresses among a kernel's arguments */

static void tape_launch(int stream, const std::string &name, int blocks, const tape_words &words)
{
    std::string list;
    for (const void *address : words)
        list += (list.empty() ? "" : ",") + std::to_string(tape_address(address));
    if (tape.names.count(name) == 0) {
        const int id = (int)tape.names.size();
        tape.names[name] = id;
        tape_line("[\"name\",%d,\"%s\"]", id, name.c_str());
    }
    tape.time += 2;
    tape_line("[\"launch\",%lld,%d,%d,[%s]]", tape.call, tape_context(stream), stream, list.c_str());
    tape_line("[\"kernel\",%lld,%d,%d,%lld,%lld,%d,%d,256,16,0,0]", tape.call, tape_context(stream), stream, tape.time - 1,
              tape.time, tape.names[name], blocks);
}

template <typename T> static void tape_word(tape_words &words, const T &value)
{
    if constexpr (std::is_pointer_v<std::decay_t<T>>)
        words.push_back((const void *)value);
    else
        (void)words, (void)value;
}

/* Returns the addresses among `values`. */
template <typename... Values> static tape_words tape_arguments(const Values &...values)
{
    tape_words words;
    (tape_word(words, values), ...);
    return words;
}

#endif
