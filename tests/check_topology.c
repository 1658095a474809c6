/* check_topology.c - where devices and memory are, on hosts that a test makes up: NUMA nodes
 * and switches are told where Linux tells them, and unknown elsewhere. Reports and verdicts
 * name a node only where two are known to differ. */
#include "run/topology.h"

#include "fixtures.h"
#include "report/report.h"
#include "suites.h"
#include "test_folder.h"
#include "test_program.h"
#include "verdict_cases.h"
#include "writers/writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGES = 64 };

/* Makes a device with a node, behind what `way` says, in a sysfs below the test's folder. */
static void make_device(const char *way, const char *node)
{
    char command[1024];
    const char *id = strrchr(way, '/') + 1;
    snprintf(command, sizeof command,
             "mkdir -p sys/bus/pci/devices sys/devices/%s && echo %s >sys/devices/%s/numa_node "
             "&& ln -s ../../../devices/%s sys/bus/pci/devices/%s",
             way, node, way, way, id);
    ck_assert_int_eq(system(command), 0);
}

static void make_nodes(const char *online)
{
    char command[256];
    snprintf(command, sizeof command,
             "mkdir -p sys/devices/system/node && echo %s >sys/devices/system/node/online",
             online);
    ck_assert_int_eq(system(command), 0);
}

/* --- the host --- */

START_TEST(nodes_are_counted)
{
    static const struct {
        const char *online;
        uint32_t nodes;
    } lists[] = {{"0", 1},  {"0-1", 2}, {"0,2-3", 3}, {"0-3,8", 5},
                 {"''", 0}, {"x", 0},   {"3-1", 0},   {"0-99999999999", 0}};
    ck_assert_uint_eq(topology_nodes("sys"), 0);
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        make_nodes(lists[i].online);
        ck_assert_msg(topology_nodes("sys") == lists[i].nodes, "%s", lists[i].online);
    }
}
END_TEST

START_TEST(devices_have_nodes)
{
    make_device("pci0000:00/0000:00:01.0/0000:1a:00.0", "1");
    make_device("pci0000:00/0000:00:02.0/0000:1b:00.0", "-1");
    make_device("pci0000:00/0000:00:03.0/0000:1c:00.0", "nothing");
    const struct numa_place place = topology_device("sys", "0000:1A:00.0");
    ck_assert(place.known);
    ck_assert_uint_eq(place.node, 1);
    ck_assert(!topology_device("sys", "0000:1b:00.0").known);
    ck_assert(!topology_device("sys", "0000:1c:00.0").known);
    ck_assert(!topology_device("sys", "0000:1d:00.0").known);
    ck_assert(!topology_device("sys", "").known);
    ck_assert(!topology_device("sys", "../../../devices").known);
    ck_assert(!topology_device("sys", "..").known);
}
END_TEST

START_TEST(switches_are_seen)
{
    make_device("pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:00.0/0000:03:00.0", "0");
    make_device("pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:01.0/0000:04:00.0", "0");
    make_device("pci0000:00/0000:00:02.0/0000:05:00.0", "0");
    make_device("pci0000:80/0000:80:01.0/0000:81:00.0", "1");
    const char *const switched[] = {"0000:03:00.0", "0000:04:00.0", "0000:05:00.0"};
    const char *const apart[] = {"0000:03:00.0", "0000:05:00.0"};
    const char *const far[] = {"0000:03:00.0", "0000:81:00.0"};
    const char *const gone[] = {"0000:03:00.0", "0000:99:00.0"};
    ck_assert(topology_is_switched("sys", switched, 2));
    ck_assert(!topology_is_switched("sys", switched, 3));
    ck_assert(!topology_is_switched("sys", switched, 1));
    ck_assert(!topology_is_switched("sys", apart, 2));
    ck_assert(!topology_is_switched("sys", far, 2));
    ck_assert(!topology_is_switched("sys", gone, 2));
}
END_TEST

/* --- memory --- */

