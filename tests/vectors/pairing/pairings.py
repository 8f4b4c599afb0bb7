#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# Pairings by their definition, with integers: README.md says what the lines mean. Points are on the
# curve over the whole of Fq12, their functions are built line by line, and the last power is a power.
import random

random.seed(34)


class Curve:
    """Fq12 is Fq[w] modulo w^12 - 2a w^6 + a^2 + 1, so that w^6 = a + u with u^2 = -1."""

    def __init__(self, q, r, a, b):
        self.q, self.r, self.a, self.b = q, r, a, b

    def number(self, c0, c1=0, at=0):
        """(c0 + c1 u) w^at"""
        out = [0] * 12
        out[at] = (c0 - self.a * c1) % self.q
        out[at + 6] = c1 % self.q
        return out

    def add(self, x, y):
        return [(s + t) % self.q for s, t in zip(x, y)]

    def sub(self, x, y):
        return [(s - t) % self.q for s, t in zip(x, y)]

    def mul(self, x, y):
        product = [0] * 23
        for i, s in enumerate(x):
            for k, t in enumerate(y):
                product[i + k] += s * t
        for i in range(22, 11, -1):
            product[i - 6] += 2 * self.a * product[i]
            product[i - 12] -= (self.a * self.a + 1) * product[i]
        return [s % self.q for s in product[:12]]

    def power(self, x, n):
        out = self.number(1)
        for bit in bin(n)[2:]:
            out = self.mul(out, out)
            if bit == "1":
                out = self.mul(out, x)
        return out

    def invert(self, x):
        """Through the norm to Fq: the product of the other conjugates, x^q, x^(q^2), ..."""
        others, conjugate = self.number(1), x
        for _ in range(11):
            conjugate = self.frobenius(conjugate)
            others = self.mul(others, conjugate)
        norm = self.mul(others, x)
        assert not any(norm[1:])
        return self.mul(others, self.number(pow(norm[0], -1, self.q)))

    def frobenius(self, x):
        """x^q, by (w^i)^q."""
        if not hasattr(self, "images"):
            image = self.power(self.number(1, at=1), self.q)
            self.images = [self.number(1)]
            for _ in range(11):
                self.images.append(self.mul(self.images[-1], image))
        out = [0] * 12
        for s, image in zip(x, self.images):
            out = self.add(out, self.mul(image, self.number(s)))
        return out

    # Points are pairs (x, y) of Fq12, on y^2 = x^3 + b; None is infinity.

    def slope(self, s, t):
        if s != t:
            return self.mul(self.sub(t[1], s[1]), self.invert(self.sub(t[0], s[0])))
        three = self.mul(self.number(3), self.mul(s[0], s[0]))
        return self.mul(three, self.invert(self.add(s[1], s[1])))

    def sum(self, s, t):
        if s is None or t is None:
            return s or t
        if s[0] == t[0] and s[1] != t[1]:
            return None
        m = self.slope(s, t)
        x = self.sub(self.sub(self.mul(m, m), s[0]), t[0])
        return (x, self.sub(self.mul(m, self.sub(s[0], x)), s[1]))

    def multiple(self, s, n):
        out = None
        for bit in bin(n)[2:]:
            out = self.sum(out, out)
            if bit == "1":
                out = self.sum(out, s)
        return out

    def negative(self, s):
        return (s[0], self.sub(self.number(0), s[1]))

    def map(self, s):
        return (self.frobenius(s[0]), self.frobenius(s[1]))

    def line(self, s, t, at):
        """The line through s and t, at a point."""
        m = self.slope(s, t)
        return self.sub(self.sub(at[1], s[1]), self.mul(m, self.sub(at[0], s[0])))

    def function(self, n, s, at):
        """That with n zeros at s and a pole at n s, up to vertical lines, at a point; and n s."""
        f, t = self.number(1), s
        for bit in bin(n)[3:]:
            f = self.mul(self.mul(f, f), self.line(t, t, at))
            t = self.sum(t, t)
            if bit == "1":
                f = self.mul(f, self.line(t, s, at))
                t = self.sum(t, s)
        return f, t


