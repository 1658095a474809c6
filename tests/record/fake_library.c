/* fake_library.c - a recorder for tests without a GPU: it is loaded as CUDA loads one, and
 * writes a small recording in the form of docs/recording.md. FAKE_RECORD says how it behaves.
 */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int InitializeInjection(void);

static FILE *recording;

static void close_recording(void)
{
    const char *mode = getenv("FAKE_RECORD");
    fprintf(recording, "[\"end\",9000000,\"%s\"]\n",
            mode != NULL && strcmp(mode, "limit") == 0 ? "limit" : "exit");
    fclose(recording);
}

/* Writes what it was told, so that a test sees it. */
static void write_told(void)
{
    static const char *const names[] = {"PIPELINE_RECORD_START", "PIPELINE_RECORD_STOP",
                                        "PIPELINE_RECORD_LIMIT", "PIPELINE_RECORD_BACKTRACE"};
    for (int i = 0; i < 4; i++) {
        const char *value = getenv(names[i]);
        fprintf(recording, "[\"told\",\"%s\",\"%s\"]\n", names[i],
                value != NULL ? value : "none");
    }
}

/* Writes where this was called from, as the recorder does of each call. */
static void write_frames(void)
{
    void *frames[16];
    const int count = backtrace(frames, 16);
    fputs("[\"frames\",1", recording);
    for (int i = 0; i < count; i++) {
        Dl_info about;
        if (dladdr(frames[i], &about) != 0 && about.dli_fname != NULL)
            fprintf(recording, ",\"%s\",%ld", about.dli_fname,
                    (long)((char *)frames[i] - (char *)about.dli_fbase));
    }
    fputs("]\n[\"frames\",2,\"/nope\",3]\n[\"frames\",4]\n[\"frames\",5,7,{}]\n", recording);
}

/* Two kernels, three copies and a memset between 1.0 and 6.7 ms, in no order. */
static void write_ops(void)
{
    fputs("[\"name\",0,\"void scale<float>(float*)\"]\n"
          "[\"call\",1,\"cudaMemcpyAsync\",0,900000,950000,0]\n"
          "[\"kernel\",4,1,7,2000000,3000000,1,80,256,32,0,0]\n"
          "[\"op\",1,\"h2d\",1,7,1000000,2000000,4096,\"pinned\",\"device\",0]\n"
          "[\"op\",2,\"h2d\",1,7,3000000,4000000,4096,\"pinned\",\"device\",0]\n"
          "[\"op\",3,\"d2h\",1,7,4000000,6700000,4096,\"device\",\"pinned\",0]\n"
          "[\"op\",6,\"memset\",1,7,3500000,3600000,4096,null,\"device\",0]\n"
          "[\"kernel\",5,1,7,5000000,5500000,1,80,256,32,0,0]\n",
          recording);
}

int InitializeInjection(void)
{
    char path[4096];
    const char *mode = getenv("FAKE_RECORD");
    if (mode == NULL)
        mode = "";
    snprintf(path, sizeof path, "%s/%s.%d.jsonl", getenv("PIPELINE_RECORD_TO"),
             program_invocation_short_name, (int)getpid());
    recording = fopen(path, "w");
    if (recording == NULL)
        return 0;
    if (strcmp(mode, "empty") != 0)
        fprintf(recording, "{\"pipeline_recording\":1,\"program\":\"%s\",\"pid\":%d}\n",
                program_invocation_short_name, (int)getpid());
    const int bare = strcmp(mode, "bare") == 0;
    if (strcmp(mode, "empty") != 0 && strcmp(mode, "idle") != 0 && !bare)
        write_ops();
    if (strcmp(mode, "lost") == 0)
        fputs("[\"lost\",12,\"CUPTI dropped them\"]\n"
              "[\"note\",\"another \\u001b[31m tool\"]\n",
              recording);
    if (strcmp(mode, "empty") != 0 && !bare)
        write_told();
    if (getenv("PIPELINE_RECORD_BACKTRACE") != NULL)
        write_frames();
    if (strcmp(mode, "cut") == 0)
        fputs("[\"kernel\",8,1,7,1,99000000", recording);
    fflush(recording);
    if (strcmp(mode, "cut") != 0 && strcmp(mode, "empty") != 0)
        atexit(close_recording);
    return 1;
}
