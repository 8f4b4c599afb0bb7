// SPDX-License-Identifier: Apache-2.0
//
// Contexts, jobs and buffers, with numbers that Rust can compute itself: u32 wraps.

mod common;

use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use common::{context, devices, Random};
use gpuexec::{bls12_381, bn254, one, Buffer, Context, Domain, Error, Field, Jobs, LogLevel, Ntt};
use gpuexec::{Curve, DeviceKind, One, PointForm, Points, PointsOptions, Policy, Registered};

fn wrapping(a: &[u32], b: &[u32], f: fn(u32, u32) -> u32) -> Vec<u32> {
    a.iter().zip(b).map(|(a, b)| f(*a, *b)).collect()
}

#[test]
fn any_thread_may_use_them() {
    fn check<T: Send + Sync>() {}
    check::<Context>();
    check::<Buffer<u32>>();
    check::<Registered<u32>>();
    check::<Domain>();
    check::<Points>();
    check::<Jobs<'_>>();
    check::<Error>();
    check::<gpuexec::Report>();
    check::<gpuexec::Ticket<Vec<u32>>>();
    check::<gpuexec::ScopedTicket<'_>>();
}

#[test]
fn devices_fields_curves() {
    let ctx = context();
    let devices = ctx.devices().unwrap();
    let cpu = devices.iter().find(|d| d.name == "cpu").unwrap();
    assert_eq!(cpu.kind, DeviceKind::Cpu);
    assert!(cpu.usable && cpu.automatic && cpu.threads > 0);
    assert_eq!(gpuexec::version(), env!("CARGO_PKG_VERSION"));
    assert_eq!(Field::Bn254Fr.name(), "bn254-fr");
    assert_eq!(Field::Bls12381Fq.element_bytes(), 48);
    assert_eq!(Field::Bls12381Fr.two_adicity(), 32);
    assert_eq!(Field::Bls12381Fr.modulus()[0], 0xffff_ffff_0000_0001);
    assert!(Field::U32.modulus().is_empty());
    assert_eq!(Curve::Bls12381G2.point_bytes(PointForm::Compressed), 96);
    assert_eq!(Curve::Bn254G1.point_bytes(PointForm::Compressed), 0);
}

#[test]
fn types_have_the_size_of_elements() {
    fn element<T: gpuexec::Element>() {
        assert_eq!(size_of::<T>(), T::FIELD.element_bytes(), "{}", T::FIELD.name());
    }
    fn point<P: gpuexec::Affine>() {
        assert_eq!(size_of::<P>(), P::CURVE.point_bytes(PointForm::XyMont), "{}", P::CURVE.name());
    }
    element::<u32>();
    element::<f32>();
    element::<bls12_381::Fq>();
    element::<bls12_381::Fr>();
    element::<bn254::Fq>();
    element::<bn254::Fr>();
    point::<bls12_381::G1Affine>();
    point::<bls12_381::G2Affine>();
    point::<bn254::G1Affine>();
    point::<bn254::G2Affine>();
}

#[test]
fn arithmetic_on_each_device() {
    let ctx = context();
    let mut random = Random(1);
    let (a, b) = (random.u32s(10_000), random.u32s(10_000));
    for device in devices(&ctx) {
        let (mut sum, mut difference, mut product) =
            (vec![0; 10_000], vec![0; 10_000], vec![0; 10_000]);
        let mut jobs = Jobs::new();
        jobs.add(&a, &b, &mut sum).sub(&a, &b, &mut difference).mul(&a, &b, &mut product);
        ctx.run(jobs.device(&device)).unwrap();
        assert_eq!(jobs.reports().len(), 3);
        for report in jobs.reports() {
            assert_eq!((report.device(), report.reason()), (&*device, "asked"));
            assert!(report.result().is_ok() && report.total().as_nanos() > 0);
        }
        assert_eq!(sum, wrapping(&a, &b, u32::wrapping_add));
        assert_eq!(difference, wrapping(&a, &b, u32::wrapping_sub));
        assert_eq!(product, wrapping(&a, &b, u32::wrapping_mul));
    }
}

