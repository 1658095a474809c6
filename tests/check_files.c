/* check_files.c - the program's files under whatever comes: closed descriptors, signals, names
 * in the way. What was there before stays whole, and nothing is left beside it. */
#include "named_files.h"
#include "suites.h"
#include "test_folder.h"
#include "test_program.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LIST_MAX = 4096 };

/* Runs a line of a shell; returns its exit code. The program's path is in $P. */
static int shell(const char *line)
{
    setenv("P", program_path, 1);
    int status = system(line);
    ck_assert_msg(WIFEXITED(status), "'%s' was ended by a signal", line);
    return WEXITSTATUS(status);
}

static void assert_text(const char *path, const char *expected)
{
    char *text = test_file_text(path);
    ck_assert_msg(strcmp(text, expected) == 0, "%s holds: %.200s", path, text);
    free(text);
}

static int by_name(const void *one, const void *other)
{
    return strcmp(*(char *const *)one, *(char *const *)other);
}

/* Writes the sorted names of all that is in this folder, each before a blank. */
static void list_names(char names[LIST_MAX])
{
    char *found[64];
    size_t count = 0;
    DIR *folder = opendir(".");
    ck_assert_ptr_nonnull(folder);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL && count < 64;) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            found[count++] = strdup(entry->d_name);
    }
    closedir(folder);
    qsort(found, count, sizeof found[0], by_name);
    names[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        snprintf(names + strlen(names), LIST_MAX - strlen(names), "%s ", found[i]);
        free(found[i]);
    }
}

static void assert_names(const char *expected, const char *why)
{
    char names[LIST_MAX];
    list_names(names);
    ck_assert_msg(strcmp(names, expected) == 0, "%s: here are %s, not %s", why, names,
                  expected);
}

/* --- closed descriptors --- */

/* A note is printed in each of these runs: the config file is not here. */
START_TEST(test_closed_descriptors)
{
    char line[512];
    static const char run[] =
        "timeout 60 $P ways.ini -d sim:h200 -n 1k -t 4 --timeline=t.csv --timeline=t.json";
    snprintf(line, sizeof line, "%s >out 2>err </dev/null && mv t.csv csv && mv t.json json",
             run);
    ck_assert_int_eq(shell(line), 0);
    snprintf(line, sizeof line, "%s %s %s %s && cmp t.csv csv && cmp t.json json", run,
             _i & 1 ? "<&-" : "", _i & 2 ? ">&-" : ">out", _i & 4 ? "2>&-" : "2>err");
    ck_assert_msg(shell(line) == 0, "fails: %s", line);
    assert_names("csv err json out t.csv t.json ", line);
}
END_TEST

/* --- signals --- */

/* A sanitizer reports the last three itself. */
static const struct {
    int number;
    const char *name;
} signals[] = {
    {SIGINT, "INT"},   {SIGTERM, "TERM"}, {SIGHUP, "HUP"},   {SIGQUIT, "QUIT"},
    {SIGPIPE, "PIPE"}, {SIGXCPU, "XCPU"}, {SIGALRM, "ALRM"}, {SIGUSR1, "USR1"},
    {SIGUSR2, "USR2"}, {SIGABRT, "ABRT"}, {SIGKILL, "KILL"},
#ifndef SANITIZED
    {SIGSEGV, "SEGV"}, {SIGBUS, "BUS"},   {SIGFPE, "FPE"},
#endif
};
enum { SIGNALS = sizeof signals / sizeof signals[0] };

static const char *const long_run[] = {"pipeline",         "-dsim:h200", "-n16M", "-kwave",
                                       "--intensity=4096", "-t4",        "-q",    "-ox.npy",
                                       "--timeline=x.csv", NULL};
static const char *const short_run[] = {"pipeline", "-dsim:h200",       "-n64k", "-t64", "-q",
                                        "-ox.npy",  "--timeline=x.csv", NULL};

/* Starts the program, with `ignored` ignored unless it is 0. Signals wait until nothing is left
 * of this process's handlers. */
