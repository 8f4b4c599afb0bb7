/* SPDX-License-Identifier: Apache-2.0
 *
 * The trace file is one JSON array of events, written in blocks that end between two events: a
 * killed process leaves a file without the closing bracket, which the format allows. Memory use is
 * one buffer, however long the trace.
 */
#include "base/trace.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/os.h"

#define BUFFER_BYTES ((size_t)64 << 10)
#define EVENT_BYTES  ((size_t)768) /* more than any event needs */
#define FLUSH_NS     1000000000u   /* at most this much is lost if the process is killed */
#define DEVICES_MAX  32
#define LANES_MAX    8
#define CREATING_MS  20 /* grace period between creating a trace and its first bytes */

/* Every trace of ours begins like this, which distinguishes it from other files. */
#define BEGIN "[{\"ph\":\"M\",\"name\":\"gpuexec\","

static const char taken[] = "another context is writing to it";

static const char *const stage_names[GX_STAGES] = {
#define X(symbol, name) name,
    GX_STAGE_LIST(X)
#undef X
};

/* Viewers misplace partly overlapping spans on one lane: a stage gets as many lanes as it needs, up
 * to a limit. */
struct trace_device {
    char name[48];
    uint64_t lane_end[GX_STAGES][LANES_MAX]; /* 0: unused */
};

struct gx_trace {
    int fd;
    int error; /* errno of the first failed write; nothing is written after it */
    size_t used;
    uint64_t flushed_ns;
    size_t devices;
    struct trace_device device[DEVICES_MAX];
    char buffer[BUFFER_BYTES];
};

/* ---- writing ---- */

static void flush(struct gx_trace *trace)
{
    for (size_t at = 0; at < trace->used && !trace->error;) {
        ssize_t n = write(trace->fd, trace->buffer + at, trace->used - at);
        if (n < 0 && errno != EINTR)
            trace->error = errno;
        at += n > 0 ? (size_t)n : 0;
    }
    trace->used = 0;
    trace->flushed_ns = gx__now_ns();
}

GX_PRINTF(2, 3) static void put(struct gx_trace *trace, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(trace->buffer + trace->used, BUFFER_BYTES - trace->used, format, args);
    va_end(args);
    trace->used += n > 0 ? (size_t)n : 0;
}

/* Device names come from files and drivers: nothing in them may end a JSON string. */
static void put_text(struct gx_trace *trace, const char *text)
{
    for (; *text; text++) {
        bool plain = *text >= ' ' && *text <= '~' && *text != '"' && *text != '\\';
        put(trace, "%c", plain ? *text : '?');
    }
}

static void put_metadata(struct gx_trace *trace, const char *what, size_t pid, size_t tid,
                         const char *name, size_t number)
{
    put(trace, ",\n{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%zu,\"tid\":%zu,\"args\":{\"name\":\"",
        what, pid, tid);
    put_text(trace, name);
    if (number)
        put(trace, " %zu", number + 1);
    put(trace, "\"}}");
}

/* ---- lanes ---- */

static struct trace_device *find_device(struct gx_trace *trace, const char *name)
{
    size_t i = 0;
    while (i < trace->devices && strcmp(trace->device[i].name, name))
        i++;
    if (i == trace->devices) {
        if (i == DEVICES_MAX)
            return &trace->device[i - 1]; /* more than can be open at once: they share a lane */
        snprintf(trace->device[i].name, sizeof trace->device[i].name, "%s", name);
        trace->devices++;
        put_metadata(trace, "process_name", i + 1, 0, name, 0);
    }
    return &trace->device[i];
}