#[test]
fn a_chain_in_one_call() {
    let ctx = context();
    let a = [1u32, 2, 3];
    let (mut x, mut y) = ([0; 3], [0; 3]);
    let mut jobs = Jobs::new();
    let a = jobs.var(&a);
    let x = jobs.var_mut(&mut x);
    jobs.add(a, a, x); // 2 4 6
    jobs.mul(x, x, x); // 4 16 36, in place
    jobs.sub(x, a, &mut y);
    ctx.run(&mut jobs).unwrap();
    ctx.run(&mut jobs).unwrap(); // once more: x is written first
    assert_eq!(jobs.reports().len(), 3);
    assert_eq!(y, [3, 14, 33]);
}

#[test]
fn one_element_for_all() {
    let ctx = context();
    let (a, mut out) = ([1u32, 2, 3], [0; 3]);
    ctx.run(Jobs::new().mul(&a, one(&7), &mut out)).unwrap();
    assert_eq!(out, [7, 14, 21]);
    let seven = Buffer::from_slice(&ctx, "cpu", &[7u32]).unwrap();
    ctx.run(Jobs::new().sub(&a, One(&seven), &mut out)).unwrap();
    assert_eq!(out, [1u32, 2, 3].map(|x| x.wrapping_sub(7)));
    let e = ctx.run(Jobs::new().mul(&a, One(&a), &mut out)).unwrap_err();
    assert_eq!(e.message(), "job 0: operand b: 3 instead of 1");
}

#[test]
fn buffers_on_each_device() {
    let ctx = context();
    for device in devices(&ctx) {
        let mut random = Random(2);
        let (a, b) = (random.u32s(1000), random.u32s(1000));
        let x = Buffer::from_slice(&ctx, &*device, &a).unwrap();
        let mut y = Buffer::<u32>::new(&ctx, &*device, 1000).unwrap();
        assert_eq!((y.len(), y.device()), (1000, &*device));
        y.write(500, &b[500..]).unwrap();
        y.write(0, &b[..500]).unwrap();
        let mut z = Buffer::<u32>::new(&ctx, &*device, 1000).unwrap();
        let (low, high) = z.split_at_mut(400);
        ctx.run(Jobs::new().add(x.slice(0..400), y.slice(0..400), low).mul(
            x.slice(400..1000),
            y.slice(400..1000),
            high,
        ))
        .unwrap();
        let mut want = wrapping(&a[..400], &b[..400], u32::wrapping_add);
        want.extend(wrapping(&a[400..], &b[400..], u32::wrapping_mul));
        assert_eq!(z.to_vec().unwrap(), want, "{device}");
        let mut part = [0; 3];
        z.read(399, &mut part).unwrap();
        assert_eq!(part, want[399..402]);

        let mut m = Buffer::<u32>::mappable(&ctx, &*device, 1000).unwrap();
        m.map().unwrap().copy_from_slice(&a);
        let sum = m.slice_mut(0..1000);
        let mut jobs = Jobs::new();
        let sum = jobs.var_mut(sum);
        ctx.run(jobs.add(sum, &y, sum)).unwrap();
        drop(jobs);
        assert_eq!(m.map().unwrap()[..], wrapping(&a, &b, u32::wrapping_add));
    }
}

