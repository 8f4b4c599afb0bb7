/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by all parts of the program: exit codes, common options, the description of a command, and
 * error messages.
 */
#ifndef CLI_H
#define CLI_H

#include <stdbool.h>
#include <stddef.h>

#include "base/os.h"
#include "gpuexec.h"
#include "options.h"
#include "output.h"
#include "writer.h"

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_NO_DEVICE = 3, EXIT_DIFFERS = 4 };

typedef struct common_opts {
    gx_config config; /* the library's settings */
    int format;       /* output_format */
    int verbose;
} common_opts;

typedef struct command {
    const char *name;
    const char *summary;  /* one line */
    const char *synopsis; /* what must follow "gpuexec NAME "; NULL: nothing */
    const char *about;    /* paragraphs for --help */
    const char *examples; /* lines for --help */
    option_table options;
    bool formats; /* takes --csv and --json */
    int (*run)(const common_opts *common);
} command;

extern const command cmd_devices, cmd_verify, cmd_run, cmd_ntt, cmd_msm, cmd_points, cmd_random,
    cmd_bench, cmd_demo, cmd_calibrate, cmd_model;
extern const command cmd_scan, cmd_compare, cmd_platforms, cmd_report;
extern const command cmd_serve, cmd_top;

/* The program as invoked, for messages that suggest a command. */
extern const char *cli_program;

/* Prints "gpuexec: ..." and a newline to stderr, after hiding the progress bar. The name is that of
 * the program. */
void cli_error(const char *format, ...) GX_PRINTF(1, 2);

/* The same, plus a hint at the help of the command at work. Returns EXIT_USAGE. */
int cli_usage(const char *format, ...) GX_PRINTF(1, 2);

/* Usage error for operations that none of the fields has (bits of gx_op and gx_field). Names those
 * that have the first one. */
int cli_no_operation(uint32_t fields, uint32_t ops);

/* Where an operation is measured if no field is given: bls12-381-fq, or what has it. */
gx_field cli_field_of(gx_op op);
#define DEFAULT_FIELDS "bls12-381-fq, for ntt and msm bls12-381-fr"

/* Whether the masks, bits of gx_field and of gx_op, have an operation that exists; and how many, in
 * a field and in all. fields 0: of each operation the one of cli_field_of. */
bool cli_wants(uint32_t fields, uint32_t ops, gx_field field, gx_op op);
uint64_t cli_count_in(uint32_t fields, uint32_t ops, gx_field field);
uint64_t cli_count_wanted(uint32_t fields, uint32_t ops);

/* Appends to a text in an array of `size` bytes, as far as there is room. */
void cli_append(char *text, size_t size, const char *format, ...) GX_PRINTF(3, 4);

/* Appends the names of those operations, or fields, of which these masks have any: "add,mul". */
void cli_add_names(char *text, size_t size, const char *separator, uint32_t fields, uint32_t ops,
                   bool of_ops);

/* Width of a table column for the names of these operations (bits of gx_op). */
int cli_op_width(uint32_t ops, int least);

/* Reports that memory ran out; returns EXIT_FAILED. */
int cli_no_memory(void);

/* Prints why a job failed; returns the matching exit code. */
int cli_job_failed(const gx_report *report);

/* The same for a call without reports. */
int cli_call_failed(gx_status status);

/* A text that may grow between two calls of the function that writes it, owned by the caller; NULL
 * if *s is not GX_OK. */
char *cli_text(gx_ctx *ctx, gx_status (*write)(gx_ctx *, char *, size_t *), gx_status *s);

/* Prints why an output could not be written, unless its reader went away; returns EXIT_FAILED. */
int cli_write_failed(const file_writer *w);

/* Opens a context whose messages go to stderr; returns an exit code. */
int cli_open(const common_opts *common, gx_ctx **ctx);
/* Closes the context (may be NULL) and returns rc, or EXIT_FAILED if the only problem was reported
 * by the validation layer. */
int cli_close(gx_ctx **ctx, int rc);

typedef struct device_list {
    gx_device_info *infos;
    size_t count;
} device_list;

/* Lists the devices into memory to be freed with device_list_free; returns an exit code. */
int device_list_get(gx_ctx *ctx, device_list *list);
void device_list_free(device_list *list);
/* NULL: no device has that name. */
const gx_device_info *device_list_find(const device_list *list, const char *name);

/* The device named by --device or its environment variable, or NULL. */
const char *cli_named_device(const common_opts *common);

/* The devices to use: the named ones, or all of a kind. */
typedef enum target_kind { TARGETS_AUTOMATIC, TARGETS_USABLE } target_kind;

typedef struct target_list {
    const char **names; /* borrowed from `all` or `named` */
    char *named;
    size_t count;
    unsigned threads; /* maximum host threads of any automatic device */
    int width;        /* of a table column with the names */
    device_list all;
} target_list;

/* Returns an exit code; EXIT_NO_DEVICE if there is no device, or a named one does not exist. The
 * reference and simulated devices belong to no kind. Free the list in any case. */
int target_list_get(gx_ctx *ctx, const common_opts *common, target_kind kind, target_list *targets);
void target_list_free(target_list *targets);

/* Whether this target is a CPU. */
bool target_is_cpu(const target_list *targets, const char *name);

#endif
