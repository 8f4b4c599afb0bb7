/* SPDX-License-Identifier: Apache-2.0
 *
 * One row per curve. CONTRIBUTING.md says how to add one.
 */
#include "curve/curve.h"

#include <string.h>

#include "field/scalar.h"

/* Numbers are written as plain integers here, and put into Montgomery form when the library is
 * loaded.
 *
 * Why the endomorphisms decide membership: f satisfies a quadratic equation on the whole curve, so
 * a point with f(P) = mP satisfies it with m in place of f, and its order divides the value.
 *   BLS12-381 G1: f(x, y) = (beta x, -y), beta = 2^((q-1)/3), f^2 - f + 1 = 0, m = z^2: the value
 *     is z^4 - z^2 + 1 = r.
 *   G2: the Frobenius map taken to the twist, f^2 - tf + q = 0, and m = t - 1: the value is
 *     q + 1 - t. For BN254 that is r; the factors are xi^((q-1)/3) and xi^((q-1)/2), xi = 9 + u.
 *     For BLS12-381 it is r times a number that has no factor in common with the cofactor of G2;
 *     the factors are the inverses of these, xi = 1 + u, and as m = z < 0 we take -f and -z. */
static struct gx_curve_row rows[] = {
    {.curve = GX_BLS12_381_G1,
     .info = {.base_field = GX_BLS12_381_FQ, .scalar_field = GX_BLS12_381_FR, .degree = 1},
     .b = {4},
     .generator = {0xfb3af00adb22c6bb, 0x6c55e83ff97a1aef, 0xa14e3a3f171bac58, 0xc3688c4f9774b905,
                   0x2695638c4fa9ac0f, 0x17f1d3a73197d794, 0xcaa232946c5e7e1, 0xd03cc744a2888ae4,
                   0xdb18cb2c04b3ed, 0xfcf5e095d5d00af6, 0xa09e30ed741d8ae4, 0x8b3f481e3aaa0f1},
     .endomorphism = {.bits = 128,
                      .multiple = {0x100000000, 0xac45a4010001a402},
                      .x_factor = {0x2e01fffffffefffe, 0xde17d813620a0002, 0xddb3a93be6f89688,
                                   0xba69c6076a0f77ea, 0x5f19672fdf76ce51},
                      .y_factor = {0xb9feffffffffaaaa, 0x1eabfffeb153ffff, 0x6730d2a0f6b0f624,
                                   0x64774b84f38512bf, 0x4b1ba7b6434bacd7, 0x1a0111ea397fe69a}},
     .zcash = true},
    {.curve = GX_BLS12_381_G2,
     .info = {.base_field = GX_BLS12_381_FQ, .scalar_field = GX_BLS12_381_FR, .degree = 2},
     .b = {4, 0, 0, 0, 0, 0, 4},
     .generator = {0xd48056c8c121bdb8, 0xbac0326a805bbef,  0xb4510b647ae3d177, 0xc6e47ad4fa403b02,
                   0x260805272dc51051, 0x24aa2b2f08f0a91,  0xe5ac7d055d042b7e, 0x334cf11213945d57,
                   0xb5da61bbdc7f5049, 0x596bd0d09920b61a, 0x7dacd3a088274f65, 0x13e02b6052719f60,
                   0xe193548608b82801, 0x923ac9cc3baca289, 0x6d429a695160d12c, 0xadfd9baa8cbdd3a7,
                   0x8cc9cdc6da2e351a, 0xce5d527727d6e11,  0xaaa9075ff05f79be, 0x3f370d275cec1da1,
                   0x267492ab572e99ab, 0xcb3e287e85a763af, 0x32acd2b02bc28b99, 0x606c4a02ea734cc},
     .endomorphism = {.bits = 64,
                      .multiple = {0xd201000000010000},
                      .x_factor = {0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x8bfd00000000aaad,
                                   0x409427eb4f49fffd, 0x897d29650fb85f9b, 0xaa0d857d89759ad4,
                                   0xec02408663d4de85, 0x1a0111ea397fe699},
                      .y_factor = {0xc81084fbede3cc09, 0xee67992f72ec05f4, 0x77f76e17009241c5,
                                   0x48395dabc2d3435e, 0x6831e36d6bd17ffe, 0x6af0e0437ff400b,
                                   0xf1ee7b04121bdea2, 0x304466cf3e67fa0a, 0xef396489f61eb45e,
                                   0x1c3dedd930b1cf60, 0xe2e9c448d77a2cd9, 0x135203e60180a68e}},
     .zcash = true},
    {.curve = GX_BN254_G1,
     .info = {.base_field = GX_BN254_FQ, .scalar_field = GX_BN254_FR, .degree = 1},
     .b = {3},
     .generator = {1, 0, 0, 0, 2}},
    {.curve = GX_BN254_G2,
     .info = {.base_field = GX_BN254_FQ, .scalar_field = GX_BN254_FR, .degree = 2},
     .b = {0x3267e6dc24a138e5, 0xb5b4c5e559dbefa3, 0x81be18991be06ac3, 0x2b149d40ceb8aaae,
           0xe4a2bd0685c315d2, 0xa74fa084e52d1852, 0xcd2cafadeed8fdf4, 0x9713b03af0fed4},
     .generator = {0x46debd5cd992f6ed, 0x674322d4f75edadd, 0x426a00665e5c4479, 0x1800deef121f1e76,
                   0x97e485b7aef312c2, 0xf1aa493335a9e712, 0x7260bfb731fb5d25, 0x198e9393920d483a,
                   0x4ce6cc0166fa7daa, 0xe3d1e7690c43d37b, 0x4aab71808dcb408f, 0x12c85ea5db8c6deb,
                   0x55acdadcd122975b, 0xbc4b313370b38ef3, 0xec9e99ad690c3395, 0x90689d0585ff075},
     .endomorphism = {.bits = 127,
                      .multiple = {0xf83e9682e87cfd46, 0x6f4d8248eeb859fb},
                      .x_factor = {0x99e39557176f553d, 0xb78cc310c2c3330c, 0x4c0bec3cf559b143,
                                   0x2fb347984f7911f7, 0x1665d51c640fcba2, 0x32ae2a1d0b7c9dce,
                                   0x4ba4cc8bd75a0794, 0x16c9e55061ebae20},
                      .y_factor = {0xdc54014671a0135a, 0xdbaae0eda9c95998, 0xdc5ec698b6e2f9b9,
                                   0x63cf305489af5dc, 0x82d37f632623b0e3, 0x21807dc98fa25bd2,
                                   0x704b5a7ec796f2b, 0x7c03cbcac41049a}}},
};

