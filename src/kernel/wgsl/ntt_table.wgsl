// SPDX-License-Identifier: Apache-2.0
//
// The twiddles of a domain, from their factors: device/gpu/ntt_table.h.
@compute @workgroup_size(${WORKGROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
    let i = first_index(group, groups) + local;
    if i >= push.n {
        return;
    }
    let low = load_a(i & ((1u << ${NTT_LOW_BITS}u) - 1u));
    let high = load_b(i >> ${NTT_LOW_BITS}u);
    store_out(i, canonical(multiply(factor(low), cofactor(high))));
}
