// SPDX-License-Identifier: Apache-2.0
//
// Asynchronous jobs: what they own and borrow, and all the ways to let go of a ticket.

mod common;

use std::future::Future;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::pin::pin;
use std::sync::mpsc::{channel, Sender};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use common::{context, devices, Random};
use gpuexec::{bls12_381::Fr, Buffer, Context, Error, Jobs, Ticket};

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    loop {
        match future.as_mut().poll(&mut std::task::Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

type Data = (Vec<u32>, Vec<u32>);

/// a + a, which takes a while.
fn double(ctx: &Context, a: Vec<u32>) -> Ticket<Data> {
    let out = vec![0; a.len()];
    ctx.submit((a, out), |(a, out), jobs| {
        jobs.add(&*a, &*a, out).device("cpu");
    })
}

/// About a second of work, in many jobs.
fn long(ctx: &Context) -> Ticket<Vec<Fr>> {
    ctx.submit(vec![Fr([1, 2, 3, 4]); 1 << 16], |x, jobs| {
        let x = jobs.var_mut(x);
        for _ in 0..300 {
            jobs.inv(x, x);
        }
        jobs.device("cpu");
    })
}

fn doubled((a, out): &Data) -> bool {
    a.iter().zip(out).all(|(a, out)| a.wrapping_add(*a) == *out)
}

#[test]
fn wait_on_each_device() {
    let ctx = context();
    for device in devices(&ctx) {
        let mut random = Random(3);
        let tickets: Vec<_> = (0..20)
            .map(|_| {
                let name = device.clone();
                ctx.submit((random.u32s(5000), vec![0; 5000]), move |(a, out), jobs| {
                    jobs.add(&*a, &*a, out).device(&name);
                })
            })
            .collect();
        for ticket in tickets {
            let (reports, data) = ticket.wait();
            assert_eq!(reports.unwrap()[0].device(), device);
            assert!(doubled(&data));
        }
    }
}

#[test]
fn futures() {
    let ctx = context();
    let (result, data) = block_on(double(&ctx, Random(4).u32s(1 << 20)));
    assert_eq!(result.unwrap().len(), 1);
    assert!(doubled(&data));
    // Joined by hand: both are in flight.
    let (x, y) = (double(&ctx, vec![1; 1 << 20]), double(&ctx, vec![2; 1 << 20]));
    let (x, y) = block_on(async { (x.await, y.await) });
    assert!(doubled(&x.1) && doubled(&y.1));
}

#[test]
fn a_future_that_changes_its_task() {
    struct Send(Sender<usize>, usize);
    impl Wake for Send {
        fn wake(self: Arc<Self>) {
            let _ = self.0.send(self.1);
        }
    }
    let ctx = context();
    for _ in 0..50 {
        let (tx, rx) = channel();
        let mut ticket = pin!(double(&ctx, vec![1; 100_000]));
        let mut poll = |task| {
            let waker = Waker::from(Arc::new(Send(tx.clone(), task)));
            ticket.as_mut().poll(&mut std::task::Context::from_waker(&waker))
        };
        let mut task = 0;
        let data = loop {
            // As long as it is pending, the last one to ask is the one to be woken.
            task += 1;
            match poll(task) {
                Poll::Ready(done) => break done.1,
                Poll::Pending if task < 5 => {}
                Poll::Pending => {
                    let woken = rx.recv_timeout(Duration::from_secs(60)).expect("woken");
                    assert!(woken <= task);
                }
            }
        };
        assert!(doubled(&data));
    }
}

#[test]
fn failures_return_the_data() {
    let ctx = context();
    // When it is submitted ...
    let ticket = ctx.submit(vec![1u32; 3], |x, jobs| {
        jobs.add(&[1u32; 4], &[1; 4], x);
    });
    assert!(ticket.is_done() && ticket.wait_timeout(Duration::ZERO));
    ticket.cancel();
    let (result, data) = block_on(ticket);
    assert!(matches!(result, Err(Error::Invalid(_))));
    assert_eq!(data, [1; 3]);
    // ... and when it runs.
    let mut bad = vec![Fr([1, 0, 0, 0]); 10];
    bad[7] = Fr([u64::MAX; 4]);
    let (result, (bad, _)) = ctx
        .submit((bad, vec![Fr::default(); 10]), |(x, out), jobs| {
            jobs.sqr(&*x, out);
        })
        .wait();
    let e = result.unwrap_err();
    assert!(matches!(&e, Error::NotCanonical(_)), "{e:?}");
    assert_eq!((e.detail().job, e.index()), (Some(0), Some(7)));
    assert_eq!(bad[7], Fr([u64::MAX; 4]));
}

#[test]
fn cancelling() {
    let ctx = context();
    let ticket = long(&ctx);
    assert!(!ticket.wait_timeout(Duration::from_millis(1)));
    ticket.cancel();
    let (result, _) = ticket.wait();
    assert!(matches!(result, Err(Error::Cancelled(_))), "{result:?}");
    let ticket = long(&ctx);
    ctx.cancel_all();
    assert!(matches!(ticket.wait().0, Err(Error::Cancelled(_))));
}

#[test]
fn a_dropped_ticket_is_done() {
    let ctx = context();
    for _ in 0..20 {
        drop(double(&ctx, vec![1; 200_000])); // and its memory freed
    }
    drop(long(&ctx));
    let counter = |name| ctx.counter(name).unwrap();
    assert_eq!(counter("tickets_submitted"), 21);
    assert_eq!(counter("tickets_done"), 21);
    assert_eq!(counter("jobs_waiting"), 0);
    assert!(counter("tickets_cancelled") >= 1);
    assert!(ctx.counter("nosuch").is_err());
    assert!(gpuexec::counters().all(|(name, _)| ctx.counter(name).is_ok()));
}

#[test]
fn a_leaked_ticket_leaks_what_it_uses() {
    let ctx = context();
    for _ in 0..5 {
        std::mem::forget(double(&ctx, vec![1; 200_000]));
    }
    let (x, y) = (vec![3u32; 200_000], vec![0; 200_000]); // not the memory of those
    let (_, data) = double(&ctx, x).wait();
    assert!(doubled(&data) && y.iter().all(|y| *y == 0));
}

#[test]
fn a_ticket_outlives_its_context() {
    let ctx = context();
    let ticket = double(&ctx, vec![5; 100_000]);
    let x = Buffer::from_slice(&ctx, "cpu", &[1u32, 2]).unwrap();
    drop(ctx);
    assert!(doubled(&ticket.wait().1));
    drop(x);
}

#[test]
fn buffers_in_tickets() {
    let ctx = context();
    for device in devices(&ctx) {
        let x = Buffer::from_slice(&ctx, &*device, &[1u32, 2, 3]).unwrap();
        let y = Buffer::<u32>::new(&ctx, &*device, 3).unwrap();
        let (result, (_, y)) = ctx
            .submit((Arc::new(x), y), |(x, y), jobs| {
                jobs.mul(&**x, &**x, y);
            })
            .wait();
        result.unwrap();
        assert_eq!(y.to_vec().unwrap(), [1, 4, 9]);
    }
}

/// A task that owns its ticket, and ends with it when it is woken: the ticket is dropped inside
/// the callback of the library, with the last reference to the context.
#[test]
fn a_waker_that_drops_the_ticket() {
    struct Task(Mutex<Option<Ticket<Data>>>, Mutex<Sender<()>>);
    impl Wake for Task {
        fn wake(self: Arc<Self>) {
            drop(self.0.lock().unwrap().take());
            let _ = self.1.lock().unwrap().send(());
        }
    }
    for _ in 0..20 {
        let ctx = context();
        let (tx, rx) = channel();
        let ticket = double(&ctx, vec![1; 300_000]);
        drop(ctx);
        let task = Arc::new(Task(Mutex::new(None), Mutex::new(tx)));
        let waker = Waker::from(task.clone());
        let mut slot = task.0.lock().unwrap();
        let mut ticket = slot.insert(ticket);
        let poll =
            std::pin::Pin::new(&mut ticket).poll(&mut std::task::Context::from_waker(&waker));
        drop(slot);
        if poll.is_pending() {
            rx.recv_timeout(Duration::from_secs(60)).expect("no deadlock");
        }
    }
}

#[test]
fn a_waker_that_panics() {
    struct Panics(Mutex<Sender<()>>);
    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            let _ = self.0.lock().unwrap().send(());
            std::panic::resume_unwind(Box::new("in a waker"));
        }
    }
    let ctx = context();
    let (tx, rx) = channel();
    let mut ticket = double(&ctx, vec![1; 1 << 20]);
    let waker = Waker::from(Arc::new(Panics(Mutex::new(tx))));
    let poll = std::pin::Pin::new(&mut ticket).poll(&mut std::task::Context::from_waker(&waker));
    if poll.is_pending() {
        rx.recv_timeout(Duration::from_secs(60)).unwrap();
        assert!(doubled(&ticket.wait().1));
    }
}

