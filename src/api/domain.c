/* SPDX-License-Identifier: Apache-2.0
 *
 * The domains of transforms.
 */
#include "op/domain.h"

#include <string.h>

#include "api/context.h"
#include "base/alloc.h"
#include "base/log.h"

gx_status gx_domain_create(gx_ctx *ctx, const gx_domain_desc *desc, gx_domain **domain)
{
    char message[GX_MESSAGE_BYTES] = "";
    if (!domain)
        return gx__fail(NULL, GX_ERR_INVALID, "gx_domain_create: domain is NULL");
    *domain = NULL;
    if (!ctx || !desc)
        return gx__fail(NULL, GX_ERR_INVALID, "gx_domain_create: ctx and desc must not be NULL");
    struct gx_domain *made = gx__alloc(&ctx->instance.config.allocator, sizeof *made);
    if (!made)
        return gx__fail(&ctx->instance, GX_ERR_OUT_OF_MEMORY, "gx_domain_create: no memory");
    gx_status s = gx__domain_set(made, &ctx->instance, desc, message, sizeof message);
    if (s != GX_OK) {
        gx__free(&ctx->instance.config.allocator, made);
        return gx__fail(&ctx->instance, s, "gx_domain_create: %s", message);
    }
    *domain = made;
    return GX_OK;
}

void gx_domain_destroy(gx_domain **domain)
{
    if (!domain || !*domain)
        return;
    gx_ctx *ctx = (gx_ctx *)((char *)(*domain)->instance - offsetof(gx_ctx, instance));
    gx__slots_drop_tables(&ctx->router.slots, (*domain)->id);
    gx__free(&ctx->instance.config.allocator, *domain);
    *domain = NULL;
}

gx_status gx_domain_root(const gx_domain *domain, uint32_t log2_n, void *element)
{
    uint64_t root[GX_LIMBS_MAX];
    if (!domain || !element)
        return gx__fail(NULL, GX_ERR_INVALID,
                        "gx_domain_root: domain and element must not be NULL");
    if (log2_n > domain->log2_size)
        return gx__fail(domain->instance, GX_ERR_INVALID,
                        "gx_domain_root: log2_n is %u, but the domain has 2^%u elements", log2_n,
                        domain->log2_size);
    gx__domain_root(domain, log2_n, root);
    memcpy(element, root, domain->prime->limbs * sizeof *root);
    return GX_OK;
}
