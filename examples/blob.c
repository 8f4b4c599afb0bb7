/* SPDX-License-Identifier: Apache-2.0
 *
 * Commits to an EIP-4844 blob and prints the 48 bytes of the commitment. Takes the setup of the KZG
 * ceremony as a text file (trusted_setup.txt of c-kzg-4844) and a file with the blob: 4096 elements
 * of 32 bytes, highest byte first. doc/msm.md explains.
 *
 *   cc -std=c11 blob.c $(pkg-config --cflags --libs gpuexec) -o blob
 *   LD_LIBRARY_PATH=$(pkg-config --variable=libdir gpuexec) ./blob trusted_setup.txt blob.bin
 *
 * For a try, points whose origin everybody knows serve as a setup, and decimal digits, in the
 * highest bytes of which is '0', as a blob:
 *
 *   gpuexec points -n 4096 --form zcash-48 -o points.bin
 *   { echo 4096 0; od -An -v -tx1 points.bin; } >setup.txt
 *   seq -f %031.0f 4096 >blob.bin
 *   ./blob setup.txt blob.bin
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gpuexec.h>

enum { LOG2_N = 12, N = 1 << LOG2_N, POINT_BYTES = 48, ELEMENT_BYTES = 32 };

static unsigned char setup[N][POINT_BYTES], blob[N][ELEMENT_BYTES], scalars[N][ELEMENT_BYTES];

/* The number of G1 points, the number of G2 points, and as many points in hexadecimal: first those
 * of G1 in Lagrange form, by the powers of the root of unity, which are all that is needed here. */
static int read_setup(const char *path)
{
    FILE *file = fopen(path, "r");
    unsigned g1 = 0, g2 = 0;
    size_t read = 0;
    if (file && fscanf(file, "%u %u", &g1, &g2) == 2 && g1 == N)
        while (read < sizeof setup && fscanf(file, "%2hhx", &setup[0][0] + read) == 1)
            read++;
    if (file)
        fclose(file);
    if (read < sizeof setup)
        fprintf(stderr, "blob: %s is not a setup of %d points\n", path, N);
    return read == sizeof setup;
}

static int read_blob(const char *path)
{
    FILE *file = fopen(path, "rb");
    size_t read = file ? fread(blob, 1, sizeof blob, file) : 0;
    int more = file && fgetc(file) != EOF;
    if (file)
        fclose(file);
    if (read < sizeof blob || more)
        fprintf(stderr, "blob: %s does not have %zu bytes\n", path, sizeof blob);
    return read == sizeof blob && !more;
}

static size_t reversed(size_t i)
{
    size_t r = 0;
    for (int bit = 0; bit < LOG2_N; bit++)
        r |= (i >> bit & 1) << (LOG2_N - 1 - bit);
    return r;
}

/* The elements of a blob are in bit-reversed order, those of the setup in natural order. */
static void make_scalars(void)
{
    for (size_t i = 0; i < N; i++)
        for (size_t k = 0; k < ELEMENT_BYTES; k++)
            scalars[reversed(i)][k] = blob[i][ELEMENT_BYTES - 1 - k];
}

/* Every scalar is an integer to the library, but an element of a blob must be below the order. */
static int are_elements(void)
{
    const uint64_t *order = gx_field_get_info(GX_BLS12_381_FR)->modulus;
    for (size_t i = 0; i < N; i++) {
        uint64_t x[4];
        int limb = 3;
        memcpy(x, scalars[reversed(i)], sizeof x);
        while (limb > 0 && x[limb] == order[limb])
            limb--;
        if (x[limb] >= order[limb]) {
            fprintf(stderr, "blob: element %zu is not below the order of the field\n", i);
            return 0;
        }
    }
    return 1;
}

int main(int argc, char **argv)
{
    /* Points that are used for many blobs are worth a table of their multiples: see table_bytes. */
    const gx_points_params desc = {.struct_size = sizeof desc,
                                   .curve = GX_BLS12_381_G1,
                                   .form = GX_POINT_COMPRESSED,
                                   .points = setup,
                                   .count = N,
                                   .check = GX_CHECK_SUBGROUP};
    gx_msm_params params = {
        .struct_size = sizeof params, .count = N, .result_form = GX_POINT_COMPRESSED};
    unsigned char commitment[POINT_BYTES] = {0};
    gx_job job;
    gx_ctx *ctx = NULL;
    gx_points *points = NULL;
    int failed = 1;

    if (argc != 3) {
        fprintf(stderr, "usage: blob SETUP BLOB\n");
        return 2;
    }
    if (!read_setup(argv[1]) || !read_blob(argv[2]))
        return 1;
    make_scalars();
    if (!are_elements())
        return 1;
    if (gx_open(NULL, &ctx) != GX_OK || gx_points_create(ctx, &desc, &points, NULL) != GX_OK)
        goto end;
    params.points = points;
    job = gx_msm(&params, 1, gx_host(scalars), gx_host(commitment));
    if (gx_run(ctx, &job, 1, NULL, NULL) != GX_OK)
        goto end;
    for (size_t i = 0; i < sizeof commitment; i++)
        printf("%02x", commitment[i]);
    putchar('\n');
    failed = 0;

end:
    if (failed)
        fprintf(stderr, "blob: %s\n", gx_last_message());
    gx_points_destroy(&points);
    gx_close(&ctx);
    return failed;
}