static pid_t start(const char *const arguments[], int ignored)
{
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        for (int i = 0; i < SIGNALS; i++)
            signal(signals[i].number, SIG_DFL);
        const struct rlimit none = {0};
        setrlimit(RLIMIT_CORE, &none);
        setpgid(0, 0);
        int null = open("/dev/null", O_RDWR);
        for (int fd = 0; fd < 3; fd++)
            dup2(null, fd);
        if (ignored != 0)
            signal(ignored, SIG_IGN);
        sigprocmask(SIG_SETMASK, &before, NULL);
        execv(program_path, (char *const *)arguments);
        _exit(99);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    return child;
}

static int wait_for(pid_t child)
{
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return status;
}

/* Returns true if `child` has a file of this folder open, whether it has a name or not. */
static bool has_output(pid_t child)
{
    char path[64], link[512], target[512], here[256];
    bool found = false;
    snprintf(path, sizeof path, "/proc/%d/fd", (int)child);
    ck_assert_ptr_nonnull(getcwd(here, sizeof here));
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        snprintf(link, sizeof link, "%s/%s", path, entry->d_name);
        ssize_t length = readlink(link, target, sizeof target - 1);
        target[length > 0 ? length : 0] = '\0';
        found |= strncmp(target, here, strlen(here)) == 0 && target[strlen(here)] == '/';
    }
    if (folder != NULL)
        closedir(folder);
    return found;
}

static void wait_ms(double ms)
{
    struct timespec moment = {0, (long)(ms * 1e6)};
    nanosleep(&moment, NULL);
}

static void wait_until_open(pid_t child)
{
    siginfo_t ended = {0};
    for (int i = 0; i < 3000 && !has_output(child) && ended.si_pid == 0; i++) {
        wait_ms(10);
        waitid(P_PID, (id_t)child, &ended, WEXITED | WNOHANG | WNOWAIT);
    }
    ck_assert_msg(has_output(child), "no output file was opened");
}

/* In the middle of a long run a signal ends the program as it ends any other, and no file of
 * it is left, whole or not. */
START_TEST(test_signal_leaves_nothing_behind)
{
    if (signals[_i].number == SIGKILL && !nameless_files())
        return;
    test_file_put("x.npy", "old");
    pid_t child = start(long_run, 0);
    wait_until_open(child);
    wait_ms(20);
    ck_assert_int_eq(kill(child, signals[_i].number), 0);
    int status = wait_for(child);
    ck_assert_msg(WIFSIGNALED(status), "SIG%s: exit %d", signals[_i].name, WEXITSTATUS(status));
    ck_assert_int_eq(WTERMSIG(status), signals[_i].number);
    assert_names("x.npy ", signals[_i].name);
    assert_text("x.npy", "old");
}
END_TEST

/* `nohup` and `trap '' INT` have the program ignore a signal. */
START_TEST(test_ignored_signals_stay_ignored)
{
    if (signals[_i].number == SIGKILL)
        return;
    pid_t child = start(long_run, signals[_i].number);
    wait_until_open(child);
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/status", (int)child);
    char *status = test_file_text(path);
    const char *line = strstr(status, "SigIgn:");
    ck_assert_ptr_nonnull(line);
    unsigned long long set = strtoull(line + strlen("SigIgn:"), NULL, 16);
    ck_assert_msg((set >> (signals[_i].number - 1) & 1) == 1, "SIG%s is no longer ignored",
                  signals[_i].name);
    free(status);
    kill(child, SIGKILL);
    wait_for(child);
}
END_TEST

/* A short run, in which most moments are those of opening and naming, is hit at moments drawn
 * from a seed. The old file stays whole or the new one is, and nothing lies beside it. */
