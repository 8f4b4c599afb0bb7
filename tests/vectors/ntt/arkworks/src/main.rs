// SPDX-License-Identifier: Apache-2.0
//
// Prints arkworks.txt: ../README.md.

use ark_ff::{BigInt, FftField, Fp, MontBackend, MontConfig, PrimeField};
use ark_poly::{EvaluationDomain, Radix2EvaluationDomain};
use sha2::{Digest, Sha256};

const SIZES: [u32; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 18, 20, 22];
const WHOLE: u32 = 4; // up to here, all elements
const LAST: u32 = 18; // up to here, all kinds
const SHIFT_SEED: u64 = 99;

struct SplitMix64(u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e3779b97f4a7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58476d1ce4e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d049bb133111eb);
        z ^ (z >> 31)
    }
}

fn input<P: MontConfig<4>>(seed: u64, n: usize) -> Vec<Fp<MontBackend<P, 4>, 4>> {
    let mut rng = SplitMix64(seed);
    (0..n)
        .map(|_| {
            let words = [rng.next(), rng.next(), rng.next(), rng.next() >> 3];
            Fp::new_unchecked(BigInt(words)) // the Montgomery form as it is
        })
        .collect()
}

fn show<P: MontConfig<4>>(log2: u32, values: &[Fp<MontBackend<P, 4>, 4>]) -> String {
    let bytes: Vec<u8> =
        values.iter().flat_map(|v| v.0 .0).flat_map(|word| word.to_le_bytes()).collect();
    if log2 <= WHOLE {
        format!("={}", bytes.iter().map(|b| format!("{b:02x}")).collect::<String>())
    } else {
        format!("{:x}", Sha256::digest(&bytes))
    }
}

fn field<P: MontConfig<4>>(name: &str)
where
    Fp<MontBackend<P, 4>, 4>: PrimeField + FftField,
{
    let generator = Fp::<MontBackend<P, 4>, 4>::GENERATOR;
    let other = input::<P>(SHIFT_SEED, 1)[0];
    for log2 in SIZES {
        let domain = Radix2EvaluationDomain::new(1 << log2).unwrap();
        let coset = domain.get_coset(generator).unwrap();
        let far = domain.get_coset(other).unwrap();
        let a = input::<P>(log2 as u64, 1 << log2);
        if log2 > LAST {
            println!("{name} forward - nn {log2} 0 {}", show(log2, &domain.fft(&a)));
            println!("{name} inverse coset nn {log2} 0 {}", show(log2, &coset.ifft(&a)));
            continue;
        }
        for (what, d) in [("-", &domain), ("coset", &coset), ("other", &far)] {
            println!("{name} forward {what} nn {log2} 0 {}", show(log2, &d.fft(&a)));
            println!("{name} inverse {what} nn {log2} 0 {}", show(log2, &d.ifft(&a)));
            if log2 >= 2 {
                let few = &a[..1 << (log2 - 2)];
                println!("{name} forward {what} nn {log2} 2 {}", show(log2, &d.fft(few)));
            }
        }
    }
}

fn main() {
    field::<ark_bls12_381::FrConfig>("bls12-381-fr");
    field::<ark_bn254::FrConfig>("bn254-fr");
}
