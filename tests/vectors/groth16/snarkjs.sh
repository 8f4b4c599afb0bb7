#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# snarkjs.sh FOLDER: keys and proofs of chain.circom by circom2 and snarkjs, which npm installs into
# the folder: bn128.json and bls12381.json beside this script. Every run makes others.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cd "$1"
echo '{"private":true,"dependencies":{"circom2":"0.2.23","snarkjs":"0.7.6"}}' >package.json
npm install --no-audit --no-fund
export PATH=$PWD/node_modules/.bin:$PATH

for curve in bn128 bls12381; do
    mkdir -p $curve
    circom2 "$here/chain.circom" --r1cs --wasm --prime $curve -o $curve
    (
        cd $curve
        snarkjs powersoftau new $curve 6 0.ptau
        snarkjs powersoftau contribute 0.ptau 1.ptau --name=a -e=b
        snarkjs powersoftau prepare phase2 1.ptau 2.ptau
        snarkjs groth16 setup chain.r1cs 2.ptau 0.zkey
        snarkjs zkey contribute 0.zkey 1.zkey --name=a -e=b
        snarkjs zkey export verificationkey 1.zkey key.json
        rm -f proofs.json
        for i in 1 2 3; do
            echo "{\"x\":\"$((3 + i))\",\"k\":\"$((4 * i))\"}" >in.json
            snarkjs wtns calculate chain_js/chain.wasm in.json witness.wtns
            snarkjs groth16 prove 1.zkey witness.wtns proof.json public.json
            snarkjs groth16 verify key.json public.json proof.json
            jq -c '{proof: ., public: input}' proof.json public.json >>proofs.json
        done
        jq --slurpfile key key.json --slurp '{key: $key[0], proofs: .}' proofs.json >"$here/$curve.json"
    )
done
