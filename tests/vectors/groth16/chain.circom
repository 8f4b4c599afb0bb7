// SPDX-License-Identifier: Apache-2.0
pragma circom 2.1.0;
template Chain(n) {
    signal input x;
    signal input k;
    signal output y;
    signal s[n + 1];
    signal t[n];
    s[0] <== x;
    for (var i = 0; i < n; i++) {
        t[i] <== (s[i] + k + i) * (s[i] - k);
        s[i + 1] <== t[i] * (3 * s[i] + 5 * k) + 7 * t[i];
    }
    y <== s[n];
}
component main { public [k] } = Chain(8);
