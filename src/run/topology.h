/* topology.h - where the host's memory and its PCI devices are: NUMA nodes and switches, as
 * Linux tells them. What can't be found out is unknown; nothing is guessed in its place. */
#ifndef PIPELINE_RUN_TOPOLOGY_H
#define PIPELINE_RUN_TOPOLOGY_H

#include "core/status.h"
#include "plan/timeline.h"
#include "run/arrays.h"

/* Where Linux describes the hardware: what functions below take as `sysfs`, but in tests. */
#define TOPOLOGY_SYSFS "/sys"

enum { TOPOLOGY_NODES_MAX = 64, TOPOLOGY_SAMPLES = 256 };

/* How many of the pages that were looked at lie on each node. */
struct topology_pages {
    uint32_t seen; /* pages whose node is known: the sum of `on` */
    uint32_t on[TOPOLOGY_NODES_MAX];
};

/* Returns how many nodes the host has online; 0: not known. */
uint32_t topology_nodes(const char *sysfs);

/* Finds the node that the PCI device "0000:65:00.0" is near (hexadecimal digits in either
 * case). It is not known where Linux says none. */
struct numa_place topology_device(const char *sysfs, const char *bus_id);

/* Returns true if all of these PCI devices are known to be behind one switch: their ways to the
 * host have a bridge in common, and so a link. Of fewer than two none is. */
bool topology_is_switched(const char *sysfs, const char *const bus_ids[], uint32_t devices);

/* Looks at up to TOPOLOGY_SAMPLES pages, evenly spread, and adds those whose node is known to
 * *pages: pages that nobody has touched have none. STATUS_FAILED where the kernel does not
 * tell, as in many containers; *pages is then as it was. */
enum status topology_look(const void *start, uint64_t bytes, struct topology_pages *pages,
                          struct error *error);

/* Returns the node that nine tenths of the pages or more lie on; else it is not known. */
struct numa_place topology_main(const struct topology_pages *pages);

/* Sets what is known of a run: of its devices by their bus ids, and of the host arrays, which
 * must have been touched (NULL: there are none). A host of one node has nothing to tell. Takes
 * up to a ms, so it belongs into a backend's prepare(). */
void topology_see(const char *sysfs, const char *const bus_ids[], uint32_t devices,
                  const struct arrays *arrays, struct numa_seen *seen);

#endif