START_TEST(main_node_needs_nearly_all)
{
    struct topology_pages pages = {0};
    ck_assert(!topology_main(&pages).known);
    pages = (struct topology_pages){.seen = 100, .on = {[1] = 90, [3] = 10}};
    ck_assert(topology_main(&pages).known);
    ck_assert_uint_eq(topology_main(&pages).node, 1);
    pages.on[1] = 89;
    pages.on[3] = 11;
    ck_assert(!topology_main(&pages).known);
}
END_TEST

/* This host may not tell; where it does, touched pages have a node and others none. */
START_TEST(pages_are_looked_at)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *memory =
        mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct topology_pages pages = {0}, before = {0};
    struct error error = {0};
    ck_assert_ptr_ne(memory, MAP_FAILED);
    if (topology_look(memory, PAGES * page, &pages, &error) == STATUS_OK) {
        ck_assert_uint_eq(pages.seen, 0);
        memset(memory, 1, PAGES * page / 2);
        ck_assert_int_eq(topology_look(memory, PAGES * page, &pages, &error), STATUS_OK);
        ck_assert_uint_eq(pages.seen, PAGES / 2);
        uint32_t sum = 0;
        for (int i = 0; i < TOPOLOGY_NODES_MAX; i++)
            sum += pages.on[i];
        ck_assert_uint_eq(sum, pages.seen);
        ck_assert_int_eq(topology_look(memory + 5, 0, &before, &error), STATUS_OK);
    } else {
        assert_has(error.text, "where memory is");
    }
    ck_assert_mem_eq(&before, &(struct topology_pages){0}, sizeof before);
    munmap(memory, PAGES * page);
}
END_TEST

START_TEST(a_host_of_one_node_has_nothing_to_tell)
{
    const char *const ids[] = {"0000:1a:00.0"};
    const struct numa_seen nothing = {0};
    struct numa_seen seen;
    make_device("pci0000:00/0000:00:01.0/0000:1a:00.0", "0");
    make_nodes("0");
    topology_see("sys", ids, 1, NULL, &seen);
    ck_assert_mem_eq(&seen, &nothing, sizeof seen);
    make_nodes("0-1");
    topology_see("sys", ids, 1, NULL, &seen);
    ck_assert(seen.devices[0].known && !seen.buffers.known);
    ck_assert(!numa_is_far(&seen, 0));
}
END_TEST

/* The buffers of a run, where this host tells of them. */
START_TEST(a_run_is_seen)
{
    const char *const ids[] = {"0000:1a:00.0", "0000:1b:00.0"};
    struct settings settings = test_settings("scale");
    struct machine machine = test_machine();
    struct arrays arrays = {0};
    struct error error = {0};
    struct numa_seen seen;
    settings.elements = 1 << 20;
    make_nodes("0-7");
    make_device("pci0000:00/0000:00:01.0/0000:1a:00.0", "6");
    make_device("pci0000:00/0000:00:02.0/0000:1b:00.0", "-1");
    struct plan plan = test_built_on(&settings, &machine);
    ck_assert_int_eq(arrays_create(&arrays, &plan, &settings, &error), STATUS_OK);
    topology_see("sys", ids, 2, &arrays, &seen);
    ck_assert(seen.devices[0].known && !seen.devices[1].known);
    ck_assert_uint_eq(numa_first_far(&seen, 2),
                      seen.buffers.known && seen.buffers.node != 6 ? 0 : 2);
    arrays_free(&arrays);
    plan_free(&plan);
}
END_TEST

/* --- what is said of it --- */

/* A run whose copies took three times as long as the machine's link needs, measured. */
static void make_slow(struct judged *judged, struct numa_seen numa)
{
    struct settings settings = test_settings("scale");
    struct error error = {0};
    settings.elements = 16 << 20;
    settings.tiles = 16;
    settings.streams = 4;
    settings.intensity = 1;
    judged_load(judged, "h200");
    const struct machine fast = judged->machine;
    judged->machine.h2d_bytes_per_s /= 3;
    judged->machine.d2h_bytes_per_s /= 3;
    judged->machine.joint_bytes_per_s /= 3;
    ck_assert(judged_simulate(&settings, judged));
    judged->machine = fast;
    judged->limit = limit_of(&fast, &judged->plan);
    judged->timeline.timing = TIMING_CUPTI;
    judged->timeline.numa = numa;
    ck_assert_int_eq(critical_find(&judged->timeline, &fast, &judged->critical, &error),
                     STATUS_OK);
    const struct verdict_case facts = judged_facts(judged);
    ck_assert_int_eq(verdicts_find(&facts, &judged->verdicts, &error), STATUS_OK);
}