START_TEST(test_signals_at_random_moments)
{
    enum { ROUNDS = 3 };
    unsigned seed = 15;
    if (_i == 1 && !named_files_only())
        return;
    struct timespec begin, end;
    bool kills = nameless_files();
    ck_assert_int_eq(wait_for(start(short_run, 0)), 0);
    clock_gettime(CLOCK_MONOTONIC, &begin);
    ck_assert_int_eq(wait_for(start(short_run, 0)), 0);
    clock_gettime(CLOCK_MONOTONIC, &end);
    double whole_ms = 1e3 * (double)(end.tv_sec - begin.tv_sec) +
                      1e-6 * (double)(end.tv_nsec - begin.tv_nsec);
    ck_assert_int_eq(rename("x.npy", "npy"), 0);
    ck_assert_int_eq(rename("x.csv", "csv"), 0);
    for (int round = 0; round < ROUNDS * SIGNALS; round++) {
        int number = signals[round % SIGNALS].number;
        if (number == SIGKILL && !kills)
            continue;
        test_file_put("x.npy", "old");
        test_file_put("x.csv", "old");
        /* A name that is taken is replaced in two steps, which only this can come between. */
        if (number == SIGKILL && (unlink("x.npy") != 0 || unlink("x.csv") != 0))
            ck_abort();
        pid_t child = start(short_run, 0);
        wait_ms(whole_ms * 1.1 * rand_r(&seed) / RAND_MAX);
        kill(child, number);
        wait_for(child);
        ck_assert_msg(shell("for f in npy csv; do "
                            "[ ! -e x.$f ] || grep -qx old x.$f || cmp x.$f $f || exit 1; "
                            "rm -f x.$f; done") == 0,
                      "SIG%s left half a file", signals[round % SIGNALS].name);
        assert_names("csv npy ", signals[round % SIGNALS].name);
    }
}
END_TEST

/* Too large a file is an error like a full disk, and the old one stays. */
START_TEST(test_file_size_limit_is_an_error)
{
    struct rlimit before, limit;
    test_file_put("x.npy", "old");
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = before;
    limit.rlim_cur = 100000;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    int code = shell("$P -q -d sim:h200 -n 64k -t 4 -o x.npy >out 2>err");
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
    char *text = test_file_text("err");
    ck_assert_msg(code == 1 && strstr(text, "x.npy': File too large") != NULL, "exit %d: %s",
                  code, text);
    free(text);
    assert_text("x.npy", "old");
    assert_names("err out x.npy ", "too large");
}
END_TEST

/* --- inputs --- */

static const struct {
    const char *arguments, *words;
} overwriting[] = {
    {"cfg.ini -o cfg.ini", "--output=cfg.ini is the same file as cfg.ini, which is read"},
    {"own.ini", "output=./own.ini (own.ini:5) is the same file as own.ini"},
    {"cfg.ini own.ini -o own.ini --dry-run", "own.ini"},
    {"-d sim:./mm.ini -n 1k -t 4 -o mm.ini", "--device=sim:./mm.ini, which is read"},
    {"--sweep=device=sim:h200,sim:./mm.ini -n 1k -t 4 --timeline=mm.csv", "mm.csv"},
    {"compare --machine=./mm.ini -d sim:h200 -n 1k -t 4 -o mm.ini", "--machine=./mm.ini"},
    {"-d sim:h200 -t 4 -i in.npy -o in.npy", "--input=in.npy, which is read"},
    {"-d sim:h200 -t 4 -i in.csv --timeline=in.csv", "--input=in.csv, which is read"},
    {"-d sim:h200 -t 4 -i in.npy -o hard.npy", "--output=hard.npy"},
    {"-d sim:h200 -t 4 -i in.npy -o soft.npy", "--output=soft.npy"},
    {"-d sim:h200 -t 4 -i soft.npy -o hard.npy", "--input=soft.npy, which is read"},
    {"-d sim:h200 -t 4 -i in.npy -o sub/../in.npy", "--output=sub/../in.npy"},
    {"view t.csv --timeline=sub/../t.csv", "t.csv, which is read"},
    {"view t.csv t.json --timeline=t.json", "t.json, which is read"},
    {"view --before=t.csv --after=t.json --timeline=t.csv", "t.csv, which is read"},
    {"view --before=t.csv --after=t.json --timeline=t.json", "t.json, which is read"},
    {"-d sim:h200 -n 1k -t 4 --emit=cfg.ini",
     "--emit=cfg.ini is there already, and is no program"},
    {"-d sim:h200 -n 1k -t 4 --emit=mine.cu", "--emit=mine.cu is there already"},
    /* Two outputs that are one. */
    {"-d sim:h200 -n 1k -t 4 -o new.csv --timeline=./new.csv", "the same file as --output"},
    {"-d sim:h200 -n 1k -t 4 -o t.csv --timeline=t2.csv", "the same file as --output"},
    {"-d sim:h200 -n 1k -t 4 --timeline=t.csv --timeline=t2.csv", "given twice"},
    {"-d sim:h200 -n 1k -t 4 --timeline=n.csv --timeline=sub/../n.csv", "given twice"},
};
enum { OVERWRITING = sizeof overwriting / sizeof overwriting[0] };

