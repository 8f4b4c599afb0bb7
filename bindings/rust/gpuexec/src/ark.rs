// SPDX-License-Identifier: Apache-2.0

//! arkworks: its elements and points, and what replaces its transforms and sums.
//!
//! `Fq` and `Fr` of `ark-bls12-381` and `ark-bn254` are [`Element`]s: slices and vectors of them
//! are operands of [`Jobs`] as they are. Affine points are read without a copy of ours if `Affine` has
//! the layout x, y, which depends on the compiler; [`Bases::DIRECT`] says whether it has.
//!
//! | of arkworks | here |
//! |---|---|
//! | `Radix2EvaluationDomain<Fr>` | [`Radix2EvaluationDomain<Fr>`] |
//! | `G1Projective::msm(&bases, &scalars)` | [`msm`]`(&bases, &scalars)` |
//! | the same bases again and again | [`Bases`] |

use std::fmt;
use std::marker::PhantomData;
use std::mem::{offset_of, size_of};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use ark_ec::models::short_weierstrass::{Affine, Projective, SWCurveConfig};
use ark_ec::models::CurveConfig;
use ark_ec::AffineRepr;
use ark_ff::{BigInt, FftField, Field as _, PrimeField, Zero};
use ark_poly::domain::DomainCoeff;
use ark_poly::EvaluationDomain;
use ark_serialize::{CanonicalDeserialize, CanonicalSerialize};

use crate::element::{Curve, Element, Field, Pod, PointForm, Scalar};
use crate::jobs::{Jobs, Msm};
use crate::points::{Check, Points, PointsOptions};
use crate::{Context, Domain, Error, Ntt, Result};

// ---- the context that functions without one use ----

static CONTEXT: OnceLock<Context> = OnceLock::new();

/// The context of [`Radix2EvaluationDomain`] and [`msm`]: that of [`set_context`], or one with
/// default settings.
pub fn context() -> Result<&'static Context> {
    match CONTEXT.get() {
        Some(ctx) => Ok(ctx),
        None => {
            let ctx = Context::new()?;
            Ok(CONTEXT.get_or_init(|| ctx))
        }
    }
}

/// Sets that context. Returns it as the error if there is one already.
pub fn set_context(ctx: Context) -> std::result::Result<(), Context> {
    CONTEXT.set(ctx)
}

// ---- elements ----

/// `Fp` has limbs and nothing else.
macro_rules! element {
    ($type:ty, $limbs:literal, $field:ident) => {
        const _: () = assert!(
            size_of::<$type>() == $limbs * 8
                && offset_of!($type, 0) == 0
                && size_of::<BigInt<$limbs>>() == $limbs * 8
                && offset_of!(BigInt<$limbs>, 0) == 0
        );
        // SAFETY: asserted above; any limbs are a value, though not all are canonical. The tests
        // compare the fields and their Montgomery form.
        unsafe impl Pod for $type {}
        unsafe impl Element for $type {
            const FIELD: Field = Field::$field;
        }
    };
}

element!(ark_bls12_381::Fq, 6, Bls12381Fq);
element!(ark_bls12_381::Fr, 4, Bls12381Fr);
element!(ark_bn254::Fq, 4, Bn254Fq);
element!(ark_bn254::Fr, 4, Bn254Fr);

// SAFETY: elements of 32 bytes, and, asserted above, integers of 32 bytes.
unsafe impl Scalar for ark_bls12_381::Fr {
    const FIELD: Option<Field> = Some(Field::Bls12381Fr);
}
unsafe impl Scalar for ark_bn254::Fr {
    const FIELD: Option<Field> = Some(Field::Bn254Fr);
}
unsafe impl Pod for BigInt<4> {}
unsafe impl Scalar for BigInt<4> {
    const FIELD: Option<Field> = None;
}

// ---- points ----

/// The curves of arkworks that the library has.
pub trait ArkCurve:
    SWCurveConfig<ScalarField: Scalar, BaseField: ark_ff::Field<BasePrimeField: Element>>
{
    const CURVE: Curve;
    /// The base field has its coefficients in order, and nothing else.
    #[doc(hidden)]
    const FIELD_DIRECT: bool;
}