#[test]
fn parts_outside_a_buffer() {
    let ctx = context();
    let mut x = Buffer::from_slice(&ctx, "cpu", &[1u32, 2, 3]).unwrap();
    assert!(matches!(x.write(2, &[0; 2]), Err(Error::Invalid(_))));
    assert!(matches!(x.write(usize::MAX, &[0; 2]), Err(Error::Invalid(_))));
    assert!(matches!(x.read(4, &mut []), Err(Error::Invalid(_))));
    assert!(catch_unwind(AssertUnwindSafe(|| {
        let _ = x.slice(2..4);
    }))
    .is_err());
    #[allow(clippy::reversed_empty_ranges)]
    let reversed = catch_unwind(AssertUnwindSafe(|| {
        let _ = x.slice_mut(2..1);
    }));
    assert!(reversed.is_err());
    assert!(catch_unwind(AssertUnwindSafe(|| {
        let _ = x.split_at_mut(4);
    }))
    .is_err());
    assert_eq!(x.to_vec().unwrap(), [1, 2, 3]);
    assert!(matches!(Buffer::<u32>::new(&ctx, "cpu", usize::MAX / 2), Err(Error::Invalid(_))));
    assert!(Buffer::<u32>::new(&ctx, "no such device", 1).is_err());
}

#[test]
fn a_leaked_mapping() {
    let ctx = context();
    let mut x = Buffer::<u32>::mappable(&ctx, "cpu", 3).unwrap();
    std::mem::forget(x.map().unwrap());
    assert!(matches!(x.map().map(drop), Err(Error::Invalid(_))));
    assert!(matches!(x.to_vec(), Err(Error::Invalid(_))));
    let mut out = [0; 3];
    assert!(matches!(ctx.run(Jobs::new().add(&x, &x, &mut out)), Err(Error::Invalid(_))));
}

#[test]
fn registered_memory() {
    let ctx = context();
    for device in devices(&ctx) {
        let a = Registered::new(&ctx, vec![1u32, 2, 3]).unwrap();
        let mut out = Registered::new(&ctx, vec![0; 3]).unwrap();
        ctx.run(Jobs::new().add(&a[..], &a[..], &mut out[..]).device(&device)).unwrap();
        assert_eq!(out.into_vec(), [2, 4, 6]);
    }
}

#[test]
fn wrong_lengths() {
    let ctx = context();
    let (a3, a4) = ([1u32; 3], [1u32; 4]);
    let mut out = [9; 3];
    let e = ctx.run(Jobs::new().add(&a3, &a4, &mut out)).unwrap_err();
    let Error::Invalid(detail) = &e else { panic!("{e:?}") };
    assert_eq!(detail.job, Some(0));
    assert_eq!(e.to_string(), "job 0: operand b: 4 instead of 3");
    // Nothing runs, not even the jobs before it.
    let mut other = [9; 3];
    let e = ctx.run(Jobs::new().add(&a3, &a3, &mut other).mul(&a4, &a4, &mut out)).unwrap_err();
    assert_eq!(e.detail().job, Some(1));
    assert_eq!((out, other), ([9; 3], [9; 3]));

    let fr = [bn254::Fr::default(); 4];
    let mut results = [bn254::Fr::default(); 2];
    assert!(ctx.run(Jobs::new().sum(&fr, &mut results)).is_err());
    assert!(ctx.run(Jobs::new().dot(&fr, &fr[..3], &mut results[..1])).is_err());
    assert!(ctx.run(Jobs::new().evaluate(&fr, &fr[..2], &mut results[..1])).is_err());
    assert!(ctx.run(Jobs::new().gather(&fr, &[0, 1, 2], &mut results)).is_err());
    assert!(ctx.run(Jobs::new().powers(&fr, &mut results)).is_err());
    let domain = Domain::new::<bn254::Fr>(&ctx, 2).unwrap();
    assert!(ctx.run(Jobs::new().ntt(&domain, Ntt::forward(), &fr, &mut results)).is_err());
    let padded = Ntt::forward().log2_pad(1);
    let mut out = fr;
    assert!(ctx.run(Jobs::new().ntt(&domain, padded, &fr, &mut out)).is_err());
    assert!(ctx.run(Jobs::new().ntt(&domain, padded.log2_pad(70), &fr[..0], &mut out)).is_err());
    ctx.run(Jobs::new().ntt(&domain, padded, &fr[..2], &mut out)).unwrap();
}

