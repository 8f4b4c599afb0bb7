/* SPDX-License-Identifier: Apache-2.0
 *
 * What every part of the program shares: exit codes, the options common to all
 * commands, how a command describes itself, and how errors are shown.
 */
#ifndef CLI_H
#define CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "gpuexec.h"
#include "args.h"
#include "output.h"

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_NO_DEVICE = 3, EXIT_DIFFERS = 4 };

typedef struct common_opts {
    gx_config config; /* the library's own settings */
    int format;       /* output_format */
    int verbose;
} common_opts;

typedef struct command {
    const char *name;
    const char *summary;  /* one line */
    const char *synopsis; /* what follows "gpuexec NAME " */
    const char *about;    /* paragraphs for --help */
    const char *examples; /* lines for --help */
    arg_table args;
    bool formats; /* takes --csv and --json */
    int (*run)(const common_opts *common);
} command;

extern const command cmd_devices, cmd_verify, cmd_run, cmd_bench, cmd_demo, cmd_calibrate,
    cmd_model;
extern const command cmd_scan, cmd_compare, cmd_platforms, cmd_report;
extern const command cmd_serve, cmd_top;

/* The program as it was called, for commands to be typed after it. */
extern const char *cli_program;

/* "gpuexec: ..." and a newline on stderr, after taking a progress bar away. */
void cli_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same, and EXIT_USAGE with a pointer to the command's help. */
int cli_usage(const command *cmd, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same where none of these fields, bits of gx_field, has the operation: says what the first
 * of them has. */
int cli_no_operation(const command *cmd, uint32_t fields);

/* Says that memory ran out, and returns EXIT_FAILED. */
int cli_no_memory(void);

/* Shows why a job failed; returns the exit code that stands for it. */
int cli_job_failed(const gx_report *report);

/* The same for a call that has no reports. */
int cli_call_failed(gx_status status);

/* Opens a context whose messages go to stderr; returns an exit code. */
int cli_open(const common_opts *common, gx_ctx **ctx);
/* Closes it (NULL is fine) and returns rc, or EXIT_FAILED where all went well but for what
 * the validation layer had to say. */
int cli_close(gx_ctx **ctx, int rc);

typedef struct device_list {
    gx_device_info *infos;
    size_t count;
} device_list;

/* Lists the devices into memory that device_list_free frees; returns an exit code. */
int device_list_get(gx_ctx *ctx, device_list *list);
void device_list_free(device_list *list);

/* The device named by --device or its environment variable, or NULL. */
const char *cli_named_device(const common_opts *common);

/* Opens a device, by planning a job of no elements; NULL: that of jobs that name none. Says
 * where there is none, and which was probably meant. What fails otherwise fails again where it
 * is reported. Returns an exit code. */
int cli_find_device(gx_ctx *ctx, const char *name);

/* The devices to work on: those named, or else every one of a kind. */
typedef enum target_kind { TARGETS_AUTOMATIC, TARGETS_USABLE } target_kind;

typedef struct target_list {
    const char **names; /* borrowed from `all` or `named` */
    char *named;
    size_t count;
    unsigned threads; /* the most host threads any automatic device uses */
    int width;        /* of a table column for the names */
    device_list all;
} target_list;

/* Returns an exit code; EXIT_NO_DEVICE where there is none, or a named one is none. The
 * reference and simulated devices are of no kind. Free it in any case. */
int target_list_get(gx_ctx *ctx, const common_opts *common, target_kind kind, target_list *targets);
void target_list_free(target_list *targets);

#endif