#[test]
fn scopes() {
    let ctx = context();
    let a: Vec<Vec<u32>> = (0..20).map(|i| Random(i + 1).u32s(10_000)).collect();
    let mut out = vec![vec![0; 10_000]; 20];
    ctx.scope(|scope| {
        for (i, (a, out)) in a.iter().zip(&mut out).enumerate() {
            let mut jobs = Jobs::new();
            jobs.add(a, a, out).device("cpu");
            let ticket = scope.submit(jobs).unwrap();
            match i % 4 {
                0 => drop(ticket),
                1 => std::mem::forget(ticket),
                2 => assert_eq!(ticket.wait().unwrap().len(), 1),
                _ => assert_eq!(block_on(ticket).unwrap().len(), 1),
            }
        }
    });
    for data in a.into_iter().zip(out) {
        assert!(doubled(&data));
    }
}

#[test]
fn a_scope_waits_even_if_it_panics() {
    let ctx = context();
    let mut x = vec![Fr([1, 2, 3, 4]); 1 << 14];
    let original = x.clone();
    let caught = catch_unwind(AssertUnwindSafe(|| {
        ctx.scope(|scope| {
            let mut jobs = Jobs::new();
            let x = jobs.var_mut(&mut x);
            for _ in 0..100 {
                jobs.inv(x, x);
            }
            std::mem::forget(scope.submit(jobs));
            std::panic::resume_unwind(Box::new("in a scope"));
        })
    }));
    assert!(caught.is_err());
    assert_eq!(x, original, "inverted 100 times");
    assert_eq!(ctx.counter("jobs_waiting").unwrap(), 0);
}

#[test]
fn errors_in_scopes() {
    let ctx = context();
    let a = [1u32; 3];
    let (mut x, mut y) = ([0; 3], [Fr::default(); 3]);
    let b = [Fr([u64::MAX; 4]); 3];
    ctx.scope(|scope| {
        let mut jobs = Jobs::new();
        jobs.add(&a, &[1; 2], &mut x);
        assert!(matches!(scope.submit(jobs), Err(Error::Invalid(_))));
        let mut jobs = Jobs::new();
        jobs.sqr(&b, &mut y);
        assert_eq!(scope.submit(jobs).unwrap().wait().unwrap_err().index(), Some(0));
    });
}

#[test]
fn many_threads_submit() {
    let ctx = context();
    thread::scope(|s| {
        for t in 0..4 {
            let ctx = &ctx;
            s.spawn(move || {
                let mut random = Random(t + 1);
                let tickets: Vec<_> = (0..50).map(|_| double(ctx, random.u32s(1000))).collect();
                for ticket in tickets {
                    let (result, data) = block_on(ticket);
                    result.unwrap();
                    assert!(doubled(&data));
                }
            });
        }
    });
}
