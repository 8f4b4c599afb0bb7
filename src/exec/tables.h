/* SPDX-License-Identifier: Apache-2.0
 *
 * The tables that an engine keeps: roots of unity of a domain, for transforms, and the points of a
 * gx_points. There is one for each, made when the first job needs it, shared by all, counted like
 * buffers. One that no job uses is dropped when memory is short. So is a temporary that one job
 * leaves to the next.
 */
#ifndef GX_EXEC_TABLES_H
#define GX_EXEC_TABLES_H

#include <pthread.h>
#include <stdatomic.h>

#include "device/device.h"
#include "op/domain.h"
#include "op/msm.h"

struct gx_engine;

#define GX_TABLE_TEMPORARY UINT64_MAX

struct gx_table {
    uint64_t owner; /* the id of the domain or the points; GX_TABLE_TEMPORARY */
    uint32_t
        log2; /* of the largest transform it is for, or of the bytes of a temporary; 0 for points */
    bool ended;  /* the owner has, and the last user drops the table */
    bool making; /* its one user fills it, and others wait: gx__table_made */
    uint32_t users;
    gx_buf *buf;
    struct gx_multiples multiples; /* of points: what there is of each */
    struct gx_table *next;
};

struct gx_tables {
    pthread_mutex_t lock;
    struct gx_table *all;
    uint64_t holders; /* users of all tables, and of gx__tables_hold */
    uint64_t let_go;  /* how many of the holders have ended */
    pthread_cond_t changed;
    pthread_mutex_t turn;    /* of jobs that found too little memory */
    _Atomic uint32_t wanted; /* how many jobs want the turn or have it */
};

void gx__tables_init(struct gx_tables *tables);
/* Nobody uses one. */
void gx__tables_close(struct gx_engine *engine);

/* The table that the kernel of a transform needs, until gx__table_put; and sets the key's
 * GX_PARAM_LOG2_TABLE. Makes it if it is not there, which may wait for memory: the caller must hold
 * no reservation. */
gx_status gx__table_get(struct gx_engine *engine, struct gx_kernel *kernel,
                        struct gx_table **table);
/* The same for points, all of them, as they are on the host. With multiples (parts > 1) it may have
 * to be filled: then `making` is set, and gx__table_made must follow, with the status of that; on
 * failure it drops the table and clears *table. */
gx_status gx__table_of_points(struct gx_engine *engine, const struct gx_points *points,
                              const struct gx_multiples *multiples, struct gx_table **table);
void gx__table_made(struct gx_engine *engine, struct gx_table **table, gx_status status);
/* The same for what a device that works on host memory makes of points: see gx_device_ops.table. */
gx_status gx__table_of_multiples(struct gx_engine *engine, const struct gx_points *points,
                                 const struct gx_kernel *kernel, struct gx_table **table);
/* Memory of at least so many bytes for one job alone, with any contents: a table that nobody else
 * finds. */
gx_status gx__temporary_get(struct gx_engine *engine, size_t bytes, struct gx_table **table);
/* As gx__table_get without waiting; NULL: it must be made, or another thread is making one. */
struct gx_table *gx__table_find(struct gx_engine *engine, struct gx_kernel *kernel);
/* Whether the kernel can use a table that the caller has already; sets its key too. */
bool gx__table_serves(const struct gx_table *table, struct gx_kernel *kernel);
void gx__table_put(struct gx_engine *engine, struct gx_table *table); /* NULL is fine */

/* Drops all that nobody uses. Whether there was one; false too while another thread is making
 * one. */
bool gx__tables_drop_idle(struct gx_engine *engine);

/* Drops those of a domain, or of points, which end. A job that is done may still use one for a
 * moment. The caller must hold no reservation. */
void gx__tables_drop(struct gx_engine *engine, uint64_t owner);

/* Before and after holding buffers for the time of a job. The caller must hold no reservation or
 * table. */
void gx__tables_hold(struct gx_engine *engine);
void gx__tables_let_go(struct gx_engine *engine);

/* Of a job that found too little memory and holds none: one such job at a time has its turn, and as
 * long as one wants it, no other begins to hold tables or buffers without it. */
struct gx_turn {
    struct gx_engine *engine;
    bool tried;     /* it has looked for memory already, before its turn */
    bool has, last; /* it has its turn; nobody else held memory, so that there will not be more */
};
/* Waits for its turn, and once it has tried, until those that hold memory have let go and what
 * nobody uses has been dropped. False: it need not try again. */
bool gx__turn_next(struct gx_turn *turn);
/* Must follow if `has`. */
void gx__turn_end(const struct gx_turn *turn);
static inline bool gx__tables_wanted(struct gx_tables *tables)
{
    return atomic_load_explicit(&tables->wanted, memory_order_relaxed);
}

#endif
