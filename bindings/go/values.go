// SPDX-License-Identifier: Apache-2.0

package gpuexec

// #include <gpuexec.h>
import "C"

// Field names the kind of the elements of a job. The C library's doc/encoding.md defines their
// layout.
type Field uint32

const (
	BLS12381Fq Field = C.GX_BLS12_381_FQ
	BLS12381Fr Field = C.GX_BLS12_381_FR
	BN254Fq    Field = C.GX_BN254_FQ
	BN254Fr    Field = C.GX_BN254_FR
	U32        Field = C.GX_U32
	F32        Field = C.GX_F32
)

// Bytes returns the size of an element; 0 if there is no such field.
func (f Field) Bytes() int {
	if int(f) < len(elementBytes) {
		return elementBytes[f]
	}
	return 0
}

// elementBytes is looked up by every call, and the library takes longer.
var elementBytes = func() []int {
	bytes := []int{0}
	for {
		info := C.gx_field_get_info(C.gx_field(len(bytes)))
		if info == nil {
			return bytes
		}
		bytes = append(bytes, int(info.element_bytes))
	}
}()

func (f Field) String() string {
	if info := C.gx_field_get_info(C.gx_field(f)); info != nil {
		return C.GoString(info.name)
	}
	return "unknown"
}

// Op is an operation.
type Op uint32

const (
	Add           Op = C.GX_ADD            // a + b
	Sub           Op = C.GX_SUB            // a - b
	Mul           Op = C.GX_MUL            // a * b
	Neg           Op = C.GX_NEG            // -a
	Sqr           Op = C.GX_SQR            // a * a
	Inv           Op = C.GX_INV            // 1 / a; 0 if a is 0
	Div           Op = C.GX_DIV            // a / b; 0 if b is 0
	MulAdd        Op = C.GX_MUL_ADD        // a * b + c
	ToMont        Op = C.GX_TO_MONT        // plain integers to Montgomery form
	FromMont      Op = C.GX_FROM_MONT      // Montgomery form to plain integers
	Sum           Op = C.GX_SUM            // a[0] + a[1] + ...
	Dot           Op = C.GX_DOT            // a[0] * b[0] + a[1] * b[1] + ...
	NTT           Op = C.GX_NTT            // transforms: Job.NTT
	PrefixSum     Op = C.GX_PREFIX_SUM     // out[i] = a[0] + ... + a[i]
	PrefixProduct Op = C.GX_PREFIX_PRODUCT // out[i] = a[0] * ... * a[i]
	Powers        Op = C.GX_POWERS         // out[i] = a^i
	Cosets        Op = C.GX_COSETS         // out[c * count + i] = a^i * b^c
	Evaluate      Op = C.GX_EVALUATE       // the polynomial a at b
	DivideLinear  Op = C.GX_DIVIDE_LINEAR  // the polynomial a by X - b
	BitReverse    Op = C.GX_BIT_REVERSE    // out[i] = a[i with its bits reversed]
	Gather        Op = C.GX_GATHER         // out[i] = a[b[i]]
	Rotate        Op = C.GX_ROTATE         // out[i] = a[(i + count) mod n]
	Interleave    Op = C.GX_INTERLEAVE     // count parts to every count-th element
	Deinterleave  Op = C.GX_DEINTERLEAVE   // and back
	MSM           Op = C.GX_MSM            // multi-scalar multiplications: Job.MSM
)

func (o Op) String() string {
	if info := C.gx_op_get_info(C.gx_op(o)); info != nil {
		return C.GoString(info.name)
	}
	return "unknown"
}

// countsInput reports whether the length of a, and not that of out, is the size of the job.
func (o Op) countsInput() bool {
	return o == Sum || o == Dot || o == Evaluate || o == MSM
}

// Curve is a curve y^2 = x^3 + b.
type Curve uint32

const (
	BLS12381G1 Curve = C.GX_BLS12_381_G1
	BLS12381G2 Curve = C.GX_BLS12_381_G2
	BN254G1    Curve = C.GX_BN254_G1
	BN254G2    Curve = C.GX_BN254_G2
)

func (c Curve) String() string {
	if info := C.gx_curve_get_info(C.gx_curve(c)); info != nil {
		return C.GoString(info.name)
	}
	return "unknown"
}

// ScalarField returns the field of the scalars; 0 if there is no such curve.
func (c Curve) ScalarField() Field {
	if info := C.gx_curve_get_info(C.gx_curve(c)); info != nil {
		return Field(info.scalar_field)
	}
	return 0
}

// PointForm says how points are written. It is always named: 0 is no form.
type PointForm uint32

const (
	XYMont       PointForm = C.GX_POINT_XY_MONT       // gnark-crypto, blst; infinity is (0, 0)
	XYPlain      PointForm = C.GX_POINT_XY_PLAIN      // the same as plain integers
	Compressed   PointForm = C.GX_POINT_COMPRESSED    // zcash, BLS12-381 only
	Uncompressed PointForm = C.GX_POINT_UNCOMPRESSED  // zcash, BLS12-381 only
	EIP2537      PointForm = C.GX_POINT_EIP2537       // BLS12-381 only
	JacobianMont PointForm = C.GX_POINT_JACOBIAN_MONT // X, Y, Z; infinity has Z = 0
)