macro_rules! curve {
    ($config:ty, $curve:ident, $direct:expr) => {
        impl ArkCurve for $config {
            const CURVE: Curve = Curve::$curve;
            const FIELD_DIRECT: bool = $direct;
        }
    };
}

const fn quadratic_direct(size: usize, c0: usize, c1: usize, base: usize) -> bool {
    c0 == 0 && c1 == base && size == 2 * base
}

macro_rules! quadratic {
    ($type:ty, $base:ty) => {
        quadratic_direct(
            size_of::<$type>(),
            offset_of!($type, c0),
            offset_of!($type, c1),
            size_of::<$base>(),
        )
    };
}

curve!(ark_bls12_381::g1::Config, Bls12381G1, true);
curve!(ark_bls12_381::g2::Config, Bls12381G2, quadratic!(ark_bls12_381::Fq2, ark_bls12_381::Fq));
curve!(ark_bn254::g1::Config, Bn254G1, true);
curve!(ark_bn254::g2::Config, Bn254G2, quadratic!(ark_bn254::Fq2, ark_bn254::Fq));

type Coordinate<C> = <<C as CurveConfig>::BaseField as ark_ff::Field>::BasePrimeField;

/// Points for sums that use them repeatedly.
pub struct Bases<C: ArkCurve> {
    points: Points,
    curve: PhantomData<C>,
}

impl<C: ArkCurve> Bases<C> {
    /// Whether `Affine` is x, y and nothing else: then slices of it are read in place, otherwise
    /// they are copied first. A flag for infinity has no room there.
    pub const DIRECT: bool = C::FIELD_DIRECT
        && offset_of!(Affine<C>, x) == 0
        && offset_of!(Affine<C>, y) == size_of::<C::BaseField>()
        && size_of::<Affine<C>>() == 2 * size_of::<C::BaseField>();

    /// Reads the points. They are not checked: an `Affine` is on the curve, unless it was made by
    /// `new_unchecked`.
    pub fn new(ctx: &Context, bases: &[Affine<C>]) -> Result<Bases<C>> {
        Bases::with(ctx, bases, PointsOptions { check: Check::None, ..Default::default() })
    }

    pub fn with(ctx: &Context, bases: &[Affine<C>], options: PointsOptions) -> Result<Bases<C>> {
        if Self::DIRECT {
            // SAFETY: x and y in Montgomery form, as the constant says.
            unsafe { Self::create(ctx, bases.as_ptr().cast(), bases.len(), options) }
        } else {
            Bases::copied(ctx, bases, options)
        }
    }

    /// Coordinate by coordinate, for any layout.
    fn copied(ctx: &Context, bases: &[Affine<C>], options: PointsOptions) -> Result<Bases<C>> {
        let coordinates: Vec<Coordinate<C>> = bases
            .iter()
            .map(|p| if p.is_zero() { Affine::identity() } else { *p })
            .flat_map(|p| [p.x, p.y])
            .flat_map(|e| e.to_base_prime_field_elements().collect::<Vec<_>>())
            .collect();
        // SAFETY: as many elements as the coordinates of the points.
        unsafe { Self::create(ctx, coordinates.as_ptr().cast(), bases.len(), options) }
    }

    /// # Safety
    /// There are `count` points x, y.
    unsafe fn create(
        ctx: &Context,
        points: *const u8,
        count: usize,
        options: PointsOptions,
    ) -> Result<Bases<C>> {
        let points = Points::create(ctx, C::CURVE, PointForm::XyMont, points, count, options)?;
        Ok(Bases { points, curve: PhantomData })
    }

    /// For jobs: [`Jobs::msm`].
    pub fn points(&self) -> &Points {
        &self.points
    }

    /// The sum of scalar i times base i, as `VariableBaseMSM::msm`.
    pub fn msm(&self, scalars: &[C::ScalarField]) -> Result<Projective<C>> {
        self.sum(scalars)
    }

    /// The same with integers, as `VariableBaseMSM::msm_bigint`.
    pub fn msm_bigint(&self, scalars: &[BigInt<4>]) -> Result<Projective<C>> {
        self.sum(scalars)
    }