#[test]
fn wrong_lengths_of_sums_of_points() {
    let ctx = context();
    let points = gpuexec::multiples(&ctx, None, &[[1u64, 0, 0, 0], [2, 0, 0, 0]]).unwrap();
    let points = Points::new::<bn254::G1Affine>(&ctx, &points).unwrap();
    assert_eq!(points.len(), 2);
    let msm = gpuexec::Msm::default();
    let scalars = [[1u64, 0, 0, 0]; 3];
    let mut out = [bn254::G1Affine::default(); 2];
    for (n, results) in [(1, 1), (3, 1), (2, 2), (2, 0), (0, 1)] {
        let (scalars, out) = (&scalars[..n], &mut out[..results]);
        let e = ctx.run(Jobs::new().msm(&points, &msm, scalars, out));
        assert!(matches!(e, Err(Error::Invalid(_))), "{n} scalars, {results} results");
    }
    let other = gpuexec::Msm { points: Some(1..9), ..msm.clone() };
    let many = [[1u64, 0, 0, 0]; 8];
    assert!(ctx.run(Jobs::new().msm(&points, &other, &many, &mut out[..1])).is_err());
    let fr = [bls12_381::Fr::default(); 2];
    assert!(ctx.run(Jobs::new().msm(&points, &msm, &fr, &mut out[..1])).is_err(), "other field");
    assert!(points.msm::<_, bn254::G2Affine>(&scalars[..2]).is_err(), "other curve");
    assert!(points.read(1..3, PointForm::XyMont).is_err());
    let mut bytes = [0u8; 64];
    ctx.run(Jobs::new().msm(&points, &msm, &scalars[..2], &mut bytes)).unwrap();
    let none = PointsOptions::default();
    let e = Points::from_bytes(&ctx, Curve::Bn254G1, PointForm::XyMont, &bytes[1..], none);
    assert!(matches!(e, Err(Error::Invalid(_))));
    let again = Points::from_bytes(&ctx, Curve::Bn254G1, PointForm::XyMont, &bytes, none).unwrap();
    assert_eq!(again.read(0..1, PointForm::XyMont).unwrap(), bytes);
}

#[test]
fn vars_of_others() {
    let ctx = context();
    let a = [1u32; 3];
    let (mut x, mut y) = ([0; 3], [0; 3]);
    let mut others = Jobs::new();
    let of_others = others.var_mut(&mut x);
    let mut jobs = Jobs::new();
    let mine = jobs.var(&a);
    assert!(matches!(ctx.run(jobs.add(mine, mine, of_others)), Err(Error::Invalid(_))));
    let mut jobs = Jobs::new();
    assert!(matches!(ctx.run(jobs.add(of_others, &a, &mut y)), Err(Error::Invalid(_))));
    let mut jobs = Jobs::new();
    let mine = jobs.var(&a);
    let e = ctx.run(jobs.add(mine, mine, mine)).unwrap_err();
    assert!(e.message().contains("may only be read"), "{e}");
    assert_eq!(a, [1; 3]);
}

#[test]
fn elements_above_the_modulus() {
    let ctx = context();
    let a = [bls12_381::Fr([1, 0, 0, 0]); 100];
    let mut b = a;
    b[37] = bls12_381::Fr([u64::MAX; 4]);
    let mut out = [bls12_381::Fr::default(); 100];
    let (mut first, mut last) = (out, out);
    let mut jobs = Jobs::new();
    jobs.add(&a, &a, &mut first).mul(&a, &b, &mut out).add(&a, &a, &mut last);
    let e = ctx.run(&mut jobs).unwrap_err();
    let Error::NotCanonical(detail) = &e else { panic!("{e:?}") };
    assert_eq!((detail.job, detail.operand, detail.index), (Some(1), Some('b'), Some(37)));
    assert_eq!(e.index(), Some(37));
    assert!(!e.message().is_empty());
    assert!(jobs.reports()[0].result().is_ok());
    assert!(matches!(jobs.reports()[2].result(), Err(Error::NotRun(_))));
    ctx.run(Jobs::new().mul(&a, &b, &mut out).unchecked()).unwrap();

    let mut out = [a[0]; 2];
    let e = ctx.run(Jobs::new().gather(&a, &[3, 100], &mut out)).unwrap_err();
    let Error::Invalid(detail) = &e else { panic!("{e:?}") };
    assert_eq!((detail.job, detail.operand, detail.index), (Some(0), Some('b'), Some(1)));
}

