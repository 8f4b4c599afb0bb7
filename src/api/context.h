/* SPDX-License-Identifier: Apache-2.0
 *
 * The public calls: what a caller passes in is checked in this folder, once; the layers below take
 * it as valid.
 */
#ifndef GX_API_CONTEXT_H
#define GX_API_CONTEXT_H

#include "base/abi.h"
#include "exec/hosts.h"
#include "exec/outcome.h"
#include "route/route.h"

struct gx_ctx {
    struct gx_instance instance;
    struct gx_router router;
    struct gx_hosts hosts;
    struct gx_outcome_pool outcomes;
    gx_path path;
    gx_mode mode;
};

#endif