    fn sum<S: Scalar>(&self, scalars: &[S]) -> Result<Projective<C>> {
        let degree = C::BaseField::extension_degree() as usize;
        let mut out = [Coordinate::<C>::zero(); 4];
        let out = &mut out[..2 * degree];
        let ctx = self.points.context();
        ctx.run(Jobs::new().msm(&self.points, &Msm::default(), scalars, &mut *out))?;
        Ok(affine::<C>(out).into())
    }
}

/// The point with these coordinates; zeros are infinity.
fn affine<C: ArkCurve>(coordinates: &[Coordinate<C>]) -> Affine<C> {
    if coordinates.iter().all(Zero::is_zero) {
        return Affine::identity();
    }
    let (x, y) = coordinates.split_at(coordinates.len() / 2);
    let element = |c: &[Coordinate<C>]| {
        C::BaseField::from_base_prime_field_elems(c.iter().copied()).expect("its own degree")
    };
    Affine::new_unchecked(element(x), element(y))
}

impl<C: ArkCurve> fmt::Debug for Bases<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.points.fmt(f)
    }
}

/// The sum of scalar i times base i, as `VariableBaseMSM::msm`, in the [`context`].
pub fn msm<C: ArkCurve>(bases: &[Affine<C>], scalars: &[C::ScalarField]) -> Result<Projective<C>> {
    if bases.len() != scalars.len() {
        return Err(Error::invalid(format!("{} scalars for {} bases", scalars.len(), bases.len())));
    }
    Bases::<C>::new(context()?, bases)?.msm(scalars)
}

// ---- transforms ----

/// A field whose transforms the library computes.
pub trait ArkField: FftField + PrimeField + Element {}

impl ArkField for ark_bls12_381::Fr {}
impl ArkField for ark_bn254::Fr {}

/// arkworks' domain, whose transforms of field elements gpuexec computes, in the [`context`].
///
/// Transforms of anything else, such as points, and those that gpuexec refuses, are left to
/// arkworks.
///
/// # Panics
/// If the devices fail during a transform, which is in place: its elements are lost then. Jobs have
/// an error instead.
#[derive(Copy, Clone, PartialEq, Eq, Hash, CanonicalSerialize, CanonicalDeserialize)]
pub struct Radix2EvaluationDomain<F: ArkField>(pub ark_poly::Radix2EvaluationDomain<F>);

impl<F: ArkField> fmt::Debug for Radix2EvaluationDomain<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A domain of ours for each in use: root, shift and field say which.
struct Cached {
    field: Field,
    log2_size: u32,
    root: BigInt<4>,
    shift: BigInt<4>,
    domain: Arc<Domain>,
}

/// Cosets may have any shift, so this must not grow without end.
const CACHED: usize = 64;
static CACHE: Mutex<Vec<Cached>> = Mutex::new(Vec::new());

impl<F: ArkField<BigInt = BigInt<4>>> Radix2EvaluationDomain<F> {
    fn domain(&self) -> Result<Arc<Domain>> {
        let (root, shift) = (self.0.group_gen.into_bigint(), self.0.offset.into_bigint());
        let log2_size = self.0.log_size_of_group;
        let mut cache = CACHE.lock().unwrap_or_else(PoisonError::into_inner);
        let found = cache.iter().find(|c| {
            (c.field, c.log2_size, c.root, c.shift) == (F::FIELD, log2_size, root, shift)
        });
        if let Some(cached) = found {
            return Ok(cached.domain.clone());
        }
        let (w, u) = (&self.0.group_gen, &self.0.offset);
        let domain = Arc::new(Domain::with(context()?, log2_size, Some(w), Some(u))?);
        if cache.len() == CACHED {
            cache.remove(0);
        }
        let field = F::FIELD;
        cache.push(Cached { field, log2_size, root, shift, domain: domain.clone() });
        Ok(domain)
    }

