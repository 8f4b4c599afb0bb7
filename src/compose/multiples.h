/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of points that sums on a device with commands use: the points, and after each its
 * multiples, which the device makes.
 */
#ifndef GX_COMPOSE_MULTIPLES_H
#define GX_COMPOSE_MULTIPLES_H

#include "exec/engine.h"

/* The table of these points, until gx__table_put, with as many multiples as points->table_bytes and
 * the memory of the device allow. May wait for memory: the caller must hold no reservation. */
gx_status gx__table_with_multiples(struct gx_engine *engine, const struct gx_points *points,
                                   struct gx_table **table);

#endif
