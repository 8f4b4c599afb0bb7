/* SPDX-License-Identifier: Apache-2.0
 *
 * See targets.h.
 */
#include "api/counters.h"
#include "conformance/targets.h"

#include <stdio.h>

struct target targets[TARGETS_MAX];
size_t target_count;
int webgpu_alone, cuda_alone;

void choose_targets(int argc, char **argv)
{
    webgpu_alone = argc > 1 && !strcmp(argv[1], "webgpu");
    cuda_alone = argc > 1 && !strcmp(argv[1], "cuda");
    if (argc > 1 && !webgpu_alone && !cuda_alone) {
        print_error("%s: not webgpu or cuda\n", argv[1]);
        exit(2);
    }
}

struct target *add_target(const char *device, const char *mask, const char *path, uint64_t elems,
                          size_t most)
{
    assert_true(target_count < TARGETS_MAX);
    struct target *t = &targets[target_count++];
    gx_config config = {.cpumask = mask, .dispatch_elems = elems};
    if (path)
        assert_int_equal(gx_config_set(&config, "path", path, NULL, 0), GX_OK);
    /* One thread gives the same commands in every leg: they are watched where all are given. */
    if (!gxt_small() || webgpu_alone || cuda_alone)
        gxt_watch(&config);
    *t = (struct target){.mask = mask, .path = path, .elems = elems, .most = most};
    t->ctx = gxt_open(&config);
    assert_in_range(snprintf(t->device, sizeof t->device, "%s", device), 1, sizeof t->device - 1);
    return t;
}

void no_driver_complained(void **state)
{
    (void)state;
    for (size_t i = 0; i < target_count; i++) {
        struct gx_statistics stats = {0};
        gx__stats(targets[i].ctx, &stats);
        assert_int_equal(stats.validation_messages, 0);
        gx_close(&targets[i].ctx);
    }
    assert_int_equal(gxt_complaints(), 0);
}

void tell_target(const struct target *t, const char *what)
{
    print_error("%s: device %s, tiers %s, path %s, %llu per dispatch: ", what, t->device,
                t->mask ? t->mask : "all", t->path ? t->path : "auto",
                (unsigned long long)t->elems);
}

void print_element(const char *what, const unsigned char *element, size_t bytes)
{
    print_error("  %s ", what);
    for (size_t k = bytes; k-- > 0;)
        print_error("%02x", element[k]);
    print_error("\n");
}
