/* failing_driver_check.c - tests failing_driver.c without a GPU, against stub_driver.c:
 * arguments, counting, failing, and both ways of looking a function up.
 *
 *     failing_driver_check FAILING-LIBRARY STUB-LIBRARY */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct large {
    int64_t parts[3];
};

/* The functions of the driver under test. */
static struct {
    int (*init)(unsigned);
    int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                  void *, void **, void **);
    int (*table)(const void **, const void *);
    int (*look_up_1)(const char *, void **, int, uint64_t);
    int (*look_up_2)(const char *, void **, int, uint64_t, int *);
    int (*mixed)(double, int64_t, float, int64_t, double, double, int64_t, double, double,
                 double, double, double, double, int64_t, struct large, int64_t, int64_t,
                 int64_t);
} driver;

static const char *shown;
static int faults;

static void must(bool holds, const char *what)
{
    if (!holds)
        printf("failing_driver_check: %s: not so: %s\n", shown, what);
    faults += !holds;
}

static void open_driver(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        printf("failing_driver_check: %s\n", dlerror());
        exit(1);
    }
    *(void **)&driver.init = dlsym(library, "cuInit");
    *(void **)&driver.launch = dlsym(library, "cuLaunchKernel");
    *(void **)&driver.table = dlsym(library, "cuGetExportTable");
    *(void **)&driver.look_up_1 = dlsym(library, "cuGetProcAddress");
    *(void **)&driver.look_up_2 = dlsym(library, "cuGetProcAddress_v2");
}

static int launch(void)
{
    return driver.launch((void *)1, 2, 3, 4, 5, 6, 7, 8, (void *)9, (void **)10, (void **)11);
}

static int mixed(void)
{
    const struct large large = {{14, 15, 16}};
    return driver.mixed(0.5, 1, 2.5F, 3, 4.5, 5.5, 6, 7.5, 8.5, 9.5, 10.5, 11.5, 12.5, 13,
                        large, 17, 18, 19);
}

/* Looks functions up as CUDA's runtime does, and again through what that gave. None of these
 * calls counts. */
static void look_up(void)
{
    void *address = NULL;
    int status = 9;
    must(driver.look_up_1("cuMixed", &address, 11000, 0) == 0 && address != NULL, "found by 1");
    memcpy(&driver.mixed, &address, sizeof address);
    must(driver.look_up_2("cuMixed", &address, 13000, 0, &status) == 0 && status == 0 &&
             memcmp(&driver.mixed, &address, sizeof address) == 0,
         "found by 2, the same thunk");
    must(driver.look_up_2("cuNothing", &address, 13000, 0, &status) == 500 && status == 1 &&
             address == NULL,
         "what is not there is not found");
    must(driver.look_up_2("cuGetProcAddress", &address, 13000, 0, &status) == 0,
         "look-up found");
    memcpy(&driver.look_up_2, &address, sizeof address);
    must(driver.look_up_2("cuGetProcAddress", &address, 11000, 0, &status) == 0,
         "the older one");
    memcpy(&driver.look_up_1, &address, sizeof address);
    must(driver.look_up_1("cuInit", &address, 2000, 0) == 0 &&
             memcmp(&driver.init, &address, sizeof address) == 0,
         "an exported function has one thunk");
}

/* Calls 1 to 5 of the driver; `results` says what each must return. */
static void call_all(const int results[5])
{
    const void *table = NULL;
    look_up();
    must(driver.init(0) == results[0], "cuInit");
    must(launch() == results[1], "cuLaunchKernel");
    must(mixed() == results[2], "cuMixed");
    must(driver.table(&table, (void *)1) == results[3], "cuGetExportTable");
    must((table != NULL) == (results[3] == 0), "a failed call has no effect");
    must(launch() == results[4], "cuLaunchKernel again");
}

/* Runs the calls in a process of its own, in which the library is loaded with this environment.
 */
static void try(const char *name, const char *library, const char *call, const char *kind,
                const char *result, const int results[5])
{
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        shown = name;
        setenv("FAILING_CALL", call, 1);
        setenv("FAILING_KIND", kind, 1);
        setenv("FAILING_RESULT", result, 1);
        open_driver(library);
        call_all(results);
        exit(faults > 0);
    }
    int status = 1;
    shown = name;
    must(child > 0 && waitpid(child, &status, 0) == child && status == 0, "all held");
}

/* The calls are written down in order, look-ups with the number 0. The two launches come from
 * two lines: two sites; and each of `runs` runs has the same sites. */
static void check_list(const char *list, int runs)
{
    static const char *const names[] = {"cuInit", "cuLaunchKernel", "cuMixed",
                                        "cuGetExportTable", "cuLaunchKernel"};
    FILE *file = fopen(list, "r");
    char line[256], name[64];
    unsigned long site, sites[5] = {0};
    long number, next = 0, looked_up = 0;
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        must(sscanf(line, "%ld %63s %*s %lx", &number, name, &site) == 3, "a line of the list");
        looked_up += number == 0;
        if (number == 0)
            continue;
        must(number == next % 5 + 1 && strcmp(name, names[next % 5]) == 0, "order of calls");
        must(next < 5 || sites[next % 5] == site, "the same site in each run");
        sites[next++ % 5] = site;
    }
    must(next == 5L * runs && looked_up == 6L * runs, "all calls are in the list");
    must(sites[1] != sites[4], "two lines are two sites");
    if (file != NULL)
        fclose(file);
}

int main(int argc, char *argv[])
{
    char list[] = "/tmp/failing-list-XXXXXX";
    const int file = mkstemp(list);
    if (argc != 3 || file < 0)
        return 2;
    close(file);
    setenv("FAILING_REAL", argv[2], 1);
    setenv("FAILING_LIST", list, 1);
    for (int runs = 1; runs <= 2; runs++) {
        try("nothing fails", argv[1], "0", "once", "999", (int[5]){0});
        check_list(list, runs);
    }
    unsetenv("FAILING_LIST");
    unlink(list);
    try("the first", argv[1], "1", "once", "999", (int[5]){999});
    try("one with arguments on the stack", argv[1], "2", "once", "719", (int[5]){0, 719});
    try("one looked up", argv[1], "3", "once", "2", (int[5]){0, 0, 2});
    try("all from there on", argv[1], "3", "from", "2", (int[5]){0, 0, 2, 2, 2});
    puts(faults == 0 ? "failing_driver_check: passed" : "failing_driver_check: FAILED");
    return faults > 0;
}
