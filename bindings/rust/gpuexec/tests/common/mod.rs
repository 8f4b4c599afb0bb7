// SPDX-License-Identifier: Apache-2.0
#![allow(dead_code)]

use gpuexec::{Context, DeviceKind};

/// A context that reads and writes nothing outside the test.
pub fn context() -> Context {
    Context::builder().ignore_environment().open().unwrap()
}

/// "cpu", and a Vulkan device if there is one.
pub fn devices(ctx: &Context) -> Vec<String> {
    let vulkan = ctx.devices().unwrap().into_iter();
    let mut vulkan = vulkan.filter(|d| d.kind == DeviceKind::Vulkan && d.usable);
    let mut names = vec!["cpu".to_string()];
    names.extend(vulkan.next().map(|d| d.name));
    names
}

/// xorshift64: the same numbers in every run.
pub struct Random(pub u64);

impl Random {
    pub fn u64(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub fn u32s(&mut self, n: usize) -> Vec<u32> {
        (0..n).map(|_| (self.u64() >> 16) as u32).collect()
    }
}