_Static_assert(sizeof rows / sizeof *rows == GX_CURVE_END - 1,
               "one row for each of GX__CURVE_LIST");

#define X(symbol, value, name)                                                                     \
    _Static_assert((int)(symbol) == (value) && (value) > 0 && (value) < GX_CURVE_END,              \
                   #symbol " is another value in gpuexec.h, or leaves a gap");
GX__CURVE_LIST(X)
#undef X

static const char *const curve_names[GX_CURVE_END] = {
#define X(symbol, value, name) [symbol] = name,
    GX__CURVE_LIST(X)
#undef X
};

static const struct gx_curve_row *by_curve[GX_CURVE_END];

static void to_montgomery(const struct gx_prime *prime, uint64_t *elements, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++, elements += prime->limbs)
        gx__mul_one(prime, elements, elements, prime->r2);
}

static void derive(struct gx_curve_row *row)
{
    row->degree = row->info.degree;
    row->base = gx__prime(row->info.base_field);
    row->scalar = gx__prime(row->info.scalar_field);
    row->limbs = row->base->limbs * row->degree;
    to_montgomery(row->base, row->b, row->degree);
    to_montgomery(row->base, row->generator, 2 * row->degree);
    to_montgomery(row->base, row->endomorphism.x_factor, row->degree);
    to_montgomery(row->base, row->endomorphism.y_factor, row->degree);
    row->info.name = curve_names[row->curve];
    row->info.affine_bytes = 2 * row->limbs * (uint32_t)sizeof(uint64_t);
    row->info.generator = row->generator;
}

/* When the library is loaded, after the fields. */
__attribute__((constructor(102))) static void derive_all(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        derive(&rows[i]);
        by_curve[rows[i].curve] = &rows[i];
    }
}

const struct gx_curve_row *gx__curve(gx_curve curve)
{
    return curve < GX_CURVE_END ? by_curve[curve] : NULL;
}

const gx_curve_info *gx_curve_get_info(gx_curve curve)
{
    const struct gx_curve_row *row = gx__curve(curve);
    return row ? &row->info : NULL;
}

gx_curve gx_curve_by_name(const char *name)
{
    for (gx_curve c = 1; name && c < GX_CURVE_END; c++)
        if (!strcmp(curve_names[c], name))
            return c;
    return 0;
}

size_t gx_point_bytes(gx_curve curve, gx_point_form form)
{
    const struct gx_curve_row *row = gx__curve(curve);
    if (!row)
        return 0;
    const size_t coordinate = row->limbs * sizeof(uint64_t);
    switch (form) {
    case GX_POINT_XY_MONT:
    case GX_POINT_XY_PLAIN:
        return 2 * coordinate;
    case GX_POINT_COMPRESSED:
        return row->zcash ? coordinate : 0;
    case GX_POINT_UNCOMPRESSED:
        return row->zcash ? 2 * coordinate : 0;
    case GX_POINT_EIP2537:
        return row->zcash ? (size_t)2 * row->degree * GX_EIP2537_ELEMENT : 0;
    case GX_POINT_JACOBIAN_MONT:
        return 3 * coordinate;
    default:
        return 0;
    }
}
