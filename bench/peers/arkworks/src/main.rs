// SPDX-License-Identifier: Apache-2.0
//
// bench/peers: arkworks, with its assembly and its rayon. The protocol is in ../../adaptor.h.
// Batch inverses are in place, as in arkworks: repeated, they go back and forth. So are transforms,
// which go on with their results. Sums of points take plain scalars.
use ark_bls12_381::{Fq, Fr, G1Affine, G1Projective};
use ark_ec::{AffineRepr, CurveGroup, VariableBaseMSM};
use ark_ff::{batch_inversion, BigInt, FftField};
use ark_poly::{EvaluationDomain, Radix2EvaluationDomain};
use rayon::prelude::*;
use std::io::{BufRead, Write};
use std::time::Instant;

type Result<T> = std::result::Result<T, String>;

extern "C" {
    fn madvise(address: *mut u8, length: usize, advice: i32) -> i32;
}
const MADV_HUGEPAGE: i32 = 14;
const PAGE: usize = 4096;

/// An element as it lies in memory: Montgomery form, lowest limb first.
trait Element: FftField + Copy {
    const LIMBS: usize;
    fn from_limbs(limbs: &[u64]) -> Self;
    fn limbs(&self) -> &[u64];
}

macro_rules! element {
    ($type:ty, $limbs:literal) => {
        impl Element for $type {
            const LIMBS: usize = $limbs;
            fn from_limbs(limbs: &[u64]) -> Self {
                <$type>::new_unchecked(BigInt::<$limbs>(limbs.try_into().unwrap()))
            }
            fn limbs(&self) -> &[u64] {
                &self.0 .0
            }
        }
    };
}
element!(Fq, 6);
element!(Fr, 4);
element!(ark_bn254::Fr, 4);

#[derive(Clone, Copy)]
enum Op {
    Add,
    Mul,
    Inv,
    Ntt,
    Sum,
}

/// Operands, whichever kind they are of.
trait Loaded: Send {
    fn has(&self, op: Op) -> bool;
    fn prepare(&mut self);
    fn run(&mut self, op: Op, threads: usize);
    fn write(&self, path: &str) -> Result<()>;
}

struct Arrays<F: FftField> {
    a: Vec<F>,
    b: Vec<F>,
    out: Vec<F>,
    domain: Option<Radix2EvaluationDomain<F>>,
}

/// Huge pages, as every adaptor asks for them.
fn new_array<F>(n: usize) -> Vec<F> {
    let mut array = Vec::with_capacity(n);
    let begin = (array.as_mut_ptr() as usize).next_multiple_of(PAGE);
    let end = array.as_ptr() as usize + n * size_of::<F>();
    if end > begin {
        unsafe { madvise(begin as *mut u8, end - begin, MADV_HUGEPAGE) };
    }
    array
}

fn read_array<F: Element>(path: &str, n: usize) -> Result<Vec<F>> {
    let words = read_words(path)?;
    let mut array = new_array(n);
    array.extend(
        words
            .chunks_exact(F::LIMBS)
            .map(F::from_limbs)
            .cycle()
            .take(n),
    );
    Ok(array)
}

fn load<F: Element>(n: usize, a: &str, b: &str) -> Result<Box<dyn Loaded>> {
    let (a, b) = (read_array::<F>(a, n)?, read_array::<F>(b, n)?);
    let mut out = new_array(n);
    out.resize(n, F::zero());
    let domain = Radix2EvaluationDomain::new(n).filter(|d| d.size() == n);
    Ok(Box::new(Arrays { a, b, out, domain }))
}

fn elementwise<F: Element>(x: &mut Arrays<F>, threads: usize, f: impl Fn(&F, &F) -> F + Sync) {
    let each = x.out.len().div_ceil(threads);
    let part = |(out, (a, b)): (&mut [F], (&[F], &[F]))| {
        for (out, (a, b)) in out.iter_mut().zip(a.iter().zip(b)) {
            *out = f(a, b);
        }
    };
    if threads == 1 {
        return part((&mut x.out, (&x.a, &x.b)));
    }
    x.out
        .par_chunks_mut(each)
        .zip(x.a.par_chunks(each).zip(x.b.par_chunks(each)))
        .for_each(part);
}

impl<F: Element> Loaded for Arrays<F> {
    fn has(&self, op: Op) -> bool {
        !matches!(op, Op::Sum)
    }

    fn prepare(&mut self) {
        self.out.copy_from_slice(&self.a);
    }

    fn run(&mut self, op: Op, threads: usize) {
        match op {
            Op::Add => elementwise(self, threads, |a, b| *a + b),
            Op::Mul => elementwise(self, threads, |a, b| *a * b),
            Op::Inv => batch_inversion(&mut self.out),
            Op::Ntt => {
                if let Some(domain) = self.domain {
                    domain.fft_in_place(&mut self.out)
                }
            }
            Op::Sum => {}
        }
    }

    fn write(&self, path: &str) -> Result<()> {
        let wrong = |e| format!("{path}: {e}");
        let mut file = std::io::BufWriter::new(std::fs::File::create(path).map_err(wrong)?);
        for limb in self.out.iter().flat_map(|x| x.limbs()) {
            file.write_all(&limb.to_le_bytes()).map_err(wrong)?;
        }
        file.flush().map_err(wrong)
    }
}

