// SPDX-License-Identifier: Apache-2.0
//
// Two transforms that run while the program does something else: a ticket is a future. Any executor
// will do; this one parks its thread.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Poll, Wake, Waker};
use std::thread::{self, Thread};

use gpuexec::{bn254::Fr, Context, Domain, Ntt, Ticket};

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn block_on<F: Future>(future: F) -> F::Output {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut std::task::Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

/// The ticket owns the elements and a share of the domain, and gives them back.
fn transform(
    ctx: &Context,
    domain: &Arc<Domain>,
    x: Vec<Fr>,
    ntt: Ntt,
) -> Ticket<(Vec<Fr>, Arc<Domain>)> {
    ctx.submit((x, domain.clone()), move |(x, domain), jobs| {
        let x = jobs.var_mut(x);
        jobs.ntt(domain, ntt, x, x);
    })
}

async fn there_and_back(ctx: &Context, x: Vec<Fr>) -> gpuexec::Result<Vec<Fr>> {
    let domain = Arc::new(Domain::new::<Fr>(ctx, 12)?);
    let (result, (values, _)) = transform(ctx, &domain, x, Ntt::forward()).await;
    println!("forward on {}", result?[0].device());
    let (result, (x, _)) = transform(ctx, &domain, values, Ntt::inverse()).await;
    println!("back on {}", result?[0].device());
    Ok(x)
}

fn main() -> gpuexec::Result<()> {
    let ctx = Context::new()?;
    let x: Vec<Fr> = (0..1 << 12).map(|i| Fr([i, 0, 0, i])).collect();
    let again = block_on(there_and_back(&ctx, x.clone()))?;
    assert_eq!(x, again);
    println!("{} elements, there and back", x.len());
    Ok(())
}
