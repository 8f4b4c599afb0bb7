// SPDX-License-Identifier: Apache-2.0
//
// arkworks as the oracle: fields, transforms, sums of points.

mod common;

use ark_ec::models::short_weierstrass::{Affine, Projective};
use ark_ec::{AffineRepr, CurveGroup, PrimeGroup, VariableBaseMSM};
use ark_ff::{BigInt, Field, MontConfig, PrimeField, Zero};
use ark_poly::univariate::DensePolynomial;
use ark_poly::{DenseUVPolynomial, EvaluationDomain, Polynomial};
use ark_serialize::{CanonicalDeserialize, CanonicalSerialize};

use common::{context, devices, Random};
use gpuexec::ark::{ArkCurve, ArkField, Bases, Radix2EvaluationDomain};
use gpuexec::{one, Check, Domain, Element, Error, Jobs, Msm, Ntt, PointForm, PointsOptions};

fn element<F: PrimeField>(rng: &mut Random) -> F {
    let bytes: Vec<u8> = (0..8).flat_map(|_| rng.u64().to_le_bytes()).collect();
    F::from_le_bytes_mod_order(&bytes)
}

fn random<F: PrimeField>(rng: &mut Random, n: usize) -> Vec<F> {
    (0..n).map(|_| element(rng)).collect()
}

/// Modulus, Montgomery form, and every operation on vectors.
fn field<F: PrimeField + Element + Default>(r: &[u64]) {
    let rng = &mut Random(1);
    let ctx = context();
    assert_eq!(F::MODULUS.as_ref(), F::FIELD.modulus());
    // One is R: read as limbs, without arkworks' own conversion.
    let limbs: &[u64] =
        unsafe { std::slice::from_raw_parts((&F::ONE as *const F).cast(), r.len()) };
    assert_eq!(limbs, r);

    let n = 300;
    let (mut a, b, c) = (random::<F>(rng, n), random::<F>(rng, n), random::<F>(rng, n));
    a[0] = F::zero();
    a[1] = F::ONE;
    a[2] = -F::ONE;
    let x = element::<F>(rng);
    let map = |f: &dyn Fn(usize) -> F| (0..n).map(f).collect::<Vec<_>>();
    let inverse = |e: &F| e.inverse().unwrap_or(F::zero());
    for device in devices(&ctx) {
        let mut out = vec![vec![F::zero(); n]; 11];
        let [add, sub, mul, neg, sqr, inv, div, mul_add, scaled, there, back] = &mut out[..] else {
            unreachable!()
        };
        let mut jobs = Jobs::new();
        let there = jobs.var_mut(there);
        jobs.add(&a, &b, add).sub(&a, &b, sub).mul(&a, &b, mul).neg(&a, neg).sqr(&a, sqr);
        jobs.inv(&a, inv).div(&b, &a, div).mul_add(&a, &b, &c, mul_add).mul(&a, one(&x), scaled);
        jobs.from_mont(&a, there).to_mont(there, back).device(&device);
        ctx.run(&mut jobs).unwrap();
        let want = [
            map(&|i| a[i] + b[i]),
            map(&|i| a[i] - b[i]),
            map(&|i| a[i] * b[i]),
            map(&|i| -a[i]),
            map(&|i| a[i] * a[i]),
            map(&|i| inverse(&a[i])),
            map(&|i| b[i] * inverse(&a[i])),
            map(&|i| a[i] * b[i] + c[i]),
            map(&|i| a[i] * x),
        ];
        assert_eq!(out[..9], want, "{device}");
        assert_eq!(out[10], a);
    }

    let mut out = [F::zero(); 3];
    let [sum, dot, value] = &mut out;
    let (sum, dot, value) =
        (std::slice::from_mut(sum), std::slice::from_mut(dot), std::slice::from_mut(value));
    let (mut sums, mut products, mut powers) = (a.clone(), a.clone(), a.clone());
    let (mut cosets, mut quotient, mut rotated) = (a.clone(), a.clone(), a.clone());
    let (mut woven, mut reversed) = (a.clone(), a[..256].to_vec());
    let (mut picked, mut unwoven) = (a[..4].to_vec(), a.clone());
    let y = element::<F>(rng);
    let mut jobs = Jobs::new();
    let w = jobs.var_mut(&mut woven);
    jobs.sum(&a, sum).dot(&a, &b, dot).evaluate(&a, one(&x), value);
    jobs.prefix_sum(&a, &mut sums).prefix_product(&b, &mut products).powers(one(&x), &mut powers);
    jobs.cosets(one(&x), one(&y), 100, &mut cosets).divide_linear(&a, one(&x), &mut quotient);
    jobs.rotate(&a, 7, &mut rotated).bit_reverse(&a[..256], &mut reversed);
    jobs.gather(&a, &[7, 299, 0, 7], &mut picked);
    jobs.interleave(&a, 3, w).deinterleave(w, 3, &mut unwoven);
    ctx.run(&mut jobs).unwrap();
    let polynomial = DensePolynomial::from_coefficients_slice(&a);
    let want = [a.iter().sum(), map(&|i| a[i] * b[i]).iter().sum(), polynomial.evaluate(&x)];
    assert_eq!(out, want);
    assert_eq!(sums, map(&|i| a[..=i].iter().sum()));
    assert_eq!(products, map(&|i| b[..=i].iter().product()));
    assert_eq!(powers, map(&|i| x.pow([i as u64])));
    assert_eq!(cosets, map(&|i| x.pow([i as u64 % 100]) * y.pow([i as u64 / 100])));
    let linear = DensePolynomial::from_coefficients_slice(&[-x, F::ONE]);
    let mut want = (&polynomial / &linear).coeffs;
    want.resize(n, F::zero());
    assert_eq!(quotient, want);
    assert_eq!(rotated, map(&|i| a[(i + 7) % n]));
    assert_eq!(reversed, (0..=255u8).map(|i| a[i.reverse_bits() as usize]).collect::<Vec<_>>());
    assert_eq!(picked, [a[7], a[299], a[0], a[7]]);
    assert_eq!(woven, map(&|i| a[i % 3 * 100 + i / 3]));
    assert_eq!(unwoven, a);
}

