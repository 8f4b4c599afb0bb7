/* SPDX-License-Identifier: Apache-2.0
 *
 * The tables of roots of unity that an engine keeps for transforms: one for each domain, made when
 * the first job needs it, shared by all, counted like buffers. One that no job uses is dropped when
 * memory is short.
 */
#ifndef GX_EXEC_TABLES_H
#define GX_EXEC_TABLES_H

#include <pthread.h>

#include "device/device.h"
#include "op/domain.h"

struct gx_engine;

struct gx_table {
    uint64_t domain; /* its id */
    uint32_t log2;   /* of the largest transform it is for */
    uint32_t users;
    uint64_t used; /* when, in lookups */
    gx_buf *buf;
    struct gx_table *next;
};

struct gx_tables {
    pthread_mutex_t lock;
    uint64_t lookups;
    struct gx_table *all;
};

void gx__tables_init(struct gx_tables *tables);
/* Nobody uses one. */
void gx__tables_close(struct gx_engine *engine);

/* The table that the kernel of a transform needs, until gx__table_put; and sets the key's
 * GX_PARAM_LOG2_TABLE. Makes it if it is not there, which may wait for memory: the caller must hold
 * no reservation. */
gx_status gx__table_get(struct gx_engine *engine, struct gx_kernel *kernel,
                        struct gx_table **table);
/* The same without waiting; NULL: it must be made, or another thread is making one. */
struct gx_table *gx__table_find(struct gx_engine *engine, struct gx_kernel *kernel);
void gx__table_put(struct gx_engine *engine, struct gx_table *table); /* NULL is fine */

/* Drops all that nobody uses, or, if `domain` is not 0, those of that domain. Whether there was
 * one; false too while another thread is making one. */
bool gx__tables_drop(struct gx_engine *engine, uint64_t domain);

#endif
