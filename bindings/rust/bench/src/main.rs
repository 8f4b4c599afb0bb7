// SPDX-License-Identifier: Apache-2.0
//
// gpuexec-bench [THREADS [ROUNDS]]: sums and transforms by arkworks and by gpuexec, in turns, with
// the same number of threads; then what a call through the crate costs beyond the same call in C.
// `bench.sh` runs it.

use std::hint::black_box;
use std::time::Instant;

use ark_ec::models::short_weierstrass::{Affine, Projective};
use ark_ec::{PrimeGroup, VariableBaseMSM};
use ark_ff::{BigInt, PrimeField};
use ark_poly::EvaluationDomain;
use gpuexec::ark::{ArkCurve, ArkField, Bases, Radix2EvaluationDomain};
use gpuexec::{sys, Context, Jobs};

extern "C" {
    fn overhead_run(ctx: *mut sys::gx_ctx, calls: usize) -> u64;
    fn overhead_submit(ctx: *mut sys::gx_ctx, calls: usize) -> u64;
}

/// Median, least and most.
struct Times(Vec<f64>);

impl Times {
    fn median(&mut self) -> f64 {
        self.0.sort_by(f64::total_cmp);
        self.0[self.0.len() / 2]
    }

    fn text(&mut self) -> String {
        let median = self.median();
        format!("{:.2} ({:.2} .. {:.2})", median, self.0[0], self.0[self.0.len() - 1])
    }
}

/// Milliseconds of each, in turns; the first round does not count.
fn turns(rounds: usize, functions: &mut [&mut dyn FnMut()]) -> Vec<Times> {
    let mut times: Vec<_> = functions.iter().map(|_| Times(Vec::new())).collect();
    for round in 0..=rounds {
        for (f, times) in functions.iter_mut().zip(&mut times) {
            let start = Instant::now();
            f();
            if round > 0 {
                times.0.push(start.elapsed().as_secs_f64() * 1e3);
            }
        }
    }
    times
}

fn row(name: &str, times: &mut [Times]) {
    let peer = times[0].median();
    let ours = times[1].median();
    let texts: Vec<_> = times.iter_mut().map(Times::text).collect();
    println!("| {name} | {} | {:.2}x |", texts.join(" | "), peer / ours);
}

/// Numbers that are the same in every run.
fn scalars<F: PrimeField>(n: usize) -> Vec<F> {
    let mut x = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        x
    };
    let mut element =
        || (0..4).fold(F::zero(), |e, _| e * F::from(u128::from(u64::MAX)) + F::from(next()));
    (0..n).map(|_| element()).collect()
}

fn msm<C: ArkCurve>(ctx: &Context, name: &str, rounds: usize)
where
    C::ScalarField: PrimeField<BigInt = BigInt<4>>,
{
    let n = 1 << 16;
    let scalars = scalars::<C::ScalarField>(n);
    let points: Vec<Projective<C>> = std::iter::successors(Some(Projective::generator()), |p| {
        Some(*p + Projective::<C>::generator() + *p)
    })
    .take(n)
    .collect();
    let bases: Vec<Affine<C>> = ark_ec::CurveGroup::normalize_batch(&points);
    let prepared = Bases::new(ctx, &bases).unwrap();
    let (mut theirs, mut ours, mut at_once) = (Projective::<C>::default(), None, None);
    let mut times = turns(
        rounds,
        &mut [
            &mut || theirs = Projective::<C>::msm(&bases, &scalars).unwrap(),
            &mut || ours = prepared.msm(&scalars).ok(),
            &mut || at_once = gpuexec::ark::msm(&bases, &scalars).ok(),
        ],
    );
    assert_eq!((Some(theirs), Some(theirs)), (ours, at_once));
    row(name, &mut times);
}