    /// Transforms the elements, or says that arkworks has to.
    fn transform<T: DomainCoeff<F>>(&self, ntt: Ntt, elements: &mut Vec<T>) -> bool {
        if typeid::of::<T>() != typeid::of::<F>() {
            return false;
        }
        // SAFETY: T is F.
        let elements: &mut Vec<F> = unsafe { &mut *std::ptr::from_mut(elements).cast() };
        let Ok(domain) = self.domain() else { return false };
        let Ok(ctx) = context() else { return false };
        // Few coefficients: the transform is told so, and has less to do.
        let mut few = Vec::new();
        let log2_pad = self.size().ilog2().saturating_sub(log2_ceil(elements.len()));
        if ntt == Ntt::forward() && log2_pad > 0 {
            few.clone_from(elements);
            few.resize(self.size() >> log2_pad, F::zero());
        }
        elements.resize(self.size(), F::zero());
        let ntt = if self.0.offset == F::ONE { ntt } else { ntt.coset() };
        let mut jobs = Jobs::new();
        let elements = jobs.var_mut(elements);
        if few.is_empty() {
            jobs.ntt(&domain, ntt, elements, elements);
        } else {
            jobs.ntt(&domain, ntt.log2_pad(log2_pad), &few, elements);
        }
        // Elements of arkworks are below the modulus.
        match ctx.run(jobs.unchecked()) {
            Ok(()) => true,
            // Refused before anything was written. What was appended is zeros, as for arkworks.
            Err(Error::Invalid(_) | Error::Unsupported(_) | Error::NoDevice(_)) => false,
            Err(e) => panic!("the transform failed, and with it its elements: {e}"),
        }
    }
}

/// The least k such that n <= 2^k.
fn log2_ceil(n: usize) -> u32 {
    n.next_power_of_two().ilog2()
}

impl<F: ArkField<BigInt = BigInt<4>>> EvaluationDomain<F> for Radix2EvaluationDomain<F> {
    type Elements = <ark_poly::Radix2EvaluationDomain<F> as EvaluationDomain<F>>::Elements;

    fn new(num_coeffs: usize) -> Option<Self> {
        ark_poly::Radix2EvaluationDomain::new(num_coeffs).map(Self)
    }

    fn get_coset(&self, offset: F) -> Option<Self> {
        self.0.get_coset(offset).map(Self)
    }

    fn compute_size_of_domain(num_coeffs: usize) -> Option<usize> {
        ark_poly::Radix2EvaluationDomain::<F>::compute_size_of_domain(num_coeffs)
    }

    fn size(&self) -> usize {
        self.0.size()
    }

    fn log_size_of_group(&self) -> u64 {
        self.0.log_size_of_group()
    }

    fn size_inv(&self) -> F {
        self.0.size_inv()
    }

    fn group_gen(&self) -> F {
        self.0.group_gen()
    }

    fn group_gen_inv(&self) -> F {
        self.0.group_gen_inv()
    }

    fn coset_offset(&self) -> F {
        self.0.coset_offset()
    }

    fn coset_offset_inv(&self) -> F {
        self.0.coset_offset_inv()
    }

    fn coset_offset_pow_size(&self) -> F {
        self.0.coset_offset_pow_size()
    }

    fn fft_in_place<T: DomainCoeff<F>>(&self, coeffs: &mut Vec<T>) {
        if !self.transform(Ntt::forward(), coeffs) {
            self.0.fft_in_place(coeffs);
        }
    }

    fn ifft_in_place<T: DomainCoeff<F>>(&self, evals: &mut Vec<T>) {
        if !self.transform(Ntt::inverse(), evals) {
            self.0.ifft_in_place(evals);
        }
    }

    fn elements(&self) -> Self::Elements {
        self.0.elements()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is copied, where the layout is another one, is the same.
    fn copied<C: ArkCurve>() {
        let ctx = Context::builder().ignore_environment().open().unwrap();
        let one = Affine::<C>::generator();
        let bases = [one, Affine::identity(), -one];
        let read = |bases: Bases<C>| bases.points().read(0..3, PointForm::XyMont).unwrap();
        let direct = read(Bases::new(&ctx, &bases).unwrap());
        assert_eq!(read(Bases::copied(&ctx, &bases, PointsOptions::default()).unwrap()), direct);
    }

    #[test]
    fn copied_points() {
        copied::<ark_bls12_381::g1::Config>();
        copied::<ark_bls12_381::g2::Config>();
        copied::<ark_bn254::g1::Config>();
        copied::<ark_bn254::g2::Config>();
    }
}