#[test]
fn fields() {
    field::<ark_bls12_381::Fq>(&<ark_bls12_381::FqConfig as MontConfig<6>>::R.0);
    field::<ark_bls12_381::Fr>(&<ark_bls12_381::FrConfig as MontConfig<4>>::R.0);
    field::<ark_bn254::Fq>(&<ark_bn254::FqConfig as MontConfig<4>>::R.0);
    field::<ark_bn254::Fr>(&<ark_bn254::FrConfig as MontConfig<4>>::R.0);
}

/// A domain of ours beside arkworks'.
fn transforms<F: ArkField<BigInt = BigInt<4>>>() {
    let rng = &mut Random(2);
    let _ = gpuexec::ark::set_context(context());
    let jobs_done = || gpuexec::ark::context().unwrap().counter("jobs_done").unwrap();
    for log2 in [0, 1, 2, 5, 10, 12] {
        let n = 1 << log2;
        let theirs = ark_poly::Radix2EvaluationDomain::<F>::new(n).unwrap();
        let ours = Radix2EvaluationDomain::<F>::new(n).unwrap();
        let offset = element::<F>(rng);
        let cosets = (theirs.get_coset(offset).unwrap(), ours.get_coset(offset).unwrap());
        for (theirs, ours) in [(theirs, ours), cosets] {
            // Fewer than there is room for, all, and too many, which are dropped.
            for len in [0, 1, n / 4, n / 2 + 1, n, n + 3] {
                let a = random::<F>(rng, len);
                let values = theirs.fft(&a);
                let before = jobs_done();
                assert_eq!(ours.fft(&a), values, "2^{log2}, {len}");
                assert_eq!(ours.ifft(&a), theirs.ifft(&a), "2^{log2}, {len}");
                assert!(jobs_done() >= before + 2, "left to arkworks");
                let mut b = ours.ifft(&values);
                b.truncate(len);
                assert_eq!(b, a[..len.min(n)]);
            }
            assert!(ours.elements().eq(theirs.elements()));
        }
    }
}

#[test]
fn transforms_in_place_of_arkworks() {
    transforms::<ark_bls12_381::Fr>();
    transforms::<ark_bn254::Fr>();
}