fn ntt<F: ArkField<BigInt = BigInt<4>>>(name: &str, rounds: usize) {
    let n = 1 << 20;
    let a = scalars::<F>(n);
    let domain = Radix2EvaluationDomain::<F>::new(n).unwrap();
    let (mut theirs, mut ours, mut fresh) = (a.clone(), a.clone(), Vec::new());
    let mut times = turns(
        rounds,
        &mut [
            &mut || domain.0.fft_in_place(&mut theirs),
            &mut || domain.fft_in_place(&mut ours),
            &mut || fresh = domain.fft(black_box(&a)),
        ],
    );
    assert!(theirs == ours && fresh == domain.0.fft(&a));
    row(name, &mut times);
}

fn overhead(ctx: &Context) {
    let calls = 20_000;
    let per_call = |ns: u64| {
        assert!(ns > 0);
        ns as f64 / calls as f64
    };
    let timed = |f: &mut dyn FnMut()| {
        let start = Instant::now();
        for _ in 0..calls {
            f();
        }
        per_call(start.elapsed().as_nanos() as u64)
    };
    let (a, b) = ([1u32], [2u32]);
    let (mut x, mut y) = ([0u32], [0u32]);
    let mut again = Jobs::new();
    again.add(&a, &b, &mut x).device("cpu");
    let mut times: Vec<_> = (0..6).map(|_| Times(Vec::new())).collect();
    for _ in 0..11 {
        // SAFETY: the context is open.
        times[0].0.push(per_call(unsafe { overhead_run(ctx.as_raw(), calls) }));
        times[1].0.push(timed(&mut || {
            ctx.run(Jobs::new().add(&a, &b, &mut y).device("cpu")).unwrap();
        }));
        times[2].0.push(timed(&mut || ctx.run(&mut again).unwrap()));
        // SAFETY: likewise.
        times[3].0.push(per_call(unsafe { overhead_submit(ctx.as_raw(), calls) }));
        times[4].0.push(timed(&mut || {
            let ticket = ctx.submit((a, b, y), |(a, b, y), jobs| {
                jobs.add(&*a, &*b, y).device("cpu");
            });
            ticket.wait().0.unwrap();
        }));
    }
    let c = [times[0].median(), times[3].median()];
    println!("\n| one u32 added on the CPU, ns per call | median (least .. most) | over C |");
    println!("|---|---|---|");
    let names = [
        "C: gx_run",
        "Rust: jobs made and run",
        "Rust: the same jobs run again",
        "C: gx_submit, gx_wait, gx_ticket_destroy",
        "Rust: submit, wait",
    ];
    for (i, name) in names.iter().enumerate() {
        let median = times[i].median();
        let over = format!("{:+.0}", median - c[i / 3]);
        let over = if i % 3 == 0 { "" } else { &over };
        println!("| {name} | {} | {over} |", times[i].text());
    }
}

fn main() {
    let mut args = std::env::args().skip(1).map(|a| a.parse().expect("a number"));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = args.next().unwrap_or(cores);
    let rounds = args.next().unwrap_or(7);
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global().unwrap();
    let builder = Context::builder().ignore_environment().device("cpu").threads(threads as u32);
    let ctx = builder.open().unwrap();
    gpuexec::ark::set_context(ctx.clone()).unwrap();

    println!("\n{threads} threads, ms, median of {rounds} (least .. most); the last column: arkworks / gpuexec");
    println!("\n| | arkworks | gpuexec, bases prepared | gpuexec, from slices | |\n|---|---|---|---|---|");
    msm::<ark_bls12_381::g1::Config>(&ctx, "MSM 2^16, BLS12-381 G1", rounds);
    msm::<ark_bn254::g1::Config>(&ctx, "MSM 2^16, BN254 G1", rounds);
    println!("\n| | arkworks, in place | gpuexec, in place | gpuexec, new vector | |\n|---|---|---|---|---|");
    ntt::<ark_bls12_381::Fr>("NTT 2^20, BLS12-381 Fr", rounds);
    ntt::<ark_bn254::Fr>("NTT 2^20, BN254 Fr", rounds);
    overhead(&ctx);
}