#[test]
fn bad_points() {
    let ctx = context();
    let mut points: Vec<bls12_381::G1Affine> =
        gpuexec::multiples(&ctx, None, &[[1u64, 0, 0, 0], [2, 0, 0, 0], [3, 0, 0, 0]]).unwrap();
    points[2].y = points[1].y;
    let e = Points::new(&ctx, &points).unwrap_err();
    assert!(matches!(&e, Error::Invalid(d) if d.index == Some(2)), "{e:?}");
    points[1].x.0[5] = u64::MAX;
    let e = Points::new(&ctx, &points).unwrap_err();
    assert!(matches!(&e, Error::NotCanonical(d) if d.index == Some(1)), "{e:?}");
}

#[test]
fn missing_devices() {
    for names in ["nosuch", "cpu,nosuch"] {
        let e = Context::builder().device(names).open().err().unwrap();
        assert!(matches!(e, Error::NoDevice(_)), "{e:?}");
        assert!(e.to_string().contains("'nosuch' here, only cpu, ref"), "{e}");
    }
}

#[test]
fn other_errors() {
    let ctx = context();
    let (a, mut out) = ([1u32; 3], [0; 3]);
    let e = ctx.run(Jobs::new().add(&a, &a, &mut out).device("nothing:7"));
    assert!(matches!(e, Err(Error::NoDevice(_))), "{e:?}");
    let e = ctx.run(Jobs::new().add(&a, &a, &mut out).device("c\0pu"));
    assert!(matches!(e, Err(Error::Invalid(_))), "{e:?}");
    let e = ctx.run(Jobs::new().inv(&a, &mut out));
    assert!(matches!(e, Err(Error::Unsupported(_))), "{e:?}");
    assert!(Context::builder().set("no-such-setting", 1).open().is_err());
    assert!(Context::builder().set("threads", "many").open().is_err());
    assert!(Domain::new::<bls12_381::Fq>(&ctx, 3).is_err());
    let domain = Domain::new::<bls12_381::Fr>(&ctx, 3).unwrap();
    assert!(domain.root::<bn254::Fr>(3).is_err());
    assert!(domain.transform(Ntt::forward(), &mut [bn254::Fr::default(); 8]).is_err());
}

#[test]
fn a_context_lives_as_long_as_what_it_made() {
    let ctx = context();
    let x = Buffer::from_slice(&ctx, "cpu", &[1u32, 2]).unwrap();
    let domain = Domain::new::<bn254::Fr>(&ctx, 1).unwrap();
    drop(ctx);
    assert_eq!(x.to_vec().unwrap(), [1, 2]);
    domain.transform(Ntt::forward(), &mut [bn254::Fr::default(); 2]).unwrap();
}

#[test]
fn objects_of_another_context() {
    let (ctx, other) = (context(), context());
    let x = Buffer::from_slice(&other, "cpu", &[1u32, 2]).unwrap();
    let mut out = [0; 2];
    assert!(matches!(ctx.run(Jobs::new().add(&x, &x, &mut out)), Err(Error::Invalid(_))));
    let domain = Domain::new::<bn254::Fr>(&other, 1).unwrap();
    let mut jobs = Jobs::new();
    let mut data = [bn254::Fr::default(); 2];
    let v = jobs.var_mut(&mut data);
    let e = ctx.run(jobs.ntt(&domain, Ntt::forward(), v, v));
    assert!(matches!(e, Err(Error::Invalid(_))));
}

