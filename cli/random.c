/* SPDX-License-Identifier: Apache-2.0
 *
 * gpuexec random: elements of a field, which are also scalars, for a first try and for tests.
 */
#include "cli.h"
#include "data.h"
#include "files.h"

static struct {
    gx_field field;
    made_file file;
} opts = {.field = GX_BLS12_381_FR, .file = {.n = UINT64_MAX, .seed = 1}};

static const option_row options[] = {
    OPTION_FIELD(&opts.field, "field of the elements (bls12-381-fr)"),
    OPTIONS_MADE(&opts.file, "elements"),
};

static int make_elements(void *user, unsigned char *out, size_t count, uint64_t seed)
{
    (void)user;
    data_random(opts.field, out, count, seed);
    return EXIT_DONE;
}

static int run_random(const common_opts *common)
{
    (void)common;
    return made_write(&opts.file, "random", gx_field_get_info(opts.field)->element_bytes,
                      make_elements, NULL);
}

const command cmd_random = {
    .name = "random",
    .summary = "make random elements of a field, or scalars",
    .synopsis = "-n N -o FILE",
    .about = "Writes N random elements, one after the other, as 'gpuexec run' and\n"
             "'gpuexec ntt' read them. They are below the modulus, so they are also\n"
             "random as integers: scalars for 'gpuexec msm', if the field is\n"
             "bls12-381-fr or bn254-fr. Of u32 all values occur, of f32 finite ones.\n"
             "\n"
             "The same field and seed give the same elements on every machine, and a\n"
             "smaller N the first of them. They are for tests: whoever knows the seed\n"
             "knows them.",
    .examples = "  gpuexec random -n 2^20 -o a.bin\n"
                "  gpuexec random --field bn254-fq -n 1e6 --seed 7 -o b.bin\n"
                "  gpuexec random -n 64K -o - | sha256sum\n",
    .options = OPTION_TABLE(options),
    .run = run_random,
};