START_TEST(verdict_needs_nodes_that_differ)
{
    static const struct numa_seen seen[] = {
        {.buffers = {false, 0}},
        {.buffers = {true, 0}},
        {.devices = {{true, 1}}},
        {.buffers = {true, 1}, .devices = {{true, 1}}},
        {.buffers = {true, 0}, .devices = {{true, 1}}},
    };
    enum { LAST = sizeof seen / sizeof seen[0] - 1 };
    for (int i = 0; i <= LAST; i++) {
        struct judged judged;
        make_slow(&judged, seen[i]);
        const struct verdict *verdict = judged_find(&judged, VERDICT_FAR_MEMORY);
        ck_assert_msg((verdict != NULL) == (i == LAST), "case %d", i);
        if (verdict != NULL) {
            ck_assert_int_eq(verdict->evidence, EVIDENCE_CERTAIN);
            ck_assert_int_gt(verdict->cost_ns, judged.verdicts.time_ns / 3);
            assert_has(verdict->seen, "numactl --cpunodebind=1 --membind=1");
        }
        judged_free(&judged);
    }
}
END_TEST

/* Returns a report's text, or its JSON, to be freed. */
static char *written(const struct judged *judged, bool json)
{
    struct run_report run = {.settings = &judged->settings,
                             .streams = 4,
                             .slots = 4,
                             .verified = VERIFIED_NOT_ASKED,
                             .repeats = 1,
                             .median_ns = judged->verdicts.time_ns,
                             .limit = judged->limit,
                             .timeline = judged->timeline,
                             .critical = judged->critical,
                             .verdicts = judged->verdicts};
    const struct report report = {.version = "1", .runs = &run, .run_count = 1};
    const struct writer_style style = {.width = 200};
    struct error error = {0};
    char *text = NULL;
    size_t size = 0;
    ck_assert_int_eq(analyse(&judged->timeline, &run.analysis, &error), STATUS_OK);
    FILE *out = open_memstream(&text, &size);
    if (json)
        write_json(out, &report);
    else
        write_text(out, &report, &style);
    fclose(out);
    return text;
}

START_TEST(reports_say_it_where_it_is_known)
{
    static const struct numa_seen seen[] = {{.buffers = {false, 0}},
                                            {.buffers = {true, 1}, .devices = {{true, 1}}},
                                            {.buffers = {true, 0}, .devices = {{true, 1}}}};
    for (int i = 0; i < 3; i++) {
        struct judged judged;
        make_slow(&judged, seen[i]);
        char *text = written(&judged, false), *json = written(&judged, true);
        ck_assert_int_eq(strstr(json, "\"numa\"") != NULL, i > 0);
        ck_assert_int_eq(strstr(text, "NUMA node 0, device 0 near node 1") != NULL, i == 2);
        free(text);
        free(json);
        judged_free(&judged);
    }
}
END_TEST

Suite *topology_suite(void)
{
    Suite *suite = suite_create("topology");
    TCase *all = tcase_create("all");
    tcase_add_checked_fixture(all, test_folder_enter, test_folder_leave);
    tcase_add_test(all, nodes_are_counted);
    tcase_add_test(all, devices_have_nodes);
    tcase_add_test(all, switches_are_seen);
    tcase_add_test(all, main_node_needs_nearly_all);
    tcase_add_test(all, pages_are_looked_at);
    tcase_add_test(all, a_host_of_one_node_has_nothing_to_tell);
    tcase_add_test(all, a_run_is_seen);
    tcase_add_test(all, verdict_needs_nodes_that_differ);
    tcase_add_test(all, reports_say_it_where_it_is_known);
    suite_add_tcase(suite, all);
    return suite;
}
