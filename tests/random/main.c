/* SPDX-License-Identifier: Apache-2.0
 *
 * test-random: random programs against an oracle. A program that fails is printed, made as small as
 * possible, and printed again, as a case that --case replays. CONTRIBUTING.md says how it is used.
 */
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "random/watch.h"
#include "support/harness.h"

struct session {
    struct rnd_options options;
    uint64_t seed, programs, seconds;
    unsigned tries;
    char keep[PATH_MAX];
    int print;
    time_t started;
    struct rnd_board *board;
    unsigned failures;
};

static const char help[] =
    "test-random [OPTION...]: random programs against an oracle\n"
    "  --seed N        the first program (1)\n"
    "  --programs N    how many (200)\n"
    "  --seconds S     begin no program after so many seconds\n"
    "  --devices LIST  names, sim, fault and auto; default: all there are\n"
    "  --named, --routed  only calls that name a device, or only others\n"
    "  --keep FOLDER   write programs that fail here, whole and as small as possible\n"
    "  --tries N       to make one smaller (3000)\n"
    "  --print         print the programs, run none\n"
    "  --verbose       print what the library logs\n"
    "  --case FILE     run this program instead; may be repeated\n";

/* ---- devices ---- */

static void add_device(struct rnd_options *options, const char *name)
{
    if (options->ndevices < RND_LIST)
        rnd_set_name(options->devices[options->ndevices++], "%s", name);
}

/* In a child: a process that has listed devices cannot fork others that use them. */
static void list_devices(void *user, struct rnd_board *board)
{
    gx_device_info infos[16] = {{.struct_size = sizeof *infos}};
    size_t count = GXT_COUNT(infos);
    gx_ctx *ctx;
    (void)user;
    if (gx_open(NULL, &ctx) != GX_OK || gx_devices(ctx, infos, &count) != GX_OK)
        return;
    for (size_t i = 0; i < count && i < GXT_COUNT(infos); i++)
        if (infos[i].usable) {
            strcat(board->message, infos[i].name);
            strcat(board->message, ",");
        }
    gx_close(&ctx);
}

/* Not every machine has the GPUs that were asked for. */
static int all_are_there(struct session *s)
{
    char all[sizeof s->board->message + 2] = "", name[64];
    for (size_t i = 0; i < s->options.ndevices; i++) {
        const char *device = s->options.devices[i];
        if (!rnd_names_gpu(device) || strchr(device, '@'))
            continue;
        if (!all[0]) {
            rnd_watch(list_devices, NULL, s->board, 0);
            snprintf(all, sizeof all, ",%s", s->board->message);
        }
        snprintf(name, sizeof name, ",%s,", device);
        if (!strstr(all, name)) {
            printf("there is no device %s\n", device);
            return 0;
        }
    }
    return 1;
}

static void find_devices(struct session *s)
{
    char names[RND_LIST][48];
    rnd_watch(list_devices, NULL, s->board, 0);
    size_t count = rnd_split(s->board->message, names);
    for (size_t i = 0; i < count; i++)
        add_device(&s->options, names[i]);
    add_device(&s->options, "sim");
    add_device(&s->options, "fault");
    add_device(&s->options, "auto");
}

static void take_devices(struct session *s, const char *list)
{
    char names[RND_LIST][48];
    size_t count = rnd_split(list, names);
    for (size_t i = 0; i < count; i++)
        add_device(&s->options, names[i]);
    if (count == 1 && strcmp(names[0], "fault") == 0)
        add_device(&s->options, "cpu");
}

/* ---- running ---- */

static void run_many(void *user, struct rnd_board *board)
{
    static struct rnd_program program;
    const struct session *s = user;
    uint64_t end = s->seed + s->programs;
    gxt_enter_machines();
    for (; board->seed < end; board->seed++) {
        if (s->seconds && (uint64_t)(time(NULL) - s->started) >= s->seconds)
            break;
        rnd_allow(120);
        rnd_generate(board->seed, &s->options, &program);
        rnd_run(&program, board);
        if (isatty(STDERR_FILENO))
            fprintf(stderr, "\r%" PRIu64 " programs, %" PRIu64 " jobs ", board->programs,
                    atomic_load(&board->jobs));
    }
    board->seed = end;
}

static void write_case(const struct session *s, const char *suffix, const char *why,
                       const struct rnd_program *program)
{
    char path[PATH_MAX + 64];
    FILE *file;
    if (!s->keep[0])
        return;
    snprintf(path, sizeof path, "%s/%" PRIu64 "%s.txt", s->keep, s->board->seed, suffix);
    file = fopen(path, "w");
    if (!file) {
        perror(path);
        return;
    }
    fprintf(file, "# %s\n", why);
    rnd_print(file, program);
    fclose(file);
    printf("written to %s\n", path);
}