/// The library's default root and shift, batches, orders and padding, on each device.
fn jobs<F: ArkField<BigInt = BigInt<4>>>() {
    let rng = &mut Random(3);
    let ctx = context();
    let domain = Domain::new::<F>(&ctx, 10).unwrap();
    let theirs = ark_poly::Radix2EvaluationDomain::<F>::new(256).unwrap();
    assert_eq!(domain.root::<F>(8).unwrap(), theirs.group_gen);
    let coset = theirs.get_coset(F::GENERATOR).unwrap();
    let a = random::<F>(rng, 3 * 256);
    let rows = |f: &dyn Fn(&[F]) -> Vec<F>| a.chunks(256).flat_map(f).collect::<Vec<_>>();
    let reversed = |v: Vec<F>| (0..=255u8).map(|i| v[i.reverse_bits() as usize]).collect();
    let ntt = Ntt::forward().log2_n(8);
    for device in devices(&ctx) {
        let mut out = vec![vec![F::zero(); 3 * 256]; 5];
        let [forward, inverse, on_coset, turned, padded] = &mut out[..] else { unreachable!() };
        let mut jobs = Jobs::new();
        jobs.ntt(&domain, ntt, &a, forward);
        jobs.ntt(&domain, Ntt::inverse().log2_n(8), &a, inverse);
        jobs.ntt(&domain, ntt.coset(), &a, on_coset);
        jobs.ntt(&domain, ntt.reversed_out(), &a, turned);
        jobs.ntt(&domain, ntt.log2_pad(2), &a[..192], padded);
        ctx.run(jobs.device(&device)).unwrap();
        assert_eq!(out[0], rows(&|a| theirs.fft(a)), "{device}");
        assert_eq!(out[1], rows(&|a| theirs.ifft(a)), "{device}");
        assert_eq!(out[2], rows(&|a| coset.fft(a)), "{device}");
        assert_eq!(out[3], rows(&|a| reversed(theirs.fft(a))), "{device}");
        let few: Vec<F> = a[..192].chunks(64).flat_map(|a| theirs.fft(a)).collect();
        assert_eq!(out[4], few, "{device}");
    }
    // As a ticket that owns the vector.
    let ticket =
        ctx.submit((a[..256].to_vec(), Domain::new::<F>(&ctx, 8).unwrap()), |(a, d), jobs| {
            let a = jobs.var_mut(a);
            jobs.ntt(d, Ntt::forward(), a, a);
        });
    let (result, (values, _)) = ticket.wait();
    result.unwrap();
    assert_eq!(values, theirs.fft(&a[..256]));
}

#[test]
fn transforms_as_jobs() {
    jobs::<ark_bls12_381::Fr>();
    jobs::<ark_bn254::Fr>();
}

#[test]
fn code_that_is_generic_over_domains() {
    fn product<D: EvaluationDomain<ark_bn254::Fr>>(
        a: &DensePolynomial<ark_bn254::Fr>,
        b: &DensePolynomial<ark_bn254::Fr>,
    ) -> Vec<ark_bn254::Fr> {
        let domain = D::new(a.degree() + b.degree() + 1).unwrap();
        let a = a.evaluate_over_domain_by_ref(domain);
        let b = b.evaluate_over_domain_by_ref(domain);
        (&a * &b).interpolate().coeffs
    }
    let rng = &mut Random(4);
    let (a, b) = (random(rng, 101), random(rng, 51));
    let a = DensePolynomial::from_coefficients_vec(a);
    let b = DensePolynomial::from_coefficients_vec(b);
    assert_eq!(product::<Radix2EvaluationDomain<_>>(&a, &b), a.naive_mul(&b).coeffs);

    // Points, which are left to arkworks.
    type G = ark_bn254::G1Projective;
    let scalars: Vec<ark_bn254::Fr> = random(rng, 8);
    let points: Vec<G> = scalars.iter().map(|s| G::generator() * s).collect();
    let ours = Radix2EvaluationDomain::<ark_bn254::Fr>::new(8).unwrap();
    assert_eq!(ours.fft(&points), ours.0.fft(&points));

    let mut bytes = Vec::new();
    ours.serialize_compressed(&mut bytes).unwrap();
    let again = Radix2EvaluationDomain::deserialize_compressed(&bytes[..]).unwrap();
    assert_eq!(ours, again);
}

