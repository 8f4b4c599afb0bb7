/* SPDX-License-Identifier: Apache-2.0
 *
 * The domains of transforms.
 */
#include "op/domain.h"

#include <string.h>

#include "api/context.h"
#include "base/alloc.h"
#include "base/log.h"

static gx_status set(gx_ctx *ctx, const gx_domain_params *caller, struct gx_domain *domain,
                     struct gx_error *error)
{
    gx_domain_params desc;
    gx_status s = gx__take_in(&gx__domain_params_layout, &desc, caller, error);
    if (s != GX_OK)
        return s;
    const gx_field_info *info = gx_field_get_info(desc.field);
    if (!info)
        return gx__refuse(error, GX_ERR_INVALID, "field is %u, which is not a field", desc.field);
    if (!info->two_adicity)
        return gx__refuse(error, GX_ERR_UNSUPPORTED,
                          "%s has no transforms: use bls12-381-fr or bn254-fr", info->name);
    if (desc.log2_size > info->two_adicity)
        return gx__refuse(error, GX_ERR_INVALID,
                          "log2_size is %u: %s has roots of unity up to order 2^%u", desc.log2_size,
                          info->name, info->two_adicity);
    return gx__domain_set(domain, &ctx->instance, gx__prime(desc.field), desc.log2_size, desc.root,
                          desc.shift, error);
}

gx_status gx_domain_create(gx_ctx *ctx, const gx_domain_params *desc, gx_domain **domain)
{
    struct gx_error error = {""};
    if (!domain)
        return gx__fail(NULL, GX_ERR_INVALID, "gx_domain_create: domain is NULL");
    *domain = NULL;
    if (!ctx || !desc)
        return gx__fail(NULL, GX_ERR_INVALID, "gx_domain_create: ctx and params must not be NULL");
    struct gx_domain *made = gx__alloc(&ctx->instance.config.allocator, sizeof *made);
    if (!made)
        return gx__fail(&ctx->instance, GX_ERR_OUT_OF_MEMORY, "gx_domain_create: no memory");
    gx_status s = set(ctx, desc, made, &error);
    if (s != GX_OK) {
        gx__free(&ctx->instance.config.allocator, made);
        return gx__fail(&ctx->instance, s, "gx_domain_create: %s", error.text);
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
