/* topology.c - asks Linux where memory and devices are. */
#include "run/topology.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MAIN_PERCENT = 90, BUS_ID = 32 };

/* Writes the path of a PCI device. Returns false where the id has other characters than a bus
 * id, which could lead elsewhere. */
static bool device_path(const char *sysfs, const char *bus_id, const char *file,
                        char path[PATH_MAX])
{
    char id[BUS_ID];
    const size_t length = strlen(bus_id);
    if (length == 0 || length >= BUS_ID ||
        strspn(bus_id, "0123456789abcdefABCDEF:.") != length || strstr(bus_id, "..") != NULL)
        return false;
    for (size_t i = 0; i <= length; i++)
        id[i] = (char)tolower((unsigned char)bus_id[i]);
    return snprintf(path, PATH_MAX, "%s/bus/pci/devices/%s%s", sysfs, id, file) < PATH_MAX;
}

/* Reads a file's first line. */
static bool line_read(const char *path, char *line, int size)
{
    FILE *file = fopen(path, "re");
    const bool read = file != NULL && fgets(line, size, file) != NULL;
    if (file != NULL)
        fclose(file);
    return read;
}

/* The list is of numbers and ranges, "0-3,8". */
uint32_t topology_nodes(const char *sysfs)
{
    char path[PATH_MAX], line[256], *at = line;
    uint32_t nodes = 0;
    if (snprintf(path, sizeof path, "%s/devices/system/node/online", sysfs) >= PATH_MAX ||
        !line_read(path, line, sizeof line))
        return 0;
    while (isdigit((unsigned char)*at)) {
        const long first = strtol(at, &at, 10);
        const long last = *at == '-' ? strtol(at + 1, &at, 10) : first;
        if (last < first || last - first >= TOPOLOGY_NODES_MAX)
            return 0;
        nodes += (uint32_t)(last - first + 1);
        at += *at == ',';
    }
    return nodes;
}

struct numa_place topology_device(const char *sysfs, const char *bus_id)
{
    char path[PATH_MAX], line[32], *end;
    const struct numa_place unknown = {0};
    if (!device_path(sysfs, bus_id, "/numa_node", path) || !line_read(path, line, sizeof line))
        return unknown;
    const long node = strtol(line, &end, 10);
    if (end == line || node < 0 || node >= TOPOLOGY_NODES_MAX) /* -1: Linux does not know */
        return unknown;
    return (struct numa_place){true, (uint16_t)node};
}

/* --- switches --- */

/* Returns how long the part is that two paths have in common, in whole names. */
static size_t common_length(const char *one, const char *other)
{
    size_t length = 0;
    for (size_t i = 0;; i++) {
        const bool ends =
            (one[i] == '/' || one[i] == '\0') && (other[i] == '/' || other[i] == '\0');
        if (ends)
            length = i;
        if (one[i] == '\0' || one[i] != other[i])
            return length;
    }
}

/* A device's path has a name for each bridge on its way: ".../pci0000:00/0000:00:01.0/...". */
bool topology_is_switched(const char *sysfs, const char *const bus_ids[], uint32_t devices)
{
    char path[PATH_MAX], first[PATH_MAX], real[PATH_MAX];
    for (uint32_t i = 0; i < devices; i++) {
        if (!device_path(sysfs, bus_ids[i], "", path) || realpath(path, real) == NULL)
            return false;
        if (i == 0)
            memcpy(first, real, sizeof first);
        else
            first[common_length(first, real)] = '\0';
    }
    const char *root = devices > 1 ? strstr(first, "/pci") : NULL;
    return root != NULL && strchr(root + 1, '/') != NULL;
}

/* --- memory --- */

enum status topology_look(const void *start, uint64_t bytes, struct topology_pages *pages,
                          struct error *error)
{
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), all = bytes / page;
    const uint64_t count = all < TOPOLOGY_SAMPLES ? all : TOPOLOGY_SAMPLES;
    void *at[TOPOLOGY_SAMPLES];
    int node[TOPOLOGY_SAMPLES] = {0};
    for (uint64_t i = 0; i < count; i++) {
        const uintptr_t address = (uintptr_t)start + i * all / count * page;
        at[i] = (void *)(address / page * page);
        node[i] = -1;
    }
    /* Without nodes to move pages to, it tells where they are. */
    if (count > 0 && syscall(SYS_move_pages, 0, (unsigned long)count, at, NULL, node, 0) != 0)
        return error_set(error, STATUS_FAILED, "the kernel does not tell where memory is: %s",
                         strerror(errno));
    for (uint64_t i = 0; i < count; i++) {
        if (node[i] < 0 || node[i] >= TOPOLOGY_NODES_MAX)
            continue;
        pages->on[node[i]]++;
        pages->seen++;
    }
    return STATUS_OK;
}

struct numa_place topology_main(const struct topology_pages *pages)
{
    for (int i = 0; i < TOPOLOGY_NODES_MAX && pages->seen > 0; i++) {
        if (100 * (uint64_t)pages->on[i] >= MAIN_PERCENT * (uint64_t)pages->seen)
            return (struct numa_place){true, (uint16_t)i};
    }
    return (struct numa_place){0};
}

void topology_see(const char *sysfs, const char *const bus_ids[], uint32_t devices,
                  const struct arrays *arrays, struct numa_seen *seen)
{
    struct topology_pages pages = {0};
    struct error why = {0}; /* nobody asks why it is not known */
    *seen = (struct numa_seen){0};
    if (topology_nodes(sysfs) < 2)
        return;
    for (uint32_t i = 0; i < devices && i < MACHINE_DEVICES_MAX; i++)
        seen->devices[i] = topology_device(sysfs, bus_ids[i]);
    for (int i = 0; i < BUFFER_FIRST_DEVICE && arrays != NULL; i++) {
        if (arrays->host[i] != NULL &&
            topology_look(arrays->host[i], arrays->bytes[i], &pages, &why) != STATUS_OK)
            return;
    }
    seen->buffers = topology_main(&pages);
}
