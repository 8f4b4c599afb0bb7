/* SPDX-License-Identifier: Apache-2.0
 *
 * Points of curve.glsl in memory, in the words of msm_memory.glsl. NONE is no key.
 */
#define POINT_QUADS (4 * COORD_QUADS)
#define NONE        0xffffffffu

FUNCTION void set_coord_quad(INOUT(Coord) x, int k, Quad q)
{
    set_coord_word(x, 4 * k, q.x);
    set_coord_word(x, 4 * k + 1, q.y);
    set_coord_word(x, 4 * k + 2, q.z);
    set_coord_word(x, 4 * k + 3, q.w);
}

FUNCTION Quad coord_quad(Coord x, int k)
{
    return QUAD(coord_word(x, 4 * k), coord_word(x, 4 * k + 1), coord_word(x, 4 * k + 2),
                coord_word(x, 4 * k + 3));
}

/* Point i of B, which has affine ones. */
FUNCTION Affine load_affine_b(u32 i)
{
    Affine p;
    UNROLL for (int k = 0; k < COORD_QUADS; k++) {
        set_coord_quad(p.x, k, load_quad_b((2u * i) * COORD_QUADS + k));
        set_coord_quad(p.y, k, load_quad_b((2u * i + 1u) * COORD_QUADS + k));
    }
    return p;
}

/* The same of A. */
FUNCTION Affine load_affine_a(u32 i)
{
    Affine p;
    UNROLL for (int k = 0; k < COORD_QUADS; k++) {
        set_coord_quad(p.x, k, load_quad_a((2u * i) * COORD_QUADS + k));
        set_coord_quad(p.y, k, load_quad_a((2u * i + 1u) * COORD_QUADS + k));
    }
    return p;
}

FUNCTION Point load_point_a(u32 i)
{
    Point p;
    UNROLL for (int k = 0; k < COORD_QUADS; k++) {
        set_coord_quad(p.x, k, load_quad_a((4u * i) * COORD_QUADS + k));
        set_coord_quad(p.y, k, load_quad_a((4u * i + 1u) * COORD_QUADS + k));
        set_coord_quad(p.zz, k, load_quad_a((4u * i + 2u) * COORD_QUADS + k));
        set_coord_quad(p.zzz, k, load_quad_a((4u * i + 3u) * COORD_QUADS + k));
    }
    return p;
}

FUNCTION void store_point_out(u32 i, Point p)
{
    UNROLL for (int k = 0; k < COORD_QUADS; k++) {
        store_quad_out((4u * i) * COORD_QUADS + k, coord_quad(p.x, k));
        store_quad_out((4u * i + 1u) * COORD_QUADS + k, coord_quad(p.y, k));
        store_quad_out((4u * i + 2u) * COORD_QUADS + k, coord_quad(p.zz, k));
        store_quad_out((4u * i + 3u) * COORD_QUADS + k, coord_quad(p.zzz, k));
    }
}

/* In SCRATCH, point i of those that begin at quad `at`. */
FUNCTION Point load_point(u32 at, u32 i)
{
    Point p;
    at += i * POINT_QUADS;
    UNROLL for (int k = 0; k < COORD_QUADS; k++) {
        set_coord_quad(p.x, k, load_scratch(at + k));
        set_coord_quad(p.y, k, load_scratch(at + COORD_QUADS + k));
        set_coord_quad(p.zz, k, load_scratch(at + 2 * COORD_QUADS + k));
        set_coord_quad(p.zzz, k, load_scratch(at + 3 * COORD_QUADS + k));
    }
    return p;
}

FUNCTION void store_point(u32 at, u32 i, Point p)
{
    at += i * POINT_QUADS;
    UNROLL for (int k = 0; k < COORD_QUADS; k++) {
        store_scratch(at + k, coord_quad(p.x, k));
        store_scratch(at + COORD_QUADS + k, coord_quad(p.y, k));
        store_scratch(at + 2 * COORD_QUADS + k, coord_quad(p.zz, k));
        store_scratch(at + 3 * COORD_QUADS + k, coord_quad(p.zzz, k));
    }
}

FUNCTION void copy_point(u32 to, u32 i, u32 from, u32 j)
{
    LOOP for (u32 k = 0u; k < POINT_QUADS; k++)
        store_scratch(to + i * POINT_QUADS + k, load_scratch(from + j * POINT_QUADS + k));
}