#[test]
fn many_threads() {
    let ctx = context();
    thread::scope(|s| {
        for t in 0..8 {
            let ctx = &ctx;
            s.spawn(move || {
                let mut random = Random(t + 1);
                for n in [1, 7, 1000, 20_000] {
                    let (a, b) = (random.u32s(n), random.u32s(n));
                    let mut out = vec![0; n];
                    ctx.run(Jobs::new().mul(&a, &b, &mut out).device("cpu")).unwrap();
                    assert_eq!(out, wrapping(&a, &b, u32::wrapping_mul));
                }
            });
        }
    });
    assert_eq!(ctx.counter("jobs_done").unwrap(), 32);
}

#[test]
fn what_it_says_about_itself() {
    let ctx = context();
    let (a, mut out) = (vec![1u32; 1000], vec![0; 1000]);
    let mut jobs = Jobs::new();
    jobs.add(&a, &a, &mut out).policy(Policy::Cpu);
    assert_eq!(ctx.estimate(&mut jobs).unwrap().device, "cpu");
    ctx.run(&mut jobs).unwrap();
    let report = jobs.reports()[0];
    assert_eq!((report.device(), report.path()), ("cpu", "direct"));
    assert!(format!("{report:?}").contains("cpu"));
    assert_eq!(ctx.counter("elements").unwrap(), 1000);
    assert!(ctx.prometheus().unwrap().contains("gpuexec_jobs_total"));
}

/// A log function that notes messages.
fn logged(f: impl Fn(&str) + Send + Sync + 'static) -> Context {
    let log = move |level, message: &str| {
        assert!(level >= LogLevel::Error);
        f(message);
    };
    Context::builder().ignore_environment().log(log).open().unwrap()
}

/// Something that is logged.
fn failure(ctx: &Context) -> Error {
    ctx.run(Jobs::new().inv(&[1u32], &mut [0])).unwrap_err()
}

#[test]
fn log_messages() {
    let messages = Arc::new(Mutex::new(Vec::new()));
    let to = messages.clone();
    let ctx = logged(move |m| to.lock().unwrap().push(m.to_string()));
    let e = failure(&ctx);
    drop(ctx);
    let messages = Arc::into_inner(messages).expect("the function is dropped with the context");
    let messages = messages.into_inner().unwrap();
    assert!(messages.iter().any(|m| m.contains(e.message())), "{messages:?}");
}

#[test]
fn a_log_function_that_panics() {
    /// Even what it throws panics when it is dropped.
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("in drop");
        }
    }
    let calls = Arc::new(AtomicUsize::new(0));
    let count = calls.clone();
    let ctx = logged(move |_| {
        count.fetch_add(1, Ordering::Relaxed);
        std::panic::resume_unwind(Box::new(Bomb));
    });
    assert!(matches!(failure(&ctx), Error::Unsupported(_)));
    assert!(matches!(failure(&ctx), Error::Unsupported(_)));
    assert!(calls.load(Ordering::Relaxed) >= 2);
    let mut out = [0];
    ctx.run(Jobs::new().add(&[1u32], &[2], &mut out)).unwrap();
    assert_eq!(out, [3]);
}

#[test]
fn a_log_function_that_calls_the_library() {
    let own: Arc<Mutex<Option<Context>>> = Arc::default();
    let result = Arc::new(Mutex::new(None));
    let (mine, to) = (own.clone(), result.clone());
    let ctx = logged(move |_| {
        // Takes the context: what was the last one is dropped in here, too.
        let Some(ctx) = mine.lock().unwrap().take() else { return };
        *to.lock().unwrap() = Some(ctx.run(Jobs::new().add(&[1u32], &[2], &mut [0])));
    });
    *own.lock().unwrap() = Some(ctx.clone());
    failure(&ctx);
    let result = result.lock().unwrap().take();
    assert!(matches!(result, Some(Err(Error::Invalid(_)))), "{result:?}");
    ctx.run(Jobs::new().add(&[1u32], &[2], &mut [0])).unwrap();
}
