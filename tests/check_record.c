/* check_record.c - `pipeline record` with a recorder that needs no CUDA (tests/record/): the
 * program does what it does alone, and its recordings get their places. */
#include "suites.h"
#include "test_folder.h"
#include "test_program.h"

#include <check.h>
#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { COMMAND_ROOM = 1024, WORDS_MAX = 8 };

/* Runs a line for the shell, with the program as $P and the one to be recorded as $G; its
 * output is in `out`, its errors are in `err`. Returns its exit code. */
__attribute__((format(printf, 1, 2))) static int shell(const char *format, ...)
{
    char line[COMMAND_ROOM], whole[COMMAND_ROOM + 128];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    snprintf(whole, sizeof whole, "{ %s\n} >out 2>err </dev/null", line);
    const int status = system(whole);
    ck_assert(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void assert_in(const char *file, const char *words)
{
    char *text = test_file_text(file);
    assert_has(text, words);
    free(text);
}

static void assert_not_in(const char *file, const char *words)
{
    char *text = test_file_text(file);
    ck_assert_msg(strstr(text, words) == NULL, "\"%s\" is in %s: %.2000s", words, file, text);
    free(text);
}

/* The words of `line` that a shell would list; none is an error. */
static void assert_count(const char *pattern, int count)
{
    char seen[64];
    shell("ls -d %s 2>/dev/null | wc -l", pattern);
    char *text = test_file_text("out");
    snprintf(seen, sizeof seen, "%d\n", count);
    ck_assert_msg(strcmp(text, seen) == 0, "%s: %s, not %d", pattern, text, count);
    free(text);
}

static void enter(void)
{
    test_folder_enter();
    setenv("P", "./pipeline", 1);
    setenv("G", "./record-guest", 1);
    unsetenv("CUDA_INJECTION64_PATH");
    unsetenv("NVTX_INJECTION64_PATH");
    ck_assert_int_eq(shell("{ ln '%s' . || cp '%s' .; } && cp '%s/record-guest' . && "
                           "cp '%s/tests/record/libpipeline-record.so' .",
                           PIPELINE_PROGRAM, PIPELINE_PROGRAM, BUILD_FOLDER, BUILD_FOLDER),
                     0);
}

/* --- the program does what it does alone --- */

static const char *const moods[] = {
    "exit 0",
    "exit 3",
    "exit 255",
    "quit 4",
    "no-exit 2",
    "children 3",
    "die 15",
    "die 11",
    "die 9",
    "die 13",
    "read <text",
    "exec $G no-exit 7",
    "exec /bin/echo a 'b  c'",
    "exit 1 >&2",
    "no-read <&-",
};

START_TEST(test_same_as_alone)
{
    shell("printf 'a line\\nanother' >text");
    const int alone = shell("sh -c \"$G %s\" >alone.out 2>alone.err", moods[_i]);
    const int code = shell("sh -c \"$P record -q -- $G %s\" >with.out 2>with.err", moods[_i]);
    ck_assert_int_eq(code, alone);
    ck_assert_int_eq(shell("cmp alone.out with.out"), 0);
    /* A shell says how a child died, in words of its own. */
    if (alone < 128)
        ck_assert_int_eq(shell("cmp alone.err with.err"), 0);
    assert_count(".pipeline-record-*", 0);
}
END_TEST

/* Runs `words` in a process that has been given unusual things; its output is in `file`. */
static void run_given(char *const words[], const char *file)
{
    fflush(NULL);
    const pid_t process = fork();
    if (process == 0) {
        sigset_t some;
        struct rlimit files = {.rlim_cur = 200, .rlim_max = 300};
        const int out = open(file, O_WRONLY | O_CREAT | O_TRUNC, 0666);
        sigemptyset(&some);
        sigaddset(&some, SIGUSR2);
        sigaddset(&some, SIGCHLD);
        sigprocmask(SIG_BLOCK, &some, NULL);
        signal(SIGCHLD, SIG_IGN);
        signal(SIGPIPE, SIG_IGN);
        signal(SIGHUP, SIG_IGN);
        dup2(out, STDOUT_FILENO);
        dup2(STDOUT_FILENO, 7);
        close(out);
        close(STDIN_FILENO);
        setrlimit(RLIMIT_NOFILE, &files);
        setenv("OMP_PROC_BIND", "true", 1);
        execv(words[0], words);
        _exit(90);
    }
    int status;
    ck_assert_int_eq(waitpid(process, &status, 0), process);
    ck_assert_int_eq(status, 0);
}

/* Signals, descriptors, limits, processors, group, folder and arguments are as they were given.
 */
START_TEST(test_given_state)
{
    char *const alone[] = {"./record-guest", "no-state", "--limit=3", "--", "-q", "", NULL};
    char *const with[] = {"./pipeline", "record",    "-q", "./record-guest",
                          "no-state",   "--limit=3", "--", "-q",
                          "",           NULL};
    run_given(alone, "alone");
    run_given(with, "with");
    ck_assert_int_eq(shell("diff alone with"), 0);
    assert_in("alone", "descriptor 7");
    assert_not_in("alone", "descriptor 0");
    assert_in("alone", "files 200 of 300");
}
END_TEST

/* The environment differs by what the recorder is told. */
START_TEST(test_given_environment)
{
    setenv("GNUTERM", "dumb", 1);
    setenv("PIPELINE_RECORD_START", "somebody's", 1);
    ck_assert_int_eq(
        shell("$G no-environment | grep -v '^PIPELINE_RECORD_\\|^_=' | sort >alone && "
              "$P record -q $G no-environment | grep -v '^_=' | sort >with"),
        0);
    shell("diff alone with | sed -n 's/^[<>] \\([^=]*\\)=.*/\\1/p' | tr '\\n' ' '");
    assert_in("out", "CUDA_INJECTION64_PATH NVTX_INJECTION64_PATH PIPELINE_RECORD_LIMIT "
                     "PIPELINE_RECORD_TO ");
    assert_not_in("with", "PIPELINE_RECORD_START");
    unsetenv("GNUTERM");
    unsetenv("PIPELINE_RECORD_START");
}
END_TEST

/* What stands behind the program is the program's, also what looks like an option of ours. */
START_TEST(test_arguments)
{
    ck_assert_int_eq(shell("$P -q record --limit=8k $G no-state --limit=1 -o x -- --help"), 0);
    assert_in("out", "argument 1: 'state'\nargument 2: '--limit=1'\nargument 3: '-o'\n"
                     "argument 4: 'x'\nargument 5: '--'\nargument 6: '--help'\n");
    ck_assert_int_eq(shell("$P record -q -- $G no-state --"), 0);
    assert_in("out", "argument 2: '--'\n");
    ck_assert_int_eq(shell("cp record-guest ./-odd && PATH=. $P record -q -- -odd no-exit 6"),
                     6);
}
END_TEST

/* --- what can't be run --- */

static const struct {
    const char *line;
    int code;
    const char *says;
} refusals[] = {
    {"$P record", 2, "PROGRAM"},
    {"$P record --", 2, "PROGRAM"},
    {"$P record -o x.jsonl", 2, "PROGRAM"},
    {"$P record ./nothing", 127, "./nothing"},
    {"$P record nothing-here", 127, "nothing-here"},
    {"$P record ''", 127, "''"},
    {"$P record $G/inside exit 0", 126, "Not a directory"},
    {"mkdir d && $P record ./d", 126, "./d"},
    {"echo 'exit 0' >s && chmod +x s && $P record ./s", 126, "./s"},
    {"echo '#!/nope/sh' >s && chmod +x s && $P record ./s", 126, "interpreter"},
    {"echo >s && $P record ./s", 126, "./s"},
    {"$P record --limit=0 $G exit 0", 2, "--limit=0 is too small"},
    {"$P record --limit=x $G exit 0", 2, "--limit=x"},
    {"$P record --start= $G exit 0", 2, "--start="},
    {"$P record --start=0 $G exit 0", 2, "--start=0 counts from 0, and launches, ranges and"},
    {"$P record --start=000 $G exit 0", 2, "passes count from 1: must be NAME, NAME:N or N"},
    {"$P record --start=a::b:0 $G exit 0", 2, "--start=a::b:0 counts from 0"},
    {"$P record --stop=0 $G exit 0", 2, "--stop=0 counts from 0"},
    {"$P record --start=1 --stop=step:0 $G exit 0", 2, "--stop=step:0 counts from 0"},
    {"$P record --tiles=4 $G exit 0", 2, "--tiles=4 is not for `pipeline record`"},
    {"$P --start=k -n 1k", 2, "--start=k is not for `pipeline run`"},
    {"$P record -o '' $G exit 0", 2, "--output="},
    {"$P record -o nowhere/x $G exit 0", 2, "nowhere/x"},
    {"$P record -o /proc/x $G exit 0", 2, "/proc/x"},
    {"mkdir d && $P record -o d $G exit 0", 2, "folder"},
    {"$P record -o $G $G exit 0", 2, "record-guest"},
    {"PATH=. $P record -o ./record-guest record-guest exit 0", 2, "record-guest"},
    {"$P record -o libpipeline-record.so $G exit 0", 2, "libpipeline-record.so"},
    {"echo >data && $P record -o data $G exit data", 2, "data"},
    {"p=$PWD; cd /proc && $p/pipeline record $p/record-guest exit 0", 2, "--output=FILE"},
    {"CUDA_INJECTION64_PATH=/x/nsys.so $P record $G exit 0", 2, "/x/nsys.so"},
    {"$P record $P record $G exit 0", 2, "CUDA_INJECTION64_PATH"},
    {"rm libpipeline-record.so; $P record $G exit 0", 2, "nvcc"},
};

START_TEST(test_refusals)
{
    ck_assert_int_eq(shell("%s", refusals[_i].line), refusals[_i].code);
    assert_in("err", refusals[_i].says);
    assert_count(".pipeline-record-* *.jsonl", 0);
    ck_assert_int_eq(shell("cmp '%s/record-guest' record-guest", BUILD_FOLDER), 0);
}
END_TEST

/* The last of two counts, as for every option. */
START_TEST(test_recorder_is_told)
{
    ck_assert_int_eq(shell("$P record --start=a --start='scale<T>' --stop=b --limit=64k "
                           "--backtrace -o r.jsonl $G exit 0"),
                     0);
    assert_in("r.jsonl", "\"PIPELINE_RECORD_START\",\"scale<T>\"");
    assert_in("r.jsonl", "\"PIPELINE_RECORD_STOP\",\"b\"");
    assert_in("r.jsonl", "\"PIPELINE_RECORD_LIMIT\",\"65536\"");
    assert_in("r.jsonl", "\"PIPELINE_RECORD_BACKTRACE\",\"1\"");
    ck_assert_int_eq(shell("$P record -o r.jsonl $G exit 0"), 0);
    assert_in("r.jsonl", "\"PIPELINE_RECORD_START\",\"none\"");
    assert_in("r.jsonl", "\"PIPELINE_RECORD_BACKTRACE\",\"none\"");
    ck_assert_int_eq(shell("$P record --start=10 --stop=step0 -o r.jsonl $G exit 0"), 0);
    assert_in("r.jsonl", "\"PIPELINE_RECORD_START\",\"10\"");
    assert_in("r.jsonl", "\"PIPELINE_RECORD_STOP\",\"step0\"");
}
END_TEST

/* Another library of NVTX's stays, and that is said. */
START_TEST(test_marks_of_others)
{
    ck_assert_int_eq(shell("NVTX_INJECTION64_PATH=/x/marks.so $P record $G environment"), 0);
    assert_in("out", "NVTX_INJECTION64_PATH=/x/marks.so\n");
    assert_in("err", "/x/marks.so");
}
END_TEST

START_TEST(test_installed_library)
{
    ck_assert_int_eq(shell("mkdir -p p/bin p/lib/pipeline && cp pipeline p/bin && "
                           "mv libpipeline-record.so p/lib/pipeline && "
                           "ln -s p/bin/pipeline link && ./link record -o r.jsonl $G exit 5"),
                     5);
    assert_in("r.jsonl", "\"end\"");
}
END_TEST

/* --- where recordings go --- */

START_TEST(test_own_name)
{
    ck_assert_int_eq(shell("$P record $G exit 0"), 0);
    assert_count("record-guest.[0-9]*.jsonl", 1);
    ck_assert_int_eq(shell("$P record $G name"), 0);
    assert_count("record-guest.[0-9]*-2.jsonl", 1);
    ck_assert_int_eq(shell("grep -l mine record-guest.[0-9]*[0-9].jsonl"), 0);
    assert_count(".pipeline-record-*", 0);
}
END_TEST

/* The output is the program's recording; those of other processes stand beside it. */
START_TEST(test_output_name)
{
    ck_assert_int_eq(shell("mkdir d && echo old >d/r.jsonl && chmod 600 d/r.jsonl && "
                           "$P record -o d/r.jsonl $G exec $G children 2"),
                     0);
    ck_assert_int_eq(shell("head -n 1 d/r.jsonl | grep -q pipeline_recording && "
                           "[ $(stat -c %%a d/r.jsonl) = 600 ]"),
                     0);
    assert_count("d/r.[0-9]*.jsonl", 2);
    assert_count("d/.pipeline-record-* *.jsonl", 0);
    /* The only recording is what was asked for, whichever process made it. */
    ck_assert_int_eq(shell("$P record -o one $G children 1"), 0);
    ck_assert_int_eq(shell("$P record -o two $G children 2"), 0);
    assert_count("one* two.[0-9]*", 3);
    assert_count("two", 0);
    /* Of very many processes not each is told of. */
    ck_assert_int_eq(shell("$P record -o many $G children 25 && [ $(wc -l <err) = 21 ]"), 0);
    assert_in("err", "5 more recordings");
    assert_count("many*", 25);
    /* A link stays, and what it leads to is replaced. */
    ck_assert_int_eq(
        shell("echo old >real && ln -s real link && $P record -o link $G exit 0 && "
              "[ -L link ]"),
        0);
    assert_in("real", "\"end\"");
}
END_TEST

/* A child that only asks whether there is a GPU leaves nothing, and takes no place. */
START_TEST(test_children_without_work)
{
    ck_assert_int_eq(shell("$P record -o one $G asker itself && [ $(wc -l <err) = 1 ]"), 0);
    ck_assert_int_eq(shell("$P record -o two $G asker child && [ $(wc -l <err) = 1 ]"), 0);
    assert_in("one", "kernel");
    assert_in("two", "kernel");
    assert_count("one.* two.* .pipeline-record-*", 0);
    /* Where nobody did more, that is what there is to say. */
    ck_assert_int_eq(shell("FAKE_RECORD=bare $P record -o three $G children 1"), 0);
    assert_in("err", "three: nothing that ran on a GPU; 0 calls");
}
END_TEST

START_TEST(test_output_elsewhere)
{
    ck_assert_int_eq(shell("$P record -q -o /dev/stdout $G exit 3 | tail -n 1 >last"), 0);
    assert_in("last", "\"end\"");
    assert_count("*.jsonl .pipeline-record-*", 0);
    ck_assert_int_eq(shell("echo old >r && $P record -o r $G no-exit 0"), 0);
    assert_in("r", "old\n");
    assert_in("err", "nothing was recorded");
    if (access("/dev/full", W_OK) == 0) {
        ck_assert_int_eq(shell("$P record -q -o /dev/full $G exit 3"), 3);
        assert_in("err", "/dev/full");
        assert_count(".pipeline-record-*/record-guest.[0-9]*.jsonl", 1);
    }
}
END_TEST

/* --- what is said --- */

static const struct {
    const char *mode, *mood, *says;
} summaries[] = {
    {"", "exit 0",
     "r.jsonl: 2 kernels, 3 copies, 1 memset in 5.7 ms; see it with: pipeline view "
     "r.jsonl"},
    {"lost", "exit 0", "r.jsonl: 12 records are missing: CUPTI dropped them"},
    {"lost", "exit 0", "r.jsonl: another \\x1b[31m tool"},
    {"limit", "exit 0", "--limit"},
    {"idle", "exit 0", "r.jsonl: nothing that ran on a GPU; 0 calls"},
    {"empty", "exit 0", "r.jsonl: it has no whole line"},
    {"cut", "exit 0", "r.jsonl: 2 kernels, 3 copies"},
    {"cut", "exit 0", "without closing it"},
    {"", "quit 0", "without closing it"},
    {"", "die 11", "signal 11"},
    {"", "no-exit 0", "did not use CUDA"},
};

START_TEST(test_summary)
{
    setenv("FAKE_RECORD", summaries[_i].mode, 1);
    shell("$P record -o r.jsonl $G %s", summaries[_i].mood);
    assert_in("err", summaries[_i].says);
    shell("$P record -q -o r.jsonl $G %s", summaries[_i].mood);
    char *text = test_file_text("err");
    ck_assert_str_eq(text, "");
    free(text);
    unsetenv("FAKE_RECORD");
}
END_TEST

/* Returns true if addr2line can tell where the tests' program was made from. */
static bool has_source_lines(void)
{
    return shell("addr2line -e record-guest $(nm record-guest | sed -n 's/ T main$//p') | grep "
                 "guest.c:") == 0;
}

/* With --backtrace a call has the line that it was made from, and the end stays the last. */
START_TEST(test_source_lines)
{
    static const char *const named[] = {"$P record --backtrace -o r.jsonl $G exit 0",
                                        "PATH=$PWD:$PATH $P record --backtrace -o r.jsonl "
                                        "record-guest exit 0",
                                        "$P record --backtrace -o r.jsonl $G quit 0"};
    if (!has_source_lines()) {
        fprintf(stderr, "record: skipped: no debug information, or no addr2line\n");
        return;
    }
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(shell("%s", named[i]), 0);
        ck_assert_int_eq(shell("grep -c '^\\[\"line\",' r.jsonl | grep -qx 1 && "
                               "grep -q '^\\[\"line\",1,\".*guest.c:[0-9]*\"\\]$' r.jsonl"),
                         0);
        ck_assert_int_eq(
            shell("tail -n 1 r.jsonl | grep -q '^\\[\"%s\"'", i < 2 ? "end" : "line"), 0);
    }
    ck_assert_int_eq(
        shell("p=$PWD; mkdir empty; PATH=empty $P record --backtrace -o r.jsonl $G exit 0"), 0);
    assert_in("err", "binutils");
    assert_in("r.jsonl", "\"end\"");
}
END_TEST

/* The command that is shown can be typed as it stands. */
START_TEST(test_odd_names)
{
    ck_assert_int_eq(shell("$P record -o \"./a b'c\" $G exit 0 && $P record -o ./-x $G exit 0"),
                     0);
    assert_in("err", "pipeline view './a b'\\''c'");
    ck_assert_int_eq(shell("cp record-guest ./-g && PATH=. $P record -- -g exit 0"), 0);
    assert_in("err", "pipeline view ./-g.");
}
END_TEST

/* A process that goes on is not waited for, and its recording is where the program says. */
START_TEST(test_left_behind)
{
    ck_assert_int_eq(shell("$P record -o r.jsonl $G leave go"), 0);
    assert_in("err", "1 recording is still being written");
    assert_count(".pipeline-record-*/record-guest.[0-9]*.jsonl", 1);
    assert_count("r*.jsonl", 0);
    ck_assert_int_eq(
        shell("touch go; for i in 1 2 3 4 5 6 7 8 9 10; do "
              "grep -q '\"end\"' .pipeline-record-*/* && exit 0; sleep 1; done; exit 1"),
        0);
}
END_TEST

/* --- signals --- */

/* Starts `words` in a process group of its own; *output reads what it prints. */
static pid_t launch(char *const words[], int *output)
{
    int ends[2];
    ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
    const pid_t process = fork();
    if (process == 0) {
        setpgid(0, 0);
        dup2(ends[1], STDOUT_FILENO);
        dup2(open("err", O_WRONLY | O_CREAT | O_TRUNC, 0666), STDERR_FILENO);
        execv(words[0], words);
        _exit(90);
    }
    setpgid(process, process);
    close(ends[1]);
    *output = ends[0];
    return process;
}

static void await_ready(int output)
{
    char line[7] = "";
    for (size_t got = 0; got < 6;) {
        const ssize_t more = read(output, line + got, 6 - got);
        ck_assert_int_gt(more, 0);
        got += (size_t)more;
    }
    ck_assert_str_eq(line, "ready\n");
}

static int end_of(pid_t process)
{
    int status;
    ck_assert_int_eq(waitpid(process, &status, 0), process);
    ck_assert(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static char *const awaiting[] = {"./pipeline",     "record", "-o", "r.jsonl",
                                 "./record-guest", "await",  NULL};
static char *const pausing[] = {"./pipeline",     "record", "-o", "r.jsonl",
                                "./record-guest", "pause",  NULL};
static const int passed[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGALRM, SIGWINCH};

/* A signal to us alone reaches the program, which may live on. */
START_TEST(test_signal_is_passed)
{
    int output;
    const pid_t process = launch(awaiting, &output);
    await_ready(output);
    kill(process, passed[_i]);
    ck_assert_int_eq(end_of(process), passed[_i]);
    assert_in("r.jsonl", "\"end\"");
    close(output);
}
END_TEST

START_TEST(test_signal_ends_both)
{
    int output;
    const pid_t process = launch(pausing, &output);
    await_ready(output);
    kill(process, SIGTERM);
    ck_assert_int_eq(end_of(process), 128 + SIGTERM);
    assert_in("r.jsonl", "kernel");
    assert_in("err", "signal 15");
    close(output);
}
END_TEST

/* Nobody can pass on a SIGKILL, and the program does not outlive us. */
START_TEST(test_kill)
{
    int output, status;
    char byte;
    const pid_t process = launch(pausing, &output);
    await_ready(output);
    kill(process, SIGKILL);
    ck_assert_int_eq(waitpid(process, &status, 0), process);
    ck_assert_int_eq(read(output, &byte, 1), 0);
    assert_count(".pipeline-record-*/record-guest.[0-9]*.jsonl", 1);
    close(output);
}
END_TEST

/* Where the program stops, so do we: the shell sees its job stopped, and continues it. */
START_TEST(test_stop_and_continue)
{
    int output, status;
    const pid_t process = launch(awaiting, &output);
    await_ready(output);
    kill(-process, SIGTSTP);
    ck_assert_int_eq(waitpid(process, &status, WUNTRACED), process);
    ck_assert(WIFSTOPPED(status));
    ck_assert_int_eq(WSTOPSIG(status), SIGTSTP);
    kill(-process, SIGCONT);
    kill(process, SIGUSR1);
    ck_assert_int_eq(end_of(process), SIGUSR1);
    close(output);
}
END_TEST

/* An alarm that was set before is the program's. */
START_TEST(test_alarm)
{
    ck_assert_int_eq(shell("command -v perl >/dev/null || exit 14; "
                           "perl -e 'alarm 1; exec @ARGV' $P record $G await"),
                     SIGALRM);
}
END_TEST

/* On a terminal ^C reaches the program once, by the terminal. */
START_TEST(test_interrupt_on_terminal)
{
    int terminal;
    char shown[4096] = "";
    size_t length = 0;
    const pid_t process = forkpty(&terminal, NULL, NULL, NULL);
    ck_assert_int_ge(process, 0);
    if (process == 0) {
        execv(awaiting[0], awaiting);
        _exit(90);
    }
    while (strstr(shown, "ready") == NULL) {
        const ssize_t got = read(terminal, shown + length, sizeof shown - 1 - length);
        ck_assert_int_gt(got, 0);
        length += (size_t)got;
    }
    ck_assert_int_eq(write(terminal, "\003", 1), 1);
    while (read(terminal, shown, sizeof shown) > 0)
        continue;
    ck_assert_int_eq(end_of(process), SIGINT);
    close(terminal);
}
END_TEST

/* Who reads the program's output sees its end when the program closes it, not when it ends. */
START_TEST(test_closed_output)
{
    ck_assert_int_eq(shell("(exec $P record -q -o r.jsonl $G close go) | { cat; touch go; }"),
                     0);
    assert_in("out", "all there is\n");
    assert_count("go", 0);
}
END_TEST

Suite *record_suite(void)
{
    Suite *suite = suite_create("record");
    TCase *tests = tcase_create("record");
    tcase_add_checked_fixture(tests, enter, test_folder_leave);
    tcase_add_loop_test(tests, test_same_as_alone, 0, sizeof moods / sizeof moods[0]);
    tcase_add_test(tests, test_given_state);
    tcase_add_test(tests, test_given_environment);
    tcase_add_test(tests, test_arguments);
    tcase_add_loop_test(tests, test_refusals, 0, sizeof refusals / sizeof refusals[0]);
    tcase_add_test(tests, test_recorder_is_told);
    tcase_add_test(tests, test_marks_of_others);
    tcase_add_test(tests, test_installed_library);
    tcase_add_test(tests, test_own_name);
    tcase_add_test(tests, test_output_name);
    tcase_add_test(tests, test_children_without_work);
    tcase_add_test(tests, test_output_elsewhere);
    tcase_add_loop_test(tests, test_summary, 0, sizeof summaries / sizeof summaries[0]);
    tcase_add_test(tests, test_source_lines);
    tcase_add_test(tests, test_odd_names);
    tcase_add_test(tests, test_left_behind);
    tcase_add_loop_test(tests, test_signal_is_passed, 0, sizeof passed / sizeof passed[0]);
    tcase_add_test(tests, test_signal_ends_both);
    tcase_add_test(tests, test_kill);
    tcase_add_test(tests, test_stop_and_continue);
    tcase_add_test(tests, test_alarm);
    tcase_add_test(tests, test_interrupt_on_terminal);
    tcase_add_test(tests, test_closed_output);
    suite_add_tcase(suite, tests);
    return suite;
}