class Bls(Curve):
    name, digits, x = "bls12-381", 96, -0xD201000000010000

    def untwisted(self, x, y):
        """From y^2 = x^3 + 4 w^6."""
        inverse = self.invert(self.number(1, at=1))
        return (self.mul(self.number(*x), self.power(inverse, 2)), self.mul(self.number(*y), self.power(inverse, 3)))

    def reduced(self, p, q):
        """For a negative parameter, the inverse."""
        f, _ = self.function(-self.x, q, p)
        return self.power(self.invert(f), (self.q**12 - 1) // self.r)

    def pairing(self, p, q):
        return self.power(self.reduced(p, q), 3)


class Bn(Curve):
    name, digits, x = "bn254", 64, 0x44E992B44A6909F1

    def untwisted(self, x, y):
        """From y^2 = x^3 + 3 / w^6."""
        return (self.number(*x, at=2), self.number(*y, at=3))

    def reduced(self, p, q):
        f, t = self.function(6 * self.x + 2, q, p)
        mapped = self.map(q)
        f = self.mul(f, self.line(t, mapped, p))
        t = self.sum(t, mapped)
        f = self.mul(f, self.line(t, self.negative(self.map(mapped)), p))
        return self.power(f, (self.q**12 - 1) // self.r)

    def pairing(self, p, q):
        x = self.x
        return self.power(self.reduced(p, q), 2 * x * (6 * x * x + 3 * x + 1))


bls = Bls(
    0x1A0111EA397FE69A4B1BA7B6434BACD764774B84F38512BF6730D2A0F6B0F6241EABFFFEB153FFFFB9FEFFFFFFFFAAAB,
    0x73EDA753299D7D483339D80809A1D80553BDA402FFFE5BFEFFFFFFFF00000001, 1, 4)
bn = Bn(
    0x30644E72E131A029B85045B68181585D97816A916871CA8D3C208C16D87CFD47,
    0x30644E72E131A029B85045B68181585D2833E84879B9709143E1F593F0000001, 9, 3)

# Generators: x, y of G1; x, y of G2 over Fq2
generators = {
    bls: ((0x17F1D3A73197D7942695638C4FA9AC0FC3688C4F9774B905A14E3A3F171BAC586C55E83FF97A1AEFFB3AF00ADB22C6BB,
           0x08B3F481E3AAA0F1A09E30ED741D8AE4FCF5E095D5D00AF600DB18CB2C04B3EDD03CC744A2888AE40CAA232946C5E7E1),
          (0x024AA2B2F08F0A91260805272DC51051C6E47AD4FA403B02B4510B647AE3D1770BAC0326A805BBEFD48056C8C121BDB8,
           0x13E02B6052719F607DACD3A088274F65596BD0D09920B61AB5DA61BBDC7F5049334CF11213945D57E5AC7D055D042B7E),
          (0x0CE5D527727D6E118CC9CDC6DA2E351AADFD9BAA8CBDD3A76D429A695160D12C923AC9CC3BACA289E193548608B82801,
           0x0606C4A02EA734CC32ACD2B02BC28B99CB3E287E85A763AF267492AB572E99AB3F370D275CEC1DA1AAA9075FF05F79BE)),
    bn: ((1, 2),
         (0x1800DEEF121F1E76426A00665E5C4479674322D4F75EDADD46DEBD5CD992F6ED,
          0x198E9393920D483A7260BFB731FB5D25F1AA493335A9E71297E485B7AEF312C2),
         (0x12C85EA5DB8C6DEB4AAB71808DCB408FE3D1E7690C43D37B4CE6CC0166FA7DAA,
          0x090689D0585FF075EC9E99AD690C3395BC4B313370B38EF355ACDADCD122975B)),
}


def in_fq2(curve, element):
    """An element of the tower as six pairs c0, c1: of 1, w, ... w^5."""
    return [((element[i] + curve.a * element[i + 6]) % curve.q, element[i + 6]) for i in range(6)]


def text(curve, numbers):
    return ",".join(f"{n:0{curve.digits}x}" for n in numbers)


def twisted(curve, point):
    """Back to the curve over Fq2."""
    one = curve.untwisted((1, 0), (1, 0))
    return [in_fq2(curve, curve.mul(c, curve.invert(o)))[0] for c, o in zip(point, one)]


def main():
    for curve, (g1, *g2) in generators.items():
        first, second = tuple(map(curve.number, g1)), curve.untwisted(*g2)
        assert curve.multiple(first, curve.r) is None and curve.multiple(second, curve.r) is None
        scalars = [(1, 1), (curve.r - 1, 1), (1, curve.r - 1)]
        scalars += [(random.randrange(curve.r), random.randrange(curve.r)) for _ in range(5)]
        for s, t in scalars:
            p, q = curve.multiple(first, s), curve.multiple(second, t)
            e = in_fq2(curve, curve.pairing(p, q))
            print(curve.name, text(curve, (p[0][0], p[1][0])), text(curve, sum(twisted(curve, q), ())),
                  text(curve, sum(e, ())))


if __name__ == "__main__":
    main()