/* Nothing runs that would overwrite what it reads, whatever the file is called. */
START_TEST(test_inputs_are_not_overwritten)
{
    char names[LIST_MAX];
    test_file_put("cfg.ini", "[a]\ndevice = sim:h200\nelements = 1k\ntiles = 4\n");
    test_file_put(
        "mine.cu",
        "// By nobody\n#include \"pipeline/kernel.h\"\n// By pipeline 0.1.0: too late\n");
    test_file_put("own.ini",
                  "[a]\ndevice = sim:h200\nelements = 1k\ntiles = 4\noutput = ./own.ini\n");
    ck_assert_int_eq(shell("cp " TESTS_FOLDER "/../configs/machines/h200.ini mm.ini"), 0);
    ck_assert_int_eq(shell("ln mm.ini mm.csv"), 0);
    ck_assert_int_eq(shell("$P -q -d sim:h200 -n 1k -t 4 -o in.npy --timeline=t.csv "
                           "--timeline=t.json >out"),
                     0);
    ck_assert_int_eq(shell("ln in.npy hard.npy && ln -s hard.npy soft.npy && mkdir sub && "
                           "ln t.csv t2.csv && head -c 4096 in.npy >in.csv && : >err && "
                           "cksum *.* >.sums"),
                     0);
    list_names(names);
    ck_assert_int_eq(program_run(overwriting[_i].arguments), 2);
    assert_has(program_err, overwriting[_i].words);
    ck_assert_str_eq(program_out, "");
    assert_names(names, overwriting[_i].arguments);
    ck_assert_int_eq(shell("cksum *.* | cmp - .sums"), 0);
}
END_TEST

/* Where a picture can't be drawn its data is kept, in a file that replaces none: here the one
 * that was kept before, and is read. */
START_TEST(test_kept_data_replaces_nothing)
{
    ck_assert_int_eq(shell("PATH=nowhere $P -q -d sim:h200 -n 1k -t 4 --timeline=g.svg >out "
                           "2>err"),
                     1);
    assert_names("err g.svg.csv out ", "kept");
    ck_assert_int_eq(shell("cksum g.svg.csv >sum; PATH=nowhere $P -q view g.svg.csv "
                           "--window=0%..50% --timeline=g.svg >out 2>err"),
                     1);
    ck_assert_int_eq(shell("cksum g.svg.csv | cmp - sum && grep -q \"'g.svg.2.csv'\" err"), 0);
    assert_names("err g.svg.2.csv g.svg.csv out sum ", "kept again");
}
END_TEST

