// SPDX-License-Identifier: Apache-2.0

//! Elements of fields and points of curves, in the library's memory layout.

use std::ffi::CStr;

use gpuexec_sys as sys;

/// A type that the library may read and write as plain memory.
///
/// # Safety
/// The type has no padding, and every combination of bits is a value of it.
pub unsafe trait Pod: Copy + Send + Sync + 'static {}

/// An element of a field.
///
/// # Safety
/// The type has the size and the meaning that the library gives elements of [`Element::FIELD`]:
/// 64-bit limbs, least significant first, in Montgomery form.
pub unsafe trait Element: Pod {
    const FIELD: Field;
}

/// A scalar of a multi-scalar multiplication: an element of the scalar field in Montgomery form, or
/// an integer below 2^256, as limbs.
///
/// # Safety
/// The type has 32 bytes with that meaning.
pub unsafe trait Scalar: Pod {
    /// None: a plain integer, for any curve.
    const FIELD: Option<Field>;
}

/// A point of a curve: x and y in Montgomery form; zeros are infinity.
///
/// # Safety
/// The type has the size of such a point of [`Affine::CURVE`].
pub unsafe trait Affine: Pod + Default {
    const CURVE: Curve;
}

macro_rules! values {
    ($(#[$doc:meta])* $enum:ident { $($name:ident = $value:ident,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u32)]
        #[non_exhaustive]
        pub enum $enum {
            $($name = sys::$value,)*
        }
    };
}

values!(
    /// The fields of the library.
    Field {
        Bls12381Fq = GX_BLS12_381_FQ,
        Bls12381Fr = GX_BLS12_381_FR,
        Bn254Fq = GX_BN254_FQ,
        Bn254Fr = GX_BN254_FR,
        U32 = GX_U32,
        F32 = GX_F32,
    }
);

values!(
    /// The curves of the library.
    Curve {
        Bls12381G1 = GX_BLS12_381_G1,
        Bls12381G2 = GX_BLS12_381_G2,
        Bn254G1 = GX_BN254_G1,
        Bn254G2 = GX_BN254_G2,
    }
);

values!(
    /// How points are written; `doc/encoding.md` defines the forms.
    PointForm {
        XyMont = GX_POINT_XY_MONT,
        XyPlain = GX_POINT_XY_PLAIN,
        Compressed = GX_POINT_COMPRESSED,
        Uncompressed = GX_POINT_UNCOMPRESSED,
        Eip2537 = GX_POINT_EIP2537,
        JacobianMont = GX_POINT_JACOBIAN_MONT,
    }
);

impl Field {
    fn info(self) -> &'static sys::gx_field_info {
        // SAFETY: static data; the library has all fields of its header.
        unsafe { &*sys::gx_field_get_info(self as u32) }
    }

    /// `"bls12-381-fr"`.
    pub fn name(self) -> &'static str {
        // SAFETY: a static string.
        unsafe { CStr::from_ptr(self.info().name) }.to_str().unwrap_or("")
    }

    pub fn element_bytes(self) -> usize {
        self.info().element_bytes as usize
    }

    /// Transforms have up to 2 to the power of this many elements; 0: there are none.
    pub fn two_adicity(self) -> u32 {
        self.info().two_adicity
    }

    /// Least significant limb first; empty for `u32` and `f32`.
    pub fn modulus(self) -> &'static [u64] {
        let info = self.info();
        if info.modulus.is_null() {
            return &[];
        }
        // SAFETY: static data of so many limbs.
        unsafe { std::slice::from_raw_parts(info.modulus, info.limbs as usize) }
    }
}

impl Curve {
    fn info(self) -> &'static sys::gx_curve_info {
        // SAFETY: static data; the library has all curves of its header.
        unsafe { &*sys::gx_curve_get_info(self as u32) }
    }

    /// `"bls12-381-g1"`.
    pub fn name(self) -> &'static str {
        // SAFETY: a static string.
        unsafe { CStr::from_ptr(self.info().name) }.to_str().unwrap_or("")
    }

    pub(crate) fn scalar_field(self) -> sys::gx_field {
        self.info().scalar_field
    }

    /// Bytes of one point; 0 if the curve has no such form.
    pub fn point_bytes(self, form: PointForm) -> usize {
        // SAFETY: takes any values.
        unsafe { sys::gx_point_bytes(self as u32, form as u32) }
    }
}

// SAFETY: plain numbers, and arrays of them.
unsafe impl Pod for u8 {}
unsafe impl Pod for u32 {}
unsafe impl Pod for u64 {}
unsafe impl Pod for f32 {}
unsafe impl<T: Pod, const N: usize> Pod for [T; N] {}

// SAFETY: the library's u32 and f32.
unsafe impl Element for u32 {
    const FIELD: Field = Field::U32;
}
unsafe impl Element for f32 {
    const FIELD: Field = Field::F32;
}

// SAFETY: 32 bytes, least significant limb first.
unsafe impl Scalar for [u64; 4] {
    const FIELD: Option<Field> = None;
}

macro_rules! curve {
    ($module:ident, $limbs:literal, $fq:ident, $fr:ident, $g1:ident, $g2:ident, $doc:literal) => {
        #[doc = $doc]
        pub mod $module {
            use super::{Affine, Curve, Element, Field, Pod, Scalar};

            /// An element of the base field: limbs of its Montgomery form, least significant first.
            #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
            #[repr(transparent)]
            pub struct Fq(pub [u64; $limbs]);

            /// An element of the scalar field, likewise.
            #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
            #[repr(transparent)]
            pub struct Fr(pub [u64; 4]);

            /// A point of G1; zeros are infinity.
            #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
            #[repr(C)]
            pub struct G1Affine {
                pub x: Fq,
                pub y: Fq,
            }

            /// A point of G2, its coordinates c0, c1 for c0 + c1 u; zeros are infinity.
            #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
            #[repr(C)]
            pub struct G2Affine {
                pub x: [Fq; 2],
                pub y: [Fq; 2],
            }

            // SAFETY: limbs, in structs of C without padding.
            unsafe impl Pod for Fq {}
            unsafe impl Pod for Fr {}
            unsafe impl Pod for G1Affine {}
            unsafe impl Pod for G2Affine {}
            unsafe impl Element for Fq {
                const FIELD: Field = Field::$fq;
            }
            unsafe impl Element for Fr {
                const FIELD: Field = Field::$fr;
            }
            unsafe impl Scalar for Fr {
                const FIELD: Option<Field> = Some(Field::$fr);
            }
            unsafe impl Affine for G1Affine {
                const CURVE: Curve = Curve::$g1;
            }
            unsafe impl Affine for G2Affine {
                const CURVE: Curve = Curve::$g2;
            }
        }
    };
}

curve!(bls12_381, 6, Bls12381Fq, Bls12381Fr, Bls12381G1, Bls12381G2, "Types of BLS12-381.");
curve!(bn254, 4, Bn254Fq, Bn254Fr, Bn254G1, Bn254G2, "Types of BN254.");