struct Points {
    scalars: Vec<BigInt<4>>,
    points: Vec<G1Affine>,
    sum: G1Affine,
}

fn read_words(path: &str) -> Result<Vec<u64>> {
    let file = std::fs::read(path).map_err(|e| format!("{path}: {e}"))?;
    let words = file.chunks_exact(8);
    Ok(words
        .map(|c| u64::from_le_bytes(c.try_into().unwrap()))
        .collect())
}

fn load_points(n: usize, a: &str, b: &str) -> Result<Box<dyn Loaded>> {
    let words = read_words(a)?;
    let mut scalars = new_array(n);
    let numbers = words.chunks_exact(4);
    scalars.extend(numbers.map(|w| BigInt(w.try_into().unwrap())).take(n));
    let coordinates = read_words(b)?;
    let point =
        |w: &[u64]| G1Affine::new_unchecked(Fq::from_limbs(&w[..6]), Fq::from_limbs(&w[6..]));
    let mut points = new_array(n);
    points.extend(coordinates.chunks_exact(12).map(point).cycle().take(n));
    let sum = G1Affine::zero();
    Ok(Box::new(Points {
        scalars,
        points,
        sum,
    }))
}

impl Loaded for Points {
    fn has(&self, op: Op) -> bool {
        matches!(op, Op::Sum)
    }

    fn prepare(&mut self) {}

    fn run(&mut self, _: Op, _: usize) {
        self.sum = G1Projective::msm_bigint(&self.points, &self.scalars).into_affine();
    }

    fn write(&self, path: &str) -> Result<()> {
        let (x, y) = self.sum.xy().unwrap_or_default();
        let limbs = x.limbs().iter().chain(y.limbs());
        let bytes: Vec<u8> = limbs.flat_map(|limb| limb.to_le_bytes()).collect();
        std::fs::write(path, bytes).map_err(|e| format!("{path}: {e}"))
    }
}

#[derive(Default)]
struct Adaptor {
    loaded: Option<Box<dyn Loaded>>,
    op: Option<Op>,
    threads: usize,
    pool: Option<rayon::ThreadPool>,
    times: u64,
}

impl Adaptor {
    fn repeat(&mut self) -> Result<u128> {
        let (loaded, op) = (
            self.loaded.as_mut().ok_or("nothing loaded")?,
            self.op.ok_or("no op")?,
        );
        let (times, threads) = (self.times, self.threads);
        self.pool.as_ref().ok_or("no threads")?.install(|| {
            let start = Instant::now();
            for _ in 0..times {
                loaded.run(op, threads);
            }
            Ok(start.elapsed().as_nanos())
        })
    }

    fn choose(&mut self, op: &str, threads: &str, path: &str) -> Result<String> {
        self.op = match op {
            "add" => Some(Op::Add),
            "mul" => Some(Op::Mul),
            "inv" => Some(Op::Inv),
            "ntt-nn" => Some(Op::Ntt),
            "msm" => Some(Op::Sum),
            _ => return Ok("no arkworks does not have it".into()),
        };
        if let (Some(loaded), Some(op)) = (&self.loaded, self.op) {
            if !loaded.has(op) {
                return Ok("no arkworks does not have it".into());
            }
        }
        let threads = threads.parse().map_err(|_| "bad number of threads")?;
        if self.pool.is_none() || threads != self.threads {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            self.pool = Some(pool.map_err(|e| e.to_string())?);
            self.threads = threads;
        }
        self.times = 1;
        self.loaded.as_mut().ok_or("nothing loaded")?.prepare();
        self.repeat()?;
        self.loaded.as_ref().ok_or("nothing loaded")?.write(path)?;
        Ok("ok".into())
    }

    fn measure(&mut self, ms: &str) -> Result<String> {
        let least = ms.parse::<f64>().map_err(|_| "bad time")? * 1e6;
        loop {
            let ns = self.repeat()?;
            if ns as f64 >= least {
                return Ok(format!("ok {} {ns}", self.times));
            }
            self.times *= 2;
        }
    }

    fn load(&mut self, kind: &str, n: &str, a: &str, b: &str) -> Result<String> {
        let n = n.parse().map_err(|_| "bad number")?;
        self.loaded = None; // frees it first
        self.loaded = Some(match kind {
            "bls12-381-fq" => load::<Fq>(n, a, b)?,
            "bls12-381-fr" => load::<Fr>(n, a, b)?,
            "bls12-381-g1" => load_points(n, a, b)?,
            "bn254-fr" => load::<ark_bn254::Fr>(n, a, b)?,
            _ => return Ok("no the adaptor of arkworks lacks this kind".into()),
        });
        Ok("ok".into())
    }

    fn answer(&mut self, line: &str) -> Result<String> {
        match line.split_whitespace().collect::<Vec<_>>()[..] {
            ["load", kind, n, _, _, _, a, b] => self.load(kind, n, a, b),
            ["op", op, threads, path] => self.choose(op, threads, path),
            ["time", ms] => self.measure(ms),
            _ => Err("no such command".into()),
        }
    }
}

fn main() {
    let mut adaptor = Adaptor::default();
    for line in std::io::stdin().lock().lines() {
        let answer = adaptor.answer(&line.expect("standard input"));
        println!("{}", answer.unwrap_or_else(|e| format!("failed {e}")));
    }
}
