// SPDX-License-Identifier: Apache-2.0
//
// Lists the devices, multiplies two vectors on the one that is fastest, and says where that was.

use gpuexec::{bls12_381::Fr, Buffer, Context, Jobs};

fn main() -> gpuexec::Result<()> {
    let ctx = Context::new()?;
    for device in ctx.devices()? {
        println!("{:16} {}", device.name, device.description);
    }

    // Any limbs below the modulus are some element in Montgomery form.
    let a: Vec<Fr> = (1..=1000).map(|i| Fr([i, i * i, 0, i])).collect();
    let mut inverse = vec![Fr::default(); 1000];
    let mut product = vec![Fr::default(); 1000];
    let mut plain = vec![Fr::default(); 1000];
    let mut jobs = Jobs::new();
    let (inverse, ones) = (jobs.var_mut(&mut inverse), jobs.var_mut(&mut product));
    jobs.inv(&a, inverse).mul(&a, inverse, ones).from_mont(ones, &mut plain);
    ctx.run(&mut jobs)?;
    for report in jobs.reports() {
        println!("{} ({}): {:?}", report.device(), report.reason(), report.total());
    }
    assert!(plain.iter().all(|one| one.0 == [1, 0, 0, 0]));

    // In memory of a device: only the result comes back.
    let x = Buffer::from_slice(&ctx, None, &a)?;
    let mut squares = Buffer::new(&ctx, x.device(), x.len())?;
    ctx.run(Jobs::new().sqr(&x, &mut squares))?;
    let mut sum = [Fr::default()];
    ctx.run(Jobs::new().dot(&a, &a, &mut sum))?;
    let mut again = [Fr::default()];
    ctx.run(Jobs::new().sum(&squares, &mut again))?;
    assert_eq!(sum, again);
    println!("each x * 1/x is one, and x * x summed up is x . x");
    Ok(())
}