func (f PointForm) String() string {
	return C.GoString(C.gx_point_form_name(C.gx_point_form(f)))
}

// Bytes returns the size of a point of the curve; 0 if the curve has no such form.
func (f PointForm) Bytes(curve Curve) int {
	return int(C.gx_point_bytes(C.gx_curve(curve), C.gx_point_form(f)))
}

// PointCheck says what is checked when points are read, besides their encoding.
type PointCheck uint32

const (
	CheckCurve    PointCheck = C.GX_CHECK_CURVE    // they are on the curve: the default
	CheckSubgroup PointCheck = C.GX_CHECK_SUBGROUP // and in the subgroup of the generator
	CheckNone     PointCheck = C.GX_CHECK_NONE
)

func (c PointCheck) String() string {
	return C.GoString(C.gx_point_check_name(C.gx_point_check(c)))
}

// ScalarForm says what the 32 bytes of a scalar are.
type ScalarForm uint32

const (
	ScalarPlain ScalarForm = C.GX_SCALAR_PLAIN // integers below 2^256
	ScalarMont  ScalarForm = C.GX_SCALAR_MONT  // elements of the scalar field: fr.Element
)

func (f ScalarForm) String() string {
	return C.GoString(C.gx_scalar_form_name(C.gx_scalar_form(f)))
}

// DeviceKind is the kind of a device.
type DeviceKind uint32

const (
	DeviceCPU       DeviceKind = C.GX_DEVICE_CPU
	DeviceReference DeviceKind = C.GX_DEVICE_REFERENCE
	DeviceVulkan    DeviceKind = C.GX_DEVICE_VULKAN
	DeviceSim       DeviceKind = C.GX_DEVICE_SIM
	DeviceWebGPU    DeviceKind = C.GX_DEVICE_WEBGPU
	DeviceCUDA      DeviceKind = C.GX_DEVICE_CUDA
)

func (k DeviceKind) String() string {
	return C.GoString(C.gx_device_kind_name(C.gx_device_kind(k)))
}

// Path says how host memory reaches a device.
type Path uint32

const (
	PathAuto        Path = C.GX_PATH_AUTO
	PathHostVisible Path = C.GX_PATH_HOST_VISIBLE
	PathDeviceLocal Path = C.GX_PATH_DEVICE_LOCAL
	PathDirect      Path = C.GX_PATH_DIRECT // reported only: all operands were used in place
)

func (p Path) String() string { return C.GoString(C.gx_path_name(C.gx_path(p))) }

// Mode says how the jobs of one call are scheduled on a device.
type Mode uint32

const (
	ModeAuto         Mode = C.GX_MODE_AUTO
	ModeSequential   Mode = C.GX_MODE_SEQUENTIAL
	ModeSingleSubmit Mode = C.GX_MODE_SINGLE_SUBMIT
	ModePipelined    Mode = C.GX_MODE_PIPELINED
)

func (m Mode) String() string { return C.GoString(C.gx_mode_name(C.gx_mode(m))) }

// Policy says how a device is chosen for jobs that name none.
type Policy uint32

const (
	PolicyAuto       Policy = C.GX_POLICY_AUTO
	PolicyCPU        Policy = C.GX_POLICY_CPU
	PolicyGPU        Policy = C.GX_POLICY_GPU
	PolicyThroughput Policy = C.GX_POLICY_THROUGHPUT
)

func (p Policy) String() string { return C.GoString(C.gx_policy_name(C.gx_policy(p))) }

// Reason says why a job ran where it did.
type Reason uint32

const (
	ReasonNone     Reason = C.GX_REASON_NONE
	ReasonAsked    Reason = C.GX_REASON_ASKED
	ReasonOnly     Reason = C.GX_REASON_ONLY
	ReasonResident Reason = C.GX_REASON_RESIDENT
	ReasonSmall    Reason = C.GX_REASON_SMALL
	ReasonFastest  Reason = C.GX_REASON_FASTEST
	ReasonSplit    Reason = C.GX_REASON_SPLIT
	ReasonDefault  Reason = C.GX_REASON_DEFAULT
	ReasonExplored Reason = C.GX_REASON_EXPLORED
	ReasonFallback Reason = C.GX_REASON_FALLBACK
)

func (r Reason) String() string { return C.GoString(C.gx_reason_name(C.gx_reason(r))) }

// LogLevel is the level of a message.
type LogLevel uint32

const (
	LogError   LogLevel = C.GX_LOG_ERROR
	LogWarning LogLevel = C.GX_LOG_WARNING
	LogInfo    LogLevel = C.GX_LOG_INFO
)

func (l LogLevel) String() string { return C.GoString(C.gx_log_level_name(C.gx_log_level(l))) }