/* The first lane that is free at that time; returns its number in the file. */
static size_t take_lane(struct gx_trace *trace, struct trace_device *device,
                        const struct gx_span *span)
{
    uint64_t *end = device->lane_end[span->stage];
    size_t lane = 0, pid = (size_t)(device - trace->device) + 1;
    while (lane < LANES_MAX - 1 && end[lane] > span->start_ns)
        lane++;
    size_t tid = span->stage * LANES_MAX + lane + 1;
    if (!end[lane]) {
        put_metadata(trace, "thread_name", pid, tid, stage_names[span->stage], lane);
        put(trace,
            ",\n{\"ph\":\"M\",\"name\":\"thread_sort_index\",\"pid\":%zu,\"tid\":%zu,"
            "\"args\":{\"sort_index\":%zu}}",
            pid, tid, tid);
    }
    end[lane] = span->end_ns > end[lane] ? span->end_ns : end[lane];
    end[lane] += !end[lane]; /* in use, even if only at time 0 */
    return tid;
}

static void put_span(struct gx_trace *trace, const struct gx_span *span)
{
    struct trace_device *device = find_device(trace, span->device);
    size_t tid = take_lane(trace, device, span);
    const gx_op_info *op = gx_op_get_info(span->op);
    const gx_field_info *field = gx_field_get_info(span->field);
    uint64_t took = span->end_ns > span->start_ns ? span->end_ns - span->start_ns : 0;
    put(trace,
        ",\n{\"ph\":\"X\",\"name\":\"%s %llu\",\"cat\":\"%s\",\"pid\":%zu,\"tid\":%zu,"
        "\"ts\":%llu.%03u,\"dur\":%llu.%03u,\"args\":{\"job\":%llu,\"jobs\":%llu,"
        "\"elements\":%llu,\"bytes\":%llu",
        stage_names[span->stage], (unsigned long long)span->job, stage_names[span->stage],
        (size_t)(device - trace->device) + 1, tid, (unsigned long long)(span->start_ns / 1000),
        (unsigned)(span->start_ns % 1000), (unsigned long long)(took / 1000),
        (unsigned)(took % 1000), (unsigned long long)span->job,
        (unsigned long long)(span->jobs ? span->jobs : 1), (unsigned long long)span->elements,
        (unsigned long long)span->bytes);
    if (op)
        put(trace, ",\"op\":\"%s\"", op->name);
    if (field)
        put(trace, ",\"field\":\"%s\"", field->name);
    put(trace, "}}");
}

void gx__trace_span(struct gx_instance *instance, const struct gx_span *span)
{
    if (!gx__tracing(instance))
        return;
    pthread_mutex_lock(&instance->trace_lock);
    struct gx_trace *trace = instance->trace;
    if (trace) { /* the trace may have ended meanwhile */
        put_span(trace, span);
        if (trace->used > BUFFER_BYTES - 4 * EVENT_BYTES ||
            gx__now_ns() - trace->flushed_ns > FLUSH_NS)
            flush(trace);
    }
    pthread_mutex_unlock(&instance->trace_lock);
}

uint64_t gx__trace_jobs(struct gx_instance *instance, uint64_t count)
{
    return atomic_fetch_add_explicit(&instance->traced_jobs, count, memory_order_relaxed) + 1;
}

/* ---- start and stop ---- */

void gx__trace_init(struct gx_instance *instance)
{
    pthread_mutex_init(&instance->trace_lock, NULL);
}

/* Creates and locks a new file. Opens nothing that exists, not even through a link. */
static int create_alone(const char *path)
{
    int fd = gx__os_open(path, O_WRONLY | O_CREAT | O_EXCL, 0666);
    if (fd >= 0 && !gx__os_lock(fd)) /* not all file systems support locks */
        errno = 0;
    return fd;
}

/* Whether the file begins like our traces. A newly created trace is empty for a moment, but is
 * locked before that. */
static bool is_trace(int fd)
{
    static const char begin[] = BEGIN;
    char bytes[sizeof begin - 1];
    ssize_t n = read(fd, bytes, sizeof bytes);
    for (int i = 0; n == 0 && i < CREATING_MS; i++) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        n = read(fd, bytes, sizeof bytes);
    }
    return n == (ssize_t)sizeof bytes && !memcmp(bytes, begin, sizeof bytes) &&
           !lseek(fd, 0, SEEK_SET);
}

