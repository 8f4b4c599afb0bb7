// SPDX-License-Identifier: Apache-2.0
//
// A polynomial, its values and a commitment to it, by arkworks and by gpuexec.

use ark_bls12_381::{Fr, G1Affine, G1Projective};
use ark_ec::{CurveGroup, PrimeGroup, VariableBaseMSM};
use ark_ff::{Field, PrimeField};
use ark_poly::EvaluationDomain;
use gpuexec::ark::{msm, Bases, Radix2EvaluationDomain};

fn main() -> gpuexec::Result<()> {
    let n = 1 << 10;
    let coefficients: Vec<Fr> = (1..=n).map(|i| Fr::from(i).inverse().unwrap()).collect();

    // The same trait as arkworks' domain: code that is generic over it need not change.
    let domain = Radix2EvaluationDomain::<Fr>::new(coefficients.len()).unwrap();
    let values = domain.fft(&coefficients);
    assert_eq!(values, domain.0.fft(&coefficients));
    assert_eq!(domain.ifft(&values), coefficients);

    // Powers of a secret, which nobody may know outside of an example.
    let secret = Fr::from_be_bytes_mod_order(b"a secret");
    let powers = std::iter::successors(Some(G1Projective::generator()), |p| Some(*p * secret));
    let powers: Vec<G1Affine> =
        G1Projective::normalize_batch(&powers.take(1 << 10).collect::<Vec<_>>());
    let commitment = msm(&powers, &coefficients)?;
    assert_eq!(commitment, G1Projective::msm(&powers, &coefficients).unwrap());

    // Bases that stay, on the devices too.
    let bases = Bases::new(gpuexec::ark::context()?, &powers)?;
    assert_eq!(bases.msm(&coefficients)?, commitment);
    println!("{n} values and a commitment, the same as arkworks'");
    Ok(())
}