fn sums<C: ArkCurve>(devices: &[String])
where
    C::ScalarField: PrimeField<BigInt = BigInt<4>>,
{
    let rng = &mut Random(5);
    let ctx = context();
    let _ = gpuexec::ark::set_context(context());
    assert!(Bases::<C>::DIRECT, "points of arkworks are copied");
    let n = 600;
    // Multiples of one point: cheap to make, and not special.
    let mut next = Projective::<C>::generator() * element::<C::ScalarField>(rng);
    let step = Projective::<C>::generator();
    let projective = std::iter::repeat_with(|| {
        next += step;
        next
    });
    let projective: Vec<Projective<C>> = projective.take(n).collect();
    let mut bases = Projective::normalize_batch(&projective);
    let mut scalars: Vec<C::ScalarField> = random(rng, n);
    bases[3] = Affine::identity();
    bases[5] = bases[4];
    scalars[5] = scalars[4];
    bases[7] = -bases[6];
    scalars[7] = scalars[6];
    scalars[8] = C::ScalarField::zero();
    scalars[9] = -C::ScalarField::ONE;

    for n in [0, 1, 2, 10, 33, n] {
        let want = Projective::<C>::msm(&bases[..n], &scalars[..n]).unwrap();
        assert_eq!(gpuexec::ark::msm(&bases[..n], &scalars[..n]).unwrap(), want, "{n}");
        let bases = Bases::new(&ctx, &bases[..n]).unwrap();
        assert_eq!(bases.msm(&scalars[..n]).unwrap(), want, "{n}");
        let integers: Vec<_> = scalars[..n].iter().map(|s| s.into_bigint()).collect();
        assert_eq!(bases.msm_bigint(&integers).unwrap(), want, "{n}");
    }
    let e = gpuexec::ark::msm(&bases[..2], &scalars[..3]);
    assert!(matches!(e, Err(Error::Invalid(_))));
    // Infinity as the result.
    let (p, s) = ([bases[6], bases[7]], [scalars[6], scalars[7]]);
    assert!(gpuexec::ark::msm(&p, &s).unwrap().is_zero());

    // A batch on some of the points, in a serialised form.
    let points = Bases::new(&ctx, &bases).unwrap();
    let size = C::CURVE.point_bytes(PointForm::XyPlain);
    let msm = Msm { points: Some(10..110), form: PointForm::XyPlain, ..Msm::default() };
    for device in devices {
        let mut out = vec![0u8; 2 * size];
        let mut jobs = Jobs::new();
        jobs.msm(points.points(), &msm, &scalars[..200], &mut out).device(device);
        ctx.run(&mut jobs).unwrap();
        for (i, out) in out.chunks(size).enumerate() {
            let scalars = &scalars[i * 100..][..100];
            let want = Projective::<C>::msm(&bases[10..110], scalars).unwrap().into_affine();
            let mut bytes = Vec::new();
            want.x().unwrap().serialize_uncompressed(&mut bytes).unwrap();
            want.y().unwrap().serialize_uncompressed(&mut bytes).unwrap();
            assert_eq!(out, bytes, "{device} {i}");
        }
    }

    let check = PointsOptions { check: Check::Curve, ..Default::default() };
    bases[11].y += C::BaseField::ONE;
    let e = Bases::with(&ctx, &bases, check).unwrap_err();
    assert_eq!(e.index(), Some(11));
}

/// One curve on a GPU too: the library's tests do all of them, and a driver that computes on the CPU
/// takes half a minute to compile the kernels of another.
#[test]
fn sums_bls12_381() {
    sums::<ark_bls12_381::g1::Config>(&devices(&context()));
    sums::<ark_bls12_381::g2::Config>(&["cpu".to_string()]);
}

#[test]
fn sums_bn254() {
    let cpu = ["cpu".to_string()];
    sums::<ark_bn254::g1::Config>(&cpu);
    sums::<ark_bn254::g2::Config>(&cpu);
}
