/* SPDX-License-Identifier: Apache-2.0
 *
 * Products of curve.glsl in CUDA that are called, not copied, so that formulas can be written out
 * and still be compiled in a short time. Operands and results are vectors, because those are in
 * registers, where clang has structures in memory.
 */
#if QUADS == 3
#define PASSED(x)     Quad x##0, Quad x##1, Quad x##2
#define PASS(x)       quad_of(x, 0), quad_of(x, 1), quad_of(x, 2)
#define RECEIVED(x)   element_of_quads(x##0, x##1, x##2)
#else
#define PASSED(x)     Quad x##0, Quad x##1
#define PASS(x)       quad_of(x, 0), quad_of(x, 1)
#define RECEIVED(x)   element_of_quads(x##0, x##1, x##1)
#endif

template <int COUNT> struct Returned {
    Quad quad[COUNT * QUADS];
};

FUNCTION Element element_of_quads(Quad a, Quad b, Quad c)
{
    Element x;
    set_quad(x, 0, a);
    set_quad(x, 1, b);
    if (QUADS == 3)
        set_quad(x, QUADS - 1, c);
    return x;
}

/* Element i of what is returned. */
template <int COUNT> FUNCTION void return_element(Returned<COUNT> &r, int i, Element x)
{
    UNROLL for (int k = 0; k < QUADS; k++)
        r.quad[i * QUADS + k] = quad_of(x, k);
}

template <int COUNT> FUNCTION Element returned_element(const Returned<COUNT> &r, int i)
{
    Element x;
    UNROLL for (int k = 0; k < QUADS; k++)
        set_quad(x, k, r.quad[i * QUADS + k]);
    return x;
}

#if DEGREE == 2

CALLED_FUNCTION Returned<2> product_of(PASSED(a), PASSED(b), PASSED(c), PASSED(d))
{
    Coord x, y;
    x.c[0] = RECEIVED(a);
    x.c[1] = RECEIVED(b);
    y.c[0] = RECEIVED(c);
    y.c[1] = RECEIVED(d);
    Coord product = own_coord_mul(x, y);
    Returned<2> r;
    return_element(r, 0, product.c[0]);
    return_element(r, 1, product.c[1]);
    return r;
}

CALLED_FUNCTION Returned<2> square_of(PASSED(a), PASSED(b))
{
    Coord x;
    x.c[0] = RECEIVED(a);
    x.c[1] = RECEIVED(b);
    Coord square = own_coord_sqr(x);
    Returned<2> r;
    return_element(r, 0, square.c[0]);
    return_element(r, 1, square.c[1]);
    return r;
}

FUNCTION Coord returned_coord(Returned<2> r)
{
    Coord x;
    x.c[0] = returned_element(r, 0);
    x.c[1] = returned_element(r, 1);
    return x;
}

FUNCTION Coord coord_mul(Coord x, Coord y)
{
    return returned_coord(product_of(PASS(x.c[0]), PASS(x.c[1]), PASS(y.c[0]), PASS(y.c[1])));
}
FUNCTION Coord coord_sqr(Coord x) { return returned_coord(square_of(PASS(x.c[0]), PASS(x.c[1]))); }

#else

CALLED_FUNCTION Returned<1> product_of(PASSED(a), PASSED(b))
{
    Returned<1> r;
    return_element(r, 0, own_coord_mul(RECEIVED(a), RECEIVED(b)));
    return r;
}

CALLED_FUNCTION Returned<1> square_of(PASSED(a))
{
    Returned<1> r;
    return_element(r, 0, own_coord_sqr(RECEIVED(a)));
    return r;
}

FUNCTION Coord coord_mul(Coord x, Coord y) { return returned_element(product_of(PASS(x), PASS(y)), 0); }
FUNCTION Coord coord_sqr(Coord x) { return returned_element(square_of(PASS(x)), 0); }

#endif