static void report_failure(struct session *s, enum rnd_failure failure)
{
    static struct rnd_program program;
    char why[sizeof s->board->message + 16];
    rnd_generate(s->board->seed, &s->options, &program);
    snprintf(why, sizeof why, "%s: %s", rnd_failure_name(failure), s->board->message);
    printf("\nFAIL  seed %" PRIu64 ": %s\n", s->board->seed, why);
    rnd_print(stdout, &program);
    write_case(s, "", why, &program);
    enum rnd_failure alone = rnd_try(&program, s->board, 1);
    if (alone == FAIL_NOTHING) {
        printf("it does not fail alone\n");
        return;
    }
    unsigned tried = rnd_shrink(&program, alone, s->board, s->tries);
    alone = rnd_try(&program, s->board, 0);
    snprintf(why, sizeof why, "%s: %s", rnd_failure_name(alone), s->board->message);
    printf("smallest after %u programs: %s\n", tried, why);
    rnd_print(stdout, &program);
    write_case(s, "-small", why, &program);
}

static void run_all(struct session *s)
{
    uint64_t end = s->seed + s->programs;
    s->board->seed = s->seed;
    while (s->board->seed < end) {
        enum rnd_failure failure = rnd_watch(run_many, s, s->board, 0);
        if (failure == FAIL_NOTHING)
            break;
        s->failures++;
        struct rnd_board before = *s->board;
        report_failure(s, failure);
        *s->board = before;
        s->board->seed++;
    }
    printf("%" PRIu64 " programs, %" PRIu64 " calls, %" PRIu64 " jobs, %u failures\n",
           s->board->programs, atomic_load(&s->board->calls), atomic_load(&s->board->jobs),
           s->failures);
}

static void run_case(struct session *s, const char *path)
{
    static struct rnd_program program;
    FILE *file = fopen(path, "r");
    if (!file) {
        perror(path);
        exit(2);
    }
    unsigned line = rnd_parse(file, &program);
    fclose(file);
    if (line) {
        fprintf(stderr, "%s:%u: not understood\n", path, line);
        exit(2);
    }
    rnd_legalise(&program);
    enum rnd_failure failure = rnd_try(&program, s->board, 0);
    s->failures += failure != FAIL_NOTHING;
    printf("%s  %s%s%s\n", failure ? "FAIL" : "ok  ", path, failure ? ": " : "",
           failure ? s->board->message : "");
}

static void print_all(const struct session *s)
{
    static struct rnd_program program;
    for (uint64_t seed = s->seed; seed < s->seed + s->programs; seed++) {
        rnd_generate(seed, &s->options, &program);
        printf("# seed %" PRIu64 "\n", seed);
        rnd_print(stdout, &program);
    }
}

/* ---- options ---- */

static uint64_t number(const char *text)
{
    char *end;
    uint64_t value = strtoull(text, &end, 10);
    if (*end || end == text) {
        fprintf(stderr, "test-random: '%s' is not a number\n", text);
        exit(2);
    }
    return value;
}

static int parse(struct session *s, int argc, char **argv, const char **cases)
{
    static const struct option options[] = {
        {"seed", 1, NULL, 's'},    {"programs", 1, NULL, 'n'}, {"seconds", 1, NULL, 't'},
        {"devices", 1, NULL, 'd'}, {"named", 0, NULL, 'N'},    {"routed", 0, NULL, 'R'},
        {"keep", 1, NULL, 'k'},    {"tries", 1, NULL, 'T'},    {"print", 0, NULL, 'p'},
        {"case", 1, NULL, 'c'},    {"help", 0, NULL, 'h'},     {"verbose", 0, NULL, 'v'},
        {NULL, 0, NULL, 0}};
    int ncases = 0;
    for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;)
        switch (c) {
        case 's':
            s->seed = number(optarg);
            break;
        case 'n':
            s->programs = number(optarg);
            break;
        case 't':
            s->seconds = number(optarg);
            break;
        case 'd':
            take_devices(s, optarg);
            break;
        case 'N':
            s->options.named = 1;
            break;
        case 'R':
            s->options.routed = 1;
            break;
        case 'k':
            if (!realpath(optarg, s->keep)) {
                perror(optarg);
                exit(2);
            }
            break;
        case 'T':
            s->tries = (unsigned)number(optarg);
            break;
        case 'p':
            s->print = 1;
            break;
        case 'c':
            cases[ncases++] = optarg;
            break;
        case 'v':
            rnd_verbose = 1;
            break;
        case 'h':
            fputs(help, stdout);
            exit(0);
        default:
            fputs(help, stderr);
            exit(2);
        }
    return ncases;
}

int main(int argc, char **argv)
{
    static struct session s = {.seed = 1, .programs = 200, .tries = 3000};
    const char **cases = calloc((size_t)argc, sizeof *cases);
    s.board = rnd_board_new();
    if (!cases || !s.board)
        return 1;
    setvbuf(stdout, NULL, _IOLBF, 0);
    s.started = time(NULL);
    int ncases = parse(&s, argc, argv, cases);
    gxt_clear_environment();
    rnd_oracle_init();
    if (!s.options.ndevices && !ncases)
        find_devices(&s);
    else if (!s.print && !all_are_there(&s))
        return 77;
    for (int i = 0; i < ncases; i++)
        run_case(&s, cases[i]);
    if (s.print)
        print_all(&s);
    else if (!ncases)
        run_all(&s);
    free(cases);
    return s.failures != 0;
}
