// SPDX-License-Identifier: Apache-2.0
//
// Prints arkworks.txt: ../README.md.

use ark_ec::{pairing::Pairing, AffineRepr, CurveGroup};
use ark_ff::{BigInteger, Field, PrimeField};

const PAIRS: u64 = 12;

fn hex<F: Field>(element: &F) -> String {
    let numbers = element.to_base_prime_field_elements().map(|c| {
        c.into_bigint().to_bytes_be().iter().map(|b| format!("{b:02x}")).collect::<String>()
    });
    numbers.collect::<Vec<_>>().join(",")
}

/// Coefficients in Fq2 of 1, w^2, w^4, w, w^3, w^5, as those of 1, w, ... w^5.
fn in_order<F: Field>(element: &F) -> String {
    let all = hex(element);
    let numbers: Vec<&str> = all.split(',').collect();
    let ordered = [0, 3, 1, 4, 2, 5].map(|i| numbers[2 * i..2 * i + 2].join(","));
    ordered.join(",")
}

fn curve<E: Pairing>(name: &str) {
    for i in 1..=PAIRS {
        let s = E::ScalarField::from(i).pow([0x9e3779b97f4a7c15]);
        let t = E::ScalarField::from(i + 1).pow([0xbf58476d1ce4e5b9]);
        let p = (E::G1Affine::generator() * s).into_affine();
        let q = (E::G2Affine::generator() * t).into_affine();
        let (px, py) = p.xy().unwrap();
        let (qx, qy) = q.xy().unwrap();
        let e = E::pairing(p, q).0;
        println!("{name} {},{} {},{} {}", hex(&px), hex(&py), hex(&qx), hex(&qy), in_order(&e));
    }
}

fn main() {
    curve::<ark_bls12_381::Bls12_381>("bls12-381");
    curve::<ark_bn254::Bn254>("bn254");
}
