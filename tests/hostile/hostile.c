/* SPDX-License-Identifier: Apache-2.0
 *
 * hostile DEVICE [MUTANTS]: registers hostile kernels and runs each once on the device, SPIR-V on a
 * Vulkan device and PTX on a CUDA device, every one in a process of its own. Prints what became of
 * it: refused by the library, not built by the driver, ran, failed (the device may be lost), or the
 * process ended. Exits with 1 if the library broke a promise of its documents.
 */
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hostile/hostile.h"

/* A kernel that never ends is given up after a minute, and the device may be asked twice. */
enum { SECONDS_MAX = 300, N = 600, LINE = 400 };

/* What a process says about itself before it ends. */
struct verdict {
    int said;   /* it came to its end */
    int broken; /* a promise, named by the text */
    char text[LINE];
};

struct session {
    const char *device;
    unsigned cases, died, broken;
};

static void say(struct verdict *v, const char *what, gx_status s)
{
    snprintf(v->text, sizeof v->text, "%s: %s: %.250s", what, gx_status_name(s), gx_last_message());
}

static void breaks(struct verdict *v, const char *promise)
{
    char was[LINE];
    memcpy(was, v->text, sizeof was);
    v->broken = 1;
    snprintf(v->text, sizeof v->text, "BROKEN PROMISE: %s; %.300s", promise, was);
}

/* ---- in the process ---- */

static gx_status add(gx_ctx *ctx, const char *device, bool *wrong)
{
    uint32_t a[64], sum[64];
    for (uint32_t i = 0; i < GXT_COUNT(a); i++)
        a[i] = i * 2654435761u;
    gx_job job = gxt_job(GX_ADD, GX_U32, GXT_COUNT(a), a, a, NULL, sum);
    gx_status s = gxt_run(ctx, &job, device, NULL);
    for (uint32_t i = 0; i < GXT_COUNT(a) && s == GX_OK; i++)
        *wrong = *wrong || sum[i] != 2 * a[i];
    return s;
}

/* What the context does afterwards: other devices work, and so does this one, or says why not. */
static void go_on(gx_ctx *ctx, const char *device, struct verdict *v)
{
    bool wrong = false;
    gx_status s = add(ctx, device, &wrong);
    size_t length = strlen(v->text);
    if (s != GX_OK)
        snprintf(v->text + length, sizeof v->text - length, "; afterwards %s: %.80s",
                 gx_status_name(s), gx_last_message());
    if (add(ctx, "cpu", &wrong) != GX_OK)
        breaks(v, "the CPU does not work afterwards");
    if (wrong)
        breaks(v, "wrong results afterwards");
}

static void run(gx_ctx *ctx, const char *device, const struct hostile *h, gx_op op,
                struct verdict *v)
{
    struct registered_case c;
    registered_case_make(&c, h->job, op, N, 0, 1);
    gx_job job = registered_case_job(&c);
    gx_status s = gxt_run(ctx, &job, device, NULL);
    if (s == GX_OK)
        snprintf(v->text, sizeof v->text, "ran");
    else
        say(v, s == GX_ERR_UNSUPPORTED ? "not built" : "failed", s);
    if (s != GX_OK && (s > 0 || !gx_last_message()[0]))
        breaks(v, "no status or no message");
    go_on(ctx, device, v);
}

static void attempt(const char *device, const struct hostile *h, struct verdict *v)
{
    gx_ctx *ctx = gxt_open(&(gx_config){.cache_dir = "none"});
    gx_op op = 0;
    gx_status s = gx_op_register(ctx, &h->desc, &op);
    if (s != GX_OK) {
        say(v, "refused", s);
        if (s != GX_ERR_INVALID || op || !gx_last_message()[0])
            breaks(v, "refused without GX_ERR_INVALID and a message");
        go_on(ctx, device, v);
    } else {
        run(ctx, device, h, op, v);
        if (h->promise == REFUSED)
            breaks(v, "it was registered");
    }
    v->said = 1;
}

/* ---- outside ---- */

/* The context is not closed: a kernel that never ends would keep a software driver. */
static void child(const char *device, const struct hostile *h, int to)
{
    struct verdict v = {0};
    alarm(SECONDS_MAX);
    attempt(device, h, &v);
    if (write(to, &v, sizeof v) != (ssize_t)sizeof v)
        _exit(2);
    _exit(0);
}

static void judge(const struct hostile *h, struct verdict *v, int status)
{
    if (v->said)
        return;
    if (WIFSIGNALED(status))
        snprintf(v->text, sizeof v->text, "the process ended with signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else
        snprintf(v->text, sizeof v->text, "the process ended with status %d", WEXITSTATUS(status));
    if (h->promise != NO_LIMIT || (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM))
        breaks(v, "the process was to live");
}

static void one_line(char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < ' ')
            *text = ' ';
}

static void visit(void *user, const struct hostile *h)
{
    struct session *session = user;
    struct verdict v = {0};
    int ends[2], status = 0;
    fflush(stdout);
    if (pipe(ends))
        abort();
    pid_t pid = fork();
    if (!pid)
        child(session->device, h, ends[1]);
    close(ends[1]);
    if (pid < 0 || (read(ends[0], &v, sizeof v) != (ssize_t)sizeof v && v.said))
        abort();
    close(ends[0]);
    waitpid(pid, &status, 0);
    judge(h, &v, status);
    one_line(v.text);
    printf("%-32s %s\n", h->name, v.text);
    session->cases++;
    session->died += !v.said;
    session->broken += (unsigned)v.broken;
}

int main(int argc, char **argv)
{
    struct session session = {.device = argc > 1 ? argv[1] : ""};
    unsigned mutants = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 20;
    if (!strncmp(session.device, "vulkan", 6))
        hostile_spirv(visit, &session, mutants);
    else if (!strncmp(session.device, "cuda", 4))
        hostile_ptx(visit, &session);
    else {
        fprintf(stderr, "usage: hostile vulkan:N|cuda:N [MUTANTS of each module]\n");
        return 2;
    }
    printf("%u cases, %u ended their process, %u broken promises\n", session.cases, session.died,
           session.broken);
    return session.broken != 0;
}