/* Replaces an existing file only if it is a trace: nothing else is truncated, and opening it must
 * not block (a pipe) or have side effects (a device). */
static int open_again(const char *path, const char **why)
{
    struct gx_os_stat is;
    *why = "exists and is not a regular file: choose another";
    if (!gx__os_stat(path, false, &is) || is.kind != GX_OS_FILE || is.link)
        return -1;
    *why = NULL;
    int fd = gx__os_open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    if (!gx__os_stat_fd(fd, &is) || is.kind != GX_OS_FILE || !is_trace(fd))
        *why = "exists and is not a gpuexec trace: remove it or choose another";
    else if (!gx__os_lock(fd) && errno == EWOULDBLOCK)
        *why = taken;
    if (!*why)
        return fd;
    close(fd);
    return -1;
}

/* Writes the first event over that of the old trace, then truncates the rest: if there is no space,
 * the old file is intact. */
static bool begin(struct gx_trace *trace)
{
    put(trace, BEGIN "\"pid\":0,\"args\":{\"version\":\"%s\"}}", gx_version());
    off_t size = (off_t)trace->used;
    flush(trace);
    if (!trace->error && ftruncate(trace->fd, size))
        trace->error = errno;
    return !trace->error;
}

static gx_status open_file(struct gx_trace *trace, const char *path, struct gx_error *error)
{
    const char *why = NULL;
    trace->fd = create_alone(path);
    bool created = trace->fd >= 0;
    if (!created && errno == EEXIST)
        trace->fd = open_again(path, &why);
    if (trace->fd >= 0 && begin(trace))
        return GX_OK;
    int code = trace->fd < 0 ? errno : trace->error;
    gx__explain(error, "trace '%.80s': %s", path, why ? why : strerror(code));
    if (created)
        gx__os_unlink(path);
    if (trace->fd >= 0)
        close(trace->fd);
    return why == taken ? GX_ERR_INVALID : GX_ERR_FILE;
}

static gx_status start(struct gx_instance *instance, const char *path, struct gx_error *error)
{
    const gx_allocator *allocator = &instance->config.allocator;
    if (instance->trace)
        return gx__refuse(error, GX_ERR_INVALID, "a trace is already being written: stop it first");
    struct gx_trace *trace = gx__alloc(allocator, sizeof *trace);
    if (!trace)
        return gx__refuse(error, GX_ERR_OUT_OF_MEMORY, "no memory for a trace");
    gx_status s = open_file(trace, path, error);
    if (s != GX_OK) {
        gx__free(allocator, trace);
        return s;
    }
    instance->trace = trace;
    atomic_store_explicit(&instance->tracing, true, memory_order_relaxed);
    return GX_OK;
}

gx_status gx__trace_start(struct gx_instance *instance, const char *path, struct gx_error *error)
{
    pthread_mutex_lock(&instance->trace_lock);
    gx_status s = start(instance, path, error);
    pthread_mutex_unlock(&instance->trace_lock);
    return s;
}

gx_status gx__trace_stop(struct gx_instance *instance, struct gx_error *error)
{
    pthread_mutex_lock(&instance->trace_lock);
    struct gx_trace *trace = instance->trace;
    atomic_store_explicit(&instance->tracing, false, memory_order_relaxed);
    instance->trace = NULL;
    pthread_mutex_unlock(&instance->trace_lock);
    if (!trace)
        return GX_OK;
    put(trace, "\n]\n");
    flush(trace);
    if (close(trace->fd) && !trace->error)
        trace->error = errno;
    gx_status s = trace->error ? GX_ERR_FILE : GX_OK;
    if (trace->error)
        gx__explain(error, "the trace is incomplete: %s", strerror(trace->error));
    gx__free(&instance->config.allocator, trace);
    return s;
}

void gx__trace_end(struct gx_instance *instance)
{
    struct gx_error error;
    if (gx__trace_stop(instance, &error) != GX_OK)
        gx__log(instance, GX_LOG_WARNING, "%s", error.text);
    pthread_mutex_destroy(&instance->trace_lock);
}
