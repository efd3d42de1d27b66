//! Who is who: the driver and its workers, and the thread through which either speaks.

use crate::exchange::{DRIVER, Exchange, Hear, Order};
use manyhands::Runtime;
use manyhands_cluster::{
    Cluster, ClusterError,
    transport::{self, Transport},
};
use mpi::{
    Rank, Threading,
    topology::SimpleCommunicator,
    traits::{Communicator, Root},
};
use std::{
    io, process,
    sync::mpsc::{self, Receiver, Sender},
    thread::{self, JoinHandle},
};

/// What a process is among the others.
#[derive(Debug, Clone, Copy)]
struct Place {
    own: Rank,
    count: Rank,
    /// Itself included.
    workers_on_this_host: usize,
}

/// Makes the driver's cluster; at a worker it works and does not return.
pub(crate) fn join() -> Result<Cluster, ClusterError> {
    let (place, link, hear) = start()?;
    if place.own != DRIVER {
        serve(place, link, &hear);
    }
    if place.count == 1 {
        return Err(ClusterError::Configuration {
            reason: "MANYHANDS_CLUSTER: 'mpi' needs other ranks: start the program by `mpirun -n 5 program`"
                .to_owned(),
        });
    }
    Cluster::over(move |driver| {
        let heard: Hear = Box::new(move |from: Rank, frame: Vec<u8>| {
            // Ranks are not negative.
            driver.heard(u64::from(from.unsigned_abs()), &frame);
        });
        hear.send(heard).map_err(|_| ended())?;
        Ok(link)
    })
}

/// Starts the thread that speaks; it waits for who is to hear.
fn start() -> Result<(Place, Link, Sender<Hear>), ClusterError> {
    let (to_place, place) = mpsc::channel();
    let (hear, who_hears) = mpsc::channel();
    let (orders, from) = mpsc::channel();
    let thread = thread::Builder::new().name("cluster mpi".to_owned());
    let thread = thread.spawn(move || speak(&to_place, &who_hears, from));
    let link = Link {
        orders,
        thread: Some(thread.map_err(|error| failed(error.to_string()))?),
    };
    let place = place.recv().map_err(|_| ended())?.map_err(failed)?;
    Ok((place, link, hear))
}

fn speak(
    to_place: &Sender<Result<Place, String>>,
    who_hears: &Receiver<Hear>,
    orders: Receiver<Order>,
) {
    // If nobody waits for these, nobody needs them.
    let Some((universe, level)) = mpi::initialize_with_threading(Threading::Funneled) else {
        let _ = to_place.send(Err("MPI was begun already".to_owned()));
        return;
    };
    if level < Threading::Funneled {
        let reason = "this MPI allows no threads beside the one that speaks to it";
        let _ = to_place.send(Err(reason.to_owned()));
        return;
    }
    let world = universe.world();
    let _ = to_place.send(Ok(place(&world)));
    // Where there is an error, the end is ordered before anybody hears.
    let hear = who_hears.recv().ok();
    Exchange::new(world, orders, hear).run();
    drop(universe);
}

fn place(world: &SimpleCommunicator) -> Place {
    let here = world.split_shared(world.rank());
    let mut first = world.rank();
    here.process_at_rank(0).broadcast_into(&mut first);
    let drivers = Rank::from(first == DRIVER);
    Place {
        own: world.rank(),
        count: world.size(),
        workers_on_this_host: usize::try_from(here.size() - drivers).unwrap_or(1).max(1),
    }
}

/// Works until the driver ends.
#[expect(
    clippy::exit,
    clippy::print_stderr,
    reason = "a worker is a process of its own; the rest of the program's main function is not for it"
)]
fn serve(place: Place, link: Link, hear: &Sender<Hear>) -> ! {
    match work(place, &link, hear) {
        Ok(()) => {
            // It joins the thread that speaks, which has heard of the end.
            drop(link);
            process::exit(0)
        }
        Err(error) => {
            // MPI ends the other ranks with this one.
            eprintln!("manyhands-mpi worker, rank {}: {error}", place.own);
            process::exit(1)
        }
    }
}

fn work(place: Place, link: &Link, hear: &Sender<Hear>) -> Result<(), ClusterError> {
    // What bodies print must not get among what the driver prints for other programs.
    nix::unistd::dup2_stdout(io::stderr()).map_err(|error| failed(error.to_string()))?;
    let allowed = thread::available_parallelism().map_or(1, usize::from);
    let threads = (allowed / place.workers_on_this_host).max(1);
    let pool = Runtime::builder().workers(threads).build_default();
    pool.map_err(|error| failed(error.to_string()))?;
    let (to_frames, frames) = mpsc::channel();
    // A worker that has ended hears nothing.
    let heard: Hear = Box::new(move |_, frame| drop(to_frames.send(frame)));
    hear.send(heard).map_err(|_| ended())?;
    let orders = link.orders.clone();
    transport::work(frames, move |frame| {
        // Without the thread that speaks the end of this process is near.
        let _ = orders.send(Order::Send(DRIVER, frame));
    })
}

/// The thread that speaks. Dropping it waits until all ranks have agreed that it is over.
struct Link {
    orders: Sender<Order>,
    thread: Option<JoinHandle<()>>,
}

impl Transport for Link {
    fn send(&mut self, worker: u64, frame: Vec<u8>) {
        if let Ok(rank) = Rank::try_from(worker) {
            // Without the thread there are no workers.
            let _ = self.orders.send(Order::Send(rank, frame));
        }
    }

    fn end(&mut self) {
        let _ = self.orders.send(Order::End);
        if let Some(thread) = self.thread.take() {
            // A panic in it was printed.
            let _ = thread.join();
        }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.end();
    }
}

fn failed(reason: String) -> ClusterError {
    ClusterError::Start { reason }
}

fn ended() -> ClusterError {
    failed("the thread that speaks MPI has ended".to_owned())
}