/* What is alike in name alone, and devices, are as good as any other file. */
START_TEST(test_other_files_are_written)
{
    static const char *const lines[] = {
        "mkdir -p sub && $P -q -d sim:h200 -n 1k -t 4 -o in.npy >out",
        "$P -q -d sim:h200 -t 4 -i in.npy -o sub/in.npy --timeline=in.npy.csv >out",
        "$P -q -d sim:h200 -t 4 -i in.npy -o /dev/null >out",
        "$P -q -d sim:h200 -n 1k -t 4 -o raw >out",
        "$P -q -d sim:h200 -n 1k -t 4 -o /dev/stdout | cmp -n 4096 - raw",
        "$P -q -d sim:h200 -n 1k -t 4 -o /dev/fd/9 9>&1 >out | cmp - raw",
        "$P -q view in.npy.csv --timeline=view.csv >out",
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        ck_assert_msg(shell(lines[i]) == 0, "fails: %s", lines[i]);
    assert_names("in.npy in.npy.csv out raw sub view.csv ", "others");
}
END_TEST

/* The name that was given says what is to be in a file, not the name that a link leads to. */
START_TEST(test_link_to_another_ending)
{
    test_file_put("kept.txt", "old");
    ck_assert_int_eq(shell("ln -s kept.txt in.npy && $P -q -d sim:h200 -n 1k -t 4 -o in.npy "
                           ">out && $P -q -d sim:h200 -t 4 -i in.npy >out"),
                     0);
    assert_names("in.npy kept.txt out ", "a link");
}
END_TEST

/* What is in the way of an output is refused before anything runs. */
START_TEST(test_what_is_in_the_way)
{
    char line[256];
    static const char *const ways[] = {"mkfifo x.csv", "mkdir x.csv", "ln -s nowhere x.csv",
                                       "ln -s x.csv x.csv"};
    static const char *const words[] = {"'x.csv': it is a pipe that nobody reads",
                                        "'x.csv': it is a folder",
                                        "'x.csv': it is a symbolic link that leads nowhere",
                                        "'x.csv': Too many levels of symbolic links"};
    ck_assert_int_eq(shell(ways[_i]), 0);
    for (int timeline = 0; timeline < 2; timeline++) {
        snprintf(line, sizeof line, "-d sim:h200 -n 1k -t 4 %s=x.csv",
                 timeline ? "--timeline" : "--output");
        ck_assert_int_eq(program_run(line), 2);
        assert_has(program_err, words[_i]);
        assert_names("err out x.csv ", ways[_i]);
    }
}
END_TEST

/* Scripts and a library that the environment names are read, too, and a descriptor's file that
 * was removed is no other one that has its name by chance. */
START_TEST(test_what_the_environment_names_is_not_overwritten)
{
    static const char *const lines[] = {
        "mkdir pl && echo old >pl/sweep.gp && cp pl/sweep.gp kept && PIPELINE_PLOTS=pl "
        "$P -d sim:h200 -n 1k -t 2 -q -o pl/sweep.gp; test $? = 2 && cmp -s pl/sweep.gp kept",
        "echo old >b.so && cp b.so kept && PIPELINE_OPENBLAS=./b.so "
        "$P -d sim:h200 -n 1k -t 2 -q -o b.so; test $? = 2 && cmp -s b.so kept",
        "exec 3>a; rm a; echo old >'a (deleted)'; cp 'a (deleted)' kept; "
        "$P -d sim:h200 -n 1k -t 2 -q -o /dev/fd/3; test $? = 2 && cmp -s 'a (deleted)' kept",
    };
    ck_assert_msg(shell(lines[_i]) == 0, "fails: %s", lines[_i]);
}
END_TEST

/* A picture that can't be drawn takes neither the other files nor the report with it. */
START_TEST(test_one_failure_loses_nothing_else)
{
    ck_assert_int_eq(shell("PATH=/nope $P -d sim:h200 -n 1k -t 2 -q --timeline=p.svg "
                           "--timeline=p.json --format=json >out"),
                     1);
    ck_assert_int_eq(shell("grep -q '\"schema\": 2' out && tail -c 3 out | grep -q '}' && "
                           "grep -q traceEvents p.json"),
                     0);
}
END_TEST

/* Neither a terminal nor a number of threads that the environment asks for is in the way. */
START_TEST(test_odd_environment)
{
    ck_assert_int_eq(shell("GNUTERM=junk OMP_NUM_THREADS=100000 $P -d sim:h200 -n 1k -t 2 -q "
                           "--timeline=p.csv >out"),
                     0);
}
END_TEST

/* A file that is mounted by itself, as containers do, can't be replaced: that is said before
 * anything runs. */
START_TEST(test_mounted_file)
{
    test_file_put("real.csv", "old");
    test_file_put("x.csv", "");
    if (shell("unshare -rm mount --bind real.csv x.csv 2>err") != 0) {
        printf("skipped: test_mounted_file (no right to mount)\n");
        return;
    }
    for (int timeline = 0; timeline < 2; timeline++) {
        setenv("OUTPUT", timeline ? "--timeline" : "--output", 1);
        ck_assert_int_eq(shell("unshare -rm sh -c 'mount --bind real.csv x.csv && exec $P -q "
                               "-d sim:h200 -n 1k -t 4 $OUTPUT=x.csv' >out 2>err"),
                         2);
        ck_assert_int_eq(shell("grep -q \"'x.csv': it is mounted by itself\" err && "
                               "test ! -s out"),
                         0);
        assert_text("real.csv", "old");
        assert_names("err out real.csv x.csv ", "a mounted file");
    }
    /* In a folder that is mounted, files are replaced. */
    ck_assert_int_eq(shell("mkdir real sub && touch real/x.csv && unshare -rm sh -c 'mount "
                           "--bind real sub && exec $P -q -d sim:h200 -n 1k -t 4 "
                           "--timeline=sub/x.csv' >out && test -s real/x.csv"),
                     0);
}
END_TEST

/* Each run may have an output of its own, and there may be more of them than descriptors. */
START_TEST(test_many_outputs)
{
    enum { RUNS = 200 };
    FILE *file = fopen("many.ini", "w");
    ck_assert_ptr_nonnull(file);
    fputs("[global]\ndevice = sim:h200\nelements = 64\ntiles = 1\nruns = 1\n", file);
    for (int i = 0; i < RUNS; i++)
        fprintf(file, "[r%d]\noutput = sub/%d.npy\n", i, i);
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_int_eq(shell("mkdir sub && ulimit -Sn 100 && "
                           "$P -q --format=csv many.ini >out 2>err || { cat err; false; }"),
                     0);
    ck_assert_int_eq(shell("test $(ls sub | wc -l) = 200"), 0);
}
END_TEST

/* A stack that is too small is said to be that, whatever takes part of it; a larger one is
 * taken where the system lets us, and given back to other programs. */
START_TEST(test_small_stacks)
{
    static const char *const small[] = {"-q -d sim:h200 -n 1M",
                                        "-q -d sim:h200 -n 1M -t 8 -s 1 --fix --tiles=auto",
                                        "-q view sub/many.ini", "list machines"};
    for (int i = 0; i < 4; i++) {
        char line[256];
        snprintf(line, sizeof line,
                 "(ulimit -s 96 && $P %s >out 2>err; test $? = 1) && test $(wc -l <err) = 1 && "
                 "grep -q '^pipeline: the stack may have 96 KiB (ulimit -s): needed are' err",
                 small[i]);
        ck_assert_msg(shell(line) == 0, "%s", line);
    }
    ck_assert_int_eq(shell("(A=$(head -c 100000 /dev/zero | tr '\\0' x); export A; "
                           "ulimit -s 200 && $P list machines >out 2>err; test $? = 1)"),
                     0);
    ck_assert_int_eq(shell("(ulimit -Ss 96 && $P -q -d sim:h200 -n 1M --fix >out)"), 0);
    /* A program that was built without the recorder has nothing to start. */
    ck_assert_int_eq(shell("(ulimit -Ss 96 && $P -q record -o r.jsonl sh -c 'ulimit -s' "
                           ">out 2>err); grep -q '^96$' out || grep -q nvcc err"),
                     0);
}
END_TEST

Suite *files_suite(void)
{
    Suite *suite = suite_create("files");
    TCase *cases = tcase_create("files");
    tcase_set_timeout(cases, 300);
    tcase_add_checked_fixture(cases, test_folder_enter, test_folder_leave);
    tcase_add_loop_test(cases, test_closed_descriptors, 0, 8);
    tcase_add_loop_test(cases, test_signal_leaves_nothing_behind, 0, SIGNALS);
    tcase_add_loop_test(cases, test_ignored_signals_stay_ignored, 0, SIGNALS);
    /* Once with files that need a name meanwhile. */
    tcase_add_loop_test(cases, test_signals_at_random_moments, 0, 2);
    tcase_add_test(cases, test_file_size_limit_is_an_error);
    tcase_add_loop_test(cases, test_inputs_are_not_overwritten, 0, OVERWRITING);
    tcase_add_test(cases, test_kept_data_replaces_nothing);
    tcase_add_test(cases, test_other_files_are_written);
    tcase_add_test(cases, test_link_to_another_ending);
    tcase_add_loop_test(cases, test_what_is_in_the_way, 0, 4);
    tcase_add_loop_test(cases, test_what_the_environment_names_is_not_overwritten, 0, 3);
    tcase_add_test(cases, test_one_failure_loses_nothing_else);
    tcase_add_test(cases, test_odd_environment);
    tcase_add_test(cases, test_mounted_file);
    tcase_add_test(cases, test_many_outputs);
    tcase_add_test(cases, test_small_stacks);
    suite_add_tcase(suite, cases);
    return suite;
}
